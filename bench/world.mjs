// Creates what the measured commands need: a server, homes with settings and cached tokens, a keychain.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { generate } from 'selfsigned';

/** Starts a process to which one sends a line of JSON and which answers with one. */
export function talker(command, args, options) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], ...options });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const gone = once(child, 'error').then(([error]) => Promise.reject(error));
  gone.catch(() => {});
  const hear = async () => {
    const { value, done } = await Promise.race([lines.next(), gone]);
    if (done) throw new Error(`${command} ended early`);
    return value;
  };
  return {
    hear,
    ask: (question) => {
      child.stdin.write(`${JSON.stringify(question)}\n`);
      return hear().then(JSON.parse);
    },
    end: () => child.stdin.end(),
    stop: () => child.kill(),
  };
}

/** Starts a sandbox in a process of its own. */
export async function startServer(node, bin, version, env) {
  const args = [bin, 'sandbox', '--server-version', version, '--gsql-port', '0'];
  if (version.startsWith('3')) args.push('--rest-port', '0');
  const server = talker(node, args, { env });
  return { ...JSON.parse(await server.hear()), stop: server.stop };
}

/** Creates a secret on a 3.x sandbox and returns its value. */
export async function makeSecret({ gsqlUrl, graph, username, password }) {
  const response = await fetch(`${gsqlUrl}/gsqlserver/gsql/file`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` },
    body: encodeURIComponent(`USE GRAPH ${graph}\nCREATE SECRET bench`),
  });
  const [secret] = /\b[a-z0-9]{32}\b/.exec(await response.text()) ?? [];
  if (!secret) throw new Error('the sandbox made no secret');
  return secret;
}

/** Creates a home with one config file of one profile. The commands run two folders below it. */
export function makeHome(home, server, format) {
  const cwd = path.join(home, 'work', 'project');
  fs.mkdirSync(cwd, { recursive: true, mode: 0o700 });
  const { restUrl, gsqlUrl, graph, username, password } = server;
  const profile = { restUrl, gsqlUrl, graph, username, password };
  const yaml = Object.entries(profile).map(([key, value]) => `    ${key}: ${JSON.stringify(value)}\n`);
  const text =
    format === 'json'
      ? JSON.stringify({ profiles: { default: profile } }, null, 2)
      : `profiles:\n  default:\n${yaml.join('')}`;
  fs.writeFileSync(path.join(home, `.graphcredrc.${format}`), text, { mode: 0o600 });
  return cwd;
}

/** Starts an empty Redis server with a plain and a TLS port, or returns why there is none. */
export async function startRedis(folder, base) {
  if (!has('redis-server')) return { reason: 'redis-server is not installed (apt install redis-server)' };
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'bench' }], {
    keySize: 2048,
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  });
  const file = (name, text) => {
    fs.writeFileSync(path.join(folder, name), text, { mode: 0o600 });
    return path.join(folder, name);
  };
  const [certFile, keyFile] = [file('cert.pem', cert), file('key.pem', key)];
  const [port, tlsPort] = [await freePort(), await freePort()];
  const args = ['--bind', '127.0.0.1', '--port', port, '--tls-port', tlsPort, '--tls-auth-clients', 'no'];
  args.push('--tls-cert-file', certFile, '--tls-key-file', keyFile, '--tls-ca-cert-file', certFile);
  args.push('--save', '', '--dir', folder);
  const server = talker('redis-server', args, { env: base });
  while (!(await server.hear()).includes('Ready to accept connections'));
  const env = { ...base, GRAPHCRED_STORE: 'redis', GRAPHCRED_STORE_KEY: randomBytes(32).toString('base64') };
  return {
    stop: server.stop,
    plain: { ...env, GRAPHCRED_REDIS_URL: `redis://127.0.0.1:${port}` },
    tls: { ...env, GRAPHCRED_REDIS_URL: `rediss://127.0.0.1:${tlsPort}`, GRAPHCRED_REDIS_CA: certFile },
  };
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts an unlocked gnome-keyring on a session bus of its own, or returns why there is none. */
export async function startKeychain(home, base) {
  if (process.platform !== 'linux')
    return { reason: 'the bench knows how to start a keychain on Linux only' };
  for (const program of ['dbus-run-session', 'gnome-keyring-daemon']) {
    if (!has(program)) return { reason: `${program} is not installed (apt install dbus gnome-keyring)` };
  }
  const runtime = path.join(home, 'run');
  fs.mkdirSync(runtime, { recursive: true, mode: 0o700 });
  const env = { ...base, HOME: home, XDG_RUNTIME_DIR: runtime };
  const script =
    'printf bench | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1; echo "$DBUS_SESSION_BUS_ADDRESS"; exec cat >/dev/null';
  const session = talker('dbus-run-session', ['--', 'sh', '-c', script], { env });
  const address = await session.hear();
  // The end of its stdin ends the session. A signal would leave the bus and the keyring running.
  return { env: { ...env, DBUS_SESSION_BUS_ADDRESS: address }, stop: session.end };
}

/** Sets up GitHub's command with a token in its plain file, or returns why it is not measured. */
export function ghHome(home, base) {
  if (!has('gh')) return { reason: 'gh is not installed' };
  const folder = path.join(home, 'gh');
  fs.mkdirSync(folder, { recursive: true });
  const hosts = `github.com:\n    user: bench\n    oauth_token: ${'x'.repeat(40)}\n    git_protocol: https\n`;
  fs.writeFileSync(path.join(folder, 'hosts.yml'), hosts, { mode: 0o600 });
  return {
    env: { ...base, HOME: home, GH_CONFIG_DIR: folder },
    version: execFileSync('gh', ['--version'], { encoding: 'utf8' }).split('\n')[0],
  };
}

function has(program) {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
}
