import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { stageEntry } from '../../src/store/records.js';
import { absentRedis, bench } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';

interface List {
  tokens: { graph: string; store: string; secondsLeft: number }[];
}

interface Token {
  token: string;
}

describe.each(['3.10.1', '4.1.2'])('token check on %s', (serverVersion) => {
  // holds: C2.18
  test('exits 0 for an accepted token, 4 for a rejected one, which it deletes, and 3 if none is cached', async () => {
    const { run, json } = await bench({ serverVersion });
    expect((await run('token check')).status).toBe(3);
    const { token } = await json<Token>('token get');
    expect(await json('token check')).toEqual({ schemaVersion: 1, accepted: true });
    expect((await run('token check --token-stdin', { stdin: `${token}\n` })).status).toBe(0);
    await run('token delete --token-stdin --store none', { stdin: token });
    const rejected = await run('token check -o json');
    expect(rejected).toMatchObject({ status: 4, stdout: '{"schemaVersion":1,"accepted":false}\n' });
    expect(await json('token list')).toEqual({ schemaVersion: 1, tokens: [] });
  });
});

describe('formats', () => {
  // holds: C6.5, C6.6
  test('header and env print the token in their form', async () => {
    const { run, json } = await bench();
    const { token } = await json<Token>('token get');
    expect((await run('token get -o header')).stdout).toBe(`Authorization: Bearer ${token}\n`);
    expect((await run('token get -o env')).stdout).toBe(`export TG_API_TOKEN='${token}'\n`);
    expect((await run('token get -o env --shell fish')).stdout).toBe(`set -gx TG_API_TOKEN '${token}'\n`);
    const powershell = `$env:TG_API_TOKEN = '${token}'\n`;
    for (const shell of ['powershell', 'pwsh'])
      expect((await run(`token get -o env --shell ${shell}`)).stdout).toBe(powershell);
    expect((await run('token get -o env --shell cmd')).stdout).toBe(`set "TG_API_TOKEN=${token}"\n`);
    const onWindows = async (env: Record<string, string>) =>
      (await run('token get -o env', { platform: 'win32', env })).stdout;
    expect(await onWindows({})).toMatch(/^\$env:TG_API_TOKEN = '\w{32}'\n$/);
    for (const env of [{ MSYSTEM: 'MINGW64' }, { SHELL: '/usr/bin/bash' }] as Record<string, string>[])
      expect(await onWindows(env)).toMatch(/^export /);
  });

  // holds: C6.7
  test('github prints the mask, and writes token and expiry with a delimiter that changes', async () => {
    const { run, json, home } = await bench();
    const { token, expiresAt } = await json<Token & { expiresAt: string }>('token get');
    const env = { GITHUB_OUTPUT: path.join(home, 'output'), GITHUB_ENV: path.join(home, 'env') };
    for (let i = 0; i < 2; i++) {
      const result = await run('token get -o github --export', { env });
      expect(result).toEqual({ status: 0, stdout: `::add-mask::${token}\n`, stderr: '' });
    }
    const lines = fs.readFileSync(env.GITHUB_OUTPUT, 'utf8').split('\n');
    const [, first] = /^token<<(graphcred_[0-9a-f]{32})$/.exec(lines[0] as string) ?? [];
    expect(lines.slice(0, 6)).toEqual([
      `token<<${first}`,
      token,
      first,
      `expires-at<<${first}`,
      expiresAt,
      first,
    ]);
    expect(lines[6]).not.toBe(lines[0]);
    expect(fs.readFileSync(env.GITHUB_ENV, 'utf8')).toContain(`\n${token}\n`);
  });

  // holds: C6.8
  test('gitlab writes a private dotenv file', async () => {
    const { run, json, home } = await bench();
    const { token } = await json<Token>('token get');
    expect(await run('token get -o gitlab --dotenv out.env')).toMatchObject({ status: 0, stdout: '' });
    const file = path.join(home, 'out.env');
    expect(fs.readFileSync(file, 'utf8')).toBe(`TG_API_TOKEN=${token}\n`);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  });
});

