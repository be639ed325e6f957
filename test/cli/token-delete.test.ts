import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { parseFault } from '../../src/sandbox/args.js';
import { bench, cli } from '../helpers/cli.js';
import { freePort } from '../helpers/free-port.js';

const stateOf = (home: string) => path.join(home, '.local/state/graphcred');

interface Token {
  token: string;
  expiresAtUnix: number;
}

const errorOf = (stderr: string) => JSON.parse(stderr.trim().split('\n').at(-1) as string).error;

function everyFile(home: string): Record<string, string> {
  const entries = fs.readdirSync(home, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.join(parentPath, name));
  return Object.fromEntries(files.map((file) => [file, fs.readFileSync(file, 'latin1')]));
}

describe.each(['3.2.0', '3.10.1', '4.1.2'])('token delete on %s', (serverVersion) => {
  // holds: C2.16
  test('deletes the tokens of all lifetimes, and with --all those of every graph', async () => {
    const { run, json } = await bench({ serverVersion, graphs: ['demo', 'other'] });
    for (const lifetime of ['1h', '2h']) await run(`token get --lifetime ${lifetime}`);
    await run('token get --graph other');
    expect(await json('token delete')).toEqual({ schemaVersion: 1, deleted: 2, missing: 0 });
    expect(await json('token get --graph other')).toMatchObject({ source: 'store' });
    await run('token get');
    expect(await json('token delete --all')).toEqual({ schemaVersion: 1, deleted: 2, missing: 0 });
    expect(await json('token list')).toEqual({ schemaVersion: 1, tokens: [] });
  });

  test('deletes only the token from stdin, with its entry in the store', async () => {
    const { run, json } = await bench({ serverVersion });
    const { token } = await json<Token>('token get --lifetime 1h');
    const other = await json<Token>('token get --lifetime 2h');
    expect((await run('token delete --token-stdin', { stdin: `${token}\n` })).stdout).toBe(
      'Deleted 1 token.\n',
    );
    expect(await json('token get --lifetime 2h')).toMatchObject({ token: other.token, source: 'store' });
    expect(await json('token list')).toMatchObject({ tokens: [{ expiresAtUnix: other.expiresAtUnix }] });
    const again = await run('token delete --token-stdin -o json', { stdin: token });
    expect(again).toMatchObject({ status: 3, stdout: '{"schemaVersion":1,"deleted":0,"missing":1}\n' });
    expect(errorOf(again.stderr)).toMatchObject({ code: 'NOT_FOUND', exitCode: 3 });
    expect(again.stderr).not.toContain(token);
    const forgiven = await run('token delete --token-stdin --skip-missing -o json', { stdin: token });
    expect(forgiven).toEqual({
      status: 0,
      stdout: '{"schemaVersion":1,"deleted":0,"missing":1}\n',
      stderr: '',
    });
  });

  test('deletes a cached token from the store if the server does not know it, and counts it as missing', async () => {
    const { run, json } = await bench({ serverVersion });
    const { token } = await json<Token>('token get');
    await run('token delete --token-stdin --store none', { stdin: token });
    expect(await run('token delete -o json')).toMatchObject({
      status: 3,
      stdout: '{"schemaVersion":1,"deleted":0,"missing":1}\n',
    });
    expect(await json('token list')).toEqual({ schemaVersion: 1, tokens: [] });
  });
});

