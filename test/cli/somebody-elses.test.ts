import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { isSamePair } from '../../src/auth/servers.js';
import { GraphConnection } from '../../src/core/connection.js';
import { bench, cli } from '../helpers/cli.js';

type Bench = Awaited<ReturnType<typeof bench>>;
const aliases = async ({ json }: Bench) =>
  (await json<{ secrets: { alias: string }[] }>('secret list')).secrets.map(({ alias }) => alias);
const recordsOf = ({ home }: Bench) => {
  const folder = path.join(home, '.local/state/graphcred');
  return fs
    .readdirSync(folder)
    .filter((name) => /^secret-.*\.json$/.test(name))
    .map((name) => path.join(folder, name));
};

describe('secret prune never drops a secret that this machine uses', () => {
  const generated = async (b: Bench) => b.json<{ alias: string; secret: string }>('secret create');

  test('if it is in a variable', async () => {
    const b = await bench();
    const { secret } = await generated(b);
    expect(
      JSON.parse((await b.run('secret prune --yes -o json', { env: { GRAPHCRED_SECRET: secret } })).stdout),
    ).toMatchObject({
      dropped: [],
    });
  });

  test('if it is in TG_SECRET, which is ignored because a profile is chosen', async () => {
    const b = await bench();
    const { secret } = await generated(b);
    expect((await b.run('login -p dev')).status).toBe(0);
    const options = { env: { TG_SECRET: secret } };
    expect(await b.json('secret prune --yes -p dev', options)).toMatchObject({ dropped: [] });
  });

  test('if it is in another profile of the config file', async () => {
    const b = await bench();
    const { secret } = await generated(b);
    const folder = path.join(b.home, '.config/graphcred');
    fs.mkdirSync(folder, { recursive: true });
    const file = path.join(folder, 'config.json');
    fs.writeFileSync(file, JSON.stringify({ profiles: { other: { secret } } }), { mode: 0o600 });
    expect(await b.json('secret prune --yes')).toMatchObject({ dropped: [] });
  });

  test.each(['.config/graphcred/config.json', '.graphcredrc'])(
    'if it is in ~/%s while --config names another file',
    async (name) => {
      const b = await bench();
      const { secret } = await generated(b);
      const own = path.join(b.home, name);
      fs.mkdirSync(path.dirname(own), { recursive: true });
      fs.writeFileSync(own, JSON.stringify({ profiles: { other: { secret } } }), { mode: 0o600 });
      const other = path.join(b.home, 'other.json');
      fs.writeFileSync(other, '{}');
      expect(await b.json(`secret prune --yes --config ${other}`)).toMatchObject({ dropped: [] });
    },
  );

  test('if it is in a file that another profile names', async () => {
    const b = await bench();
    const { secret } = await generated(b);
    const folder = path.join(b.home, '.config/graphcred');
    fs.mkdirSync(folder, { recursive: true });
    const config = { profiles: { other: { secretFile: 'ci.secret' } } };
    fs.writeFileSync(path.join(folder, 'config.json'), JSON.stringify(config), { mode: 0o600 });
    fs.writeFileSync(path.join(folder, 'ci.secret'), `${secret}\n`, { mode: 0o600 });
    expect(await b.json('secret prune --yes')).toMatchObject({ dropped: [] });
  });

  test('if it logs in on 4.x', async () => {
    const b = await bench({ serverVersion: '4.1.2' });
    const { secret } = await generated(b);
    const options = { stdin: secret, env: { GRAPHCRED_PASSWORD: '' } };
    expect(await b.json('secret prune --yes --secret-stdin', options)).toMatchObject({ dropped: [] });
  });

  test('if login saved it without knowing its alias', async () => {
    const b = await bench();
    const { secret } = await generated(b);
    const login = await b.run('login --secret-stdin', { stdin: secret, env: { GRAPHCRED_PASSWORD: '' } });
    expect(login.status, login.stderr).toBe(0);
    expect(await b.json('secret prune --yes')).toMatchObject({ dropped: [] });
  });

  test('if its record is ignored because of its mode', async () => {
    const b = await bench();
    await b.run('secret create AUTO_GENERATED_ALIAS_saved --save');
    const [file] = recordsOf(b);
    fs.chmodSync(file as string, 0o666);
    expect(await b.json('secret prune --yes')).toMatchObject({ dropped: [] });
  });

  test('if a saved secret cannot be identified, because then nothing is dropped', async () => {
    const b = await bench();
    await generated(b);
    await b.run('secret create AUTO_GENERATED_ALIAS_saved --save');
    const [file] = recordsOf(b);
    fs.writeFileSync(file as string, '{', { mode: 0o600 });
    expect(await b.run('secret prune --yes')).toMatchObject({ status: 6, stdout: '' });
    expect(await aliases(b)).toHaveLength(2);
  });
});

