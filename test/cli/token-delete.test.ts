import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { certificate } from '../helpers/certificate.js';
import { bench, cli } from '../helpers/cli.js';
import { put, unremovable } from '../helpers/home.js';

interface Row {
  id: string;
}

interface List {
  tokens: Row[];
}

const USERS = [
  { name: 'tigergraph', password: 'tigergraph', role: 'superuser' as const },
  { name: 'ada', password: 'pw-ada', role: 'admin' as const },
];

/** On 4.x two tokens of one second are the same token, so the server's clock goes on between two mints. */
async function benchWithClock(serverVersion: string) {
  const clock = { seconds: 0 };
  const used = await bench({ serverVersion, users: USERS, now: () => Date.now() + clock.seconds * 1000 });
  const mint = async (line: string) => {
    clock.seconds++;
    return used.json<Token>(line);
  };
  const list = async (options = '') => (await used.json<List>(`token list${options}`)).tokens;
  return { ...used, mint, list };
}

const PROFILES = (one: string, two: string) => `
profiles:
  one: { ${one}, graph: demo, username: tigergraph, password: tigergraph }
  two: { ${two}, graph: demo, username: ada, password: pw-ada }
`;

interface Token {
  token: string;
  source: string;
}

const errorOf = (stderr: string) => JSON.parse(stderr.trim().split('\n').at(-1) as string).error;

test('a refresh on 4.x is exit 8 even without a credential', async () => {
  const { run, requests } = await bench({ serverVersion: '4.1.2' });
  const env = { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' };
  expect((await run('token refresh', { env })).status).toBe(8);
  expect(requests()).toEqual(['GET /gsql/v1/version']);
});

// holds: C5.7
test.each(['token delete', 'token refresh', 'logout'])(
  'a missing keychain is not treated as an empty one: %s',
  async (line) => {
    const { run, requests } = await bench();
    const noBus = {
      GRAPHCRED_STORE: '',
      DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent',
      XDG_RUNTIME_DIR: '/nonexistent',
    };
    const { status, stdout, stderr } = await run(`${line} -o json`, { env: noBus });
    expect([status, stdout, errorOf(stderr).code]).toEqual([6, '', 'STORE_UNAVAILABLE']);
    expect(requests().filter((request) => !/version/.test(request))).toEqual([]);
  },
);

// holds: C5.7
test('a keychain that is missing and that no setting names counts as none for token check', async () => {
  const { run } = await bench();
  const noBus = {
    GRAPHCRED_STORE: '',
    DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent',
    XDG_RUNTIME_DIR: '/nonexistent',
  };
  const { status, stderr } = await run('token check', { env: noBus });
  expect([status, stderr]).toEqual([3, expect.stringContaining('No stored token')]);
});

// holds: C5.9
test('--store none stores nothing at all', async () => {
  const { run, home } = await bench();
  await run('token get --store none');
  expect(fs.readdirSync(home)).toEqual([]);
  const { status, stderr } = await run('token delete --store none');
  expect(status).toBe(3);
  expect(stderr).toContain(' is stored in the none store.');
});

test('token delete finds what is in another store of this machine than the one in force', async () => {
  const { run } = await bench();
  await run('token get');
  expect((await run('token delete', { env: { GRAPHCRED_STORE: 'none' } })).status).toBe(0);
});

test.each([
  ['token delete', 'Deleted 1 token.\n'],
  ['token delete -o json', '{"schemaVersion":1,"deleted":1,"missing":0,"ended":0}\n'],
  ['logout --revoke', ''],
])('%s says so if the token is deleted on the server and cannot be forgotten here', async (line, stdout) => {
  const { run } = await bench();
  await run('token get');
  unremovable('token');
  const said = 'No longer valid, but still stored: token ';
  expect(await run(line)).toEqual({ status: 10, stdout, stderr: expect.stringContaining(said) });
});

// holds: C2.16
test('a deleted token is forgotten on a full disk too, which has no room for a lock', async () => {
  const { run, json } = await bench();
  await run('token get');
  const write = vi.spyOn(fs, 'writeFileSync').mockImplementation(() => {
    throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
  });
  onTestFinished(() => write.mockRestore());
  expect(await run('token delete')).toMatchObject({ status: 0, stdout: 'Deleted 1 token.\n' });
  expect(await json('token list')).toMatchObject({ tokens: [] });
});

test('logout that cannot forget a token is exit 6, and says why', async () => {
  const { run } = await bench();
  await run('token get');
  unremovable('token', 'EROFS');
  expect(await run('logout')).toMatchObject({
    status: 6,
    stdout: '',
    stderr: expect.stringContaining('the file system is read-only'),
  });
});

test('logout --revoke forgets a token that the server no longer knows', async () => {
  const { run, json } = await bench();
  const { token } = await json<Token>('token get');
  await run('token delete --token-stdin --store none', { stdin: token });
  expect(await run('logout --revoke')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('1 token that had ended'),
  });
  expect(await json('token list')).toMatchObject({ tokens: [] });
});

