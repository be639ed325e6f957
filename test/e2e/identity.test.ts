import { describe, expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { keyringSkipReason, withKeyring } from '../helpers/keyring.js';
import { sandboxFor, start } from '../helpers/process.js';
import { CLIENT, signInByHttp, startProvider } from '../helpers/provider.js';
import { redisSkipReason, startRedis } from '../helpers/redis.js';
import { onTerminal, python } from '../helpers/terminal.js';

async function person(serverVersion = '4.2.0') {
  const home = temporaryHome();
  const provider = await startProvider();
  const { env } = await sandboxFor(home, { serverVersion, provider: provider.sandbox });
  const { GRAPHCRED_USERNAME: _, GRAPHCRED_PASSWORD: __, ...bare } = env;
  const own = { ...bare, GRAPHCRED_STORE: 'file', HOME: home };
  const login = ['login', '-p', 'work', '--oidc-issuer', provider.issuer, '--oidc-client-id', CLIENT];
  return { home, provider, env: own, login };
}

describe.skipIf(!python)('a login at an identity provider on a terminal', () => {
  // holds: C12.10
  test('with --device shows URL, code and the time that passes, and ends when the code is entered', async () => {
    const { provider, env, login } = await person();
    const terminal = onTerminal([...login, '--device'], { env, columns: 200 });
    await terminal.see(/enter the code \S+\s[\s\S]*waiting for the login \d+s of 5m/);
    const [, url = '', code = ''] =
      /Open (\S+) on any device, and enter the code (\S+)/.exec(terminal.unbroken()) ?? [];
    const { text } = await signInByHttp(`${url}?user_code=${code}`, 'tigergraph');
    expect(text).toContain('Sign-in Success');
    const { status, screen, restored } = await terminal.ended;
    expect([status, restored], screen).toEqual([0, true]);
    expect(screen).toContain('The user is tigergraph.');
    for (const secret of provider.secrets) expect(screen).not.toContain(secret);
  });

  // holds: C12.10
  test('ends at Ctrl-C with nothing stored', async () => {
    const { env, login } = await person();
    const terminal = onTerminal(login, { env });
    await terminal.see('waiting for the browser');
    terminal.type('\x03');
    const { status, restored } = await terminal.ended;
    expect([status, restored]).toEqual([130, true]);
    const after = onTerminal(['token', 'list', '-p', 'work'], { env });
    expect((await after.ended).status).toBe(3);
  });
});

// holds: C11.8, C12.13
test.skipIf(redisSkipReason() ?? keyringSkipReason())(
  'logout ends the login of a person, which lies in the keychain beside a Redis server for tokens',
  async () => {
    const { provider, env, login } = await person();
    const redis = await startRedis();
    await withKeyring({ state: 'unlocked' }, async (keyring) => {
      const own = {
        ...env,
        ...keyring.env,
        HOME: env.HOME,
        GRAPHCRED_STORE: 'redis',
        GRAPHCRED_STORE_KEY: Buffer.alloc(32, 7).toString('base64'),
        GRAPHCRED_REDIS_URL: redis.url,
      };
      const { child, ended } = start([...login, '--store', 'keychain', '--no-browser'], own);
      child.stderr?.on('data', (text: string) => {
        const [, url] = /to log in: (\S+)/.exec(text) ?? [];
        if (url !== undefined) void signInByHttp(url, 'tigergraph');
      });
      expect(await ended).toMatchObject({ status: 0 });
      const run = (...words: string[]) => start([...words, '-p', 'work'], own).ended;
      expect(await run('token', 'get', '--fresh')).toMatchObject({ status: 0, stderr: '' });
      provider.requests();
      expect(await run('logout')).toMatchObject({
        status: 0,
        stdout: expect.stringContaining('1 saved credential'),
      });
      expect(provider.requests()).toContain('POST /token/revocation');
    });
  },
);
