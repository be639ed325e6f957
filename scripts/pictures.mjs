// Makes the pictures of README.md in a folder: node scripts/pictures.mjs FOLDER
// Each is a real run of the built command against the sandbox, on a terminal, with the keychain of the bus that STAGE_BUS names.
// stage.cjs moves the clock and fixes random numbers, so that the same picture comes out every time. No file of the user is read or changed.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { generate } from 'selfsigned';
import { terminalSvg } from './terminal-svg.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const [, , folder] = process.argv;
const { STAGE_BUS } = process.env;
if (!folder || !STAGE_BUS) throw new Error('npm run pictures starts this with a folder and a keychain');
const bin = path.join(root, 'bin/graphcred.js');
const stage = path.join(root, 'scripts/stage.cjs');
const stageFolder = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-pictures-'));
const clock = path.join(stageFolder, 'clock');
const ca = path.join(stageFolder, 'cert.pem');
const COLUMNS = 88;
const LIMIT_S = 120;
const HOST = 'graph.example.com';
const JOB = `for hour in 1 2 3; do
  echo "Authorization: Bearer $TG_API_TOKEN" |
    curl -sSH @- "$TG_HOST:$TG_RESTPP_PORT/echo" && echo
  sleep 3600
done
`;

const hosts = {};
// The name has the length of the name that the picture shows instead, because graphcred wraps lines by their length.
const home = path.join('/tmp', randomBytes(2).toString('hex'));
let sandbox;
let bytes = '';

fs.mkdirSync(home, { mode: 0o700 });
fs.mkdirSync(path.join(stageFolder, 'bin'));
const program = (name, text) =>
  fs.writeFileSync(path.join(stageFolder, 'bin', name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
program('graphcred', `exec '${process.execPath}' --require '${stage}' '${bin}' "$@"`);
// Time does not pass by itself here.
program('sleep', `printf +%s $(($(cat '${clock}') + $1 * 1000)) > '${clock}'`);

try {
  await takeAll();
} finally {
  sandbox?.kill('SIGTERM');
  for (const each of [stageFolder, home]) fs.rmSync(each, { recursive: true, force: true });
}

async function takeAll() {
  fs.writeFileSync(clock, String(Date.UTC(2026, 2, 2, 12)));
  const { private: key, cert } = await generate([{ name: 'commonName', value: HOST }], {
    keySize: 2048,
    notBeforeDate: new Date('2000-01-01'),
    notAfterDate: new Date('2100-01-01'),
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: HOST }] }],
  });
  const keyFile = path.join(stageFolder, 'key.pem');
  fs.writeFileSync(ca, cert);
  fs.writeFileSync(keyFile, key);
  await startSandbox(HOST, [
    '--tls',
    `${ca}:${keyFile}`,
    '--graph',
    'social',
    '--user',
    'ann:practice:superuser',
  ]);
  const places = Object.entries(hosts).map(([place, port]) => `connect-to = "${place}:127.0.0.1:${port}"`);
  fs.writeFileSync(path.join(home, '.curlrc'), [`cacert = "${ca}"`, ...places].join('\n'));

  await run(`graphcred login --host https://${HOST}`, [
    ['Graph', 'social\r'],
    ['User name', 'ann\r'],
    ['Password', 'practice\r'],
    ['Make a secret', '\r'],
  ]);
  await run(`graphcred token get -o header | curl -sSH @- https://${HOST}:9000/echo; echo`);
  await run('graphcred status');
  await run('graphcred secret create nightly');
  await run('graphcred secret list');
  await save('demo', 'Log in once');

  fs.writeFileSync(path.join(home, 'job.sh'), JOB);
  await inHome('graphcred token delete --all');
  // The age of a lock is told by the clock of the file system, so the clock goes on.
  fs.writeFileSync(clock, '+0');
  say('# a hundred callers at once, and no token yet: one is made');
  await run(
    'seq 100 | xargs -P 100 -I{} graphcred token get -o json | jq .source | sort | uniq -c',
    [],
    /1 "server"\s+99 "store"/,
  );
  say('# a job of three hours, which never notices that a token lives for half an hour');
  await run('cat job.sh');
  await run('graphcred proxy --lifetime 30m -- sh job.sh');
  await save('storm', 'A hundred callers, and a long job');
}

