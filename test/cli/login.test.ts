import fs from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { secretId } from '../../src/auth/credential.js';
import { Sensitive } from '../../src/core/sensitive.js';
import { bench } from '../helpers/cli.js';
import { configOf, configure, profilesOf, put, unsavable } from '../helpers/home.js';

const profileNames = (home: string) => Object.keys(profilesOf(home)).sort();

const profileIn = (home: string) => profilesOf(home).new;

afterEach(() => vi.restoreAllMocks());

test('a secret that was saved for another REST server does not become the profile’s', async () => {
  const { run, home } = await bench();
  await run('secret create mine --save');
  const elsewhere = { env: { GRAPHCRED_REST_URL: 'http://127.0.0.1:1' } };
  expect(await run('login -p there', elsewhere)).toMatchObject({ status: 0 });
  expect(profilesOf(home).there).not.toHaveProperty('secretAlias');
  expect(await run('login -p here')).toMatchObject({ status: 0 });
  expect(profilesOf(home).here).toMatchObject({ secretAlias: 'mine' });
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
    const { stderr } = await run('login -p none --secret-stdin --store none', given);
    expect(stderr).toContain('next (needs --secret-stdin): graphcred token get -p none');
  }
});

test('a secret does not log in with a graph that 3.x does not have', async () => {
  const { run, home } = await bench();
  const stdin = (await run('secret create mine')).stdout.trim();
  const given = { stdin, env: { GRAPHCRED_PASSWORD: '', GRAPHCRED_GRAPH: 'nowhere' } };
  const { status, stderr } = await run('login -p dev --secret-stdin', given);
  expect([status, stderr]).toEqual([3, expect.stringContaining('There is no such graph')]);
  expect(fs.existsSync(configOf(home))).toBe(false);
});

test('a given secret is saved without an alias if the server does not list the secrets', async () => {
  const { run, home, sandbox } = await bench({ serverVersion: '4.1.2' });
  const stdin = (await run('secret create mine')).stdout.trim();
  sandbox.addFault({ action: 'status', status: 500, route: 'GET /gsql/v1/secrets' });
  expect((await run('login -p dev --secret-stdin', { stdin })).status).toBe(0);
  expect(profilesOf(home).dev).toMatchObject({ secretAlias: secretId(new Sensitive(stdin)) });
});

test.each([
  ['named', 'nameless'],
  ['nameless', 'named'],
])(
  'a secret of two profiles is saved once, rotated for both and gone for both: %s, then %s',
  async (...profiles) => {
    const { run, json } = await bench({ serverVersion: '3.2.0' });
    const stdin = (await run('secret create mine')).stdout.trim();
    const own = { GRAPHCRED_PASSWORD: '' };
    const nameless = { ...own, GRAPHCRED_USERNAME: '' };
    for (const profile of profiles) {
      const env = profile === 'named' ? own : nameless;
      expect(await run(`login -p ${profile} --secret-stdin`, { stdin, env })).toMatchObject({ status: 0 });
    }
    expect(await run('secret rotate mine -p nameless')).toMatchObject({ status: 0 });
    for (const profile of profiles)
      expect(await run(`token get -p ${profile}`, { env: nameless })).toMatchObject({ status: 0 });
    expect(await json('logout -p nameless --yes', { env: nameless })).toMatchObject({ forgotten: 2 });
    for (const profile of profiles)
      expect(await run(`token get -p ${profile}`, { env: nameless })).toMatchObject({ status: 2 });
  },
);

test('login without a home folder is an error before anything is sent with a credential', async () => {
  const { run } = await bench();
  const env = { GRAPHCRED_STORE: undefined };
  expect(await run('login -p dev', { env, homeless: true })).toMatchObject({
    status: 6,
    stderr: expect.stringContaining('There is no home folder to keep anything in.'),
  });
});

// On Linux the environment of the test leads to no session bus, and so to no keychain.
const linux = process.platform === 'linux';
if (!linux) console.log('the login without a keychain is skipped: elsewhere than on Linux there is one');

