// Runs the built command and the library against servers whose authority only the operating system knows.

import fs from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import https from 'node:https';
import net, { type Socket } from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { expect, test } from 'vitest';
import { certificate } from '../helpers/certificate.js';
import { settingsFor, temporaryHome } from '../helpers/cli.js';
import { mountSkipReason } from '../helpers/keyring.js';
import { listenOnFreePort } from '../helpers/ports.js';
import { BIN, spawned } from '../helpers/process.js';
import { mintsOf, testSandbox } from '../helpers/sandbox.js';

const NAME = 'db.example.test';
const BUNDLE = '/etc/ssl/certs/ca-certificates.crt';
const NODE = process.env.GRAPHCRED_TEST_NODE ?? ('getCACertificates' in tls ? process.execPath : undefined);
const skipReason = NODE ? undefined : 'Node 22.15 or later is needed: GRAPHCRED_TEST_NODE names none';
if (skipReason) console.log(`tests of the system's certificates are skipped: ${skipReason}`);

/** Starts a 4.x sandbox and a REST server beside it, both of one unknown authority, and a proxy that tunnels to them. */
async function behindUnknownAuthority() {
  const own = await certificate(NAME, 'localhost');
  const sandbox = await testSandbox({ serverVersion: '4.1.2', tls: own });
  const rest = https.createServer(own, async (request, response) => {
    let received = 0;
    for await (const part of request) received += (part as Buffer).length;
    response.end(JSON.stringify({ error: false, message: `received ${received}` }));
  });
  const restUrl = `https://localhost:${await listenOnFreePort(rest)}`;
  const home = temporaryHome();
  const ca = path.join(home, 'authority.pem');
  fs.writeFileSync(ca, own.cert);
  const gsqlUrl = sandbox.gsqlUrl.replace('127.0.0.1', 'localhost');
  const env = {
    HOME: home,
    ...settingsFor(sandbox),
    GRAPHCRED_GSQL_URL: gsqlUrl,
    GRAPHCRED_REST_URL: restUrl,
  };
  const mints = () => mintsOf(sandbox);
  return { own, sandbox, home, ca, mints, env: { ...env, GRAPHCRED_STORE: 'none' } };
}

/** A proxy that tunnels each connection to this port. */
function tunnelTo(port: number, proxy: Server): Promise<number> {
  proxy.on('connect', (_request: IncomingMessage, socket: Socket) => {
    const onward = net.connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
  });
  return listenOnFreePort(proxy);
}

const node = (argv: readonly string[], env: Record<string, string>, prefix: readonly string[] = []) =>
  spawned([...prefix, NODE as string, ...argv], env);

// holds: C3.25
test.skipIf(skipReason)(
  'an authority that only SSL_CERT_FILE names is trusted by each connection',
  async () => {
    const { own, sandbox, home, ca, env, mints } = await behindUnknownAuthority();
    const refused = await node([BIN, 'token', 'get', '-q'], env);
    expect([refused.status, refused.stderr]).toEqual([7, expect.stringContaining('its CA is unknown')]);
    const trusting = { ...env, SSL_CERT_FILE: ca };
    expect(mints()).toBe(0);
    expect((await node([BIN, 'token', 'get', '-q'], trusting)).stderr).toBe('');
    expect(mints()).toBe(1);
    const other = path.join(home, 'other.pem');
    fs.writeFileSync(other, (await certificate(NAME)).cert);
    const named = await node([BIN, 'token', 'get', '-q', '--ca', other], trusting);
    expect([named.status, mints()]).toEqual([7, 1]);

    const { port } = new URL(sandbox.gsqlUrl);
    const secure = await tunnelTo(Number(port), https.createServer(own) as unknown as Server);
    const plain = await tunnelTo(Number(port), createServer());
    for (const proxy of [`https://localhost:${secure}`, `http://127.0.0.1:${plain}`]) {
      const far = { GRAPHCRED_GSQL_URL: `https://${NAME}`, HTTPS_PROXY: proxy };
      expect((await node([BIN, 'token', 'get', '-q'], { ...trusting, ...far })).stderr).toBe('');
    }

    const size = 3 * 1024 * 1024;
    const upload = `fetch(process.env.TG_HOST + ':' + process.env.TG_RESTPP_PORT + '/x', { method: 'POST',
    headers: { authorization: 'Bearer ' + process.env.TG_API_TOKEN }, body: 'x'.repeat(${size}) })
    .then((reply) => reply.text()).then(console.log)`;
    const door = await node([BIN, 'proxy', '--', NODE as string, '-e', upload], trusting);
    expect(door.stdout).toContain(`received ${size}`);

    const library = `import { GraphConnection } from 'graphcred';
    const env = process.env;
    const to = { gsqlUrl: env.GRAPHCRED_GSQL_URL, restUrl: env.GRAPHCRED_REST_URL, serverVersion: '4' };
    const connection = new GraphConnection({ ...to, username: 'tigergraph', password: 'tigergraph' });
    await connection.getToken();
    console.log((await connection.rest('GET', '/x')).body);`;
    const called = await node(['--input-type=module', '-e', library], trusting);
    expect([called.stderr, called.stdout]).toEqual(['', expect.stringContaining('received 0')]);
  },
);

const bundleReason = skipReason ?? mountSkipReason() ?? (fs.existsSync(BUNDLE) ? undefined : `no ${BUNDLE}`);

// holds: C3.25
test.skipIf(bundleReason)('an authority that was added to the bundle of the system is trusted', async () => {
  const { own, home, env } = await behindUnknownAuthority();
  const bundle = path.join(home, 'bundle.crt');
  fs.writeFileSync(bundle, `${fs.readFileSync(BUNDLE, 'utf8')}\n${own.cert}`);
  const changed = `mount --bind '${bundle}' ${BUNDLE} && exec "$@"`;
  const ended = await node([BIN, 'token', 'get', '-q'], env, ['unshare', '-m', 'sh', '-c', changed, 'sh']);
  expect([ended.status, ended.stderr]).toEqual([0, '']);
});
