// Tests the listener of `graphcred proxy` between a client and servers that say what real ones may say.
import { once } from 'node:events';
import http, { type IncomingMessage, type RequestListener } from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import type { Door } from '../../src/app/serve/door.js';
import { openListener } from '../../src/app/serve/listener.js';
import { BoundCredential, Sensitive } from '../../src/core/sensitive.js';
import { certificate } from '../helpers/certificate.js';
import { listening, listenOnFreePort } from '../helpers/ports.js';

const KEY = 'k'.repeat(32);
const REFUSED = JSON.stringify({ version: {}, error: true, message: 'expired', code: 'REST-10019' });

/** Opens a listener to a server with this behaviour. The first token is `old`, and `new` replaces a refused one. */
async function doorTo(behaviour: RequestListener, options: Partial<Door> = {}) {
  const server = http.createServer(behaviour).on('checkContinue', behaviour);
  const restUrl = await listening(server);
  const servers = { restUrl, gsqlUrl: restUrl, ...options.servers };
  const bearer = (text: string) => ({
    scheme: 'Bearer' as const,
    credential: new BoundCredential(new Sensitive(text), servers),
  });
  let futile = 0;
  const door = {
    key: KEY,
    servers,
    base: restUrl,
    restPath: '/',
    tokens: {
      get: async () => bearer('old-token'),
      replace: async () => bearer('new-token'),
      noteFutile: () => void futile++,
    },
    gsqlLogin: undefined,
    tls: {},
    proxy: {},
    timeoutMs: 10_000,
    ...options,
  };
  const listener = await openListener(door, 0);
  onTestFinished(() => listener.close());
  const { url } = listener;
  const { port } = new URL(url);
  const authorization = `Bearer ${KEY}`;
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(url + path, { ...init, headers: { authorization, ...init.headers } });
  const request = (given: http.RequestOptions = {}) =>
    http.request({
      host: '127.0.0.1',
      port,
      ...given,
      headers: { authorization, ...given.headers },
    });
  return { server, servers, port: Number(port), ask, request, futile: () => futile };
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const isOld = ({ headers }: IncomingMessage) => headers.authorization === 'Bearer old-token';

/** Sends bytes, and returns all that comes back. */
async function raw(port: number, text: string): Promise<string> {
  const socket = net.connect(port, '127.0.0.1');
  socket.write(text);
  return textOf(socket);
}

// holds: C8.11
test('nothing of a request changes but the login and the headers of one hop', async () => {
  let seen: unknown;
  const { port } = await doorTo(async (request, response) => {
    const { method, url, rawHeaders } = request;
    seen = { method, url, rawHeaders, body: await textOf(request) };
    response.writeHead(203, 'Fine', [
      'X-One',
      'a',
      'X-One',
      'b',
      'Connection',
      'close',
      'Content-Length',
      '2',
    ]);
    response.end('ok');
  });
  const answer = await raw(
    port,
    [
      'PUT /a%20b/%C3%A9/{x}?q=%2e&e= HTTP/1.1',
      `Host: LOCALHOST:${port}`,
      `authorization: bearer ${KEY}`,
      'X-Two: 1',
      'x-two: 2',
      'Connection: close, X-Hop',
      'X-Hop: 1',
      'Keep-Alive: timeout=5',
      'TE: trailers',
      'Content-Length: 3',
      '',
      'a\r\n',
    ].join('\r\n'),
  );
  expect(seen).toEqual({
    method: 'PUT',
    url: '/a%20b/%C3%A9/{x}?q=%2e&e=',
    rawHeaders: [
      ...['host', expect.stringMatching(/^127\.0\.0\.1:\d+$/), 'authorization', 'Bearer old-token'],
      ...['X-Two', '1', 'x-two', '2', 'Content-Length', '3', 'Connection', 'keep-alive'],
    ],
    body: 'a\r\n',
  });
  expect(answer).toMatch(
    /^HTTP\/1.1 203 Fine\r\nX-One: a\r\nX-One: b\r\nContent-Length: 2\r\nDate: [^\r]+\r\nConnection: close\r\n\r\nok$/,
  );
});

test('a body whose length is named as a header of one hop stays the body of its request', async () => {
  const seen: unknown[] = [];
  const { port } = await doorTo(async (request, response) => {
    seen.push(request.url, await textOf(request));
    response.end('ok');
  });
  const body = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n';
  const lines = ['GET /echo HTTP/1.1', `Host: 127.0.0.1:${port}`, `Authorization: Bearer ${KEY}`];
  lines.push('Connection: close, Content-Length', `Content-Length: ${body.length}`, '', body);
  expect(await raw(port, lines.join('\r\n'))).toMatch(/ok$/);
  expect(seen).toEqual(['/echo', body]);
});

// holds: C8.11
test.each<[string, number, Record<string, string>, string | Buffer]>([
  ['with its length', 403, { 'content-type': 'application/json' }, REFUSED],
  ['in two pieces', 200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }, REFUSED],
  ['without a type', 200, {}, REFUSED],
  ['compressed', 403, { 'content-type': 'application/json', 'content-encoding': 'gzip' }, gzipSync(REFUSED)],
  ['by its status alone', 401, { 'content-type': 'text/html' }, '<html>'],
  ['without a body', 401, {}, ''],
])('a refusal %s is recognized, and the request is sent again', async (_, status, headers, body) => {
  const bodies: string[] = [];
  const { ask, futile } = await doorTo(async (request, response) => {
    bodies.push(await textOf(request));
    if (!isOld(request)) return response.end('served');
    response.writeHead(status, headers);
    if (!('transfer-encoding' in headers)) return response.end(body);
    setTimeout(() => response.end(body.slice(20)), 50);
    return response.write(body.slice(0, 20));
  });
  expect(await (await ask('/', { method: 'POST', body: 'data' })).text()).toBe('served');
  expect({ bodies, futile: futile() }).toEqual({ bodies: ['data', 'data'], futile: 0 });
});

