import fs from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { dropMadeSecret, type LoginState, makeSecret, proveGraph, save } from '../../src/app/login/log-in.js';
import { secretId } from '../../src/auth/credential.js';
import { GraphException } from '../../src/core/errors.js';
import { Sensitive } from '../../src/core/sensitive.js';
import { tryLock } from '../../src/files/lock.js';
import type { StoreRecord } from '../../src/store/store.js';
import { bench, cli } from '../helpers/cli.js';
import { configOf, configure, profilesOf, put } from '../helpers/home.js';

const profileNames = (home: string) => Object.keys(profilesOf(home)).sort();

const profileIn = (home: string) => profilesOf(home).new;

afterEach(() => vi.restoreAllMocks());

// holds: C2.22
test('--save-password without a persistent store is USAGE before the password is sent', async () => {
  const { run, sandbox } = await bench();
  const { status, stderr } = await run('login -p dev --save-password --store none');
  expect(status).toBe(2);
  expect(stderr).toContain('--save-password needs a persistent store');
  expect(sandbox.requests.filter(({ login }) => login !== 'none')).toEqual([]);
});

// holds: C2.20
test.each(['3.10.1', '4.1.2', '4.2.0'])(
  'on %s a graph that does not exist is NOT_FOUND and writes no profile',
  async (serverVersion) => {
    const { run, home } = await bench({ serverVersion });
    const { status } = await run('login -p dev --graph nope');
    expect(status).toBe(3);
    expect(fs.existsSync(path.join(home, '.config/graphcred/config.json'))).toBe(false);
  },
);

test('login mints no token from a secret in a variable, because the next command can mint it', async () => {
  const { run, json } = await bench();
  const secret = (await run('secret create mine')).stdout.trim();
  const env = { GRAPHCRED_PASSWORD: '', GRAPHCRED_SECRET: secret };
  expect(await run('login -p dev', { env })).toMatchObject({ status: 0 });
  expect(await json('token list')).toMatchObject({ tokens: [] });
});

test('a secret that was saved for another REST server does not become the profile’s', async () => {
  const { run, home } = await bench();
  await run('secret create mine --save');
  const elsewhere = { env: { GRAPHCRED_REST_URL: 'http://127.0.0.1:1' } };
  expect(await run('login -p there', elsewhere)).toMatchObject({ status: 0 });
  expect(profilesOf(home).there).not.toHaveProperty('secretAlias');
  expect(await run('login -p here')).toMatchObject({ status: 0 });
  expect(profilesOf(home).here).toMatchObject({ secretAlias: 'mine' });
});

test('a generated secret is dropped again only if it cannot be anybody else’s', async () => {
  const listed = (...aliases: string[]) => aliases.map((alias) => ({ alias, masked: '****' }));
  for (const [now, dropped] of [
    [['AUTO_GENERATED_ALIAS_old', 'AUTO_GENERATED_ALIAS_new', 'theirs'], ['AUTO_GENERATED_ALIAS_new']],
    [['AUTO_GENERATED_ALIAS_old', 'AUTO_GENERATED_ALIAS_new', 'AUTO_GENERATED_ALIAS_other'], []],
  ]) {
    const gone: string[] = [];
    const connection = {
      mintToken: async () => {},
      listSecrets: async () => listed(...(now as string[])),
      dropSecrets: async (aliases: string[]) => gone.push(...aliases),
    };
    const login = {
      call: { graph: 'demo' },
      connection,
      version: { secretsNeedGraph: false },
      credential: { kind: 'password' },
      taken: new Set(['AUTO_GENERATED_ALIAS_old']),
    };
    await proveGraph(login as unknown as LoginState);
    expect(gone).toEqual(dropped);
  }
});

test('a given secret gets the server’s alias only if exactly one listed mask matches', async () => {
  const secrets = ['one', 'two'].map((alias) => ({
    alias,
    value: `k3v${alias}q2m8x1c7b5n4l6h0g3f2d8s9a1p4`,
    user: 'tigergraph',
    graph: 'demo',
  }));
  const stdin = String(secrets[0]?.value);
  for (const [seed, name] of [
    [secrets, secretId(new Sensitive(stdin))],
    [secrets.slice(0, 1), 'one'],
  ] as const) {
    const { run, home } = await bench({ serverVersion: '4.1.2', secrets: seed });
    const given = { stdin, env: { GRAPHCRED_PASSWORD: '' } };
    expect(await run('login -p dev --secret-stdin', given)).toMatchObject({ status: 0 });
    expect(profilesOf(home).dev).toMatchObject({ secretAlias: name });
  }
});