describe.each(['3.10.1', '4.1.2'])('a failure on %s', (serverVersion) => {
  test('without a server is exit 7, retryable, and changes nothing on this machine', async () => {
    const { home, env, run, sandbox } = await bench({ serverVersion });
    await run('token get');
    const before = everyFile(home);
    const port = await freePort();
    const away = serverVersion.startsWith('4') ? `http://127.0.0.1:${port}/restpp` : sandbox.restUrl;
    for (const line of [
      'token get',
      'secret list',
      'secret create x',
      'secret drop x',
      'token check --token-stdin',
    ]) {
      const { status, stdout, stderr } = await cli(home, [...line.split(' '), '-o', 'json'], {
        env: { ...env, GRAPHCRED_GSQL_URL: `http://127.0.0.1:${port}`, GRAPHCRED_REST_URL: away },
        stdin: 'x'.repeat(31),
      });
      expect({ line, status, stdout }).toEqual({ line, status: 7, stdout: '' });
      expect(errorOf(stderr)).toEqual({
        code: 'NETWORK',
        message: expect.stringContaining(String(port)),
        hint: expect.any(String),
        exitCode: 7,
        retryable: true,
      });
    }
    const { [Object.keys(before)[0] ?? '']: _, ...rest } = before;
    expect(everyFile(home)).toMatchObject(rest);
  });

  test('with a wrong password or secret is tried once, and stored values stay', async () => {
    const { run, json, requests } = await bench({ serverVersion });
    const { token } = await json<Token>('token get');
    requests();
    const wrong = { env: { GRAPHCRED_PASSWORD: 'hunter2' } };
    const lines = ['token get --fresh', 'secret list', 'secret create x', 'secret drop x'];
    for (const line of lines) {
      const { status, stdout, stderr } = await run(`${line} -o json`, wrong);
      expect({ line, status, stdout, code: errorOf(stderr).code }).toEqual({
        line,
        status: 4,
        stdout: '',
        code: 'AUTH_FAILED',
      });
      expect(stderr).not.toContain('hunter2');
      expect({ line, requests: requests().length }).toEqual({ line, requests: 1 });
    }
    const secret = await run('token get --secret-stdin -o json', { stdin: 'canary-secret-that-is-none' });
    expect({ status: secret.status, stdout: secret.stdout }).toEqual({ status: 4, stdout: '' });
    expect(secret.stderr).not.toContain('canary');
    expect(requests()).toHaveLength(1);
    expect(await json('token get')).toMatchObject({ token, source: 'store' });
  });

  // holds: C2.7, C5.5
  test('of the store prevents --save from creating a secret, but token get prints the token', async () => {
    const { home, run, json, requests } = await bench({ serverVersion });
    fs.mkdirSync(path.join(home, '.local'), { recursive: true });
    fs.writeFileSync(path.join(home, '.local', 'state'), 'in the way');
    const saved = await run('secret create x --save -o json');
    expect({ status: saved.status, stdout: saved.stdout }).toEqual({ status: 6, stdout: '' });
    expect(errorOf(saved.stderr)).toMatchObject({ code: 'STORE_UNAVAILABLE', exitCode: 6 });
    expect(requests().filter((request) => !/version/.test(request))).toEqual([]);
    expect(await json('secret list')).toMatchObject({ secrets: [] });
    const got = await run('token get');
    expect(got).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\S+\n$/) });
    expect(got.stderr).toContain('graphcred: warning: ');
  });

  test('of a store that stores nothing is exit 2 with --save, and no secret is created', async () => {
    const { run, json } = await bench({ serverVersion });
    expect(await run('secret create x --save --store none')).toMatchObject({ status: 2, stdout: '' });
    expect(await json('secret list')).toMatchObject({ secrets: [] });
  });

  test('in the middle of several drops reports what was done', async () => {
    const { run, json, sandbox } = await bench({ serverVersion });
    for (const alias of ['one', 'two', 'three']) await run(`secret create ${alias}`);
    const route = serverVersion.startsWith('4') ? '/gsql/v1/secrets*' : '/gsqlserver/gsql/file';
    const method = serverVersion.startsWith('4') ? 'DELETE ' : '';
    // On 3.x the graph is checked before the first of them.
    const nth = serverVersion.startsWith('4') ? 2 : 3;
    sandbox.addFault(parseFault(`route=${method}${route},nth=${nth},action=drop-before`));
    const { status, stdout, stderr } = await run('secret drop one two three -o json');
    const { dropped, missing } = JSON.parse(stdout);
    expect({ status, missing }).toEqual({ status: 10, missing: [] });
    expect(errorOf(stderr).code).toBe('PARTIAL');
    const { secrets } = await json<{ secrets: { alias: string }[] }>('secret list');
    const left = ['one', 'three', 'two'].filter((alias) => !dropped.includes(alias));
    expect(dropped.length).toBeGreaterThan(0);
    expect(secrets.map(({ alias }) => alias)).toEqual(left);
  });
});

// holds: C5.11
test('a mint by password on 4.x reports the secret that the server creates; a mint from a secret reports none', async () => {
  const { run, json } = await bench({ serverVersion: '4.1.2' });
  const { secret } = await json<{ secret: string }>('secret create ci');
  const note =
    /^graphcred: Minting with a password makes a 4.x server create a secret.*secret create NAME --save\n$/;
  expect((await run('token get')).stderr).toMatch(note);
  expect((await run('token get --fresh -q')).stderr).toBe('');
  expect((await run('token get --fresh --secret-stdin', { stdin: secret })).stderr).toBe('');
  const { secrets } = await json<{ secrets: { alias: string }[] }>('secret list');
  expect(secrets.length).toBeGreaterThan(1);
});