test.each<[string, number, object]>([
  ['a result that quotes a refusal', 200, { error: false, results: [REFUSED, { code: 'REST-10019' }] }],
  ['a refusal for want of a privilege', 401, { error: true, code: 'REST-10018', message: 'no privilege' }],
  ['an error of a query', 200, { error: true, code: 'REST-3002', message: 'code: REST-10019' }],
])('%s is passed on, and the request is sent once', async (_, status, answer) => {
  let asked = 0;
  const { ask } = await doorTo((_request, response) => {
    asked++;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  const reply = await ask('/', { method: 'POST' });
  expect({ status: reply.status, body: await reply.json(), asked }).toEqual({
    status,
    body: answer,
    asked: 1,
  });
});

// holds: C8.11
test.each([
  [1024 * 1024, 2, 200, 'the whole'],
  [1024 * 1024 + 1, 1, 401, 'the whole'],
  [8 * 1024 * 1024, 1, 401, 'none'],
])(
  'a request with %i bytes is sent %i times where it is refused with %i after %s of it',
  async (size, times, status, part) => {
    let asked = 0;
    const { ask, futile } = await doorTo(async (request, response) => {
      asked++;
      if (part !== 'none') await textOf(request);
      response.writeHead(isOld(request) ? 401 : 200).end();
    });
    const reply = await ask('/', { method: 'POST', body: Buffer.alloc(size) });
    expect({ status: reply.status, asked, futile: futile() }).toEqual({ status, asked: times, futile: 0 });
  },
);

test('a token refused again is passed on, and said', async () => {
  const { ask, futile } = await doorTo((_request, response) => response.writeHead(401).end('no'));
  const reply = await ask('/');
  expect([reply.status, await reply.text(), futile()]).toEqual([401, 'no', 1]);
});

test('a client that expects 100 gets it from the server, and sends no body to one that refuses', async () => {
  let received = 0;
  const { request } = await doorTo(async (asked, response) => {
    if (asked.url === '/no') return response.writeHead(417).end();
    response.writeContinue();
    received += (await textOf(asked)).length;
    return response.end('done');
  });
  const expecting = (path: string) =>
    request({ path, method: 'POST', headers: { expect: '100-continue', 'content-length': 5 } });
  const yes = expecting('/');
  yes.flushHeaders();
  await once(yes, 'continue');
  expect(received).toBe(0);
  yes.end('12345');
  const [served] = await once(yes, 'response');
  expect(await textOf(served)).toBe('done');
  const no = expecting('/no');
  no.on('continue', () => expect.fail('the listener said 100'));
  no.flushHeaders();
  const [refused] = await once(no, 'response');
  no.destroy();
  expect({ status: refused.statusCode, received }).toEqual({ status: 417, received: 5 });
});

test('a request that is answered before its end may still be sent whole, and another after it', async () => {
  const { port } = await doorTo((_request, response) => response.writeHead(413).end('too long'));
  const body = 'x'.repeat(16 * 1024 * 1024);
  const head = `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${KEY}\r\nContent-Length:`;
  const socket = net.connect(port, '127.0.0.1');
  socket.write(`POST / HTTP/1.1\r\n${head} ${body.length}\r\n\r\n${body}`);
  await once(socket, 'drain', { signal: AbortSignal.timeout(10_000) });
  socket.write(`POST / HTTP/1.1\r\nConnection: close\r\n${head} 0\r\n\r\n`);
  expect((await textOf(socket)).match(/ 413 /g)).toHaveLength(2);
});

test('HEAD gets the headers, and a POST without a body stays one', async () => {
  const lengths: unknown[] = [];
  const { ask, port } = await doorTo((request, response) => {
    lengths.push(request.headers['content-length'], request.headers['transfer-encoding']);
    response.writeHead(200, { 'content-length': '7' }).end(request.method === 'HEAD' ? undefined : '1234567');
  });
  const head = await ask('/', { method: 'HEAD' });
  expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '7', '']);
  const bare = `POST / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${KEY}\r\nConnection: close\r\n\r\n`;
  expect(await raw(port, bare)).toMatch(/1234567$/);
  expect(lengths).toEqual([undefined, undefined, '0', undefined]);
});

