import { once } from 'node:events';
import { createServer as createHttp, type IncomingMessage } from 'node:http';
import { Agent, createServer as createHttps, type ServerOptions } from 'node:https';
import { connect as connectTcp, createServer as createTcp, type Socket } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { connectOptions } from '../../src/core/http/proxy.js';
import { performRequest, type TransportRequest } from '../../src/core/http/send.js';
import type { ConnectionOptions } from '../../src/index.js';
import { certificate } from '../helpers/certificate.js';
import { cleanUp, connectionAt, listening, rawServer, refusalOf } from './core-support.js';

const TARGET = 'https://db.example.test';

/** Starts a proxy that does this with each CONNECT, and a promise for each that our side ends it. */
async function proxyThat(answer: (socket: Socket, request: IncomingMessage) => void) {
  const closed: Promise<unknown>[] = [];
  const proxy = createHttp();
  const asked = once(proxy, 'connect');
  proxy.on('connect', (request, socket: Socket) => {
    closed.push(Promise.race([once(socket, 'end'), once(socket, 'close')]));
    socket.resume();
    answer(socket, request);
  });
  return { url: await listening(proxy), closed, asked };
}

/** Leads a tunnel to a local port. */
const leadTo = (port: number) => (socket: Socket) => {
  const onward = connectTcp(port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    // The server's end is not passed on, so that the tunnel ends only when our side closes it.
    onward.pipe(socket, { end: false }).pipe(onward);
  });
  onward.on('error', () => socket.destroy());
  onward.on('close', () => socket.resume());
  cleanUp(() => onward.destroy());
};

describe('a tunnel through a proxy', { timeout: 10_000 }, () => {
  let own: { cert: string; key: string };
  beforeAll(async () => {
    own = await certificate('db.example.test');
  });

  const through = (proxy: string, more: ConnectionOptions = {}) =>
    connectionAt(TARGET, { proxy: { https: proxy }, tls: { ca: own.cert }, ...more });

  test('is closed after the answer', async () => {
    const server = createHttps(own, (_request, response) => response.end('{"error":false}'));
    const { port } = new URL(await listening(server));
    const proxy = await proxyThat(leadTo(Number(port)));
    expect((await through(proxy.url).rest('GET', '/echo')).status).toBe(200);
    await Promise.all(proxy.closed);
    expect(proxy.closed).toHaveLength(1);
  });

  test('is closed when the server does not answer in time', async () => {
    const server = createHttps(own, () => {});
    const { port } = new URL(await listening(server));
    const proxy = await proxyThat(leadTo(Number(port)));
    const late = through(proxy.url, { timeoutMs: 300 }).rest('GET', '/echo');
    expect(await refusalOf(late)).toMatchObject({ code: 'TIMEOUT' });
    await Promise.all(proxy.closed);
    expect(proxy.closed).toHaveLength(1);
  });

  test('is closed when the certificate of the server behind it is not trusted', async () => {
    const { port } = new URL(await listening(createHttps(own)));
    const proxy = await proxyThat(leadTo(Number(port)));
    expect(await refusalOf(through(proxy.url, { tls: {} }).rest('GET', '/echo'))).toMatchObject({
      code: 'TLS',
    });
    await Promise.all(proxy.closed);
    // A Node that reads the system's certificates tries once more with them.
    expect(proxy.closed.length).toBeGreaterThan(0);
  });

  test.each([
    [407, 'the proxy requires a login (HTTP 407)'],
    [403, 'HTTP 403'],
    [201, 'HTTP 201'],
  ])('that is refused with %i is closed from this side, and the error says why', async (status, reason) => {
    const proxy = await proxyThat((socket) => socket.write(`HTTP/1.1 ${status} No\r\n\r\n`));
    expect(await refusalOf(through(proxy.url).rest('GET', '/echo'))).toMatchObject({
      code: 'NETWORK',
      message: `The proxy could not connect to ${TARGET}: ${reason}.`,
      hint: 'check HTTP_PROXY and HTTPS_PROXY, with user name and password if need be, or exempt this host with NO_PROXY',
    });
    await Promise.all(proxy.closed);
  });

  test('is asked for by an IPv6 address in brackets', async () => {
    const proxy = await proxyThat((socket) => socket.end('HTTP/1.1 502 No\r\n\r\n'));
    const conn = connectionAt('https://[2001:db8::1]:8443', { proxy: { https: proxy.url } });
    await refusalOf(conn.rest('GET', '/echo'));
    expect((await proxy.asked)[0]).toMatchObject({ url: '[2001:db8::1]:8443' });
  });

  test('leads the client certificate to the server behind it', async () => {
    const client = await certificate('elsewhere.example');
    const asking = { ...own, ca: client.cert, requestCert: true, rejectUnauthorized: true };
    const server = createHttps(asking, (_request, response) => response.end('{"error":false}'));
    const proxy = await proxyThat(leadTo(Number(new URL(await listening(server)).port)));
    const tls = { ca: own.cert, cert: client.cert, key: client.key };
    expect((await through(proxy.url, { tls }).rest('GET', '/echo')).status).toBe(200);
  });

  test('is no longer asked for when the call is stopped', async () => {
    const proxy = await proxyThat(() => {});
    const abort = new AbortController();
    const refused = refusalOf(through(proxy.url, { signal: abort.signal }).rest('GET', '/echo'));
    await proxy.asked;
    abort.abort();
    expect(await refused).toMatchObject({ code: 'CANCELLED', ambiguous: false });
    await Promise.all(proxy.closed);
  });

  test('is no longer asked for when the time is over', async () => {
    const proxy = await proxyThat(() => {});
    const refused = await refusalOf(through(proxy.url, { timeoutMs: 300 }).rest('GET', '/echo'));
    expect(refused).toMatchObject({ code: 'TIMEOUT', ambiguous: false });
    expect(refused.message).toContain(`through the proxy ${proxy.url} had no answer`);
    await Promise.all(proxy.closed);
  });

  test('of an https proxy is asked for in TLS, whose certificate was checked against the name of the server behind it', async () => {
    const ofProxy = await certificate('localhost');
    const proxy = createHttps(ofProxy);
    proxy.on('connect', (_request, socket) => socket.end('HTTP/1.1 502 No\r\n\r\n'));
    const url = (await listening(proxy)).replace('http://127.0.0.1', 'https://localhost');
    expect(await refusalOf(through(url, { tls: { ca: ofProxy.cert } }).rest('GET', '/echo'))).toMatchObject({
      message: `The proxy could not connect to ${TARGET}: HTTP 502.`,
    });
  });

  test('through a proxy that closes the connection is NETWORK', async () => {
    const proxy = await proxyThat((socket) => socket.destroy());
    expect(await refusalOf(through(proxy.url).rest('GET', '/echo'))).toMatchObject({
      code: 'NETWORK',
      message: `Cannot reach the proxy ${proxy.url}: the connection broke.`,
      ambiguous: false,
    });
  });

  test('that breaks before the handshake with the server has ended has not sent the request', async () => {
    const proxy = await proxyThat((socket) => {
      socket.once('data', () => socket.destroy());
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    });
    expect(await refusalOf(through(proxy.url).rest('POST', '/echo'))).toMatchObject({
      code: 'NETWORK',
      message: `POST /echo: the connection to ${TARGET} through the proxy ${proxy.url} broke.`,
      ambiguous: false,
    });
  });

  test('names the server in its handshake, and by an address it names none', async () => {
    const names: (string | undefined)[] = [];
    const callbacks: ServerOptions = {
      ...own,
      SNICallback: (name, done) => {
        names.push(name);
        done(null);
      },
    };
    const server = createHttps(callbacks, (_request, response) => response.end('{"error":false}'));
    const { port } = new URL(await listening(server));
    for (const url of [TARGET, 'https://192.0.2.7']) {
      const proxy = await proxyThat(leadTo(Number(port)));
      const conn = connectionAt(url, {
        proxy: { https: proxy.url },
        tls: { insecure: true },
      });
      await conn.rest('GET', '/echo');
    }
    expect(names).toEqual(['db.example.test']);
  });
});