test.runIf(linux)('login --store keychain without a keychain fails, and records no store', async () => {
  const { run, home } = await bench();
  expect((await run('login -p dev --store keychain')).status).toBe(6);
  expect(fs.existsSync(path.join(home, '.config/graphcred/store'))).toBe(false);
});

// holds: C2.37
test.runIf(linux)('a login without a keychain names no command that would have to save there', async () => {
  const { run } = await bench();
  const given = { stdin: 'tigergraph', env: { GRAPHCRED_STORE: '' } };
  const { status, stderr } = await run('login -p dev --password-stdin', given);
  expect(status).toBe(0);
  expect(stderr).toContain('graphcred secret create NAME -p dev, and set GRAPHCRED_SECRET to its value');
  expect(stderr).not.toContain('--save-password');
});

// holds: C2.35
test('logout --all without a keychain and without a record says that nothing is kept', async () => {
  const { run } = await bench();
  expect((await run('logout --all --yes', { env: { GRAPHCRED_STORE: 'keychain' } })).status).toBe(3);
});

const KEY = Buffer.alloc(32, 9).toString('base64');
test.each<[string, string, string[], string | undefined, string?, string?]>([
  ['the one secret that is saved here', '3.10.1', ['ci'], 'ci'],
  ['none of several', '3.10.1', ['ci', 'nightly'], undefined],
  ['the one of several that is named', '3.10.1', ['ci', 'nightly'], 'nightly', ' --secret-alias nightly'],
  [
    'none in place of one that is named and not saved',
    '3.10.1',
    ['ci'],
    undefined,
    ' --secret-alias nightly',
  ],
  [
    'the one that another store key hides, where nobody can be asked',
    '3.10.1',
    ['ci'],
    'ci',
    ' --graph demo',
    KEY,
  ],
  ['none of another graph on 3.x', '3.10.1', ['ci --graph other'], undefined],
  ['one of another graph on 4.x, where it is valid for all', '4.1.2', ['ci --graph other'], 'ci'],
])('login takes %s', async (_which, serverVersion, saved, alias, more = '', key = '') => {
  const { run, home } = await bench({ serverVersion, graphs: ['demo', 'other'] });
  for (const one of saved) await run(`secret create ${one} --save`);
  expect((await run(`login -p new${more}`, { env: { GRAPHCRED_STORE_KEY: key } })).status).toBe(0);
  expect(profileIn(home).secretAlias).toBe(alias);
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

test('a given secret that cannot be saved is not printed', async () => {
  const { run } = await bench({ serverVersion: '4.1.2' });
  const secret = (await run('secret create ci')).stdout.trim();
  unsavable('ci');
  const env = { GRAPHCRED_PASSWORD: undefined };
  const { status, stdout, stderr } = await run('login -p new --secret-stdin', { env, stdin: secret });
  expect({ status, stderr }).toEqual({
    status: 6,
    stderr: expect.stringContaining('You are logged in, but the credential could not be saved'),
  });
  expect(stdout).toContain('Logged in to');
  expect(stdout + stderr).not.toContain(secret);
});

// holds: C2.20
test('login writes a profile without a credential, and takes nothing from a file that is not the user’s own', async () => {
  const { run, env, home } = await bench();
  const team = put(home, 'team.json', { lifetime: '100w', profiles: { prod: { minTtl: '9d' } } });
  const login = await run(`login -p prod --config ${team}`);
  expect(login).toMatchObject({ status: 0, stdout: expect.stringContaining('prod') });
  const { GRAPHCRED_REST_URL: restUrl, GRAPHCRED_GSQL_URL: gsqlUrl } = env;
  expect(JSON.parse(fs.readFileSync(configOf(home), 'utf8'))).toEqual({
    defaultProfile: 'prod',
    profiles: { prod: { restUrl, gsqlUrl, graph: 'demo', username: 'tigergraph' } },
  });
  const cwd = path.dirname(put(home, 'cloned/.graphcredrc.json', '{}'));
  const hidden = await run('login', { cwd });
  expect(hidden).toMatchObject({
    status: 0,
    stderr: expect.stringContaining('and not this profile'),
  });
  expect(hidden.stderr).toMatch(new RegExp(`next.*: graphcred token get.* --config ${configOf(home)}$`, 'm'));
});

test('the hint of a first login names its server once, as it will be written', async () => {
  const { run, sandbox } = await bench();
  const [gsql, rest] = [sandbox.gsqlUrl, sandbox.restUrl].map((url) => new URL(url));
  const env = { GRAPHCRED_GSQL_URL: '', GRAPHCRED_REST_URL: '', GRAPHCRED_SECRET: 'w'.repeat(32) };
  const line = `login -p new --host ${gsql?.host} --rest-port ${rest?.port} --graph demo`;
  expect((await run(line, { env })).stderr).toMatch(
    new RegExp(
      `--password-file FILE --rest-port ${rest?.port} --gsql-url ${sandbox.gsqlUrl} --graph demo, and give its value instead$`,
      'm',
    ),
  );
});

test('a new address replaces the one beside the profiles as a whole, in later commands too', async () => {
  const { run, home, env } = await bench({ serverVersion: '4.1.2' });
  const defaults = { restUrl: 'http://127.0.0.1:1', restPort: 1, gsqlPort: 2, serverVersion: '3.10' };
  configure(home, JSON.stringify(defaults));
  const { GRAPHCRED_GSQL_URL: gsqlUrl = '', GRAPHCRED_PASSWORD } = env;
  const unset = Object.fromEntries(Object.keys(env).map((name) => [name, '']));
  const given = { env: { ...unset, GRAPHCRED_STORE: 'file', GRAPHCRED_PASSWORD } };
  const address = `--gsql-url ${gsqlUrl} --graph demo -u tigergraph`;
  expect((await run(`login -p url ${address}`, given)).status).toBe(0);
  expect((await run(`login -p host --host ${gsqlUrl} --graph demo -u tigergraph`, given)).status).toBe(0);
  const restUrl = `${gsqlUrl}/restpp`;
  const written = { gsqlUrl, restUrl, serverVersion: 'auto', graph: 'demo', username: 'tigergraph' };
  expect(profilesOf(home)).toEqual({ url: written, host: written });
  const status = await run('status -p url -o json', given);
  expect(JSON.parse(status.stdout)).toMatchObject({ gsqlUrl, restUrl, serverVersion: '4.1.2' });
});

test('a login deletes no saved secret that still works: of another graph, or where the list shows nothing of it', async () => {
  const { run, sandbox, home } = await bench({ graphs: ['demo', 'other'] });
  const stdin = (await run('secret create svc --graph other')).stdout.trim();
  const env = { GRAPHCRED_PASSWORD: '', GRAPHCRED_GRAPH: '' };
  expect((await run('login -p mint --secret-stdin', { stdin, env })).status).toBe(0);
  sandbox.addFault({
    action: 'status',
    status: 200,
    body: '__GSQL__RETURN__CODE__,0',
    route: '/gsqlserver/gsql/file',
    nth: 2,
  });
  expect(await run('login -p new --graph demo')).toMatchObject({
    status: 0,
    stderr: expect.not.stringContaining('deleted'),
  });
  expect(profileNames(home)).toEqual(['mint', 'new']);
  expect((await run('token get -p mint --fresh', { env })).status).toBe(0);
});

test.each(['profiles:\n  new:\n', 'profiles:\n', 'profiles:\n  new:\n    tls:\n'])(
  'a login fills a YAML table with nothing in it: %j',
  async (yaml) => {
    const { run, home } = await bench();
    put(home, '.config/graphcred/config.yaml', yaml);
    expect((await run('login -p new')).status).toBe(0);
    expect(JSON.parse((await run('profile list -o json')).stdout).profiles).toMatchObject([
      { name: 'new', graph: 'demo' },
    ]);
  },
);