test.each([
  ['token get', 'logout', 'Forgot 1 token of '],
  ['secret create ci --save', 'logout', 'Forgot 1 saved credential of '],
  ['secret create ci --save;token get', 'logout', 'Forgot 1 token and 1 saved credential of '],
  ['token get', 'logout --revoke', 'Revoked and forgot 1 token of '],
  [
    'secret create ci --save;token get',
    'logout --revoke',
    'Revoked and forgot 1 token, forgot 1 saved credential of ',
  ],
])('after %j, %j names only what was there', async (before, line, printed) => {
  const { run, sandbox } = await bench();
  for (const one of before.split(';')) expect((await run(one)).status).toBe(0);
  expect(await run(line)).toMatchObject({ status: 0, stdout: `${printed}${sandbox.gsqlUrl}.\n` });
});

test('a login whose first token cannot be minted is a login all the same', async () => {
  const { run, home, sandbox } = await bench({ serverVersion: '3.6.1' });
  const stdin = (await run('secret create mine')).stdout;
  sandbox.addFault({ action: 'status', status: 500, route: 'POST /requesttoken', nth: 2 });
  const { status, stderr } = await run('login -p dev --secret-stdin', {
    stdin,
    env: { GRAPHCRED_PASSWORD: undefined },
  });
  expect({ status, stderr }).toEqual({
    status: 0,
    stderr: expect.stringContaining('there is no token yet: '),
  });
  expect(profilesOf(home).dev).toMatchObject({ secretAlias: expect.stringMatching(/^secret:/) });
});

test('a given secret is saved without an alias if the server does not list the secrets', async () => {
  const { run, home, sandbox } = await bench({ serverVersion: '4.1.2' });
  const stdin = (await run('secret create mine')).stdout.trim();
  sandbox.addFault({ action: 'status', status: 500, route: 'GET /gsql/v1/secrets' });
  expect((await run('login -p dev --secret-stdin', { stdin })).status).toBe(0);
  expect(profilesOf(home).dev).toMatchObject({ secretAlias: secretId(new Sensitive(stdin)) });
});

test('login without a home folder is an error before anything is sent with a credential', async () => {
  const { run } = await bench();
  const env = { GRAPHCRED_STORE: undefined };
  expect(await run('login -p dev', { env, homeless: true })).toMatchObject({
    status: 6,
    stderr: expect.stringContaining('There is no home folder for a config file.'),
  });
});

describe('a login that is interrupted while the graph is tested', () => {
  const error = new GraphException('CANCELLED', 'It was cancelled.');
  const warnings: string[] = [];
  const ending = async (
    outcome: { minted?: unknown; dropped?: unknown },
    secret?: string,
    status?: number,
  ) => {
    const connection = {
      mintToken: async () => {
        if (outcome.minted) throw outcome.minted;
      },
      listSecrets: async () => [{ alias: 'AUTO_GENERATED_ALIAS_x', masked: '****' }],
      dropSecrets: async () => ({ failed: outcome.dropped && { error: outcome.dropped } }),
    };
    const version = { secretsNeedGraph: false };
    const interruption = { status, begin: () => {} };
    const reporter = { warn: (text: string) => warnings.push(text) };
    const call = { graph: 'demo', interruption, ports: { reporter } };
    const own = secret && { secret: new Sensitive(secret) };
    const login = { call, connection, version, credential: { kind: 'password' }, taken: new Set(), ...own };
    return proveGraph(login as unknown as LoginState).catch((thrown) => thrown);
  };
  const NAMED = {
    code: 'CANCELLED',
    message: expect.stringContaining('AUTO_GENERATED_ALIAS_'),
    hint: expect.stringContaining('graphcred secret prune'),
  };

  test('names the secret that the server may have made for the token', async () => {
    expect(await ending({ minted: error }, undefined, 130)).toMatchObject(NAMED);
    expect(await ending({ dropped: error }, undefined, 130)).toMatchObject(NAMED);
  });

  test('names none if the login made a secret of its own, if nothing failed, and in case of a bug', async () => {
    expect(await ending({ minted: error }, 's'.repeat(32), 130)).toBe(error);
    expect(await ending({}, undefined, 130)).toBeUndefined();
    const bug = new TypeError('oops');
    expect(await ending({ minted: bug }, undefined, 130)).toBe(bug);
  });

  test('and one that is not interrupted reports the error as it is, or warns if only the secret stays', async () => {
    expect(await ending({ minted: error })).toBe(error);
    expect(warnings).toEqual([]);
    expect(await ending({ dropped: error })).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining('graphcred secret prune')]);
  });
});

