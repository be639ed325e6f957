import { describe, expect, test } from 'vitest';
import { filesBelow } from '../helpers/canary.js';
import { cli, temporaryHome } from '../helpers/cli.js';
import { keyringSkipReason, withKeyring } from '../helpers/keyring.js';
import { sandboxFor, start } from '../helpers/process.js';
import { CLIENT, signInByHttp, startProvider } from '../helpers/provider.js';
import { redisSkipReason, startRedis } from '../helpers/redis.js';
import { onTerminal, python } from '../helpers/terminal.js';

async function person() {
  const home = temporaryHome();
  const provider = await startProvider();
  const { env } = await sandboxFor(home, { serverVersion: '4.2.0', provider: provider.sandbox });
  const { GRAPHCRED_USERNAME: _, GRAPHCRED_PASSWORD: __, ...bare } = env;
  const own = { ...bare, GRAPHCRED_STORE: 'file', HOME: home };
  const login = ['login', '--oidc-issuer', provider.issuer, '--oidc-client-id', CLIENT];
  return { home, provider, env: own, login };
}

/** Signs in at the address that a login prints on stderr. */
const signIn = (stderr: string) => {
  const [, url] = /to log in: (\S+)/.exec(stderr) ?? [];
  if (url !== undefined) void signInByHttp(url, 'tigergraph').catch(() => {});
};

/** Logs a person in. */
async function loggedIn() {
  const made = await person();
  const { status, stderr } = await cli(made.home, made.login, { env: made.env, onStderr: signIn });
  expect(status, stderr).toBe(0);
  made.provider.requests();
  return made;
}

describe.skipIf(!python)('a login at an identity provider on a terminal', () => {
  // holds: C12.10
  test('with --device shows URL, code and the time that is left, and ends when the code is entered', async () => {
    const { provider, env, login } = await person();
    const terminal = onTerminal([...login, '--device'], { env, columns: 200 });
    await terminal.see(/enter the code \S+\s[\s\S]*waiting for the login 29\ds left/);
    const [, url = '', code = ''] =
      /Open (\S+) on any device, and enter the code (\S+)/.exec(terminal.unbroken()) ?? [];
    const { text } = await signInByHttp(`${url}?user_code=${code}`, 'tigergraph');
    expect(text).toContain('Sign-in Success');
    const { status, screen, restored } = await terminal.ended;
    expect([status, restored], screen).toEqual([0, true]);
    expect(screen).toContain('The user is "tigergraph".');
    for (const secret of provider.secrets) expect(screen).not.toContain(secret);
  });

  // holds: C12.10
  test('ends at Ctrl-C with nothing stored', async () => {
    const { env, login } = await person();
    const terminal = onTerminal([...login, '-p', 'work'], { env });
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
      child.stderr?.on('data', signIn);
      expect(await ended).toMatchObject({ status: 0 });
      const run = (...words: string[]) => start(words, own).ended;
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

// holds: C12.12
test('twelve processes of three labels use each refresh token once, and nothing of it is seen', async () => {
  const { home, provider, env } = await loggedIn();
  const labels = ['one', 'two', 'three'];
  const ended = await Promise.all(
    Array.from(
      { length: 12 },
      (_, at) => start(['token', 'get', '-v', '--principal', labels[at % 3] as string], env).ended,
    ),
  );
  expect(ended.map(({ status }) => status)).toEqual(Array(12).fill(0));
  expect(new Set(ended.map(({ stdout }) => stdout)).size).toBeLessThanOrEqual(3);
  expect(provider.requests().filter((line) => line === 'POST /token')).toHaveLength(3);
  expect(provider.errors).toEqual([]);
  const seen =
    ended.map(({ stderr }) => stderr).join('') + [...filesBelow(home)].map(({ text }) => text).join('');
  for (const secret of provider.secrets) expect(seen).not.toContain(secret);
  // The last one of the chain still works.
  const last = await start(['token', 'get', '--fresh'], env).ended;
  expect([last.status, provider.errors], last.stderr).toEqual([0, []]);
});

// holds: C12.12
test('a process that is killed while it renews costs a login at most, which the next call says', async () => {
  const { provider, env } = await loggedIn();
  const { child, ended } = start(['token', 'get', '--fresh'], env);
  await provider.asked('POST /token');
  child.kill('SIGKILL');
  await ended;
  const { status, stderr } = await start(['token', 'get', '--fresh', '--timeout', '20'], env).ended;
  // Whether the answer arrived before the end is the kernel's to decide.
  if (status !== 0)
    expect([status, stderr]).toEqual([4, expect.stringContaining('hint: log in: graphcred login')]);
});

// holds: C12.12
test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s while a token is renewed loses no login', async (signal, exit) => {
  const { provider, env } = await loggedIn();
  const { child, ended } = start(['token', 'get', '--fresh'], env);
  await provider.asked('POST /token');
  child.kill(signal);
  expect(await ended).toMatchObject({
    status: exit,
    stdout: '',
    stderr: expect.stringContaining('Interrupted'),
  });
  expect(await start(['token', 'get', '--fresh'], env).ended).toMatchObject({ status: 0 });
  expect(provider.errors).toEqual([]);
});
