// A 3.x server becomes 4.x. The address of the REST server is not set, so it depends on the version.
import fs from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/server.js';
import { cli, temporaryHome } from '../helpers/cli.js';

/** At this address nothing listens at port 9000, which is the REST server's port on 3.x. */
const HOST = process.platform === 'linux' ? '127.0.0.97' : '127.0.0.1';
const PASSWORD = 'tigergraph';

/** Runs `before` on the 3.x server, so that its version is stored, and then replaces the server. */
async function upgraded(before: string) {
  const home = temporaryHome();
  const options = { host: HOST, graphs: ['demo'] };
  const old = await startSandbox({ ...options, serverVersion: '3.10.1', gsqlPort: 0, restPort: 0 });
  const { gsqlUrl } = old;
  const env = {
    GRAPHCRED_GSQL_URL: gsqlUrl,
    GRAPHCRED_GRAPH: 'demo',
    GRAPHCRED_USERNAME: 'tigergraph',
    GRAPHCRED_STORE: 'file',
  };
  expect(await cli(home, before.split(' '), { env: { ...env, GRAPHCRED_PASSWORD: PASSWORD } })).toMatchObject(
    {
      status: 0,
    },
  );
  await old.close();
  const now = await startSandbox({
    ...options,
    serverVersion: '4.1.2',
    gsqlPort: Number(new URL(gsqlUrl).port),
  });
  onTestFinished(() => now.close());
  const run = (line: string, more: Record<string, string> = {}) =>
    cli(home, line.split(' '), { env: { ...env, ...more } });
  return { home, gsqlUrl, now, run };
}

test.each(['secret list', 'secret create ci', 'token get', 'api /echo', 'exec -- true', 'login', 'doctor'])(
  '%s works after the upgrade with a password that was typed or set for this call',
  async (line) => {
    const { run, now } = await upgraded('secret list');
    expect(await run(line, { GRAPHCRED_PASSWORD: PASSWORD })).toMatchObject({ status: 0 });
    expect(now.requests.some(({ login }) => login === 'basic')).toBe(true);
  },
);

test('a credential of the config file works after the upgrade, if the file names no REST server', async () => {
  const { home, gsqlUrl, run } = await upgraded('secret list');
  const file = path.join(home, 'config.json');
  const own = { gsqlUrl, graph: 'demo', username: 'tigergraph', password: PASSWORD };
  fs.writeFileSync(file, JSON.stringify(own), { mode: 0o600 });
  expect(await run(`secret list --config ${file}`, { GRAPHCRED_GSQL_URL: '' })).toMatchObject({ status: 0 });
});

test('a token minted in that call is stored for the new servers', async () => {
  const { run, gsqlUrl, now } = await upgraded('secret list');
  const first = await run('token get', { GRAPHCRED_PASSWORD: PASSWORD });
  const { tokens } = JSON.parse((await run('token list -o json')).stdout);
  expect(tokens).toMatchObject([{ gsqlUrl, restUrl: `${gsqlUrl}/restpp` }]);
  const asked = now.requests.length;
  expect((await run('token get', { GRAPHCRED_PASSWORD: PASSWORD })).stdout).toBe(first.stdout);
  expect(now.requests.length).toBe(asked);
});

test('a credential that was saved for the old pair is not sent, and the message names the new version', async () => {
  const { run, now } = await upgraded('login --save-password');
  const first = await run('secret list');
  expect(first).toMatchObject({ status: 5, stdout: '' });
  expect(first.stderr).toMatch(/is 4\.1\.2 now.*\nhint: try again/);
  expect(now.requests.filter(({ login, status }) => login === 'basic' && status === 200)).toEqual([]);
  const second = await run('secret list');
  expect(second.status).toBe(5);
  expect(second.stderr).toMatch(/GRAPHCRED_SECRET|--password-stdin/);
});
