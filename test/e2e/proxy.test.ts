// Tests `graphcred proxy` with much data, many connections, and the death of each of those on the way.
import { once } from 'node:events';
import fs from 'node:fs';
import http, { type RequestListener } from 'node:http';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { listening } from '../helpers/ports.js';
import { type Running, sandboxFor, standaloneSkipReason, start } from '../helpers/process.js';

/** Starts a proxy for a REST server with this behaviour; the sandbox gives the tokens. */
async function proxyFor(behaviour: RequestListener, ...argv: string[]) {
  const server = http.createServer(behaviour);
  const restUrl = await listening(server);
  const home = temporaryHome();
  const { env } = await sandboxFor(home, { serverVersion: '4.1.2' });
  const running = start(
    ['proxy', '--store', 'none', '-q', ...argv],
    { ...env, GRAPHCRED_REST_URL: restUrl },
    'open',
    home,
  );
  return { server, running };
}

async function doorOf({ child }: Running) {
  const [line] = await once(child.stdout as NodeJS.ReadableStream, 'data');
  const { restUrl, key } = JSON.parse(String(line)) as { restUrl: string; key: string };
  const { port } = new URL(restUrl);
  const request = (options: http.RequestOptions = {}) =>
    http.request({
      host: '127.0.0.1',
      port,
      ...options,
      headers: { authorization: `Bearer ${key}`, ...options.headers },
    });
  return { port: Number(port), key, request };
}

const MB = 1024 * 1024;
const SIZE = 1024 * MB;

// holds: C8.11
test.skipIf(process.platform !== 'linux' || standaloneSkipReason)(
  'compressed refusals, 1 GB up and 1 GB down, to a client that pauses, need less than 256 MB',
  async () => {
    const chunk = Buffer.alloc(MB);
    const packed = gzipSync(Buffer.alloc(48 * MB));
    let written = 0;
    const { running } = await proxyFor(async (asked, response) => {
      if (asked.method === 'GET') {
        response.writeHead(403, { 'content-encoding': 'gzip' }).end(packed);
        return;
      }
      let received = 0;
      for await (const part of asked) received += (part as Buffer).length;
      response.writeHead(200, { 'x-received': String(received), 'content-type': 'application/json' });
      for (; written < SIZE; written += chunk.length)
        if (!response.write(chunk)) await once(response, 'drain');
      response.end();
    });
    const { request } = await doorOf(running);
    const refuse = async () => {
      const [refused] = (await once(request().end(), 'response')) as [http.IncomingMessage];
      expect(Buffer.concat(await refused.toArray())).toEqual(packed);
    };
    await Promise.all(Array.from({ length: 16 }, refuse));
    const up = request({ method: 'POST' });
    for (let sent = 0; sent < SIZE; sent += chunk.length) if (!up.write(chunk)) await once(up, 'drain');
    up.end();
    const [reply] = (await once(up, 'response')) as [http.IncomingMessage];
    expect(reply.headers['x-received']).toBe(String(SIZE));
    // Nobody reads yet, so the server has to wait.
    let before = -1;
    await expect
      .poll(
        () => {
          const isStill = written === before;
          before = written;
          return isStill;
        },
        { interval: 300, timeout: 30_000 },
      )
      .toBe(true);
    expect(written).toBeLessThan(SIZE / 4);
    let received = 0;
    for await (const part of reply) received += (part as Buffer).length;
    expect(received).toBe(SIZE);
    const status = fs.readFileSync(`/proc/${running.child.pid}/status`, 'utf8');
    const peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
    console.log(`1 GB up and down: ${Math.round(peak)} MB at most`);
    expect(peak).toBeLessThan(256);
  },
);

// holds: C8.10
test('ten thousand connections that send nothing whole do not keep an honest request waiting', async () => {
  const { running } = await proxyFor((_request, response) => response.end('served'));
  const { port, request } = await doorOf(running);
  const open = async () => {
    const socket = net.connect(port, '127.0.0.1').on('error', () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    socket.write('GET /slow HTTP/1.1\r\nX: ');
    return socket;
  };
  for (let n = 0; n < 10_000; n += 100) await Promise.all(Array.from({ length: 100 }, open));
  const slow = await open();
  const honest = request().end();
  const [reply] = await once(honest, 'response', { signal: AbortSignal.timeout(10_000) });
  expect(await text(reply)).toBe('served');
  expect(await text(slow)).toMatch(/^HTTP\/1.1 408 /);
});

describe('whatever ends, nothing hangs:', () => {
  test.each([
    ['its own status', 'process.exit(3)', 3],
    ['SIGTERM', "process.kill(process.pid, 'SIGTERM')", 143],
    ['SIGKILL', "process.kill(process.pid, 'SIGKILL')", 137],
  ])('a command that ends with %s while the server is silent gives that', async (_, end, status) => {
    const { running } = await proxyFor(
      () => {},
      '--',
      process.execPath,
      '-e',
      `const { TG_HOST, TG_RESTPP_PORT, TG_API_TOKEN } = process.env;
       const headers = { authorization: 'Bearer ' + TG_API_TOKEN };
       require('http').get(TG_HOST + ':' + TG_RESTPP_PORT, { headers }).on('socket', (socket) =>
         socket.on('connect', () => setImmediate(() => { ${end} })));`,
    );
    expect(await running.ended).toMatchObject({ status, stderr: '' });
  });

  test('a signal is passed on, and one without a command ends the proxy amid a request', async () => {
    const command =
      "process.on('SIGTERM', () => process.exit(5)); setInterval(() => {}, 1000); console.log('up')";
    const { running } = await proxyFor(() => {}, '--', process.execPath, '-e', command);
    await once(running.child.stdout as NodeJS.ReadableStream, 'data');
    running.child.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ status: 5 });

    const silent = await proxyFor(() => {});
    const { request } = await doorOf(silent.running);
    const waiting = request().end();
    const cutOff = once(waiting, 'error');
    await once(silent.server, 'request');
    silent.running.child.kill('SIGINT');
    await cutOff;
    expect(await silent.running.ended).toMatchObject({ status: 0 });
  });

  test('a command that cannot be started is 127, and a server that is away 125', async () => {
    const { env } = await sandboxFor(temporaryHome());
    const proxy = (own: Record<string, string>, ...command: string[]) =>
      start(['proxy', '--store', 'none', ...command], { ...env, ...own }).ended;
    expect(await proxy({}, '--', './not-there')).toMatchObject({ status: 127 });
    const away = { GRAPHCRED_REST_URL: 'http://127.0.0.1:9', GRAPHCRED_GSQL_URL: 'http://127.0.0.1:9' };
    expect(await proxy(away, '--', 'true')).toMatchObject({ status: 125, stdout: '' });
    expect(await proxy(away)).toMatchObject({ status: 7, stdout: '' });
    expect(await proxy({ GRAPHCRED_PASSWORD: 'wrong' })).toMatchObject({ status: 4, stdout: '' });
  });
});