test('where nothing is held, token delete asks no server, which may be gone', async () => {
  const { run, requests } = await bench();
  const env = { GRAPHCRED_REST_URL: undefined };
  expect((await run('token delete', { env })).status).toBe(3);
  expect((await run('token delete --all --skip-missing', { env })).status).toBe(0);
  expect(requests()).toEqual([]);
});

describe.each(['3.10.1', '4.1.2'])('a live token on %s', (serverVersion) => {
  // holds: C2.28
  test('is deleted by the id of its row, and an unknown id deletes nothing unless it is to be skipped', async () => {
    const { run, mint, list, json } = await benchWithClock(serverVersion);
    await mint('token get --lifetime 1h');
    const { token } = await mint('token get --lifetime 2h');
    const [{ id: long }, { id: short }] = (await list()) as [Row, Row];
    expect((await run('token list')).stdout).toContain(long);
    expect(await run(`token delete ${short} 00000000`)).toMatchObject({ status: 3, stdout: '' });
    expect(await list()).toHaveLength(2);
    expect((await run('token delete 00000000 --skip-missing')).status).toBe(0);
    expect(await json(`token delete ${short} 00000000 --ignore-missing`)).toMatchObject({ deleted: 1 });
    expect(await mint('token get --lifetime 2h')).toMatchObject({ token, source: 'store' });
    expect((await run(`token delete ${long} --all`)).status).toBe(2);
  });
});

// holds: C2.26
test('a token deleted with the login of another user is gone from every record of it', async () => {
  const { run, mint, list, json, sandbox } = await benchWithClock('3.10.1');
  const ada = { env: { GRAPHCRED_USERNAME: 'ada', GRAPHCRED_PASSWORD: 'pw-ada' } };
  const { token } = await json<{ token: string }>('token get', ada);
  const body = JSON.stringify({ error: false, message: '', token, expiration: 3600 });
  sandbox.addFault({ action: 'status', status: 200, route: 'POST /requesttoken', times: 1, body });
  await run('token get --lifetime 1h');
  expect(await list()).toHaveLength(2);
  await mint('token get --lifetime 2h');
  expect(await json('token delete --token-stdin', { stdin: token })).toMatchObject({ deleted: 1 });
  expect(await list()).toHaveLength(1);
  expect(await json('token get', ada)).toMatchObject({ source: 'server' });
});

// holds: C2.28
test('--everything names each record of a token that stays, and none of one that went with another login', async () => {
  const { run, list, json, sandbox } = await benchWithClock('3.10.1');
  const ada = { env: { GRAPHCRED_USERNAME: 'ada', GRAPHCRED_PASSWORD: 'pw-ada' } };
  const { token } = await json<Token>('token get --lifetime 1h', ada);
  const body = JSON.stringify({ error: false, message: '', token, expiration: 7200 });
  sandbox.addFault({ action: 'status', status: 200, route: 'POST /requesttoken', times: 1, body });
  await run('token get --lifetime 2h');
  const wrong = { env: { GRAPHCRED_USERNAME: 'nobody', GRAPHCRED_PASSWORD: 'wrong' } };
  const { stderr } = await run('token delete --everything', wrong);
  for (const { id } of await list()) expect(stderr).toContain(id);
  expect(await run('token delete --everything', ada)).toMatchObject({
    status: 0,
    stdout: 'Deleted 1 token.\n',
  });
  expect(await list()).toEqual([]);
});

