import { getEventListeners } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer as createHttps, type ServerOptions } from 'node:https';
import { createServer as createTcp, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { RequestEvent } from '../../src/core/http/types.js';
import type { GraphConnection } from '../../src/index.js';
import { certificate } from '../helpers/certificate.js';
import { freePort } from '../helpers/ports.js';
import { connect, connectionAt, listening, rawServer, refusalOf, sandbox, spilled } from './core-support.js';

const SECRET = 's3cret0000000000000000000000wxyz';
const MINTED = JSON.stringify({ error: false, token: 't'.repeat(32), expiration: 9_999_999 });

const mint = (conn: GraphConnection) => conn.getToken({ secret: SECRET });

describe('no answer', () => {
  test('because the connection broke after the request is NETWORK, and ambiguous unless the request only reads', async () => {
    const url = await rawServer(async (request, response) => {
      let sent = '';
      for await (const part of request) sent += part;
      if (sent === 'USE+GRAPH+demo') response.end("Using graph 'demo'\n");
      else request.socket.destroy();
    });
    expect(await refusalOf(mint(connectionAt(url)))).toMatchObject({ code: 'NETWORK', ambiguous: true });
    expect(await refusalOf(connectionAt(url).createSecret('a'))).toMatchObject({
      code: 'NETWORK',
      ambiguous: true,
    });
    expect(await refusalOf(connectionAt(url).getSecrets())).toMatchObject({
      code: 'NETWORK',
      ambiguous: false,
    });
    expect(await refusalOf(connectionAt(url).rest('GET', '/echo'))).toMatchObject({
      code: 'NETWORK',
      ambiguous: false,
    });
    const old = connectionAt(url, { serverVersion: '3.2' });
    expect(await refusalOf(mint(old))).toMatchObject({ code: 'NETWORK', ambiguous: true });
  });

  test('to its end is NETWORK and ambiguous', async () => {
    for (const fault of ['truncate', 'drop-after'] as const) {
      const to = await sandbox({
        serverVersion: '3.10.1',
        faults: [{ action: fault, route: '/requesttoken' }],
      });
      const refused = await refusalOf(connect(to).getToken());
      expect(refused).toMatchObject({ code: 'NETWORK', ambiguous: true });
      expect(/broke off after \d+ bytes/.test(refused.message)).toBe(fault === 'truncate');
    }
  });

  // holds: C10.3
  test('causes no second request', async () => {
    let requests = 0;
    const url = await rawServer((request) => {
      requests++;
      request.socket.destroy();
    });
    await refusalOf(mint(connectionAt(url)));
    await refusalOf(connectionAt(url).rest('GET', '/echo'));
    expect(requests).toBe(2);
  });

  const silent: Record<string, RequestListener> = {
    'says nothing': () => {},
    'drips its headers': (_request, response) => drip(response.socket, 'HTTP/1.1 200 OK\r\nx-a: ', 'a'),
    'drips its body': (_request, response) => {
      drip(response.socket, 'HTTP/1.1 200 OK\r\n\r\n', 'a');
    },
  };
  test.each(Object.entries(silent))(
    'a server that %s is TIMEOUT when the time is over',
    async (_name, listener) => {
      const url = await rawServer(listener);
      const started = performance.now();
      const refused = await refusalOf(mint(connectionAt(url, { timeoutMs: 400 })));
      expect(refused).toMatchObject({ code: 'TIMEOUT', ambiguous: true });
      expect(performance.now() - started).toBeLessThan(5000);
      expect(await refusalOf(connectionAt(url, { timeoutMs: 100 }).rest('GET', '/echo'))).toMatchObject({
        code: 'TIMEOUT',
        ambiguous: false,
      });
    },
  );

  test('a server that never answers a TLS handshake is TIMEOUT, and not ambiguous', async () => {
    const url = await listening(createTcp());
    const refused = await refusalOf(mint(connectionAt(url.replace('http:', 'https:'), { timeoutMs: 200 })));
    expect(refused).toMatchObject({ code: 'TIMEOUT', ambiguous: false });
  });

  test('an aborted call is CANCELLED, and one that was aborted before sends nothing', async () => {
    const abort = new AbortController();
    let requests = 0;
    const url = await rawServer(() => {
      requests++;
      abort.abort();
    });
    const conn = connectionAt(url, { signal: abort.signal });
    const cancelled = { code: 'CANCELLED' };
    expect(await refusalOf(mint(conn))).toMatchObject({ ...cancelled, ambiguous: true, retryable: false });
    expect(await refusalOf(mint(conn))).toMatchObject({ ...cancelled, ambiguous: false, retryable: true });
    expect(requests).toBe(1);
  });

  test('eleven calls at once with one signal cause no warning', async () => {
    const url = await rawServer((_request, response) => response.end(MINTED));
    const warning = vi.spyOn(process, 'emitWarning');
    onTestFinished(() => void vi.restoreAllMocks());
    const conn = connectionAt(url, { signal: new AbortController().signal });
    await Promise.all(Array.from({ length: 11 }, () => mint(conn)));
    expect(warning).not.toHaveBeenCalled();
  });

  test('a call that has ended listens no longer to its signal, and leaves no timer that would keep its process alive', async () => {
    const url = await rawServer((_request, response) => response.end(MINTED));
    const { signal } = new AbortController();
    const conn = connectionAt(url, { signal, timeoutMs: 43_210 });
    const start = vi.spyOn(globalThis, 'setTimeout');
    const stop = vi.spyOn(globalThis, 'clearTimeout');
    onTestFinished(() => void vi.restoreAllMocks());
    await mint(conn);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    const limits = start.mock.calls.flatMap(([, ms], at) =>
      ms !== undefined && ms > 40_000 && ms <= 43_210 ? [start.mock.results[at]?.value] : [],
    );
    expect(limits).not.toEqual([]);
    expect(stop.mock.calls.map(([timer]) => timer)).toEqual(expect.arrayContaining(limits));
  });
});

function drip(socket: Socket | null, first: string, more: string): void {
  socket?.write(first);
  const timer = setInterval(() => socket?.write(more), 10);
  socket?.on('error', () => {});
  socket?.on('close', () => clearInterval(timer));
}

describe('invalid answers', () => {
  test('a redirect is refused, and the credential is not sent to its target', async () => {
    const followed: string[] = [];
    const elsewhere = await rawServer((request, response) => {
      followed.push(`${request.method} ${request.url}`);
      response.end(MINTED);
    });
    for (const status of [301, 302, 303, 307, 308]) {
      const url = await rawServer((_request, response) => {
        response.writeHead(status, { location: `${elsewhere}/requesttoken` }).end();
      });
      const refused = await refusalOf(mint(connectionAt(url)));
      expect(refused).toMatchObject({ code: 'BAD_RESPONSE', status });
      await refusalOf(connectionAt(url, { apiToken: 't'.repeat(32) }).rest('GET', '/echo'));
    }
    expect(followed).toEqual([]);
  });

  test('onRequest gets the status of an answer that is refused', async () => {
    const url = await rawServer((_request, response) => response.writeHead(503).end('busy'));
    const events: RequestEvent[] = [];
    await refusalOf(mint(connectionAt(url, { onRequest: (event) => events.push(event) })));
    expect(events.map(({ status }) => status)).toEqual([503]);
  });

  test('an answer over the limit is BAD_RESPONSE; raw calls may be larger', async () => {
    const large = MINTED.padEnd(1024 * 1024 + 1);
    const url = await rawServer((_request, response) => {
      response.end(large);
    });
    expect(await refusalOf(mint(connectionAt(url)))).toMatchObject({ code: 'BAD_RESPONSE', ambiguous: true });
    expect((await connectionAt(url).rest('GET', '/large')).body.length).toBe(large.length);
  });
});

describe('TLS', () => {
  let own: { cert: string; key: string };
  let other: { cert: string; key: string };
  beforeAll(async () => {
    own = await certificate('localhost');
    other = await certificate('elsewhere.example');
  });

  async function secureServer(options: ServerOptions): Promise<string> {
    const server = createHttps(options, (_request, response) => response.end(MINTED));
    const url = await listening(server);
    return url.replace('http://127.0.0.1', 'https://localhost');
  }

  test('a certificate of an unknown CA is an error, and with its CA or insecure it is accepted', async () => {
    const url = await secureServer(own);
    const refused = await refusalOf(mint(connectionAt(url)));
    expect(refused).toMatchObject({ code: 'TLS', ambiguous: false, option: 'tls.ca' });
    expect((await mint(connectionAt(url, { tls: { ca: own.cert } })))[0]).toBe('t'.repeat(32));
    expect((await mint(connectionAt(url, { tls: { insecure: true } })))[0]).toBe('t'.repeat(32));
  });

  test('the host name is checked even if the CA is trusted', async () => {
    const url = await secureServer(other);
    const refused = await refusalOf(mint(connectionAt(url, { tls: { ca: other.cert } })));
    expect(refused.code).toBe('TLS');
    expect(refused.message).toContain('another name');
    const byAddress = await refusalOf(
      mint(connectionAt(url.replace('localhost', '127.0.0.1'), { tls: { ca: own.cert } })),
    );
    expect(byAddress.code).toBe('TLS');
  });

  test('a server that requires a client certificate gets it, and without one the error is TLS', async () => {
    const url = await secureServer({ ...own, ca: other.cert, requestCert: true, rejectUnauthorized: true });
    const tls = { ca: own.cert };
    expect(await refusalOf(mint(connectionAt(url, { tls })))).toMatchObject({
      code: 'TLS',
      ambiguous: false,
    });
    const shown = { ...tls, cert: other.cert, key: other.key };
    expect((await mint(connectionAt(url, { tls: shown })))[0]).toBe('t'.repeat(32));
  });

  test.each<[string, ServerOptions]>([
    ['wants a client certificate', { requestCert: true, rejectUnauthorized: true }],
    ['has no cipher in common', { ciphers: 'NULL-SHA256:@SECLEVEL=0' }],
    ['speaks TLS 1.1 alone', { maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }],
  ])('a server that %s is not taken for one without TLS', async (_, options) => {
    const url = await secureServer({
      ...own,
      ca: other.cert,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.2',
      ...options,
    });
    const refused = await refusalOf(mint(connectionAt(url, { tls: { ca: own.cert } })));
    expect(refused).toMatchObject({
      code: 'TLS',
      ambiguous: false,
      hint: 'ask its administrator whether it allows TLS 1.2 or 1.3; if it requires a client certificate, give one and its key',
      option: 'tls.cert',
    });
  });

  test.each([
    ['400 No required SSL certificate was sent', 'requires a client certificate'],
    ['400 The SSL certificate error', 'refused the client certificate'],
  ])('the page "%s" of a gateway says that it %s', async (title, what) => {
    const url = await rawServer((_request, response) =>
      response.writeHead(400).end(`<html>\r\n<head><title>${title}</title></head>\r\n</html>`),
    );
    const refused = await refusalOf(mint(connectionAt(url)));
    const message = `${new URL(url).host} ${what}.`;
    expect(refused).toMatchObject({ code: 'TLS', message, option: 'tls.cert', ambiguous: false });
  });

  test('a key that is not valid is an error that does not show the key', async () => {
    const url = await secureServer(own);
    const key = '-----BEGIN PRIVATE KEY-----\nbm90IGEga2V5\n-----END PRIVATE KEY-----\n';
    const refused = await refusalOf(mint(connectionAt(url, { tls: { ca: own.cert, cert: own.cert, key } })));
    expect(refused.code).toBe('TLS');
    expect(spilled(refused)).not.toContain('bm90IGEga2V5');
  });
});

describe('proxies', () => {
  /** Starts a proxy that answers every request itself. */
  async function answeringProxy() {
    const asked: string[] = [];
    const logins: unknown[] = [];
    const url = await rawServer((request, response) => {
      asked.push(request.url ?? '');
      logins.push(request.headers['proxy-authorization']);
      response.end(MINTED);
    });
    return { url, asked, logins };
  }

  test.each([
    ['user:p%40ss@', 'user:p@ss'],
    ['user:50%@', 'user:50%'],
    ['user@', 'user:'],
    [':p%40ss@', ':p@ss'],
    ['', undefined],
  ])(
    'a request to an http server is sent to its proxy with the whole address and the login "%s"',
    async (typed, login) => {
      const { url, asked, logins } = await answeringProxy();
      const http = url.replace('http://', `http://${typed}`);
      await mint(connectionAt('http://db.example.test:9000', { proxy: { http } }));
      expect(asked).toEqual(['http://db.example.test:9000/requesttoken']);
      expect(logins).toEqual([login && `Basic ${Buffer.from(login).toString('base64')}`]);
    },
  );

  test('a proxy address that is not valid is NETWORK, and the error does not show it', async () => {
    for (const http of ['socks5://user:hidden-pass@127.0.0.1:1', 'http://user:hidden-pass@:']) {
      const refused = await refusalOf(mint(connectionAt('http://db.example.test', { proxy: { http } })));
      expect(refused.code).toBe('NETWORK');
      expect(refused.message).toBe('The address of the proxy is not an http:// or https:// URL.');
      expect(spilled(refused)).not.toContain('hidden-pass');
    }
  });

  test.each(['http', 'https'] as const)(
    'a proxy that is not there is told as such, for %s',
    async (scheme) => {
      const dead = `http://127.0.0.1:${await freePort()}`;
      const proxy = { [scheme]: dead.replace('//', '//user:hidden-pass@') };
      const refused = await refusalOf(mint(connectionAt(`${scheme}://db.example.test:9000`, { proxy })));
      expect(refused).toMatchObject({
        code: 'NETWORK',
        message: `Cannot reach the proxy ${dead}: the connection was refused.`,
        ambiguous: false,
      });
    },
  );

  test.each([
    [
      'that drops the request',
      'http',
      (to: string) => `: the connection to http://db.example.test through the proxy ${to} broke.`,
    ],
    [
      'that speaks no TLS',
      'https',
      (to: string) => `Cannot reach the proxy ${to}: the port does not answer in TLS`,
    ],
  ])('a proxy %s is blamed, and not the server', async (_what, scheme, told) => {
    const dropping = createTcp((socket) => {
      socket.on('error', () => {});
      socket.once('data', () =>
        scheme === 'http' ? socket.destroy() : socket.end('HTTP/1.1 400 No\r\n\r\n'),
      );
    });
    const http = (await listening(dropping)).replace('http:', `${scheme}:`);
    const refused = await refusalOf(
      connectionAt('http://db.example.test', { proxy: { http } }).rest('GET', '/echo'),
    );
    expect(refused).toMatchObject({ code: 'NETWORK', hint: expect.stringContaining('check HTTP_PROXY') });
    expect(refused.message).toContain(told(http));
  });
});

test('no error shows a credential, whatever the server does', async () => {
  const password = 'correct-horse';
  const token = `eyJhbGciOiJIUzI1NiJ9.${Buffer.from('{"exp":2000000000}').toString('base64url')}.c2lnbmF0dXJl`;
  const basic = Buffer.from(`ada:${password}`).toString('base64');
  const echo: RequestListener = (request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      const message = `${request.url} ${request.headers.authorization} ${body} ${password} ${decodeURIComponent(body)}`;
      response.writeHead(400);
      response.end(JSON.stringify({ error: true, message }));
    });
  };
  const servers: RequestListener[] = [
    echo,
    (request) => request.socket.destroy(),
    (_request, response) => response.end('<html>nonsense</html>'),
    (_request, response) => response.end('{"error":false}'),
    (request, response) => response.writeHead(302, { location: `http://x/?${request.url}` }).end(),
    (request, response) => response.writeHead(503).end(`${request.url}${request.headers.authorization}`),
    (request, response) => response.writeHead(401).end(`${request.url}${request.headers.authorization}`),
  ];
  for (const listener of servers) {
    const url = await rawServer(listener);
    for (const serverVersion of ['3.2', '3.10.1', '4.1.2']) {
      const events: RequestEvent[] = [];
      const conn = connectionAt(url, {
        serverVersion,
        apiToken: token,
        password,
        onRequest: (event) => events.push(event),
      });
      const calls = [
        conn.getSecrets(),
        conn.createSecret('a'),
        conn.dropSecret('a'),
        conn.getToken(),
        conn.getToken({ secret: SECRET }),
        conn.refreshToken({ secret: SECRET }),
        conn.deleteToken(SECRET),
        conn.checkToken(),
        conn.rest('GET', '/echo'),
        conn.service('GET', '/gsql/v1/auth/simple'),
      ];
      for (const outcome of await Promise.allSettled(calls)) {
        const text = outcome.status === 'rejected' ? spilled(outcome.reason) : '';
        for (const credential of [password, SECRET, token, basic]) expect(text).not.toContain(credential);
      }
      const told = JSON.stringify(events);
      for (const credential of [password, SECRET, token, basic]) expect(told).not.toContain(credential);
    }
  }
});

test('a GSQL statement is sent as a form value, so that no character changes its meaning', async () => {
  const alias = '100%+ä&=';
  const bodies: string[] = [];
  const url = await rawServer(async (req, res) => {
    const body = await text(req);
    bodies.push(body);
    const list = `- Secret: abc****xyz\n- Alias: ${alias}\n- GraphName: demo\n`;
    const answer = body.includes('DROP') ? `Successfully dropped secrets: [${alias}].\n` : list;
    res.end(`Using graph 'demo'\n${answer}__GSQL__RETURN__CODE__,0\n`);
  });
  await connectionAt(url).dropSecret(alias);
  expect(bodies).toContain('USE+GRAPH+demo%0ASHOW+SECRET');
  expect(bodies).toContain('USE+GRAPH+demo%0ADROP+SECRET+100%25%2B%C3%A4%26%3D');
});
