import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { type LoggedIn, proveGraph } from '../../src/app/login/prove.js';
import { secretId } from '../../src/auth/credential.js';
import type { Session } from '../../src/cli/session.js';
import { GraphException } from '../../src/core/errors.js';
import { Sensitive } from '../../src/core/sensitive.js';
import { bench } from '../helpers/cli.js';

const profilesOf = (home: string) =>
  JSON.parse(fs.readFileSync(path.join(home, '.config/graphcred/config.json'), 'utf8')).profiles;

const NOBODY = {
  GRAPHCRED_PASSWORD: '',
  GRAPHCRED_USERNAME: '',
  GRAPHCRED_REST_URL: '',
  GRAPHCRED_GSQL_URL: '',
};

test.each(['3.10.1', '4.1.2'])(
  'on %s --save-password lets secret commands work without a password',
  async (serverVersion) => {
    const { run } = await bench({ serverVersion });
    const login = await run('login -p dev --save-password');
    expect(login).toMatchObject({ status: 0, stdout: expect.stringContaining('The password is saved.') });
    const later = { env: NOBODY };
    expect(await run('secret create ci -p dev', later)).toMatchObject({ status: 0 });
    expect(await run('secret list -p dev', later)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('ci'),
    });
    expect(await run('logout -p dev', later)).toMatchObject({ status: 0 });
    const after = await run('secret list -p dev', later);
    expect(after).toMatchObject({ status: 2, stderr: expect.stringContaining('GRAPHCRED_PASSWORD') });
  },
);

test('without --save-password no password is stored, and a note says how to store it', async () => {
  const { run } = await bench();
  const { status, stderr } = await run('login -p dev');
  expect(status).toBe(0);
  expect(stderr).toContain('--save-password');
  expect((await run('secret list -p dev', { env: NOBODY })).status).toBe(2);
});

// holds: C2.22
test('--save-password without a persistent store is USAGE before the password is sent', async () => {
  const { run, sandbox } = await bench();
  const { status, stderr } = await run('login -p dev --save-password --store none');
  expect(status).toBe(2);
  expect(stderr).toContain('--save-password needs a persistent store');
  expect(sandbox.requests.filter(({ login }) => login !== 'none')).toEqual([]);
});

test('a secret given to login is saved, named in the profile, and used for a first token', async () => {
  const { run, home, json } = await bench();
  const secret = (await run('secret create mine')).stdout.trim();
  const login = await run('login -p dev --secret-stdin', { stdin: secret, env: { GRAPHCRED_PASSWORD: '' } });
  expect(login).toMatchObject({ status: 0, stderr: expect.stringContaining('next: graphcred token get') });
  expect(profilesOf(home).dev).toMatchObject({ secretAlias: secretId(new Sensitive(secret)) });
  const { tokens } = await json<{ tokens: { principal: string }[] }>('token list');
  expect(tokens.map(({ principal }) => principal)).toEqual([secretId(new Sensitive(secret))]);
  const get = await json('token get -p dev', { env: NOBODY });
  expect(get).toMatchObject({ source: 'store' });
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

test('proving the graph on 4.x leaves no generated secret behind', async () => {
  const { run, json } = await bench({ serverVersion: '4.1.2' });
  expect(await run('login -p dev')).toMatchObject({ status: 0 });
  expect(await json('secret list')).toMatchObject({ secrets: [] });
});

test.each(['two words', '-x', '..', 'a'.repeat(65)])(
  'profile name %j is USAGE before anything is sent',
  async (name) => {
    const { run, requests } = await bench();
    const { status } = await run(['login', `--profile=${name}`]);
    expect(status).toBe(2);
    expect(requests()).toEqual([]);
  },
);

test('the error for an extra word names -p', async () => {
  const { run } = await bench();
  const { status, stderr } = await run('login prod');
  expect(status).toBe(2);
  expect(stderr).toContain('graphcred login -p NAME');
});

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

test('--save-password with a store that cannot be used writes no profile', async () => {
  const { run, home } = await bench();
  const env = { GRAPHCRED_STORE_KEY_FILE: path.join(home, 'missing', 'key') };
  fs.writeFileSync(path.join(home, 'missing'), '');
  expect((await run('login -p dev --save-password', { env })).status).toBe(6);
  expect(fs.existsSync(path.join(home, '.config/graphcred/config.json'))).toBe(false);
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
      connected: { connection, version: { secretsNeedGraph: false } },
      credential: { kind: 'password' },
      taken: new Set(['AUTO_GENERATED_ALIAS_old']),
    };
    const session = { graph: 'demo' };
    await proveGraph(session as unknown as Session, login as unknown as LoggedIn, undefined);
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

test('login with the saved secret saves it no second time', async () => {
  const { run, home } = await bench();
  await run('secret create ci --save');
  const saved = () =>
    fs.readdirSync(path.join(home, '.local/state/graphcred')).filter((name) => name.startsWith('secret-'));
  const before = saved();
  const result = await run('login -p dev', { env: { GRAPHCRED_PASSWORD: undefined } });
  expect(result).toMatchObject({ status: 0, stdout: expect.not.stringContaining('is saved') });
  expect(saved()).toEqual(before);
});

test('login does not say how to work without the password if a secret is saved here', async () => {
  const { run } = await bench();
  expect((await run('login -p dev')).stderr).toContain('the password is not kept');
  await run('secret create ci --save');
  expect((await run('login -p dev')).stderr).not.toContain('the password is not kept');
});

test('a login whose first token cannot be minted is a login all the same', async () => {
  const { run, home, sandbox } = await bench();
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
    const connected = { connection, version: { secretsNeedGraph: false } };
    const login = { connected, credential: { kind: 'password' }, taken: new Set() };
    const interruption = { status, begin: () => {} };
    const reporter = { warn: (text: string) => warnings.push(text) };
    const session = { graph: 'demo', interruption, ports: { reporter } };
    return proveGraph(session as unknown as Session, login as unknown as LoggedIn, secret).catch(
      (thrown) => thrown,
    );
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

test('login tells programs the profile, its file and what was saved', async () => {
  const { json, home } = await bench();
  const told = { schemaVersion: 1, profile: 'dev', host: 'http://127.0.0.1', saved: null };
  const file = path.join(home, '.config/graphcred/config.json');
  expect(await json('login -p dev')).toEqual({ ...told, file, savedPassword: false });
  expect(await json('login -p dev --save-password')).toEqual({ ...told, file, savedPassword: true });
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

test.runIf(linux).each(['logout', 'token delete', 'token refresh --lifetime 1h'])(
  '%s without a keychain says so, and not that nothing is kept',
  async (line) => {
    const { run } = await bench();
    const { status, stderr } = await run(line, { env: { GRAPHCRED_STORE: 'keychain' } });
    expect({ status, stderr }).toEqual({ status: 6, stderr: expect.stringContaining('keychain') });
  },
);