describe('one request', () => {
  const call = (more: Partial<TransportRequest> = {}): TransportRequest => ({
    url: new URL('https://db.example.test/a?b=c'),
    method: 'GET',
    headers: { accept: 'x' },
    body: undefined,
    timeoutMs: 5000,
    maxBytes: 10,
    tls: {},
    proxy: undefined,
    signal: undefined,
    ...more,
  });

  test('goes to the port that its address implies, over a connection of its own', async () => {
    const options = (url: string) =>
      connectOptions(call({ url: new URL(url) }), () => new AbortController().signal);
    const common = { method: 'GET', agent: false, autoSelectFamilyAttemptTimeout: 1000 };
    expect(await options('https://db.example.test/a?b=c')).toEqual({
      ...common,
      protocol: 'https:',
      hostname: 'db.example.test',
      port: 443,
      path: '/a?b=c',
      headers: { accept: 'x', host: 'db.example.test' },
      rejectUnauthorized: true,
      servername: 'db.example.test',
    });
    expect(await options('http://[::1]:81/')).toEqual({
      ...common,
      protocol: 'http:',
      hostname: '::1',
      port: 81,
      path: '/',
      headers: { accept: 'x', host: '[::1]:81' },
    });
  });

  test('may have an answer as large as the limit, and not a byte more', async () => {
    const url = new URL(
      await rawServer((request, response) => response.end('x'.repeat(Number(request.url?.slice(1))))),
    );
    expect((await performRequest(call({ url: new URL('/10', url) }))).body).toHaveLength(10);
    await expect(performRequest(call({ url: new URL('/11', url) }))).rejects.toMatchObject({
      kind: 'too-large',
      message: 'over 10 bytes',
      sent: true,
    });
  });

  test('that is answered with a change of the protocol is malformed', async () => {
    const url = await listening(
      createTcp((socket) => {
        socket.resume();
        socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n');
      }),
    );
    await expect(performRequest(call({ url: new URL(url) }))).rejects.toMatchObject({
      kind: 'malformed',
      message: 'HTTP 101',
    });
  });

  test.each([
    ...['ERR_TLS_CERT_ALTNAME_INVALID', 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_OSSL_PEM_NO_START_LINE'],
    ...['ERR_BORINGSSL_X', 'CERT_HAS_EXPIRED', 'CRL_HAS_EXPIRED', 'UNABLE_TO_GET_CRL', 'EPROTO'],
    ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'INVALID_CA', 'INVALID_PURPOSE'],
    ...['HOSTNAME_MISMATCH', 'PATH_LENGTH_EXCEEDED', 'HPE_INVALID_CONSTANT', 'EHOSTUNREACH', undefined],
  ])('that ends with %s is told by that', async (code) => {
    const createConnection = () => {
      throw Object.assign(new Error('x'), { code });
    };
    const kind = code?.startsWith('HPE')
      ? 'malformed'
      : /^EHOST|^undefined/.test(`${code}`)
        ? 'network'
        : 'tls';
    const refused = performRequest(call({ agent: Object.assign(new Agent(), { createConnection }) }));
    await expect(refused).rejects.toMatchObject({ kind, message: code ?? 'no answer' });
  });
});