// holds: C8.11
test.each<[string, http.OutgoingHttpHeaders]>([
  ['text', { 'content-type': 'text/plain' }],
  ['JSON', { 'content-type': 'application/json' }],
  ['JSON with its length', { 'content-type': 'application/json', 'content-length': '7' }],
  ['no type', {}],
])(
  'the headers of a long poll of %s come before its body, which may take longer than the time limit',
  async (_, headers) => {
    const timeoutMs = 300;
    let end = () => {};
    const { ask } = await doorTo(
      (_request, response) => {
        response.writeHead(200, headers).flushHeaders();
        end = () => response.end('at last');
      },
      { timeoutMs },
    );
    const reply = await ask('/');
    expect(reply.status).toBe(200);
    setTimeout(end, 3 * timeoutMs);
    expect(await reply.text()).toBe('at last');
  },
);

test('a server that does not answer in time is 504, also after a long upload, and one that is away 502', async () => {
  const timeoutMs = 200;
  const { server, ask, request } = await doorTo((asked) => void asked.resume(), { timeoutMs });
  expect((await ask('/')).status).toBe(504);
  const upload = request({ method: 'POST' });
  upload.write('long ');
  setTimeout(() => upload.end('upload'), 2 * timeoutMs);
  const [late] = await once(upload, 'response');
  expect(late.statusCode).toBe(504);
  server.closeAllConnections();
  server.close();
  const away = await ask('/', { method: 'POST', body: '{}' });
  expect([away.status, await away.json()]).toMatchObject([502, { error: true, code: 'GRAPHCRED-502' }]);
});

test.each(['099', '600'])('an answer with the status %s is 502', async (status) => {
  const { ask } = await doorTo(({ socket }) => socket.end(`HTTP/1.1 ${status} Odd\r\n\r\n`));
  expect((await ask('/')).status).toBe(502);
});

test('a client that goes away cancels its request', async () => {
  const { server, request } = await doorTo(() => {});
  const waiting = request();
  waiting.on('error', () => {}).end();
  const [, response] = await once(server, 'request');
  const cancelled = once(response, 'close');
  waiting.destroy();
  await cancelled;
});

test.each([
  ['text/plain', 200],
  ['application/json', 401],
])('an answer of type %s that breaks off does not look whole', async (type, status) => {
  const { ask } = await doorTo((_request, response) => {
    response.writeHead(status, { 'content-type': type, 'content-length': '100' }).write('half');
    setImmediate(() => response.destroy());
  });
  await expect(ask('/').then((reply) => reply.text())).rejects.toThrow();
});

