// Tests what a person is asked, without a terminal. What the terminal shows is tested in test/e2e/terminal-login.test.ts.
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Bench, bench } from '../helpers/cli.js';
import { configOf, configure, profilesOf, unsavable } from '../helpers/home.js';
import { person } from '../helpers/person.js';

vi.mock('inquirer', async () => ({ ...(await import('../helpers/person.js')).inquirer }));

/** Sets what the person answers to which question, in this order; then the person closes the prompt. */
const willAnswer = (...answers: typeof person.answers) => Object.assign(person, { answers, seen: [] });
beforeEach(() => void willAnswer());
// What listens on the usual ports of this machine must not answer: port 1 takes their place.
const connect = net.Socket.prototype.connect;
vi.spyOn(net.Socket.prototype, 'connect').mockImplementation(function (this: net.Socket, ...args: unknown[]) {
  const [{ port } = { port: undefined }] = [args[0]].flat() as { port?: unknown }[];
  if (/^(9000|14240)$/.test(`${port}`)) Object.assign([args[0]].flat()[0] as object, { port: 1 });
  return Reflect.apply(connect, this, args);
});
// Each question listens for the end of the process.
afterEach(() => void process.removeAllListeners('beforeExit'));

const NO_LOGIN = { GRAPHCRED_USERNAME: undefined, GRAPHCRED_PASSWORD: undefined };
const NO_ADDRESS = { GRAPHCRED_REST_URL: undefined, GRAPHCRED_GSQL_URL: undefined };
const PASSWORD = ['Password of tigergraph at http://127.0.0.1', 'tigergraph'] as const;
const SECRET = ['Make a secret for this machine', 'y'] as const;
const NO_SECRET = ['Make a secret for this machine', 'n'] as const;
const ask = (b: Bench, line: string, env: Record<string, string | undefined> = {}) =>
  b.run(line, { person: true, env });