test('the first token of a login is minted from the secret just saved, whatever --secret-alias names', async () => {
  const { run, json } = await bench({ serverVersion: '4.1.2' });
  const { secret } = await json<{ secret: string }>('secret create ci');
  const env = { GRAPHCRED_PASSWORD: '' };
  const login = await run('login -p dev --secret-stdin --secret-alias other', { stdin: secret, env });
  expect(login).toMatchObject({ status: 0, stderr: expect.not.stringContaining('there is no token yet') });
  expect((await json<{ tokens: unknown[] }>('token list')).tokens).toHaveLength(1);
});

// On Linux the environment of the test leads to no session bus, and so to no keychain.
const linux = process.platform === 'linux';
if (!linux) console.log('the login without a keychain is skipped: elsewhere than on Linux there is one');

test.runIf(linux)(
  'login --store keychain without a keychain fails before it deletes the tokens of the file store',
  async () => {
    const { run, json } = await bench();
    await run('token get');
    expect((await run('login -p dev --store keychain')).status).toBe(6);
    expect((await json<{ tokens: unknown[] }>('token list')).tokens).toHaveLength(1);
  },
);

// holds: C2.35
test('logout --all without a keychain and without a record says that nothing is kept', async () => {
  const { run } = await bench();
  expect((await run('logout --all --yes', { env: { GRAPHCRED_STORE: 'keychain' } })).status).toBe(3);
});

test('a login that gives a profile another port does not use the credentials of the old database', async () => {
  const b = await bench();
  const away = await bench();
  const { secret } = await away.json<{ secret: string }>('secret create ci');
  const portOf = (url: string) => new URL(url).port;
  const old = {
    host: 'http://127.0.0.1',
    restPort: portOf(away.sandbox.restUrl),
    gsqlPort: portOf(away.sandbox.gsqlUrl),
    graph: 'demo',
    username: 'tigergraph',
  };
  const profile = { ...old, secretCommand: ['echo', secret], serverVersion: '3.5.0', lifetime: '15m' };
  const file = configure(b.home, { profiles: { prod: profile } });
  const ports = {
    restPort: portOf(b.sandbox.restUrl),
    gsqlPort: portOf(b.sandbox.gsqlUrl),
  };
  const env = { GRAPHCRED_STORE: 'file', GRAPHCRED_PASSWORD: b.sandbox.password };
  const flags = ['--gsql-port', ports.gsqlPort, '--rest-port', ports.restPort];
  const login = await cli(b.home, ['login', '-p', 'prod', ...flags], { env });
  expect(login.status, login.stderr).toBe(0);
  const { prod } = JSON.parse(fs.readFileSync(file, 'utf8')).profiles;
  expect(prod).toEqual({
    ...old,
    restPort: Number(ports.restPort),
    gsqlPort: Number(ports.gsqlPort),
    lifetime: '15m',
  });
  expect(login.stderr).toContain('secretCommand');
  const got = await cli(b.home, ['token', 'get', '-p', 'prod'], { env: { GRAPHCRED_STORE: 'file' } });
  expect(got.status).toBe(2);
  expect(b.sandbox.requests.filter(({ path: route }) => route === '/requesttoken')).toEqual([]);
});