// holds: C2.28, C2.35
test('--everything revokes with the saved credential that minted a token or the login in force, and keeps the rest', async () => {
  const old = await bench({ serverVersion: '3.10.1' });
  const tls = await certificate('127.0.0.1');
  const other = await bench({ serverVersion: '4.1.0', users: USERS, tls });
  const ca = put(old.home, 'ca.pem', tls.cert);
  const address = ({ sandbox }: typeof old) => `restUrl: "${sandbox.restUrl}", gsqlUrl: "${sandbox.gsqlUrl}"`;
  const config = put(
    old.home,
    'config.yaml',
    PROFILES(address(old), `${address(other)}, tls: { ca: ca.pem }`),
  );
  const env = { GRAPHCRED_STORE: 'file', GRAPHCRED_CONFIG: config };
  const run = (line: string, stdin?: string) =>
    cli(old.home, line.split(' '), { env, ...(stdin !== undefined && { stdin }) });
  const there = `--gsql-url ${other.sandbox.gsqlUrl} --rest-url ${other.sandbox.restUrl} --ca ${ca}`;
  await run('token get -p one');
  await run('secret create saved --save -p two');
  expect((await run(`token get --graph demo ${there} -u ada`)).status).toBe(0);
  expect(
    (await run(`token get --graph demo ${there} -u tigergraph --password-stdin`, 'tigergraph')).status,
  ).toBe(0);
  expect(JSON.parse((await run('token list -p one -o json')).stdout).tokens).toMatchObject([
    { gsqlUrl: old.sandbox.gsqlUrl },
  ]);
  const deleted = await run('token delete --everything -p one');
  expect(deleted).toMatchObject({ status: 10, stdout: 'Deleted 2 tokens.\n' });
  expect(deleted.stderr).toContain(`of tigergraph for graph demo at ${other.sandbox.gsqlUrl}`);
  const left = JSON.parse((await run('token list -o json')).stdout).tokens;
  expect(left).toMatchObject([{ gsqlUrl: other.sandbox.gsqlUrl, principal: 'user:tigergraph' }]);
  // The one that could not be revoked is kept until it is forgotten on purpose.
  const unasked = await run('logout --all');
  expect(unasked).toMatchObject({ status: 2, stdout: '' });
  expect(unasked.stderr).toContain('Deleting everything must be confirmed, but ');
  expect(await run('logout --all --revoke --yes')).toMatchObject({ status: 10, stdout: '' });
  const out = await run('logout --all --yes');
  expect(out.stdout).toBe(
    'Deleted 1 token and 1 saved credential from this machine (all servers and database users).\n',
  );
  const kept = ['.config', '.local/state'].map((dir) => `rm -r ${path.join(old.home, dir, 'graphcred')}`);
  expect(out.stderr).toContain(`to remove them: ${kept.join('; ')}\n`);
  expect((await run('logout --all --yes')).status).toBe(3);
  expect(await run('token delete --everything')).toMatchObject({
    status: 3,
    stderr: expect.stringContaining('No token is stored on this machine.'),
  });
});

test('the login in force revokes tokens whose saved secret the server no longer takes', async () => {
  const { run, env } = await bench({ serverVersion: '4.1.0' });
  await run('secret create ci --save');
  const bySecret = { ...env, GRAPHCRED_PASSWORD: '' };
  for (const life of ['1h', '2h']) await run(`token get --lifetime ${life}`, { env: bySecret });
  await run('secret drop ci', { env: { ...env, XDG_STATE_HOME: `${env.HOME}/elsewhere` } });
  const { tokens } = JSON.parse((await run('token list -o json')).stdout) as List;
  const alone = await run(`token delete ${tokens[0]?.id}`, { env: bySecret });
  const hint =
    / not revoked: .*\nhint: .*: graphcred (token delete \w+ --gsql-url .* -u tigergraph --password-stdin)\n/;
  expect(alone).toMatchObject({ status: 10, stderr: expect.stringMatching(hint) });
  const stdin = { stdin: 'tigergraph', env: bySecret };
  expect(await run(`${hint.exec(alone.stderr)?.[1]}`, stdin)).toMatchObject({ status: 0 });
  expect(await run(`token delete ${tokens[1]?.id}`)).toMatchObject({ status: 0 });
});

test('a token whose saved secret was dropped elsewhere is deleted with the saved password of its user', async () => {
  const b = await benchWithClock('4.1.2');
  const own = { env: { GRAPHCRED_PASSWORD: '' } };
  expect((await b.run('login --save-password')).status).toBe(0);
  expect((await b.run('secret create one --save')).status).toBe(0);
  expect((await b.run('token get', own)).status).toBe(0);
  expect((await b.run('secret drop one --yes --store none')).status).toBe(0);
  expect(await b.json('token delete', own)).toMatchObject({ deleted: 1 });
  expect(await b.list()).toEqual([]);
});

test.each(['3.10.1', '4.1.2'])("another user's token is not deleted on %s", async (version) => {
  const { run, mint } = await benchWithClock(version);
  const { token: stdin } = await mint('token get');
  const ada = { GRAPHCRED_USERNAME: 'ada', GRAPHCRED_PASSWORD: 'pw-ada' };
  expect((await run('token delete --token-stdin', { stdin, env: ada })).status).not.toBe(0);
  expect((await run('token check')).status).toBe(0);
});

test('a token minted right after its predecessor was deleted is another one on 4.x', async () => {
  const { run, json } = await bench({ serverVersion: '4.1.2' });
  const { token } = await json<Token>('token get');
  await json('token delete');
  expect((await json<Token>('token get')).token).not.toBe(token);
  expect((await run('token check')).status).toBe(0);
});

