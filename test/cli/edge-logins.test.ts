import fs from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { LoggedIn } from '../../src/app/login/prove.js';
import { dropMadeSecret, makeSecret, save } from '../../src/app/login/save.js';
import { GraphException, Sensitive } from '../../src/index.js';
import type { StoreRecord } from '../../src/store/store.js';
import { bench } from '../helpers/cli.js';

afterEach(() => vi.restoreAllMocks());

const configOf = (home: string) => path.join(home, '.config/graphcred/config.json');
const configure = (home: string, config: object) => {
  fs.mkdirSync(path.dirname(configOf(home)), { recursive: true, mode: 0o700 });
  fs.writeFileSync(configOf(home), JSON.stringify(config), { mode: 0o600 });
};
const profileIn = (home: string) => JSON.parse(fs.readFileSync(configOf(home), 'utf8')).profiles.new;

describe('login writes to the profile', () => {
  test('no lifetime that the file sets for all profiles', async () => {
    const { run, home } = await bench();
    configure(home, { lifetime: '2h', profiles: {} });
    expect((await run('login -p new')).status).toBe(0);
    expect(profileIn(home)).not.toHaveProperty('lifetime');
    expect((await run('login -p new', { env: { GRAPHCRED_LIFETIME: '3h' } })).status).toBe(0);
    expect(profileIn(home)).toMatchObject({ lifetime: '3h' });
  });

  test('no host beside the URLs of both servers', async () => {
    const { run, home } = await bench();
    expect((await run('login -p new')).status).toBe(0);
    expect(profileIn(home)).not.toHaveProperty('host');
  });

  test('this machine as the host when only ports were given', async () => {
    const { run, home, sandbox } = await bench();
    const env = {
      GRAPHCRED_GSQL_URL: undefined,
      GRAPHCRED_REST_URL: undefined,
      GRAPHCRED_GSQL_PORT: new URL(sandbox.gsqlUrl).port,
      GRAPHCRED_REST_PORT: new URL(sandbox.restUrl).port,
    };
    expect((await run('login -p new', { env })).status).toBe(0);
    expect(profileIn(home)).toMatchObject({ host: 'http://127.0.0.1' });
  });
});

test('a user without the privilege to mint a token is logged in on 4.x', async () => {
  const { run, home, sandbox } = await bench({ serverVersion: '4.1.2' });
  sandbox.addFault({ action: 'status', status: 403, route: 'POST /gsql/v1/tokens' });
  const { status, stdout } = await run('login -p new');
  expect(status).toBe(0);
  expect(stdout).toContain('Logged in to http://127.0.0.1');
  expect(profileIn(home)).toMatchObject({ graph: 'demo' });
});

test('the error of a credential for other servers names the one of highest priority', async () => {
  const { run, home } = await bench();
  const env = {
    GRAPHCRED_PASSWORD: undefined,
    TG_HOST: 'http://a.example',
    TG_SECRET: 's'.repeat(32),
    TG_PASSWORD: 'hunter22',
  };
  configure(home, { profiles: {} });
  const { status, stderr } = await run('token get', { env });
  expect({ status, named: /The credential from (\S+)/.exec(stderr)?.[1] }).toEqual({
    status: 5,
    named: 'TG_SECRET',
  });
});

test('api says so when the token that the server refused cannot be forgotten', async () => {
  const { run, json } = await bench();
  const { token } = await json<{ token: string }>('token get');
  await run('token delete --token-stdin --store none', { stdin: token });
  const remove = fs.rmSync;
  vi.spyOn(fs, 'rmSync').mockImplementation((file, options) => {
    if (/token-[0-9a-f]+\.json$/.test(String(file)))
      throw Object.assign(new Error('read-only'), { code: 'EROFS' });
    remove(file, options);
  });
  const { status, stderr } = await run('api /echo');
  expect(stderr).toContain('the refused token could not be forgotten here');
  expect(status).toBe(0);
});

test('prune spares a secret that a hidden config file names for all its profiles', async () => {
  const { run, json, home } = await bench();
  const { secret } = await json<{ secret: string }>('secret create');
  await run('secret create');
  fs.mkdirSync(path.dirname(configOf(home)), { recursive: true, mode: 0o700 });
  fs.writeFileSync(path.join(home, 'all.secret'), `${secret}\n`, { mode: 0o600 });
  configure(home, { secretFile: '~/all.secret', profiles: {} });
  const own = path.join(home, 'own.json');
  fs.writeFileSync(own, '{"profiles":{}}', { mode: 0o600 });
  const { dropped } = await json<{ dropped: string[] }>(`secret prune --dry-run --config ${own}`);
  expect(dropped).toHaveLength(1);
});

test('a login whose password cannot be saved still reports the secret that was saved', async () => {
  const written: string[] = [];
  const write = async ({ kind }: StoreRecord) => {
    if (kind === 'password') throw new GraphException('STORE_LOCKED', 'locked');
    written.push(kind);
  };
  const servers = { gsqlUrl: 'http://a:1', restUrl: 'http://a:2' };
  const session = { target: { ...servers, host: 'http://a' }, ports: { now: Date.now } };
  const login = {
    credential: { kind: 'password', username: 'ada', owner: 'ada', value: async () => new Sensitive('p') },
    connected: { version: { secretsNeedGraph: false } },
  };
  const choices = { store: { name: 'file', write, list: async () => [] }, alias: 'ci', password: true };
  const made = { value: new Sensitive('s'), isNew: true };
  const saved = await save(
    ...([session, login, choices, made, () => {}] as unknown as Parameters<typeof save>),
  );
  expect(saved).toMatchObject({
    name: 'ci',
    password: false,
    failure: {
      code: 'STORE_LOCKED',
      message: 'You are logged in, but the password could not be saved: locked',
    },
  });
  expect(written).toEqual(['secret']);
});