describe('login', () => {
  const login = async (serverVersion: string, ...before: string[]) => {
    const { run, home, sandbox } = await bench({ serverVersion, graphs: ['demo', 'other'] });
    for (const line of before) await run(line);
    const result = await run('login -p new');
    const config = JSON.parse(fs.readFileSync(configOf(home), 'utf8'));
    return { ...result, alias: config.profiles.new.secretAlias, sandbox };
  };

  test('takes the one secret that is saved here, and of several none', async () => {
    expect((await login('3.10.1', 'secret create ci --save')).alias).toBe('ci');
    const two = ['secret create ci --save', 'secret create nightly --save'];
    expect((await login('3.10.1', ...two)).alias).toBeUndefined();
  });

  test('takes a secret saved for another graph on 4.x, where it is valid for all, and not on 3.x', async () => {
    const elsewhere = 'secret create ci --save --graph other';
    expect((await login('3.10.1', elsewhere)).alias).toBeUndefined();
    expect((await login('4.1.2', elsewhere)).alias).toBe('ci');
  });
});

test('login with other ports keeps the host of the profile', async () => {
  const { run, home, sandbox } = await bench();
  const [gsqlPort, restPort] = [sandbox.gsqlUrl, sandbox.restUrl].map((url) => Number(new URL(url).port));
  configure(home, { profiles: { p: { host: 'http://localhost', gsqlPort: 1, restPort: 2 } } });
  const env = { GRAPHCRED_GSQL_URL: undefined, GRAPHCRED_REST_URL: undefined };
  const line = `login -p p --gsql-port ${gsqlPort} --rest-port ${restPort}`;
  expect((await run(line, { env })).status).toBe(0);
  const { p } = JSON.parse(fs.readFileSync(configOf(home), 'utf8')).profiles;
  expect(p).toMatchObject({ host: 'http://localhost', gsqlPort, restPort });
});

test('login with another REST port replaces the URL of the REST server and not that of the GSQL server', async () => {
  const { run, home, sandbox } = await bench();
  const { gsqlUrl } = sandbox;
  const file = configure(home, { profiles: { p: { gsqlUrl, restUrl: 'http://b.example:9000' } } });
  const env = { GRAPHCRED_GSQL_URL: undefined, GRAPHCRED_REST_URL: undefined };
  const { port } = new URL(sandbox.restUrl);
  expect(await run(`login -p p --rest-port ${port}`, { env })).toMatchObject({ status: 0 });
  const { p } = JSON.parse(fs.readFileSync(file, 'utf8')).profiles;
  expect(p).toMatchObject({ gsqlUrl, restPort: Number(port) });
  expect(p).not.toHaveProperty('restUrl');
});

