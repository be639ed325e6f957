// If an answer does not fit the stored version, the server is asked for its version again: once, and without a credential.

import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { BoundCredential, GraphConnection, Sensitive, type ServerVersion } from '../../src/index.js';
import { defined } from '../helpers/defined.js';
import { connectionAt, rawServer, refusalOf, sandbox } from './core-support.js';

/** Nothing listens at port 9000 of this address, where a 3.x REST server would be. Another sandbox may use 127.0.0.1. */
const HOST = process.platform === 'linux' ? '127.0.0.2' : '127.0.0.1';

const LOGIN = { username: 'tigergraph', password: 'tigergraph', graph: 'demo' };

const CALLS: Record<string, (conn: GraphConnection) => Promise<unknown>> = {
  getToken: (conn) => conn.getToken(),
  getSecrets: (conn) => conn.getSecrets(),
  createSecret: (conn) => conn.createSecret('ci'),
  dropSecret: (conn) => conn.dropSecret('nobody'),
  deleteToken: (conn) => conn.deleteToken('', { token: 'a'.repeat(32), skipNA: true }),
  'restAuthentication, where the REST server is gone': (conn) => conn.restAuthentication(),
};

/** Returns a connection for which only the GSQL server's address is set. The REST server's address depends on the version. */
function at(gsqlUrl: string, knownVersion: string, found: ServerVersion[]): GraphConnection {
  return new GraphConnection({
    ...LOGIN,
    gsqlUrl,
    knownVersion,
    onVersion: (version) => found.push(version),
  });
}

describe.each([
  ['3.10.1', '4.1.2'],
  ['3.2.0', '4.1.2'],
])('a server of %s that is now %s', (before, after) => {
  test.each(Object.keys(CALLS))('%s works with the new version', async (name) => {
    const to = await sandbox({ serverVersion: after, host: HOST });
    const found: ServerVersion[] = [];
    const conn = at(to.gsqlUrl, before, found);
    await defined(CALLS[name])(conn);
    expect(found.map(({ version }) => version)).toEqual([after]);
    expect((await conn.findVersion()).version).toBe(after);
    const probes = to.requests.filter(({ path }) => path === '/gsql/v1/version');
    expect(probes.map(({ login }) => login)).toEqual(['none']);
  });
});

describe.each([
  ['4.1.2', '3.10.1'],
  ['3.2.0', '3.10.1'],
])('a server of %s that is now %s', (before, after) => {
  test.each(['getToken', 'getSecrets', 'createSecret', 'dropSecret'])(
    '%s works with the new version',
    async (name) => {
      const to = await sandbox({ serverVersion: after });
      const { port } = new URL(to.restUrl);
      const found: ServerVersion[] = [];
      const conn = new GraphConnection({
        ...LOGIN,
        gsqlUrl: to.gsqlUrl,
        restPort: Number(port),
        knownVersion: before,
        onVersion: (version) => found.push(version),
      });
      await defined(CALLS[name])(conn);
      // The GSQL texts are the same on all of 3.x, so here the change of version does not show.
      const unseen = before.startsWith('3') && name !== 'getToken';
      expect(found.map(({ version }) => version)).toEqual(unseen ? [] : [after]);
    },
  );
});

test('the version is requested only once if it has not changed, and the answer is an error', async () => {
  const asked: string[] = [];
  const url = await rawServer((request, response) => {
    asked.push(`${request.url} ${request.headers.authorization !== undefined}`);
    if (request.url === '/gsql/v1/version') response.end('GSQL version: 4.1.2\n');
    else response.writeHead(404).end('<html>404</html>');
  });
  const conn = new GraphConnection({ ...LOGIN, restUrl: url, gsqlUrl: url, knownVersion: '4.1.2' });
  expect((await refusalOf(conn.getToken())).code).toBe('BAD_RESPONSE');
  expect(asked).toEqual(['/gsql/v1/tokens true', '/gsql/v1/version false']);
});

test('if the version cannot be found any more, the first error is thrown', async () => {
  const url = await rawServer((_request, response) => {
    response.writeHead(404).end('<html>404</html>');
  });
  const conn = new GraphConnection({ ...LOGIN, restUrl: url, gsqlUrl: url, knownVersion: '4.1.2' });
  const refused = await refusalOf(conn.getToken());
  expect(refused.code).toBe('BAD_RESPONSE');
  expect(refused.message).toContain('/gsql/v1/tokens');
});

test.each([{ serverVersion: '4.1.2' }, { serverVersion: 'auto' }])(
  'with %j nothing is requested again',
  async (options) => {
    let versions = 0;
    const url = await rawServer((request, response) => {
      if (request.url === '/gsql/v1/version') {
        versions++;
        response.end('GSQL version: 4.1.2\n');
      } else response.writeHead(404).end('<html>404</html>');
    });
    const conn = new GraphConnection({ ...LOGIN, restUrl: url, gsqlUrl: url, ...options });
    await refusalOf(conn.getToken());
    expect(versions).toBe(options.serverVersion === 'auto' ? 1 : 0);
  },
);

