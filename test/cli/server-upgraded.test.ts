// A 3.x server becomes 4.x. The address of the REST server is not set, so it depends on the version.

import { expect, test } from 'vitest';
import { cli, temporaryHome } from '../helpers/cli.js';
import { testSandbox } from '../helpers/sandbox.js';

/** At this address nothing listens at port 9000, which is the REST server's port on 3.x. */
const HOST = process.platform === 'linux' ? '127.0.0.97' : '127.0.0.1';
const PASSWORD = 'tigergraph';

/** Runs lines on the 3.x server, so that its version is stored, and then replaces the server. */
async function upgraded(...before: string[]) {
  const home = temporaryHome();
  const options = { host: HOST, graphs: ['demo'] };
  const old = await testSandbox({ ...options, serverVersion: '3.10.1' });
  const { gsqlUrl } = old;
  const env = {
    GRAPHCRED_GSQL_URL: gsqlUrl,
    GRAPHCRED_GRAPH: 'demo',
    GRAPHCRED_USERNAME: 'tigergraph',
    GRAPHCRED_STORE: 'file',
  };
  for (const line of before) {
    const first = await cli(home, line.split(' '), { env: { ...env, GRAPHCRED_PASSWORD: PASSWORD } });
    expect(first.status).toBe(0);
  }
  await old.close();
  const now = await testSandbox({
    ...options,
    serverVersion: '4.1.2',
    gsqlPort: Number(new URL(gsqlUrl).port),
  });
  const run = (line: string, more: Record<string, string> = {}) =>
    cli(home, line.split(' '), { env: { ...env, ...more } });
  return { gsqlUrl, now, run };
}

test('the first command after an upgrade is refused and says so, and the next ones work for the new servers', async () => {
  const { run, now, gsqlUrl } = await upgraded('secret list');
  const password = { GRAPHCRED_PASSWORD: PASSWORD };
  const first = await run('secret list -v', password);
  expect(first.status).not.toBe(0);
  expect(first.stderr).toContain('the next command finds it out');
  expect(await run('secret list', password)).toMatchObject({ status: 0 });
  const token = await run('token get', password);
  const { tokens } = JSON.parse((await run('token list -o json')).stdout);
  expect(tokens).toMatchObject([{ gsqlUrl, restUrl: `${gsqlUrl}/restpp` }]);
  const asked = now.requests.length;
  expect((await run('token get', password)).stdout).toBe(token.stdout);
  expect(now.requests.length).toBe(asked);
});

test('a credential that was saved for the pair before an upgrade is not sent', async () => {
  const { run, now } = await upgraded('login --save-password', 'secret list');
  await run('secret list');
  now.requests.length = 0;
  const second = await run('secret list');
  expect(second.status).toBe(5);
  expect(second.stderr).toContain('This credential is for the REST server');
  expect(now.requests.filter(({ login }) => login === 'basic')).toEqual([]);
});

test('a cached token stays usable while both servers are away, although a request has failed', async () => {
  const options = { host: HOST, graphs: ['demo'], serverVersion: '3.10.1', restPort: 9000 };
  const server = await testSandbox(options);
  const home = temporaryHome();
  const env = {
    GRAPHCRED_GSQL_URL: server.gsqlUrl,
    GRAPHCRED_GRAPH: 'demo',
    GRAPHCRED_USERNAME: 'tigergraph',
    GRAPHCRED_PASSWORD: PASSWORD,
    GRAPHCRED_STORE: 'file',
  };
  const run = (line: string) => cli(home, line.split(' '), { env });
  const { stdout } = await run('token get');
  await server.close();
  expect(await run('token check')).toMatchObject({ status: 7 });
  expect(await run('token get')).toMatchObject({ status: 0, stdout });
});