test('a question shows a name from a file without control characters and commands to a runner', async () => {
  const b = await bench();
  configure(b.home, { username: 'a\u001b[31m\u202e##[add-path]b' });
  willAnswer(['Password of a', 'wrong']);
  await ask(b, 'secret list', NO_LOGIN);
  expect(person.seen[0]).toMatch(/^\? password: Password of a \[31m #\\#\[add-path\]b at /);
});

test('a token whose secret is no longer saved is deleted with the password that a person types', async () => {
  const b = await bench({ serverVersion: '4.1.0' });
  const env = { GRAPHCRED_PASSWORD: '' };
  await b.run('secret create ci --save');
  await b.run('token get', { env });
  const { stderr } = await b.run('secret drop ci');
  willAnswer(PASSWORD);
  const line = /graphcred (token delete \w+)/.exec(stderr)?.[1] ?? '';
  expect(await ask(b, line, env)).toMatchObject({ stdout: 'Deleted 1 token.\n' });
});

describe('login', () => {
  test('ends with HOST_MISMATCH when the provider of the file is not of the address that a person types', async () => {
    const b = await bench({ serverVersion: '4.2.0' });
    configure(b.home, { oidc: { issuer: 'https://id.example', clientId: 'x' } });
    const host = b.sandbox.gsqlUrl.replace('http://', '');
    willAnswer(['Host', host], ['Graph', 'demo'], ['User name', 'tigergraph']);
    expect(await ask(b, 'login', { ...NO_LOGIN, ...NO_ADDRESS, GRAPHCRED_GRAPH: undefined })).toMatchObject({
      status: 5,
      stderr: expect.stringMatching(/ not used: oidc.*\n.*hint: give the provider for these servers/),
    });
  });

  test.each([
    ['--device', 'need an identity provider'],
    ['--save-password --oidc-issuer https://id.example --oidc-client-id x', 'has no password to save'],
    ['-p job', 'no login is needed'],
  ])('refuses %s before it asks anything', async (options, why) => {
    const b = await bench();
    const oidc = { issuer: 'https://id.example', clientId: 'x', grant: 'client_credentials' };
    configure(b.home, { profiles: { job: { oidc } } });
    const { status, stderr } = await ask(b, `login ${options}`, { ...NO_LOGIN, ...NO_ADDRESS });
    expect([status, stderr, person.seen]).toEqual([2, expect.stringContaining(why), []]);
  });

  test('takes the usual port of the REST server for that, and asks for no graph on 4.x', async () => {
    const b = await bench({ serverVersion: '4.1.2' });
    const { port } = new URL(b.sandbox.gsqlUrl);
    const line = `login --gsql-port ${port}`;
    willAnswer(
      ['Host, a name or a URL', 'http://127.0.0.1:9000'],
      ['Port of the REST server', port],
      ['Graph (Enter for none)', ''],
      NO_SECRET,
    );
    expect(await ask(b, line, { ...NO_ADDRESS, GRAPHCRED_GRAPH: undefined })).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('Cannot reach http://127.0.0.1:9000'),
    });
    expect(profilesOf(b.home).default).toMatchObject({ host: 'http://127.0.0.1', restPort: Number(port) });
    expect(profilesOf(b.home).default).not.toHaveProperty('graph');
  });

  test.each(['text', 'json'])(
    'prints the value of a new secret that cannot be saved, as %s',
    async (format) => {
      const b = await bench();
      const renames = unsavable('graphcred');
      willAnswer(SECRET);
      const { status, stdout, stderr } = await ask(b, `login -p dev -o ${format}`);
      renames.mockRestore();
      expect(status).toBe(6);
      const value = format === 'json' ? JSON.parse(stdout).secret : /^([a-z0-9]{32})$/m.exec(stdout)?.[1];
      expect((await b.run('token get --secret-stdin', { stdin: value })).status).toBe(0);
      if (format === 'text')
        expect(stderr).toContain('secret "graphcred": this is the only time its value is shown');
      expect(stderr).toContain('The secret was made, but it could not be saved');
    },
  );

  test('keeps a new secret when the profile cannot be written, and uses it the next time', async () => {
    const b = await bench();
    const rename = fs.renameSync;
    const full = vi.spyOn(fs, 'renameSync').mockImplementation((from, to) => {
      if (String(to).endsWith('config.json')) throw Object.assign(new Error(), { code: 'EROFS' });
      rename(from, to);
    });
    willAnswer(SECRET);
    const { status, stderr } = await ask(b, 'login -p dev');
    expect(status).not.toBe(0);
    expect(stderr).toContain('Already done: made the secret "graphcred", saved it.');
    full.mockRestore();
    willAnswer();
    expect(await ask(b, 'login -p dev')).toMatchObject({ status: 0 });
    expect(profilesOf(b.home).dev).toMatchObject({ secretAlias: 'graphcred' });
  });

  test('says that a secret may have been made when the answer to its making is cut off', async () => {
    const b = await bench({ serverVersion: '4.1.2' });
    b.sandbox.addFault({ action: 'drop-after', route: 'POST /gsql/v1/secrets' });
    willAnswer(SECRET);
    const { status, stderr } = await ask(b, 'login -p dev');
    expect(status).toBe(7);
    expect(stderr).toContain('So the secret "graphcred" may have been made, and its value is lost.');
    expect(stderr).toContain('graphcred secret drop graphcred --ignore-missing');
  });

  test('asks for the port of a REST server that does not answer, whatever option names it', async () => {
    const b = await bench();
    const [rest, gsql] = [b.sandbox.restUrl, b.sandbox.gsqlUrl].map((url) => new URL(url).port);
    const port = ['Port of the REST server', rest ?? ''] as const;
    const env = { ...NO_ADDRESS, GRAPHCRED_PASSWORD: undefined };
    for (const address of [
      `--host http://127.0.0.1 --gsql-port ${gsql}`,
      `--gsql-url ${b.sandbox.gsqlUrl}`,
    ]) {
      willAnswer(port, PASSWORD, NO_SECRET);
      const { status, stderr } = await ask(b, `login ${address} --rest-port 1`, env);
      expect({ status, left: person.answers }).toEqual({ status: 0, left: [] });
      expect(stderr).toContain('Cannot reach http://127.0.0.1:1: the connection was refused.');
      expect(profilesOf(b.home).default).toMatchObject({ restPort: Number(rest) });
    }
  });

  test('writes no profile for a URL of a REST server that does not answer, or is none', async () => {
    const b = await bench();
    b.sandbox.addFault({ action: 'html', route: '/echo' });
    for (const [url, code, why] of [
      ['http://127.0.0.1:1', 7, 'Cannot reach http://127.0.0.1:1'],
      [b.sandbox.restUrl, 8, 'is not a REST server'],
    ] as const) {
      const { status, stderr } = await ask(b, 'login', { GRAPHCRED_REST_URL: url });
      expect([status, stderr]).toEqual([code, expect.stringContaining(why)]);
    }
    expect([person.seen, fs.existsSync(configOf(b.home))]).toEqual([[], false]);
  });

  test('asks for no other password after an error that a password does not mend', async () => {
    const b = await bench();
    b.sandbox.addFault({ action: 'status', status: 500, route: '/gsqlserver/gsql/file' });
    willAnswer(PASSWORD, PASSWORD);
    expect((await ask(b, 'login -p dev', { GRAPHCRED_PASSWORD: undefined })).status).not.toBe(0);
    expect(person.seen).toHaveLength(1);
  });

  test('asks again for a graph of a name that no server can have', async () => {
    const b = await bench();
    willAnswer(PASSWORD, ['Graph', 'demo'], NO_SECRET);
    const env = { GRAPHCRED_GRAPH: 'my-graph', GRAPHCRED_PASSWORD: undefined };
    const stderr = expect.stringContaining('is not valid (use letters');
    expect(await ask(b, 'login -p dev', env)).toMatchObject({ status: 0, stderr });
  });

  test.each(['4.1.2', '3.6.1'])('a login on %s uses a saved secret', async (version) => {
    const b = await bench({ serverVersion: version });
    await b.run('secret create ci --save');
    const { status, stdout } = await ask(b, 'login -p dev', { GRAPHCRED_PASSWORD: undefined });
    expect({ status, left: person.answers }).toEqual({ status: 0, left: [] });
    expect(stdout).toContain('The secret "ci" is used as before.');
    expect(profilesOf(b.home).dev).toMatchObject({ secretAlias: 'ci' });
  });

  test.skipIf(process.platform !== 'linux').each([
    ['y', 'file'],
    ['n', 'none'],
  ])(
    'asks where to keep secrets if there is no keychain, and with the answer %s goes on so',
    async (answer, store) => {
      const b = await bench();
      const where = ['Save encrypted in ~/', answer] as const;
      willAnswer(where, ...(store === 'file' ? [NO_SECRET] : []));
      const { status, stderr } = await ask(b, 'login -p dev', { GRAPHCRED_STORE: undefined });
      expect({ status, left: person.answers }).toEqual({ status: 0, left: [] });
      expect(stderr).toContain('keychain');
      const written = fs.readFileSync(path.join(b.home, '.config/graphcred/store'), 'utf8');
      expect(written).toBe(`${store}\n`);
    },
  );

  test.skipIf(process.platform !== 'linux')('saves no password where nothing is to be kept', async () => {
    const b = await bench();
    willAnswer(['Save encrypted in ~/', 'n']);
    const { status, stderr } = await ask(b, 'login -p dev --save-password', { GRAPHCRED_STORE: undefined });
    expect(status).toBe(2);
    expect(stderr).toContain('--save-password needs a persistent store');
    expect(fs.existsSync(path.join(b.home, '.config/graphcred/config.json'))).toBe(false);
  });
});

