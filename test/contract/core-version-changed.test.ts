// A remembered version that no longer fits: the call reports the refusal, sends nothing again, and the next call asks.
import { expect, test } from 'vitest';
import { GraphConnection, type ServerVersion } from '../../src/index.js';
import { connectionAt, rawServer, refusalOf, sandbox } from './core-support.js';

/** Nothing listens at port 9000 of this address, where a 3.x REST server would be. Another sandbox may use 127.0.0.1. */
const HOST = process.platform === 'linux' ? '127.0.0.2' : '127.0.0.1';

const LOGIN = { username: 'tigergraph', password: 'tigergraph', graph: 'demo' };

test.each([
  ['3.10.1', '4.1.2'],
  ['4.1.2', '3.10.1'],
])(
  'a call to a server of %s that is now %s is refused without a question, and the next one works',
  async (before, after) => {
    const to = await sandbox({ serverVersion: after, host: HOST });
    const found: (string | undefined)[] = [];
    const onVersion = (version: ServerVersion | undefined) => void found.push(version?.version);
    const restPort = after.startsWith('3') ? Number(new URL(to.restUrl).port) : undefined;
    const conn = new GraphConnection({
      ...LOGIN,
      gsqlUrl: to.gsqlUrl,
      restPort,
      knownVersion: before,
      onVersion,
    });
    const refused = await refusalOf(conn.createSecret('ci'));
    expect(refused.code).not.toBe('INTERNAL');
    expect(to.requests.filter(({ path }) => path.endsWith('/version'))).toEqual([]);
    expect(found).toEqual([undefined]);
    await conn.createSecret('ci');
    expect(found).toEqual([undefined, after]);
    const probes = to.requests.filter(({ path }) => path.endsWith('/version'));
    expect(new Set(probes.map(({ login }) => login))).toEqual(new Set(['none']));
  },
);

test('a REST server that is gone makes the next call ask for the version', async () => {
  const to = await sandbox({ serverVersion: '4.1.2', host: HOST });
  const conn = new GraphConnection({ ...LOGIN, gsqlUrl: to.gsqlUrl, knownVersion: '3.10.1' });
  expect((await refusalOf(conn.getToken())).code).toBe('NETWORK');
  await conn.getToken();
  expect(conn.apiToken).toBeDefined();
});

test('a version that was given is not doubted', async () => {
  const to = await sandbox({ serverVersion: '4.1.2', host: HOST });
  const conn = new GraphConnection({ ...LOGIN, gsqlUrl: to.gsqlUrl, serverVersion: '3.10.1' });
  for (let n = 0; n < 2; n++) await refusalOf(conn.getSecrets());
  expect(to.requests.filter(({ path }) => path.endsWith('/version'))).toEqual([]);
});

test('a GSQL server that is away is not asked for its version as well', async () => {
  const asked: string[] = [];
  const url = 'http://127.0.0.1:1';
  const onRequest = ({ path }: { path: string }) => void asked.push(path);
  const conn = new GraphConnection({
    ...LOGIN,
    restUrl: url,
    gsqlUrl: url,
    knownVersion: '4.1.2',
    onRequest,
  });
  expect((await refusalOf(conn.getSecrets())).code).toBe('NETWORK');
  expect(asked).toEqual(['/gsql/v1/secrets']);
});

test('a question for the version whose answer is lost has changed nothing', async () => {
  const url = await rawServer((request, response) => {
    if (request.method === 'GET') response.writeHead(404).end();
    else request.socket.destroy();
  });
  const refused = await refusalOf(connectionAt(url, { serverVersion: 'auto' }).findVersion());
  expect(refused).toMatchObject({ code: 'NETWORK', ambiguous: false });
  expect(refused.message).not.toContain('carried out the request');
});

test('a server that does not speak TLS is not understood better by its version', async () => {
  const url = await rawServer(() => {});
  const conn = connectionAt(url.replace('http:', 'https:'), { serverVersion: 'auto' });
  const refused = await refusalOf(conn.getSecrets());
  expect(refused).toMatchObject({ code: 'TLS', option: undefined });
  expect(refused.hint).not.toContain('version');
});

test('a call that is cancelled while the version is asked for says nothing of the version', async () => {
  const controller = new AbortController();
  const url = await rawServer(() => controller.abort());
  const conn = connectionAt(url, { serverVersion: 'auto', signal: controller.signal });
  const refused = await refusalOf(conn.getSecrets());
  expect(refused).toMatchObject({ code: 'CANCELLED', option: undefined });
  expect(refused.hint ?? '').not.toContain('version');
});