/** Shows a comment in the picture. */
function say(text) {
  bytes += `\x1b[2m${text}\x1b[0m\r\n`;
}

/** Runs a command and shows it. */
async function run(command, steps, expected = /^/) {
  const said = await inHome(command, steps);
  if (!expected.test(said)) throw new Error(`${command} wrote: ${said}`);
  bytes += `\x1b[32m$\x1b[0m \x1b[1m${command}\x1b[0m\r\n${said}`;
}

async function save(name, title) {
  // The proxy listens on a port that is free, another one each time.
  const shown = bytes.replaceAll(home, '/home/ann').replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:40551');
  bytes = '';
  if (shown.includes(stageFolder) || shown.split(/[^\w.-]+/).includes(os.hostname()))
    throw new Error(`${name} shows something of this machine`);
  fs.writeFileSync(path.join(folder, `${name}.svg`), await terminalSvg(shown, { columns: COLUMNS, title }));
}

/** Runs a command on a terminal, and returns what it writes. */
async function inHome(command, steps = []) {
  const env = {
    HOME: home,
    PATH: `${path.join(stageFolder, 'bin')}:${process.env.PATH}`,
    TERM: 'xterm-256color',
    LC_ALL: 'C.UTF-8',
    DBUS_SESSION_BUS_ADDRESS: STAGE_BUS,
    GRAPHCRED_CA: ca,
    STAGE_CLOCK: clock,
    STAGE_HOSTS: JSON.stringify(hosts),
  };
  const { status, bytes: said } = await onTerminal(['/bin/sh', '-c', command], { env, steps });
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${said}`);
  return said;
}

/** Runs a program on a terminal and answers its questions. Resolves with everything it wrote there. */
function onTerminal(command, { env, steps }) {
  const driver = path.join(root, 'test/helpers/terminal.py');
  const settings = JSON.stringify({ columns: COLUMNS, rows: 60, pipe: false });
  const child = spawn('python3', [driver, settings, ...command], {
    env,
    cwd: home,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const waiting = [...steps];
  let bytes = '';
  let unread = 0;
  return new Promise((resolve, reject) => {
    // If the wording of a question has changed, waiting for it would never end.
    const limit = setTimeout(() => {
      child.kill();
      const next = waiting[0]?.[0];
      reject(
        new Error(`nothing after ${LIMIT_S} s, ${next ? `never asked "${next}"` : 'not ended'}: ${bytes}`),
      );
    }, LIMIT_S * 1000);
    child.once('error', reject);
    createInterface({ input: child.stdout }).on('line', (line) => {
      const said = JSON.parse(line);
      if (said.ended !== undefined) {
        clearTimeout(limit);
        const left = waiting.map(([question]) => question);
        if (left.length > 0) reject(new Error(`never asked: ${left.join(', ')}; it said: ${bytes}`));
        else resolve({ status: said.ended, bytes: Buffer.from(bytes, 'latin1').toString('utf8') });
        return;
      }
      bytes += Buffer.from(said.text, 'base64').toString('latin1');
      const [question, keys] = waiting[0] ?? [];
      if (question === undefined || !stripVTControlCharacters(bytes.slice(unread)).includes(question)) return;
      unread = bytes.length;
      waiting.shift();
      child.stdin.write(`${JSON.stringify({ type: keys })}\n`);
    });
  });
}

/** Starts a sandbox that is reached under this host name, at the usual ports. */
function startSandbox(name, args) {
  const words = ['--require', stage, bin, 'sandbox', '--rest-port', '0', '--gsql-port', '0', ...args];
  const child = spawn(process.execPath, words, {
    env: { STAGE_CLOCK: clock, STAGE_SEED: name },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  sandbox = child;
  return new Promise((resolve, reject) => {
    child.once('exit', (status) => reject(new Error(`the sandbox ended with ${status}`)));
    createInterface({ input: child.stdout }).once('line', (line) => {
      const { restUrl, gsqlUrl } = JSON.parse(line);
      hosts[`${name}:9000`] = Number(new URL(restUrl).port);
      hosts[`${name}:14240`] = Number(new URL(gsqlUrl).port);
      resolve();
    });
  });
}