test('the error of a failed login names the new secret only if it could not be dropped', async () => {
  const drop = (failed: object | undefined) =>
    ({ connected: { connection: { dropSecrets: async () => ({ failed }) } } }) as unknown as LoggedIn;
  const error = new GraphException('CONFIG_INVALID', 'It is YAML.', { hint: 'write JSON' });
  expect(await dropMadeSecret(drop(undefined), 'ci', error)).toBe(error);
  expect(await dropMadeSecret(drop({ alias: 'ci' }), 'ci', error)).toMatchObject({
    code: 'CONFIG_INVALID',
    message: 'It is YAML. The secret ci was made and stays.',
    hint: 'drop it, then log in again: graphcred secret drop ci',
  });
});

test('a new secret that cannot be saved is printed with the hint to keep it', async () => {
  const write = async () => {
    throw new GraphException('STORE_LOCKED', 'It is locked.', { hint: 'unlock it' });
  };
  const servers = { gsqlUrl: 'http://a:1', restUrl: 'http://a:2' };
  const session = { target: { ...servers, host: 'http://a' }, ports: { now: Date.now } };
  const login = { credential: { kind: 'password', username: 'ada' }, connected: {} };
  const choices = { store: { name: 'file', write }, alias: 'ci', password: false };
  const made = { value: new Sensitive('s'), isNew: true };
  const saved = await save(
    ...([session, login, choices, made, () => {}] as unknown as Parameters<typeof save>),
  );
  expect(saved).toMatchObject({
    name: undefined,
    failure: { message: 'The secret was created, but it could not be saved: It is locked.' },
  });
  expect(saved.failure?.hint).toBe('keep the value that was printed: it is never shown again');
});

test('a given secret that cannot be saved is not printed', async () => {
  const { run } = await bench({ serverVersion: '4.1.2' });
  const secret = (await run('secret create ci')).stdout.trim();
  const rename = fs.renameSync;
  vi.spyOn(fs, 'renameSync').mockImplementation((from, to) => {
    if (fs.readFileSync(from, 'utf8').includes('"alias":"ci"'))
      throw Object.assign(new Error('read-only'), { code: 'EROFS' });
    rename(from, to);
  });
  const env = { GRAPHCRED_PASSWORD: undefined };
  const { status, stdout, stderr } = await run('login -p new --secret-stdin', { env, stdin: secret });
  expect({ status, stderr }).toEqual({
    status: 6,
    stderr: expect.stringContaining('You are logged in, but the secret could not be saved'),
  });
  expect(stdout).toContain('Logged in to');
  expect(stdout + stderr).not.toContain(secret);
});

test('on 3.x a secret that was saved without a graph is used for every graph', async () => {
  const { run } = await bench();
  const secret = (await run('secret create ci')).stdout;
  const env = { GRAPHCRED_PASSWORD: undefined };
  const login = await run('login -p new --secret-stdin', {
    stdin: secret,
    env: { ...env, GRAPHCRED_GRAPH: undefined },
  });
  expect(login.status).toBe(0);
  expect((await run('token get', { env })).status).toBe(0);
});

test('the value of a new secret is printed in case of a bug while it is saved, and then the bug is reported', async () => {
  const printed: string[] = [];
  const write = async () => {
    throw new TypeError('nobody thought of this');
  };
  const servers = { gsqlUrl: 'http://a:1', restUrl: 'http://a:2' };
  const session = { target: { ...servers, host: 'http://a' }, ports: { now: Date.now } };
  const show = (secret: string) => printed.push(secret);
  const login = { credential: { kind: 'password', username: 'ada' }, connected: {} };
  const choices = { store: { name: 'file', write }, alias: 'ci', password: false };
  const saving = save(
    ...([session, login, choices, { value: new Sensitive('s'), isNew: true }, show] as unknown as Parameters<
      typeof save
    >),
  );
  await expect(saving).rejects.toThrow('nobody thought of this');
  expect(printed).toEqual(['s']);
});

test('a bug while a secret is made is no reason to go on with a login', async () => {
  const createSecret = async () => {
    throw new TypeError('nobody thought of this');
  };
  const session = { learned: {} };
  const login = { connected: { connection: { createSecret } }, credential: { kind: 'password' } };
  const making = makeSecret(
    ...([session, login, { alias: 'ci' }] as unknown as Parameters<typeof makeSecret>),
  );
  await expect(making).rejects.toThrow('nobody thought of this');
});

test.each([
  [undefined, 'You are logged in, but no secret is saved: No.'],
  [130, 'No. So the secret ci may have been made.'],
])('a secret that cannot be made ends a login only after a signal (%s)', async (status, message) => {
  const createSecret = async () => {
    throw new GraphException('NETWORK', 'No.');
  };
  const session = {
    learned: {},
    interruption: { status, begin: () => {} },
  };
  const login = { connected: { connection: { createSecret } }, credential: { kind: 'password' } };
  const made = await makeSecret(
    ...([session, login, { alias: 'ci' }] as unknown as Parameters<typeof makeSecret>),
  ).catch((error) => error);
  if (status === undefined)
    expect(made).toMatchObject({ value: undefined, isNew: false, failure: { code: 'NETWORK', message } });
  else
    expect(made).toMatchObject({
      code: 'NETWORK',
      message,
      hint: 'drop it, then log in again: graphcred secret drop ci --ignore-missing',
    });
});
