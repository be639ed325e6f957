// Runs the built command through a proxy that tunnels TLS. Proxies, certificates and IPv6 are tested in more detail in
// test/contract/core-transport.test.ts.
import fs from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { certificate } from '../helpers/certificate.js';
import { temporaryHome } from '../helpers/cli.js';
import { listenOnFreePort } from '../helpers/listening.js';
import { start } from '../helpers/process.js';

const NAME = 'db.example.test';

/** Starts a proxy that sends every connection to one local port, and records what it could read. */
async function proxyTo(
  port: number,
): Promise<{ url: string; asked: string[]; logins: unknown[]; read: () => string }> {
  const asked: string[] = [];
  const logins: unknown[] = [];
  let bytes = '';
  const proxy = createServer((request: IncomingMessage, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(502).end();
  });
  proxy.on('connect', (request: IncomingMessage, socket: Socket) => {
    asked.push(`CONNECT ${request.url}`);
    logins.push(request.headers['proxy-authorization']);
    const onward = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.on('data', (data) => {
        bytes += data.toString('latin1');
      });
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
  });
  return { url: `127.0.0.1:${await listenOnFreePort(proxy)}`, asked, logins, read: () => bytes };
}

async function secureSandbox(serverVersion: string): Promise<{ sandbox: Sandbox; ca: string; port: number }> {
  const tls = await certificate(NAME);
  const sandbox = await startSandbox({
    serverVersion,
    tls,
    gsqlPort: 0,
    ...(serverVersion.startsWith('3') && { restPort: 0 }),
  });
  onTestFinished(() => sandbox.close());
  return { sandbox, ca: file(tls.cert), port: Number(new URL(sandbox.gsqlUrl).port) };
}

function file(text: string): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-network-'));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  fs.writeFileSync(path.join(folder, 'pem'), text, { mode: 0o600 });
  return path.join(folder, 'pem');
}

const user = {
  GRAPHCRED_GRAPH: 'demo',
  GRAPHCRED_USERNAME: 'tigergraph',
  GRAPHCRED_PASSWORD: 'tigergraph',
  GRAPHCRED_STORE: 'file',
};

async function run(argv: readonly string[], env: Record<string, string>) {
  return start(argv, { HOME: temporaryHome(), ...user, ...env }).ended;
}

test.each(['3.10.1', '4.1.2'])(
  '%s: all commands work on port 443 and behind /restpp, through a proxy that can read nothing',
  async (version) => {
    const { sandbox, ca, port } = await secureSandbox(version);
    const proxy = await proxyTo(port);
    const env = {
      GRAPHCRED_HOST: `https://${NAME}`,
      GRAPHCRED_REST_PORT: '443',
      GRAPHCRED_GSQL_PORT: '443',
      GRAPHCRED_CA: ca,
      HTTPS_PROXY: `http://ada:p%40ss@${proxy.url}`,
    };
    const home = temporaryHome();
    const call = (...argv: string[]) => start(argv, { HOME: home, ...user, ...env }).ended;
    const minted = await call('token', 'get', '-v');
    expect(minted).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\S+\n$/) });
    expect(await call('token', 'check')).toMatchObject({ status: 0 });
    expect(await call('secret', 'list')).toMatchObject({ status: 0 });
    expect(await call('api', '/echo')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('Hello GSQL'),
    });
    expect(new Set(proxy.asked)).toEqual(new Set([`CONNECT ${NAME}:443`]));
    expect(new Set(proxy.logins)).toEqual(new Set([`Basic ${Buffer.from('ada:p@ss').toString('base64')}`]));
    expect(sandbox.requests.map((request) => request.path)).toContain('/restpp/echo');
    expect(sandbox.requests.every(({ server }) => server === 'gsql')).toBe(true);
    for (const credential of [minted.stdout.trim(), 'tigergraph', 'Basic', 'Bearer'])
      expect(proxy.read()).not.toContain(credential);
    expect(minted.stderr).not.toMatch(/p@ss|p%40ss/);

    // The name in the certificate is compared with the host that was requested, even if the CA is trusted.
    const other = { ...env, GRAPHCRED_HOST: 'https://other.example.test' };
    const refused = await run(['token', 'get', '-o', 'json'], other);
    expect(refused).toMatchObject({ status: 7, stdout: '' });
    expect(JSON.parse(refused.stderr).error).toMatchObject({
      code: 'TLS',
      message: expect.stringContaining('another name'),
    });
    expect((await run(['token', 'get', '-o', 'json'], { ...env, GRAPHCRED_CA: '' })).stderr).toContain(
      '"TLS"',
    );

    // The proxy does not learn about hosts that bypass it, and an unknown host name is then an ordinary DNS error.
    const before = proxy.asked.length;
    const exempt = await run(['token', 'get', '--timeout', '20'], { ...env, NO_PROXY: '.example.test' });
    expect(exempt.status).toBe(7);
    expect(proxy.asked.length).toBe(before);
  },
);