test('on 4.x a login with bob’s secret drops bob’s ci, and deletes no secret of that name from the store', async () => {
  const users = [
    { name: 'tigergraph', password: 'tigergraph', role: 'superuser' as const },
    { name: 'bob', password: 'bob', role: 'superuser' as const },
  ];
  const b = await bench({ serverVersion: '4.1.2', users });
  await b.run('secret create ci --save');
  const bob = { GRAPHCRED_USERNAME: 'bob', GRAPHCRED_PASSWORD: 'bob' };
  const made = await b.run('secret create ci -o json', { env: bob });
  const { secret } = JSON.parse(made.stdout) as { secret: string };
  const asBob = { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '', GRAPHCRED_SECRET: secret };
  await b.run('secret drop ci', { env: asBob });
  expect(recordsOf(b)).toHaveLength(1);
});

describe('secret rotate', () => {
  // holds: C2.11
  test('with --store none prints the new value, which works', async () => {
    const b = await bench();
    await b.run('secret create ci');
    const { secret, saved } = await b.json<{ secret: string; saved: boolean }>(
      'secret rotate ci --store none',
    );
    expect(saved).toBe(false);
    const { status } = await b.run('token get --store none', { env: { GRAPHCRED_SECRET: secret } });
    expect(status).toBe(0);
    expect(await aliases(b)).toEqual(['ci']);
  });

  test.each([
    ['secret create ci --save', 'secret rotate ci', false],
    ['secret create ci --save', 'secret rotate ci --print', true],
    ['secret create ci', 'secret rotate ci', true],
  ])('after %s, %s prints the value: %s', async (create, rotate, shown) => {
    const b = await bench();
    await b.run(create);
    expect('secret' in (await b.json(rotate))).toBe(shown);
  });

  test('does not drop another user’s secret because of an old record', async () => {
    const b = await bench();
    await b.run('secret create ci --save');
    b.sandbox.addFault({ action: 'drop-before', route: 'POST /gsqlserver/gsql/file', nth: 3, times: 1 });
    await b.run('secret rotate ci');
    await b.run('secret drop ci_next --ignore-missing --store none');
    await b.run('secret create ci_next --store none');
    const before = await b.json<{ secrets: { alias: string; masked: string }[] }>('secret list');
    const colleague = before.secrets.find(({ alias }) => alias === 'ci_next');
    await b.run('secret rotate ci', { now: () => Date.now() + 86_400_000 });
    const after = await b.json<{ secrets: { alias: string }[] }>('secret list');
    expect(after.secrets).toContainEqual(colleague);
  });
});

test('secret list marks the secrets that are saved on this machine', async () => {
  const b = await bench();
  await b.run('secret create here --save');
  await b.run('secret create there');
  const { stdout } = await b.run('secret list');
  expect(stdout).toMatch(/^here .* here\s*$/m);
  expect(stdout).toMatch(/^there .* -\s*$/m);
});

