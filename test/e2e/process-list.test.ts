import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/server.js';
import { temporaryHome } from '../helpers/cli.js';
import { keyringSkipReason, withKeyring } from '../helpers/keyring.js';
import { COMMAND, start } from '../helpers/process.js';
import { onTerminal, python } from '../helpers/terminal.js';

const SECRET = 'canary0secret0canary0secret0cana';
const PASSWORD = 'canary-password-canary';
/** Credentials in the user's environment that no child process may get. */
const AROUND = {
  TG_API_TOKEN: 'canary0token0canary0token0canary',
  TG_PASSWORD: 'canary-of-another-tool',
  GRAPHCRED_STORE_KEY: Buffer.from('canary0key0canary0key0canary0key').toString('base64'),
};
const CREDENTIALS = [SECRET, PASSWORD, ...Object.values(AROUND)];

interface Seen {
  readonly pid: number;
  readonly argv: string;
  readonly environment: string;
}

/** Returns every process with its command line, which all users can see, and its environment, which its owner can see. */
function processes(): (Seen & { parent: number })[] {
  return fs
    .readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const parent = Number(/\) \S (\d+)/.exec(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);
        const read = (name: string) => fs.readFileSync(`/proc/${pid}/${name}`, 'utf8').replaceAll('\0', '\n');
        return [{ pid: Number(pid), parent, argv: read('cmdline'), environment: read('environ') }];
      } catch {
        return [];
      }
    });
}

/** Fails if a credential is on any command line, or in the environment of a process that graphcred has started. */
function expectNothingShown(graphcred: number): Seen[] {
  const all = processes();
  const below = new Set([graphcred]);
  for (let before = 0; before < below.size; ) {
    before = below.size;
    for (const { pid, parent } of all) if (below.has(parent)) below.add(pid);
  }
  below.delete(graphcred);
  for (const { argv } of all) for (const value of CREDENTIALS) expect(argv).not.toContain(value);
  const started = all.filter(({ pid }) => below.has(pid));
  for (const { environment } of started)
    for (const value of CREDENTIALS) expect(environment).not.toContain(value);
  return started;
}