test('a credential bound to the pair of the old version is not sent to that of the new one', async () => {
  const to = await sandbox({ serverVersion: '4.1.2' });
  const host = new URL(to.gsqlUrl).origin;
  const servers = { restUrl: 'http://127.0.0.1:9000', gsqlUrl: host };
  const secret = new BoundCredential(new Sensitive('s'.repeat(32)), servers);
  const conn = new GraphConnection({ graph: 'demo', gsqlUrl: host, knownVersion: '4.0.0', secret });
  expect((await refusalOf(conn.getSecrets())).code).toBe('HOST_MISMATCH');
  expect(to.requests).toEqual([]);
});

test('a credential of the pair before an upgrade is refused with what the server is now', async () => {
  const to = await sandbox({ serverVersion: '4.1.2', host: HOST });
  const servers = { restUrl: `http://${HOST}:9000`, gsqlUrl: to.gsqlUrl };
  const password = new BoundCredential(new Sensitive('tigergraph'), servers);
  const conn = new GraphConnection({ ...LOGIN, password, gsqlUrl: to.gsqlUrl, knownVersion: '3.10.1' });
  const refused = await refusalOf(conn.getSecrets());
  expect(refused).toMatchObject({
    code: 'HOST_MISMATCH',
    hint: 'try again: what belongs to the old address is then left out',
  });
  expect(refused.message).toContain(
    `This server is 4.1.2 now, and its REST server is ${to.gsqlUrl}/restpp. This credential belongs to `,
  );
});

test('the refusal of the new version is the error of the call', async () => {
  const to = await sandbox({ serverVersion: '4.1.2', host: HOST });
  const conn = new GraphConnection({
    ...LOGIN,
    password: 'wrong',
    gsqlUrl: to.gsqlUrl,
    knownVersion: '3.10.1',
  });
  expect(await refusalOf(conn.getSecrets())).toMatchObject({
    code: 'AUTH_FAILED',
    message: expect.stringMatching(/ refused the login\.$/),
  });
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

test('a write whose answer does not fit is sent once', async () => {
  const to = await sandbox({ serverVersion: '4.1.2' });
  const found: ServerVersion[] = [];
  await at(to.gsqlUrl, '3.10.1', found).createSecret('ci');
  const writes = to.requests.filter(
    ({ method, path, status }) => method === 'POST' && path === '/gsql/v1/secrets' && status === 200,
  );
  expect(writes.length).toBe(1);
});

test('only the first answer of a call may show another version, since after it something has changed', async () => {
  const asked: string[] = [];
  const url = await rawServer(async (request, response) => {
    const body = await text(request);
    asked.push(`${request.method} ${request.url} ${body}`);
    if (request.url?.endsWith('/version')) response.end('GSQL version: 3.10.1\n');
    else if (body.includes('one')) response.end('{"error":false,"message":"","results":{}}');
    else response.writeHead(405).end('<html>no</html>');
  });
  const conn = connectionAt(url, { serverVersion: 'auto', knownVersion: '4.1.2' });
  const { dropped, failed } = await conn.dropSecrets(['one', 'two']);
  expect(dropped).toEqual(['one']);
  expect(failed).toMatchObject({ alias: 'two', error: { code: 'BAD_RESPONSE', status: 405 } });
  expect(asked.map((line) => line.split(' ')[1])).toEqual(['/gsql/v1/secrets', '/gsql/v1/secrets']);
});

test('a question for the version whose answer is lost has changed nothing', async () => {
  const url = await rawServer((request, response) => {
    if (request.method === 'GET') response.writeHead(404).end();
    else request.socket.destroy();
  });
  const refused = await refusalOf(connectionAt(url, { serverVersion: 'auto' }).findVersion());
  expect(refused).toMatchObject({ code: 'NETWORK', ambiguous: false });
  expect(refused.message).not.toContain('taken effect');
});

test('a server that does not speak TLS is not understood better by its version', async () => {
  const url = await rawServer(() => {});
  const conn = connectionAt(url.replace('http:', 'https:'), { serverVersion: 'auto' });
  const refused = await refusalOf(conn.getSecrets());
  expect(refused).toMatchObject({ code: 'TLS', remedies: [] });
  expect(refused.hint).not.toContain('version');
});

test('a call that is cancelled while the version is asked for says nothing of the version', async () => {
  const controller = new AbortController();
  const url = await rawServer(() => controller.abort());
  const conn = connectionAt(url, { serverVersion: 'auto', signal: controller.signal });
  const refused = await refusalOf(conn.getSecrets());
  expect(refused).toMatchObject({ code: 'CANCELLED', remedies: [] });
  expect(refused.hint ?? '').not.toContain('version');
});
