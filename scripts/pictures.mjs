// Makes the pictures in docs/pictures: node scripts/pictures.mjs [FOLDER]
// Each is a real run of the built command against the sandbox, on a terminal. stage.cjs fixes the clock and random numbers, so that the same picture
// comes out every time. No file of the user is read or changed.
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
const folder = path.resolve(process.argv[2] ?? path.join(root, 'docs/pictures'));
const bin = path.join(root, 'bin/graphcred.js');
const stage = path.join(root, 'scripts/stage.cjs');
const stageFolder = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-pictures-'));
const clock = path.join(stageFolder, 'clock');
const HOUR = 3600;
const DAY = 24 * HOUR;
const LIMIT_S = 60;
const NOON = Date.UTC(2026, 2, 2, 12) / 1000;

const setClock = (unix) => fs.writeFileSync(clock, String(unix * 1000));
const hosts = {};
const sandboxes = [];
const homes = [];

fs.mkdirSync(path.join(stageFolder, 'bin'));
fs.writeFileSync(
  path.join(stageFolder, 'bin/graphcred'),
  `#!/bin/sh\nexec '${process.execPath}' --require '${stage}' '${bin}' "$@"\n`,
  { mode: 0o755 },
);

try {
  await takeAll();
} finally {
  for (const sandbox of sandboxes) sandbox.kill('SIGTERM');
  for (const each of [stageFolder, ...homes]) fs.rmSync(each, { recursive: true, force: true });
}

async function takeAll() {
  fs.mkdirSync(folder, { recursive: true });
  setClock(NOON);
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'graph.example.com' }], {
    keySize: 2048,
    notBeforeDate: new Date((NOON - DAY) * 1000),
    notAfterDate: new Date((NOON + 365 * DAY) * 1000),
    extensions: [
      {
        name: 'subjectAltName',
        altNames: ['graph', 'staging'].map((name) => ({ type: 2, value: `${name}.example.com` })),
      },
    ],
  });
  const tls = ['cert.pem', 'key.pem'].map((name) => path.join(stageFolder, name));
  fs.writeFileSync(tls[0], cert);
  fs.writeFileSync(tls[1], key);
  const secure = ['--tls', tls.join(':'), '--graph', 'social', '--user', 'ann:practice:superuser'];
  await startSandbox('127.0.0.1', ['--server-version', '3.10.1']);
  await startSandbox('graph.example.com', ['--server-version', '4.1.2', ...secure]);
  await startSandbox('staging.example.com', ['--server-version', '3.10.1', ...secure]);
  const ca = { GRAPHCRED_CA: tls[0] };

  await demo();
  await status(ca);
}

async function demo() {
  const scene = newScene({
    GRAPHCRED_GRAPH: 'demo',
    GRAPHCRED_USERNAME: 'tigergraph',
    GRAPHCRED_PASSWORD: 'tigergraph',
  });
  await scene.run('graphcred secret create etl');
  await scene.run('graphcred secret create nightly --save');
  await scene.run('graphcred secret list');
  scene.say('# from here on without user name and password');
  scene.forget('GRAPHCRED_USERNAME', 'GRAPHCRED_PASSWORD');
  await scene.run('graphcred token get --lifetime 12h');
  setClock(NOON + 3 * HOUR);
  scene.say('# three hours later: the same token, found on this machine');
  await scene.run('graphcred token get --lifetime 12h');
  await scene.run('graphcred token list');
  await scene.run(`graphcred exec -- sh -c 'echo "a job with a token for $TG_GRAPHNAME at $TG_HOST"'`);
  await scene.run(`graphcred api '/graph/demo/vertices/Person?limit=1'`);
  await scene.save('demo', 'A secret, and tokens from it');
}

/** Starts three servers, and stores tokens of different ages. */
async function status(ca) {
  const scene = newScene(ca);
  const config = path.join(scene.home, '.config/graphcred');
  fs.mkdirSync(config, { recursive: true, mode: 0o700 });
  const profiles = {
    prod: { host: 'https://graph.example.com', graph: 'social', username: 'ann' },
    staging: { host: 'https://staging.example.com', graph: 'social', username: 'ann', lifetime: '12h' },
    sandbox: { host: 'http://127.0.0.1', graph: 'demo', username: 'tigergraph' },
  };
  const text = JSON.stringify({ defaultProfile: 'prod', profiles });
  fs.writeFileSync(path.join(config, 'config.json'), text, { mode: 0o600 });
  for (const [profile, password, hoursAgo] of [
    ['sandbox', 'tigergraph', 31 * 24],
    ['prod', 'practice', 100],
    ['staging', 'practice', 10],
  ]) {
    setClock(NOON - hoursAgo * HOUR);
    const create = `graphcred secret create laptop --save -p ${profile}`;
    await scene.prepare(create, { GRAPHCRED_PASSWORD: password });
    await scene.prepare(`graphcred token get -p ${profile}`);
  }
  setClock(NOON);
  await scene.run('graphcred status --all-profiles');
  await scene.save('status', 'How things stand');
}

function newScene(more) {
  const columns = 88;
  // The name has the length of the name that the picture shows instead, because graphcred wraps lines by their length.
  const home = path.join('/tmp', randomBytes(2).toString('hex'));
  fs.mkdirSync(home, { mode: 0o700 });
  homes.push(home);
  const env = {
    HOME: home,
    PATH: `${path.join(stageFolder, 'bin')}:${process.env.PATH}`,
    TERM: 'xterm-256color',
    LC_ALL: 'C.UTF-8',
    GRAPHCRED_STORE: 'file',
    STAGE_CLOCK: clock,
    STAGE_HOSTS: JSON.stringify(hosts),
    ...more,
  };
  let bytes = '';
  const inHome = (command, steps, own = env) =>
    onTerminal(['/bin/sh', '-c', command], { env: own, cwd: home, columns, steps });
  return {
    home,
    forget: (...names) => {
      for (const name of names) delete env[name];
    },
    say: (text) => {
      bytes += `\x1b[2m${text}\x1b[0m\r\n`;
    },
    /** Runs a command that the picture does not show. */
    prepare: async (command, extra) => {
      const { status, bytes: said } = await inHome(command, [], { ...env, ...extra });
      if (status !== 0) throw new Error(`${command} ended with ${status}: ${said}`);
    },
    run: async (command, steps = []) => {
      const { bytes: said } = await inHome(command, steps);
      bytes += `\x1b[32m$\x1b[0m \x1b[1m${command}\x1b[0m\r\n${said}`;
    },
    save: async (name, title) => {
      const shown = bytes.replaceAll(home, '/home/ann');
      bytes = '';
      if (shown.includes(stageFolder) || shown.includes(os.hostname()))
        throw new Error(`${name} shows something of this machine`);
      fs.writeFileSync(path.join(folder, `${name}.svg`), await terminalSvg(shown, { columns, title }));
    },
  };
}

/** Runs a program on a terminal and answers its questions. Resolves with everything it wrote there. */
function onTerminal(command, { env, cwd, columns, steps }) {
  const driver = path.join(root, 'test/helpers/terminal.py');
  const settings = JSON.stringify({ columns, rows: 60, pipe: false });
  const child = spawn('python3', [driver, settings, ...command], {
    env,
    cwd,
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
  sandboxes.push(child);
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
