import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { cli, temporaryHome } from '../helpers/cli.js';
import { sandboxFor, start } from '../helpers/process.js';
import { CLIENT, signInByHttp, startProvider } from '../helpers/provider.js';

/** Logs a person in, and gives the environment of later commands. */
async function loggedIn() {
  const home = temporaryHome();
  const provider = await startProvider();
  const { env } = await sandboxFor(home, { serverVersion: '4.2.0', provider: provider.sandbox });
  const { GRAPHCRED_USERNAME: _, GRAPHCRED_PASSWORD: __, ...bare } = env;
  const own = { ...bare, GRAPHCRED_STORE: 'file', HOME: home };
  const words = ['login', '--oidc-issuer', provider.issuer, '--oidc-client-id', CLIENT];
  const { status, stderr } = await cli(home, words, {
    env: own,
    onStderr: (line) => {
      const [, url] = /to log in: (\S+)/.exec(line) ?? [];
      if (url) signInByHttp(url, 'tigergraph').catch(() => {});
    },
  });
  expect(status, stderr).toBe(0);
  provider.requests();
  return { home, provider, env: own };
}

/** Every file in a home, with its content. */
function filesIn(home: string): string {
  return fs
    .readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => `${name}\n${fs.readFileSync(path.join(parentPath, name), 'latin1')}`)
    .join('\n');
}

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
  const seen = ended.map(({ stderr }) => stderr).join('') + filesIn(home);
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
    expect([status, stderr]).toEqual([4, expect.stringContaining('hint: log in again: graphcred login')]);
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