test('a cached token that is refreshed from stdin is stored once, and no entry is left after its deletion', async () => {
  const { run, json } = await bench();
  const { token } = await json<Token>('token get');
  await run('token refresh --token-stdin --lifetime 2h', { stdin: token });
  expect(await json('token list')).toMatchObject({ tokens: [{ secondsLeft: expect.any(Number) }] });
  await run('token delete --token-stdin', { stdin: token });
  expect(await json('token list')).toEqual({ schemaVersion: 1, tokens: [] });
  expect(await json('token get --lifetime 2h')).toMatchObject({ source: 'server' });
});

test('a token from stdin that is cached for another graph is deleted from the store too', async () => {
  const { run, json } = await bench({ graphs: ['demo', 'other'] });
  const { token } = await json<Token>('token get --graph other');
  await json('token get');
  await run('token delete --token-stdin', { stdin: token });
  expect(await json('token list')).toMatchObject({ tokens: [{ graph: 'demo' }] });
});

test('a token from stdin is refreshed and stored; an unknown one changes nothing', async () => {
  const { run, json, home } = await bench();
  const { token } = await json<Token>('token get --lifetime 1h --store none');
  const refreshed = await run('token refresh --token-stdin --lifetime 2h -o json', { stdin: `${token}\n` });
  expect(JSON.parse(refreshed.stdout)).toMatchObject({ token, lifetimeSeconds: 7200, source: 'server' });
  expect(await json('token get --lifetime 2h')).toMatchObject({ token, source: 'store' });
  const before = everyFile(home);
  const unknown = await run('token refresh --token-stdin -o json', {
    stdin: 'canarycanarycanarycanarycanary12',
  });
  expect({ stdout: unknown.stdout, failed: unknown.status }).toEqual({ stdout: '', failed: 3 });
  expect(unknown.stderr).not.toContain('canary');
  expect(everyFile(home)).toEqual(before);
});

test('a refresh on 4.x is exit 8 even without a credential', async () => {
  const { env, home, requests } = await bench({ serverVersion: '4.1.2' });
  const { GRAPHCRED_USERNAME: _, GRAPHCRED_PASSWORD: __, ...nobody } = env;
  const refused = await cli(home, ['token', 'refresh', '-o', 'json'], { env: nobody });
  expect({ status: refused.status, code: errorOf(refused.stderr).code }).toEqual({
    status: 8,
    code: 'UNSUPPORTED',
  });
  expect(requests()).toEqual(['GET /gsql/v1/version']);
  const old = await bench({ serverVersion: '3.10.1' });
  const env3 = {
    ...nobody,
    GRAPHCRED_GSQL_URL: old.sandbox.gsqlUrl,
    GRAPHCRED_REST_URL: old.sandbox.restUrl,
  };
  expect((await cli(old.home, ['token', 'refresh', '-o', 'json'], { env: env3 })).status).toBe(2);
});

// holds: C5.7
test.each(['token delete', 'token delete --all', 'token refresh', 'logout'])(
  'a missing keychain is not treated as an empty one: %s',
  async (line) => {
    const { env, home, requests } = await bench();
    const { GRAPHCRED_STORE: _, ...unsaid } = env;
    const noBus = {
      ...unsaid,
      DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent',
      XDG_RUNTIME_DIR: '/nonexistent',
    };
    const { status, stdout, stderr } = await cli(home, [...line.split(' '), '-o', 'json'], { env: noBus });
    expect({ status, stdout, code: errorOf(stderr).code }).toEqual({
      status: 6,
      stdout: '',
      code: 'STORE_UNAVAILABLE',
    });
    expect(requests().filter((request) => !/version/.test(request))).toEqual([]);
  },
);

// holds: C5.9
test('--store none stores nothing at all', async () => {
  const { run, home } = await bench();
  await run('token get --store none');
  expect(everyFile(home)).toEqual({});
  expect((await run('token delete --store none')).status).toBe(3);
});