// holds: C2.28
test('a token of an unknown user logs in itself on 4.x, and no login of another user is tried', async () => {
  const secrets = [{ alias: 'hers', value: 'a'.repeat(32), user: 'ada', graph: 'demo' }];
  const { run, sandbox } = await bench({ serverVersion: '4.1.2', users: USERS, secrets });
  const env = { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' };
  await run('token get --secret-stdin', { env, stdin: 'a'.repeat(32) });
  expect(await run('token delete --everything')).toMatchObject({ status: 0, stdout: 'Deleted 1 token.\n' });
  expect(sandbox.requests.filter(({ login }) => login === 'basic')).toEqual([]);
});

test.each([
  ['token delete', 'DELETE /requesttoken'],
  ['token refresh --lifetime 2', 'PUT /requesttoken'],
])('after a %s whose answer was lost, the token is not given out again', async (line, route) => {
  const { run, sandbox } = await bench();
  const { stdout } = await run('token get');
  sandbox.addFault({ action: 'drop-after', route });
  expect((await run(line)).status).toBe(7);
  const later = await run('token get', { now: () => Date.now() + 3000 });
  expect(later).toMatchObject({ status: 0, stdout: expect.not.stringContaining(stdout) });
  expect((await run('token list')).stdout.match(/demo/g)).toHaveLength(2);
});

test('a token that has ended already is nothing that is left to delete', async () => {
  const { run } = await bench();
  const token = (await run('token get')).stdout;
  await run('token get --lifetime 1h');
  await run('token delete --token-stdin --store none', { stdin: token });
  expect(await run('token delete --everything')).toMatchObject({ status: 0, stdout: 'Deleted 1 token.\n' });
  expect((await run('token delete --everything')).status).toBe(3);
});

test('a token that has ended is forgotten after another that the login may not delete', async () => {
  const { run, mint, list, json } = await benchWithClock('3.10.1');
  const { token: stdin } = await mint('token get --lifetime 1h');
  await mint('token get --lifetime 2h');
  await run('token delete --token-stdin --store none', { stdin });
  const [live, ended] = (await list()) as [Row, Row];
  const wrong = { env: { GRAPHCRED_PASSWORD: 'wrong' } };
  expect((await run(`token delete ${live.id} ${ended.id}`, wrong)).status).toBe(10);
  expect(await json('token list')).toMatchObject({ tokens: [{ id: live.id }] });
});

test('a token that has ended on 3.x is forgotten without a login, and a live one asks for one', async () => {
  const { run, mint, list, sandbox } = await benchWithClock('3.10.1');
  const { token: stdin } = await mint('token get --lifetime 1h');
  await mint('token get --lifetime 2h');
  await run('token delete --token-stdin --store none', { stdin });
  const [live, ended] = (await list()) as [Row, Row];
  const without = { env: { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' } };
  expect((await run(`token delete ${ended.id}`, without)).status).toBe(3);
  expect(await list()).toMatchObject([{ id: live.id }]);
  const kept = await run(`token delete ${live.id}`, without);
  expect([kept.status, kept.stderr]).toEqual([10, expect.stringContaining('A user name is needed')]);
  sandbox.addFault({ route: '/echo', action: 'status', status: 500 });
  const refused = await run(`token delete ${live.id}`, { env: { GRAPHCRED_PASSWORD: 'wrong' } });
  expect([refused.status, refused.stderr]).toEqual([10, expect.stringContaining('refused the user name')]);
});

// holds: C3.18
test('a token on standard input that is held for another database is not sent to the one in force', async () => {
  const { run } = await bench({ serverVersion: '3.10.1' });
  const other = await bench({ serverVersion: '3.10.1' });
  const { gsqlUrl, restUrl } = other.sandbox;
  const token = (await run('token get')).stdout;
  const env = { GRAPHCRED_GSQL_URL: gsqlUrl, GRAPHCRED_REST_URL: restUrl };
  for (const line of ['check', 'refresh', 'delete --skip-missing']) {
    const { status, stderr } = await run(`token ${line} --token-stdin`, { stdin: token, env });
    expect({ status, stderr }).toEqual({
      status: 5,
      stderr: expect.stringMatching(
        /is for http.*, but GRAPHCRED_GSQL_URL names .*\nhint: give its own addresses: --gsql-url http\S+ --rest-url http\S+\n/,
      ),
    });
  }
  expect(other.sandbox.requests.map(({ path }) => path)).not.toContainEqual(
    expect.stringMatching(/echo|requesttoken/),
  );
  const [{ id = '' } = {}] = (JSON.parse((await run('token list -o json')).stdout) as List).tokens;
  expect(await run(['token', 'delete', id])).toMatchObject({ status: 0 });
});
