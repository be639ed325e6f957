// What the measured commands need around them: a server, homes with settings and held tokens, a keychain.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** A process that speaks a line of JSON at a time. */
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

/** A sandbox in a process of its own. */
export async function startServer(node, bin, version, env) {
  const args = [bin, 'sandbox', '--server-version', version, '--gsql-port', '0'];
  if (version.startsWith('3')) args.push('--rest-port', '0');
  const server = talker(node, args, { env });
  return { ...JSON.parse(await server.hear()), stop: server.stop };
}

/** A home with one config file of one profile. The commands run two folders below it. */
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

/** An unlocked gnome-keyring on a session bus of its own, or why there is none. */
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
  // The end of its stdin ends the session; a signal would leave the bus and the keyring behind.
  return { env: { ...env, DBUS_SESSION_BUS_ADDRESS: address }, stop: session.end };
}

/** GitHub's command with a token in its plain file, or why it is not measured. */
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