describe('login writes to the profile', () => {
  test('no lifetime that the file sets for all profiles', async () => {
    const { run, home } = await bench();
    configure(home, { lifetime: '2h', profiles: {} });
    expect((await run('login -p new')).status).toBe(0);
    expect(profileIn(home)).not.toHaveProperty('lifetime');
    expect((await run('login -p new', { env: { GRAPHCRED_LIFETIME: '3h' } })).status).toBe(0);
    expect(profileIn(home)).toMatchObject({ lifetime: '3h' });
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

/** A login with a new secret whose store has this `write`. */
function unsavedLogin(write: (record: StoreRecord) => Promise<void>, more: object = {}): LoginState {
  const target = { gsqlUrl: 'http://a:1', restUrl: 'http://a:2', host: 'http://a' };
  const login = {
    call: { target, ports: { now: Date.now } },
    credential: { kind: 'password', username: 'ada', owner: 'ada', value: async () => new Sensitive('p') },
    version: { secretsNeedGraph: false },
    store: { name: 'file', write, list: async () => [] },
    alias: 'ci',
    secret: new Sensitive('s'),
    password: false,
    ...more,
  };
  return login as unknown as LoginState;
}

test('a login whose password cannot be saved still reports the secret that was saved', async () => {
  const written: string[] = [];
  const write = async ({ kind }: StoreRecord) => {
    if (kind === 'password') throw new GraphException('STORE_LOCKED', 'locked');
    written.push(kind);
  };
  const login = unsavedLogin(write, { password: true });
  await save(login, () => {});
  expect(login).toMatchObject({
    secretAlias: 'ci',
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
    ({ connection: { dropSecrets: async () => ({ failed }) } }) as unknown as LoginState;
  const error = new GraphException('CONFIG_INVALID', 'It is YAML.', { hint: 'write JSON' });
  expect(await dropMadeSecret(drop(undefined), 'ci', error)).toBe(error);
  expect(await dropMadeSecret(drop({ alias: 'ci' }), 'ci', error)).toMatchObject({
    code: 'CONFIG_INVALID',
    message: 'It is YAML. The secret ci was made and stays.',
    hint: 'drop it, then log in again: graphcred secret drop ci',
  });
});

test('a new secret that cannot be saved is printed with the hint to keep it', async () => {
  const login = unsavedLogin(async () => {
    throw new GraphException('STORE_LOCKED', 'It is locked.', { hint: 'unlock it' });
  });
  await save(login, () => {});
  expect(login).toMatchObject({
    failure: { message: 'The secret was created, but it could not be saved: It is locked.' },
  });
  expect(login).not.toHaveProperty('secretAlias');
  expect(login.failure?.hint).toBe('keep the value that was printed: it is never shown again');
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

test('the value of a new secret is printed in case of a bug while it is saved, and then the bug is reported', async () => {
  const printed: string[] = [];
  const login = unsavedLogin(async () => {
    throw new TypeError('nobody thought of this');
  });
  await expect(save(login, (secret) => printed.push(secret))).rejects.toThrow('nobody thought of this');
  expect(printed).toEqual(['s']);
});

test.each([
  [undefined, 'You are logged in, but no secret is saved: No.'],
  [130, 'No. So the secret ci may have been made.'],
])('a secret that cannot be made ends a login only after a signal (%s)', async (status, message) => {
  const createSecret = async () => {
    throw new GraphException('NETWORK', 'No.');
  };
  const call = { interruption: { status, begin: () => {} } };
  const login = { call, connection: { createSecret }, alias: 'ci' } as unknown as LoginState;
  const error = await makeSecret(login).catch((thrown) => thrown);
  if (status === undefined)
    expect(login).toMatchObject({ alias: undefined, failure: { code: 'NETWORK', message } });
  else
    expect(error).toMatchObject({
      code: 'NETWORK',
      message,
      hint: 'drop it, then log in again: graphcred secret drop ci --ignore-missing',
    });
});

// holds: C2.20
test('login writes a profile without a secret, and logout deletes tokens and secrets', async () => {
  const { run, env, home, sandbox } = await bench();
  const { GRAPHCRED_REST_URL: restUrl, GRAPHCRED_GSQL_URL: gsqlUrl } = env as Record<string, string>;
  const password = sandbox.password;
  const line = `login -p prod --graph demo -u tigergraph --password-stdin --rest-url ${restUrl} --gsql-url ${gsqlUrl} --store file`;
  const bare = { GRAPHCRED_STORE: '' };
  const login = await cli(home, line.split(' '), { stdin: `${password}\n`, env: bare });
  expect(login).toMatchObject({ status: 0, stdout: expect.stringContaining('prod') });
  const file = path.join(home, '.config/graphcred/config.json');
  expect(JSON.parse(fs.readFileSync(file, 'utf8'))).toEqual({
    defaultProfile: 'prod',
    profiles: { prod: { restUrl, gsqlUrl, graph: 'demo', username: 'tigergraph' } },
  });
  expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  const get = await cli(home, ['token', 'get'], { env: { TG_PASSWORD: password } });
  expect(get).toMatchObject({ status: 0, stderr: '' });
  expect((await cli(home, ['logout'], {})).status).toBe(0);
  expect((await cli(home, ['logout'], {})).status).toBe(3);
  expect(
    (
      await cli(
        home,
        [
          'login',
          '-p',
          'bad',
          '--graph',
          'demo',
          '-u',
          'x',
          '--password-stdin',
          '--gsql-url',
          gsqlUrl as string,
          '--rest-url',
          restUrl as string,
        ],
        { stdin: 'nope' },
      )
    ).status,
  ).toBe(4);
  expect(Object.keys(JSON.parse(fs.readFileSync(file, 'utf8')).profiles)).toEqual(['prod']);
  expect((await run('config path')).stdout).toBe(`${file}\n`);
});

// holds: C2.21
test('login at a new address replaces the old one as a whole, drops the credentials and says so', async () => {
  const { run, home, sandbox } = await bench();
  const old = {
    host: 'http://old.example.com',
    restPort: 1,
    gsqlPort: 2,
    serverVersion: '3.2.0',
    username: 'ada',
    graph: 'demo',
    secretCommand: ['get-old-secret'],
  };
  const file = configure(home, { profiles: { dev: old } });
  const { status, stderr, stdout } = await run('login -p dev');
  expect(status).toBe(0);
  const { dev } = JSON.parse(fs.readFileSync(file, 'utf8')).profiles;
  expect(dev).toMatchObject({ gsqlUrl: sandbox.gsqlUrl, restUrl: sandbox.restUrl, graph: 'demo' });
  for (const key of ['host', 'restPort', 'gsqlPort', 'serverVersion', 'secretCommand'])
    expect(dev).not.toHaveProperty(key);
  expect(stdout + stderr).toMatch(/secretCommand/);
});

test('logins at the same time lose no profile', async () => {
  const { run, home } = await bench();
  configure(home, '{}');
  // This lock stands for another login that has read the file and is about to write it.
  const lock = tryLock(`${configOf(home)}.lock`);
  const waiting = run('login -p second');
  const names = () => fs.readdirSync(path.dirname(configOf(home)));
  await expect
    .poll(() => names().some((name) => /\.lock\..*\.tmp$/.test(name)), { timeout: 20_000 })
    .toBe(true);
  configure(home, '{"profiles":{"first":{"graph":"demo"}}}');
  lock?.release();
  expect(await waiting).toMatchObject({ status: 0 });
  expect(profileNames(home)).toEqual(['first', 'second']);
  expect(names().filter((name) => /\.(lock|tmp)/.test(name))).toEqual([]);
});

test('a stale temporary file of a process with the same id, as in a container, does not prevent a login', async () => {
  const { run, home } = await bench();
  put(home, `.config/graphcred/config.json.${process.pid}.tmp`, '{"prof');
  expect(await run('login -p ci')).toMatchObject({ status: 0 });
  expect(profileNames(home)).toEqual(['ci']);
});

test.each(['null', '', '\ufeff{}'])('a config.json that holds %j counts as empty', async (text) => {
  const { run, home } = await bench();
  configure(home, text);
  expect((await run('status --offline')).status).toBe(3);
  expect(await run('login -p ci')).toMatchObject({ status: 0 });
  expect(profileNames(home)).toEqual(['ci']);
});

test.each(['[]', '7', '{"profiles":null}'])('a config.json that holds %s is CONFIG_INVALID', async (text) => {
  const { run, home } = await bench();
  configure(home, text);
  const { status, stderr } = await run('login -p ci');
  expect(status).toBe(5);
  expect(stderr).toContain(configOf(home));
  expect(fs.readFileSync(configOf(home), 'utf8')).toBe(text);
});

test('on Windows a file that another program has open for a moment is replaced in a later attempt', async () => {
  const { run, home } = await bench();
  const [rename, platform] = [fs.renameSync, process.platform];
  let refused = 0;
  vi.spyOn(fs, 'renameSync').mockImplementation((from, to) => {
    if (String(to) === configOf(home) && ++refused < 4) throw Object.assign(new Error(), { code: 'EBUSY' });
    rename(from, to);
  });
  const loginOn = async (name: NodeJS.Platform) => {
    Object.defineProperty(process, 'platform', { value: name });
    try {
      return (await run('login -p ci', { env: { XDG_CONFIG_HOME: path.join(home, '.config') } })).status;
    } finally {
      Object.defineProperty(process, 'platform', { value: platform });
    }
  };
  // On other systems this error is not temporary, so it is not retried.
  expect(await loginOn('linux')).toBe(5);
  expect(refused).toBe(1);
  expect(await loginOn('win32')).toBe(0);
  expect(refused).toBe(4);
  expect(profileNames(home)).toEqual(['ci']);
});