/** Starts the sandbox behind a proxy that can hold back the answer to a mint. */
async function patientServer() {
  const sandbox = await startSandbox({
    restPort: 0,
    gsqlPort: 0,
    users: [{ name: 'alice', password: PASSWORD, role: 'superuser' }],
    secrets: [{ alias: 'ci', value: SECRET, user: 'alice', graph: 'demo' }],
  });
  let arrived = () => {};
  let gate = Promise.resolve();
  const server = http.createServer(async (request, response) => {
    const body = await text(request);
    if (/\/requesttoken$/.test(request.url ?? '')) {
      arrived();
      await gate;
    }
    const { authorization = '' } = request.headers;
    const { status, ...reply } = await ask(
      `${sandbox.gsqlUrl}${request.url}`,
      request.method,
      authorization,
      body,
    );
    response.writeHead(status).end(reply.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
    await sandbox.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env: Record<string, string> = {
    GRAPHCRED_REST_URL: `${url}/restpp`,
    GRAPHCRED_GSQL_URL: url,
    GRAPHCRED_GRAPH: 'demo',
    GRAPHCRED_SERVER_VERSION: '3',
  };
  /** Holds back mints from now on. `asked` resolves when one has arrived, and `answer` passes it on. */
  const hold = () => {
    let answer = () => {};
    gate = new Promise((resolve) => {
      answer = resolve;
    });
    const asked = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    return { asked, answer };
  };
  return { url, env, hold };
}

async function ask(url: string, method = 'GET', authorization = '', body = '') {
  const reply = await fetch(url, { method, headers: { authorization }, ...(body !== '' && { body }) });
  return { status: reply.status, body: await reply.text() };
}

interface Way {
  readonly argv?: readonly string[];
  readonly env?: Record<string, string>;
  readonly input?: string;
}

function write(home: string, name: string, content: string): string {
  const file = path.join(home, name);
  fs.writeFileSync(file, content, { mode: 0o600 });
  return file;
}

const WAYS: Record<string, (home: string, url: string) => Way> = {
  'a file': (home) => ({ argv: ['--secret-file', write(home, 'secret', SECRET)] }),
  'a file named by a variable': (home) => ({ env: { GRAPHCRED_SECRET_FILE: write(home, 'secret', SECRET) } }),
  'a variable': () => ({ env: { GRAPHCRED_SECRET: SECRET } }),
  'another tool’s variable': () => ({ env: { TG_SECRET: SECRET } }),
  stdin: () => ({ argv: ['--secret-stdin'], input: `${SECRET}\n` }),
  'a password on stdin': () => ({ argv: ['--password-stdin', '-u', 'alice'], input: `${PASSWORD}\n` }),
  'a profile': (home, url) => {
    // A credential in a config file is sent only to the addresses in that file.
    const own = { secret: SECRET, restUrl: `${url}/restpp`, gsqlUrl: url };
    return { argv: ['--config', write(home, 'own.json', JSON.stringify(own))], env: { TG_PASSWORD: '' } };
  },
};

describe.skipIf(process.platform !== 'linux')('while a token is minted', () => {
  // holds: C10.1
  test.each(Object.keys(WAYS))('with a credential from %s, no process shows it', async (name) => {
    const home = temporaryHome();
    const { env, url, hold } = await patientServer();
    const way = (WAYS[name] as (typeof WAYS)[string])(home, url);
    const { asked, answer } = hold();
    const words = ['token', 'get', '--store', 'file', ...(way.argv ?? [])];
    const running = start(words, { HOME: home, ...AROUND, ...env, ...way.env }, way.input);
    await asked;
    expectNothingShown(running.child.pid as number);
    answer();
    expect(await running.ended).toMatchObject({ status: 0, stderr: '' });
  });

  test('with a credential from a command, no process shows it, not even that command', async () => {
    const home = temporaryHome();
    const { env, url, hold } = await patientServer();
    const gate = path.join(home, 'gate');
    const ready = path.join(home, 'ready');
    // The program waits until the test has examined the processes.
    const script = `> '${ready}'; until [ -e '${gate}' ]; do sleep 0.05; done; exec cat '${write(home, 'secret', SECRET)}'`;
    const own = { restUrl: `${url}/restpp`, gsqlUrl: url, secretCommand: ['sh', '-c', script] };
    const file = write(home, 'own.json', JSON.stringify(own));
    const around = { ...AROUND, TG_PASSWORD: '', TG_JWT_TOKEN: AROUND.TG_PASSWORD };
    const { asked, answer } = hold();
    const argv = ['token', 'get', '--store', 'file', '--config', file];
    const running = start(argv, { HOME: home, ...around, ...env });
    while (!fs.existsSync(ready)) await new Promise((resolve) => setTimeout(resolve, 10));
    const started = expectNothingShown(running.child.pid as number);
    expect(started.map((one) => one.argv.split('\n')[0])).toContain('sh');
    fs.writeFileSync(gate, '');
    await asked;
    expectNothingShown(running.child.pid as number);
    answer();
    expect(await running.ended).toMatchObject({ status: 0, stderr: '' });
  });

  const fromSaved = async (store: string, home: string, session: Record<string, string>) => {
    const { env, hold } = await patientServer();
    const all = { HOME: home, ...session, ...env };
    const login = await start(['login', '--secret-stdin', '--store', store], all, `${SECRET}\n`).ended;
    expect(login.status, login.stderr).toBe(0);
    const { asked, answer } = hold();
    const around = { ...AROUND, TG_PASSWORD: '', GRAPHCRED_STORE_KEY: '' };
    const running = start(['token', 'get', '--fresh', '--store', store], { ...all, ...around });
    await asked;
    expectNothingShown(running.child.pid as number);
    answer();
    expect(await running.ended).toMatchObject({ status: 0, stderr: '' });
  };

  test('with a secret saved in a file, no process shows it', () => fromSaved('file', temporaryHome(), {}));

  test.skipIf(keyringSkipReason() !== undefined)(
    'with a secret saved in the keychain, no process shows it',
    () =>
      withKeyring({ state: 'unlocked' }, ({ home, env }) =>
        fromSaved('keychain', home, env as Record<string, string>),
      ),
  );

  test.skipIf(!python)('with a credential from a prompt, no process shows it', async () => {
    const home = temporaryHome();
    const { env, hold } = await patientServer();
    const { asked, answer } = hold();
    const argv = ['token', 'get', '--store', 'file', '-u', 'alice'];
    const terminal = onTerminal(argv, { env: { HOME: home, TG_API_TOKEN: AROUND.TG_API_TOKEN, ...env } });
    await terminal.see('Password of alice');
    terminal.type(`${PASSWORD}\r`);
    await asked;
    const words = `${COMMAND.join('\n')}\n${argv.join('\n')}\n`;
    const graphcred = processes().find((one) => one.argv === words);
    expect(graphcred).toBeDefined();
    expectNothingShown(graphcred?.pid as number);
    answer();
    const { status, screen } = await terminal.ended;
    expect({ status, screen }).toEqual({ status: 0, screen: expect.not.stringContaining(PASSWORD) });
  });
});