describe('token get', () => {
  const NOTHING = { ...NO_LOGIN, GRAPHCRED_GRAPH: undefined };

  test('asks for no graph on 3.x if there is a secret, which belongs to one', async () => {
    const b = await bench();
    const GRAPHCRED_SECRET = (await b.run('secret create ci')).stdout.trim();
    expect((await ask(b, 'token get', { ...NOTHING, GRAPHCRED_SECRET })).status).toBe(0);
    expect(person.seen).toEqual([]);
  });

  test('asks without a suggestion if there is no home folder', async () => {
    const b = await bench();
    willAnswer(['Graph', 'demo'], ['User name at http://127.0.0.1', 'tigergraph'], PASSWORD);
    const env = { ...NOTHING, GRAPHCRED_STORE: undefined };
    expect((await b.run('token get', { person: true, env, homeless: true })).status).toBe(0);
    expect(person.seen.join()).not.toContain('(');
  });

  test('asks for a password in place of one for other servers, and says so', async () => {
    const b = await bench();
    willAnswer(PASSWORD);
    const env = { GRAPHCRED_PASSWORD: undefined, TG_HOST: 'http://a.example', TG_PASSWORD: 'hunter22' };
    const { status, stderr } = await ask(b, 'token get', env);
    expect(status).toBe(0);
    expect(stderr).toMatch(/TG_HOST names http:\/\/a.example:14240, but .*; not used: TG_PASSWORD\n/);
  });
});

test('the secret of a login is created with the full time limit, since a person was asked in between', async () => {
  const b = await bench({ serverVersion: '4.1.2' });
  willAnswer(SECRET);
  // Two requests together take longer than the time limit.
  b.sandbox.addFault({ action: 'delay', ms: 700, route: '/gsql/v1/secrets' });
  const { status, stdout } = await ask(b, 'login -p dev', { GRAPHCRED_TIMEOUT: '1' });
  expect({ status, stdout }).toEqual({
    status: 0,
    stdout: expect.stringContaining('The secret "graphcred" is saved'),
  });
});