// holds: C2.19
test('logout --revoke keeps and names a token that another credential made', async () => {
  const b = await bench();
  const { secret } = await b.json<{ secret: string }>('secret create ci');
  const { token } = await b.json<{ token: string }>('token get', { env: { GRAPHCRED_SECRET: secret } });
  await b.run('token get');
  const out = await b.run('logout --revoke', { env: { GRAPHCRED_USERNAME: '' } });
  const viaUser = await b.run('logout --revoke');
  expect([out.status, viaUser.status]).toContain(10);
  expect(out.stderr + viaUser.stderr).toMatch(/still held: \w+ \(secret:/);
  const kept = await cli(b.home, ['token', 'get', '-o', 'json'], {
    env: { ...b.env, GRAPHCRED_SECRET: secret },
  });
  expect(JSON.parse(kept.stdout)).toMatchObject({ token, source: 'store' });
});

test('logout --revoke keeps and names a token whose value it cannot read, because it stays valid', async () => {
  const b = await bench();
  await b.run('token get');
  // Without the key, nothing in the file store can be decrypted.
  fs.rmSync(path.join(b.home, '.config/graphcred'), { recursive: true });
  const out = await b.run('logout --revoke -o json');
  expect(out.status).toBe(10);
  expect(out.stderr).toMatch(/still held: \w+ \(user:tigergraph, graph demo, /);
  expect((await b.json<{ tokens: unknown[] }>('token list')).tokens).toHaveLength(1);
});

test('logout does not mention tokens or credentials that did not exist', async () => {
  const b = await bench();
  const said = async (line: string) => (await b.run(line)).stdout.replace(/ of http:\S+\n$/, '');
  for (const [before, line, sentence] of [
    [['secret create one --save'], 'logout', 'Forgot 1 saved credential'],
    [['secret create two --save'], 'logout --revoke', 'Forgot 1 saved credential'],
    [['token get'], 'logout', 'Forgot 1 token'],
    [['token get'], 'logout --revoke', 'Revoked and forgot 1 token'],
    [['token get', 'secret create three --save'], 'logout', 'Forgot 1 token and 1 saved credential'],
    [
      ['token get', 'secret create four --save'],
      'logout --revoke',
      'Revoked and forgot 1 token, forgot 1 saved credential',
    ],
  ] as const) {
    for (const each of before) expect((await b.run(each)).status).toBe(0);
    expect(await said(line), line).toBe(sentence);
  }
  // A token that was minted with another credential stays. Nothing was deleted, so only the error is printed.
  const { secret } = await b.json<{ secret: string }>('secret create ci');
  await b.run('token get', { env: { GRAPHCRED_SECRET: secret } });
  expect(await b.run('logout --revoke')).toMatchObject({
    status: 10,
    stdout: '',
    stderr: expect.stringMatching(/still held: \w+ \(secret:/),
  });
});

test('logout --revoke does not report a token as revoked if there was none', async () => {
  const b = await bench();
  await b.run('secret create mine --save');
  expect(await b.json('logout --revoke')).toMatchObject({ forgotten: 1, tokens: 0, revoked: false });
});

test('logout deletes what is stored for this user at this server, and nothing else', async () => {
  const users = [
    { name: 'tigergraph', password: 'tigergraph', role: 'superuser' as const },
    { name: 'bob', password: 'bob', role: 'superuser' as const },
  ];
  const b = await bench({ users });
  const away = await bench();
  const bob = { GRAPHCRED_USERNAME: 'bob', GRAPHCRED_PASSWORD: 'bob' };
  expect((await b.run('secret create mine --save')).status).toBe(0);
  expect((await b.run('secret create his --save', { env: bob })).status).toBe(0);
  expect((await cli(b.home, ['secret', 'create', 'there', '--save'], { env: away.env })).status).toBe(0);
  expect(await b.run('logout')).toMatchObject({ status: 0 });
  const kept = recordsOf(b).map((file) => JSON.parse(fs.readFileSync(file, 'utf8')).info.alias);
  expect(kept.sort()).toEqual(['his', 'there']);
});

describe('a saved secret', () => {
  /** With this environment the only credential is a saved one. */
  const SAVED = { env: { GRAPHCRED_PASSWORD: '' } };

  test('of another graph does not mint on 3.x', async () => {
    const b = await bench({ graphs: ['demo', 'other'] });
    await b.run('secret create ci --save');
    expect((await b.run('token get --graph other', SAVED)).status).toBe(2);
    expect((await b.run('token get', SAVED)).status).toBe(0);
  });

  test('for the same GSQL server and another REST server is not used', async () => {
    const b = await bench();
    const away = await bench();
    expect((await b.run('secret create here --save')).status).toBe(0);
    expect((await b.run(`secret create there --save --rest-url ${away.sandbox.restUrl}`)).status).toBe(0);
    away.requests();
    expect(await b.run('token get', SAVED)).toMatchObject({ status: 0 });
    expect(away.requests()).toEqual([]);
  });

  test('is not chosen at random if there are several', async () => {
    const b = await bench();
    for (const alias of ['one', 'two']) await b.run(`secret create ${alias} --save`);
    const refused = await b.run('token get', SAVED);
    expect(refused).toMatchObject({ status: 2, stdout: '' });
    expect(refused.stderr).toContain('one, two');
    expect((await b.run('token get --secret-alias one', SAVED)).status).toBe(0);
  });

  test('cannot log in on 3.x, and the error says why', async () => {
    const b = await bench();
    await b.run('secret create ci --save');
    const { status, stderr } = await b.run('secret list', SAVED);
    expect(status).toBe(2);
    expect(stderr).toContain('does not log in on a 3.x server');
  });
});

test('two pairs of base URLs are the same only if both URLs are', () => {
  const pair = { restUrl: 'http://a:9000', gsqlUrl: 'http://a:14240' };
  expect(isSamePair(pair, { ...pair })).toBe(true);
  expect(isSamePair(pair, { ...pair, restUrl: 'http://b:9000' })).toBe(false);
  expect(isSamePair(pair, { ...pair, gsqlUrl: 'http://b:14240' })).toBe(false);
  expect(isSamePair(undefined, undefined)).toBe(false);
});

test('a login that gives a profile another address does not use the credentials of the old database', async () => {
  const b = await bench();
  const away = await bench();
  const file = path.join(b.home, '.config/graphcred/config.json');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const { restUrl, gsqlUrl } = away.sandbox;
  const old = {
    restUrl,
    gsqlUrl,
    serverVersion: '3.5.0',
    secretCommand: ['touch', path.join(b.home, 'ran')],
  };
  const profile = { ...old, secret: 'old-old-old-old', passwordFile: 'old', lifetime: '15m' };
  fs.writeFileSync(file, JSON.stringify({ profiles: { prod: profile } }), { mode: 0o600 });
  const login = await b.run('login -p prod');
  expect(login.status, login.stderr).toBe(0);
  const { prod } = JSON.parse(fs.readFileSync(file, 'utf8')).profiles;
  expect(prod).toEqual({
    restUrl: b.sandbox.restUrl,
    gsqlUrl: b.sandbox.gsqlUrl,
    graph: 'demo',
    username: 'tigergraph',
    lifetime: '15m',
  });
  expect(login.stderr).toContain('secretCommand');
  expect(fs.existsSync(path.join(b.home, 'ran'))).toBe(false);
  expect(away.requests()).toEqual([]);
});

test('a login that gives a profile another port does not use the credentials of the old database', async () => {
  const b = await bench();
  const away = await bench();
  const { secret } = await away.json<{ secret: string }>('secret create ci');
  const file = path.join(b.home, '.config/graphcred/config.json');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const portOf = (url: string) => new URL(url).port;
  const old = {
    host: 'http://127.0.0.1',
    restPort: portOf(away.sandbox.restUrl),
    gsqlPort: portOf(away.sandbox.gsqlUrl),
    graph: 'demo',
    username: 'tigergraph',
  };
  const profile = { ...old, secretCommand: ['echo', secret], serverVersion: '3.5.0', lifetime: '15m' };
  fs.writeFileSync(file, JSON.stringify({ profiles: { prod: profile } }), { mode: 0o600 });
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

test('a credential for other servers does not hide one of lower priority for these servers', async () => {
  const b = await bench();
  const file = path.join(b.home, '.config/graphcred/config.json');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const { restUrl, gsqlUrl, username, password } = b.sandbox;
  fs.writeFileSync(file, JSON.stringify({ restUrl, gsqlUrl, username, password }), { mode: 0o600 });
  const env = { GRAPHCRED_PASSWORD: '', TG_HOST: 'http://127.0.0.2', TG_PASSWORD: 'elsewhere' };
  expect(await b.run('token get', { env })).toMatchObject({ status: 0 });
});

test.each(['3.10.1', '4.1.2'])(
  'on %s the token that proves a new secret lives for minutes, and on 3.x it is deleted',
  async (serverVersion) => {
    const lifetimes: number[] = [];
    const minted = vi.spyOn(GraphConnection.prototype, 'mintToken');
    onTestFinished(() => minted.mockRestore());
    const b = await bench({ serverVersion });
    await b.run('secret create ci --save');
    const { secret } = await b.json<{ secret: string }>('secret create mine');
    b.requests();
    expect((await b.run('secret rotate ci')).status).toBe(0);
    const deleted = b.requests().filter((request) => request === 'DELETE /requesttoken');
    expect(deleted).toHaveLength(serverVersion.startsWith('3') ? 2 : 0);
    await b.run('login -p dev --secret-stdin', { stdin: secret, env: { GRAPHCRED_PASSWORD: '' } });
    for (const [options] of minted.mock.calls) lifetimes.push(options?.lifetime ?? 0);
    // The lifetimes are those of the two proofs of the rotation, the proof of the login, and the first token to use.
    expect(lifetimes).toEqual([300, 300, 60, 2_592_000]);
  },
);

describe('a secret that login saved under a generated name', () => {
  const kept = async () => {
    const b = await bench();
    const { secret } = await b.json<{ secret: string }>('secret create mine');
    await b.run('login -p dev --secret-stdin', { stdin: secret, env: { GRAPHCRED_PASSWORD: '' } });
    expect(recordsOf(b)).toHaveLength(1);
    return b;
  };

  test('stays if the server drops another secret of that name', async () => {
    const b = await kept();
    await b.run('secret create login');
    expect((await b.run('secret drop login')).status).toBe(0);
    expect(recordsOf(b)).toHaveLength(1);
  });

  test('is deleted with the alias that the server has for it', async () => {
    const b = await kept();
    expect((await b.run('secret drop mine')).status).toBe(0);
    expect(recordsOf(b)).toEqual([]);
  });
});

test('a rotation that finds its temporary name in use keeps what is saved under that name', async () => {
  const b = await bench();
  for (const alias of ['ci', 'ci_next']) await b.run(`secret create ${alias} --save`);
  expect((await b.run('secret rotate ci')).status).toBe(8);
  expect(recordsOf(b)).toHaveLength(2);
});

test('a server that throttles logins does not make a rotation lose a value that works', async () => {
  const b = await bench();
  await b.run('secret create ci --save');
  const masks = async () =>
    (await b.json<{ secrets: { alias: string; masked: string }[] }>('secret list')).secrets;
  // The new secret is created and saved, but the token that would prove it cannot be minted.
  b.sandbox.addFault({ action: 'status', status: 500, route: '/requesttoken', nth: 1, times: 1 });
  expect((await b.run('secret rotate ci')).status).not.toBe(0);
  const before = await masks();
  expect(before.map(({ alias }) => alias).sort()).toEqual(['ci', 'ci_next']);
  const body = '{"error":true,"message":"Too many failed logins. Please re-login after 10 seconds."}';
  b.sandbox.addFault({ action: 'status', status: 401, body, route: '/requesttoken', nth: 1, times: 1 });
  expect((await b.run('secret rotate ci')).status).toBe(4);
  expect(await masks()).toEqual(before);
  expect(recordsOf(b)).toHaveLength(2);
});

test('logout --revoke does not delete a token from the store that it did not revoke', async () => {
  const b = await bench();
  const { token } = await b.json<{ token: string }>('token get');
  b.sandbox.addFault({ action: 'status', status: 500, route: 'DELETE /requesttoken', nth: 1, times: 1 });
  expect((await b.run('logout --revoke')).status).not.toBe(0);
  expect(await b.json('token get')).toMatchObject({ token, source: 'store' });
});