test.each([
  ['3.10.1', 'DELETE /requesttoken'],
  ['4.1.2', 'DELETE /gsql/v1/tokens'],
])(
  'if one of several tokens on %s cannot be deleted, the error names it and the number of deleted ones',
  async (serverVersion, route) => {
    const { run, json, sandbox } = await bench({ serverVersion });
    for (const lifetime of ['1h', '2h', '3h']) await run(`token get --lifetime ${lifetime}`);
    sandbox.addFault({ action: 'status', status: 500, route, nth: 2, times: 1 });
    const broken = await run('token delete -o json');
    expect(broken).toMatchObject({ status: 10, stdout: '{"schemaVersion":1,"deleted":1,"missing":0}\n' });
    // The token that expires last is deleted first.
    expect(errorOf(broken.stderr)).toMatchObject({
      code: 'PARTIAL',
      message: expect.stringMatching(
        /^The token for graph demo, 7200 s, was not deleted: .* 1 of 3 are gone; 1 more were not tried\.$/,
      ),
    });
    const { tokens } = await json<{ tokens: { secondsLeft: number }[] }>('token list');
    expect(tokens.map(({ secondsLeft }) => Math.round(secondsLeft / 3600)).sort()).toEqual([1, 2]);
  },
);

test('with -o json there is no document if there was nothing to delete', async () => {
  const { run } = await bench();
  expect(await run('token delete -o json')).toMatchObject({ status: 3, stdout: '' });
  const none = await run('token delete --skip-missing -o json');
  expect(JSON.parse(none.stdout)).toEqual({ schemaVersion: 1, deleted: 0, missing: 0 });
});

test('a token that the server no longer knows counts among those that are gone when the next one fails', async () => {
  const { run, json, sandbox } = await bench();
  const { token } = await json<Token>('token get --lifetime 3h');
  for (const lifetime of ['1h', '2h']) await run(`token get --lifetime ${lifetime}`);
  await run('token delete --token-stdin --store none', { stdin: token });
  sandbox.addFault({ action: 'status', status: 500, route: 'DELETE /requesttoken', nth: 2, times: 1 });
  const broken = await run('token delete -o json');
  expect(broken).toMatchObject({ status: 10, stdout: '{"schemaVersion":1,"deleted":0,"missing":1}\n' });
  expect(errorOf(broken.stderr).message).toMatch(/ 1 of 3 are gone; 1 more were not tried\.$/);
});

test.each([
  ['token delete', '', 'The token is gone at the server, but this machine could not forget it: '],
  ['token delete -o json', '{"schemaVersion":1,"deleted":1,"missing":0}\n', 'until that is put right'],
  ['logout --revoke', '', 'revoked, but not forgotten here: '],
])(
  '%s says so if the token is deleted on the server and cannot be forgotten here',
  async (line, stdout, said) => {
    const { run, json } = await bench();
    const { token } = await json<Token>('token get');
    const remove = fs.rmSync;
    const removes = vi.spyOn(fs, 'rmSync').mockImplementation((file, options) => {
      if (/token-[0-9a-f]+\.json$/.test(String(file))) throw Object.assign(new Error('EIO'), { code: 'EIO' });
      remove(file, options);
    });
    const result = await run(line);
    removes.mockRestore();
    expect(result).toEqual({ status: 10, stdout, stderr: expect.stringContaining(said) });
    expect((await run('token check --token-stdin', { stdin: token })).status).toBe(4);
  },
);

test('logout --revoke forgets a token that the server no longer knows', async () => {
  const { run, json } = await bench();
  const { token } = await json<Token>('token get');
  await run('token delete --token-stdin --store none', { stdin: token });
  expect(await run('logout --revoke')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('1 token'),
  });
  expect(await json('token list')).toMatchObject({ tokens: [] });
});

test('token refresh replaces the token that it refreshed, leaves others, and keeps no lock', async () => {
  const { run, json, home } = await bench();
  await run('token get --lifetime 1h');
  await run('token get --lifetime 2h');
  expect((await run('token refresh --lifetime 3h')).status).toBe(0);
  const { tokens } = await json<{ tokens: { secondsLeft: number }[] }>('token list');
  expect(tokens.map(({ secondsLeft }) => Math.round(secondsLeft / 3600))).toEqual([3, 1]);
  expect(fs.readdirSync(stateOf(home)).filter((name) => name.includes('.lock'))).toEqual([]);
});