test('on 3.x, where each token is another one, exec --revoke asks for the whole lifetime', async () => {
  const { run, sandbox } = await bench({ serverVersion: '3.2.0' });
  expect((await run('exec --revoke --lifetime 1h -- true')).status).toBe(0);
  const sent = sandbox.requests.map(({ query }) => query.lifetime).filter((value) => value !== undefined);
  expect(sent).toEqual(['3600']);
});

describe.each(['3.10.1', '4.1.2'])('token check on %s', (serverVersion) => {
  // holds: C3.5
  test('uses stdin before TG_API_TOKEN, and TG_API_TOKEN before the cached token', async () => {
    const { run, json } = await bench({ serverVersion });
    const { token } = await json<Token>('token get');
    const wrong = serverVersion.startsWith('4') ? `${token}x` : `${token.slice(1)}0`;
    const env = { TG_API_TOKEN: wrong };
    expect((await run('token check')).status).toBe(0);
    expect((await run('token check', { env })).status).toBe(4);
    expect((await run('token check --token-stdin', { env, stdin: `${token}\n` })).status).toBe(0);
    expect((await run('token check --token-stdin', { stdin: wrong })).status).toBe(4);
    // Only a token in this machine's store can be deleted from it.
    expect((await run('token check')).status).toBe(0);
  });

  test('prints no part of the token, and a server that does not answer is exit 7 and deletes nothing', async () => {
    const { run, json, sandbox } = await bench({ serverVersion });
    const { token } = await json<Token>('token get');
    const rejected = await run('token check -v -o json', { env: { TG_API_TOKEN: `${token}x` } });
    expect(rejected).toMatchObject({ status: 4, stdout: '{"schemaVersion":1,"accepted":false}\n' });
    expect(rejected.stderr).not.toContain(token);
    await sandbox.close();
    expect(await run('token check')).toMatchObject({ status: 7, stdout: '' });
    expect((await json<{ tokens: unknown[] }>('token list')).tokens).toHaveLength(1);
  });

  test('a token from stdin needs no login', async () => {
    const { run, json } = await bench({ serverVersion });
    const { token } = await json<Token>('token get --store none');
    const env = { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' };
    expect(await run('token check --token-stdin', { env, stdin: token })).toEqual({
      status: 0,
      stdout: 'The server accepts the token.\n',
      stderr: '',
    });
  });
});

test('an error that another credential would not mend is reported as it is, whatever TG_API_TOKEN is for', async () => {
  const { run } = await bench();
  const env = { TG_API_TOKEN: 'canarycanarycanarycanarycanary12', TG_HOST: 'http://a.example' };
  const wrong = await run('api /echo', { env: { ...env, GRAPHCRED_PASSWORD: 'wrong' } });
  expect(wrong).toMatchObject({
    status: 4,
    stderr: expect.stringContaining('TG_API_TOKEN is for the servers in TG_HOST and is not used here'),
  });
  expect((await run('api /echo', { env: { ...env, GRAPHCRED_PASSWORD: undefined } })).status).toBe(5);
});

test('token list shows expired tokens too, the longest-lived first, and asks for no credential', async () => {
  const { run, json, requests } = await bench({ graphs: ['demo', 'social'] });
  await run('token get --lifetime 1h');
  await run('token get --lifetime 2h --graph social');
  requests();
  const env = { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' };
  const { tokens } = await json<List>('token list', { env });
  expect(tokens.map(({ graph }) => graph)).toEqual(['social', 'demo']);
  const later = () => Date.now() + 90 * 60_000;
  const { tokens: ended } = await json<List>('token list', { env, now: later });
  expect(ended.map(({ secondsLeft }) => secondsLeft > 0)).toEqual([true, false]);
  expect(ended[1]?.secondsLeft).toBe(0);
  expect((await run('token list', { env, now: later })).stdout).toContain('expired');
  expect(requests()).toEqual([]);
});

test.each([0o620, 0o602])('token list ignores a record that others can write (mode %o)', async (mode) => {
  const { run, json, home } = await bench();
  await run('token get');
  const folder = path.join(home, '.local/state/graphcred');
  for (const name of fs.readdirSync(folder).filter((file) => /^token-.*\.json$/.test(file)))
    fs.chmodSync(path.join(folder, name), mode);
  expect((await json<List>('token list')).tokens).toEqual([]);
});

test('token list without a chosen store shows the tokens of every store of this machine', async () => {
  const { run, home } = await bench();
  await run('token get');
  const now = Math.floor(Date.now() / 1000);
  const info = { host: 'http://old.example', graph: null, principal: 'user:ann' };
  const record = { v: 1, kind: 'token', key: 'old', store: 'keychain', createdAtUnix: now, info } as const;
  const entry = { record: { ...record, expiresAtUnix: now + 60 } };
  stageEntry(path.join(home, '.local/state/graphcred'), entry).commit();
  const { stdout } = await run('token list', { env: { GRAPHCRED_STORE: undefined } });
  expect(stdout).toMatch(/^[0-9a-f]{8} +127\.0\.0\.1:\d+ +demo +tigergraph +file /m);
  // This record does not name the GSQL server.
  expect(stdout).toMatch(/^[0-9a-f]{8} +http:\/\/old\.example +- +ann +keychain /m);
  expect((await run('token list')).stdout).not.toContain('keychain');
});

test('token list without a home folder is empty', async () => {
  const { run } = await bench();
  const result = await run('token list -o json', { env: { GRAPHCRED_STORE: undefined }, homeless: true });
  expect(result).toEqual({ status: 0, stdout: '{"schemaVersion":1,"tokens":[]}\n', stderr: '' });
});

// holds: C2.36
test.each([
  'token list',
  'logout',
  'token delete --skip-missing',
  'token delete --all --skip-missing',
  'token delete --everything --skip-missing',
  'token delete 01234567',
  'token refresh',
])('%s names records that it cannot read, and is PARTIAL', async (line) => {
  const { run, file, write } = await benchWithToken();
  write(({ v: _, ...record }) => JSON.stringify({ ...record, v: 2 }));
  const { status, stderr } = await run(line);
  expect(status).toBe(10);
  expect(stderr).toContain(`can be read: ${file}: a newer graphcred wrote it.\nhint: use that graphcred\n`);
  expect(fs.existsSync(file)).toBe(true);
});

// holds: C5.9
test('token get replaces a damaged record, and none that can still be mended', async () => {
  const { run, file, write, read } = await benchWithToken();
  const whole = read();
  fs.chmodSync(file, 0o666);
  const refused = await run('token get');
  expect(refused).toMatchObject({ status: 0, stderr: expect.stringContaining('the token is not kept') });
  expect(read()).toBe(whole);
  expect((await run('token list')).stderr).toContain(`\nhint: to use it: chmod 600 ${file}\n`);
  fs.chmodSync(file, 0o600);
  expect((await run('token get')).stdout).not.toBe(refused.stdout);
  write(() => 'cut off');
  expect((await run('token list')).stderr).toContain(`\nhint: delete it: rm ${file}\n`);
  expect((await run('token get')).stderr).not.toContain('not kept');
  expect(read()).not.toBe('cut off');
});

/** Creates a bench whose machine holds one token, and returns the file of its record. */
async function benchWithToken() {
  const { run, home } = await bench();
  await run('token get');
  const folder = path.join(home, '.local/state/graphcred');
  const file = path.join(folder, defined(fs.readdirSync(folder).find((one) => one.startsWith('token-'))));
  const read = () => fs.readFileSync(file, 'utf8');
  const write = (change: (record: Record<string, unknown>) => string) =>
    fs.writeFileSync(file, change(JSON.parse(read())));
  return { run, file, read, write };
}

test('a token of this machine is listed once while the shared store is away', async () => {
  const { run, home } = await bench();
  const env = absentRedis(home);
  expect((await run('token get', { env })).status).toBe(0);
  const { stdout, stderr } = await run('token list -o json', { env });
  expect(JSON.parse(stdout).tokens).toHaveLength(1);
  expect(stderr).toContain('; this looks at the tokens of this machine only\n');
});