test('requests one after the other share a connection to the server', async () => {
  let connections = 0;
  const { server, ask } = await doorTo((_request, response) => response.end('ok'));
  server.on('connection', () => connections++);
  for (let n = 0; n < 5; n++) await (await ask('/')).text();
  expect(connections).toBe(1);
});

test('a GET that is lost on a kept connection is sent over a new one, and a POST is not', async () => {
  const known = new Set<unknown>();
  const { ask } = await doorTo(({ socket }, response) => {
    if (known.has(socket)) return socket.destroy();
    known.add(socket);
    return response.end('ok');
  });
  for (const [method, status] of [
    ['GET', 200],
    ['GET', 200],
    // The new connection was not kept, so this opens the one on which the POST is lost.
    ['GET', 200],
    ['POST', 502],
  ] as const) {
    const reply = await ask('/', { method });
    await reply.text();
    expect(reply.status).toBe(status);
  }
});

test('an upload on a kept TLS connection may take longer than the time limit', async () => {
  const { cert, key } = await certificate('127.0.0.1');
  let connections = 0;
  const behind = https.createServer({ cert, key }, async (asked, response) =>
    response.end(await textOf(asked)),
  );
  behind.on('secureConnection', () => connections++);
  const restUrl = `https://127.0.0.1:${await listenOnFreePort(behind)}`;
  const timeoutMs = 1000;
  const servers = { restUrl, gsqlUrl: restUrl };
  const { ask, request } = await doorTo(() => {}, { servers, base: restUrl, tls: { ca: cert }, timeoutMs });
  const warnings: unknown[] = [];
  const warn = (warning: Error) => void warnings.push(warning);
  process.on('warning', warn);
  onTestFinished(() => void process.off('warning', warn));
  for (let n = 0; n < 12; n++)
    expect(await (await ask('/', { method: 'POST', body: 'short' })).text()).toBe('short');
  const upload = request({ method: 'POST' });
  upload.write('long ');
  setTimeout(() => upload.end('upload'), 1.5 * timeoutMs);
  const [reply] = await once(upload, 'response');
  expect(await textOf(reply)).toBe('long upload');
  // A listener for each request would be a leak, of which Node warns.
  expect({ connections, warnings }).toEqual({ connections: 1, warnings: [] });
});

// holds: C8.10, C10.2
test.each([
  ['POST', '/restpp/gsql/v1/Drop-All/'],
  ['GET', '/gsql/v1;a=b/drop-all;c'],
  ['GET', '//gsql/v1/drop-all'],
  ['DELETE', '/gsql/v1/tokens/?a=1&CLEAR'],
  ['DELETE', '/gsql/v1/tokens%3Fclear=true'],
])('%s %s is refused on both servers', async (method, path) => {
  let asked = 0;
  for (const restPath of ['/', undefined]) {
    const { port } = await doorTo((_request, response) => response.end(String(asked++)), { restPath });
    const text = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${KEY}\r\nConnection: close\r\n\r\n`;
    expect(await raw(port, text)).toMatch(/^HTTP\/1.1 40[03] /);
  }
  expect(asked).toBe(0);
});

// holds: C8.10
test('two slashes behind the prefix of the REST server are refused', async () => {
  const { ask } = await doorTo((_request, response) => response.end(), { restPath: '/restpp/' });
  expect((await ask('/restpp//echo')).status).toBe(400);
});

// holds: C3.11
test('an HTTP proxy on the way gets its own login, and the server the token', async () => {
  const seen: unknown[] = [];
  const network = http.createServer(({ url, headers }, response) => {
    seen.push(url, headers.host, headers['proxy-authorization'], headers.authorization);
    response.end('through');
  });
  const port = await listenOnFreePort(network);
  const restUrl = 'http://db.example:9000';
  const { ask } = await doorTo(() => {}, {
    servers: { restUrl, gsqlUrl: restUrl },
    base: restUrl,
    proxy: { http: `http://me:pw@127.0.0.1:${port}` },
  });
  expect(await (await ask('/echo?a=b')).text()).toBe('through');
  const login = `Basic ${Buffer.from('me:pw').toString('base64')}`;
  expect(seen).toEqual(['http://db.example:9000/echo?a=b', 'db.example:9000', login, 'Bearer old-token']);
});
