import fs from 'node:fs';
import { expect, test } from 'vitest';
import { listEntries, writeEntry } from '../../src/store/records.js';
import { bench, cli } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';
import { configure, secretFiles, stateOf } from '../helpers/home.js';

// holds: C2.19
test('logout --revoke goes on after a token that the server fails to delete, and names that one', async () => {
  const { run, json, sandbox } = await bench();
  for (const life of ['1h', '2h', '3h']) await run(`token get --lifetime ${life}`);
  sandbox.addFault({ route: 'DELETE /requesttoken', nth: 1, action: 'status', status: 500 });
  const out = await run('logout --revoke');
  expect(out).toMatchObject({ status: 10, stdout: expect.stringContaining('Deleted 2 revoked tokens') });
  const { tokens } = await json<{ tokens: { id: string }[] }>('token list');
  expect(tokens).toHaveLength(1);
  expect(out.stderr).toContain(`and not revoked: token ${tokens[0]?.id} of tigergraph for graph demo`);
  sandbox.addFault({ route: 'DELETE /requesttoken', nth: 1, action: 'status', status: 500 });
  const alone = await run('logout --revoke');
  expect(alone).toMatchObject({
    status: 10,
    stdout: '',
    stderr: expect.stringContaining('Still stored here, and not revoked: '),
  });
});

test('logout --revoke does not name a second record of a token that it has revoked', async () => {
  const { run, json, sandbox } = await bench();
  const { token } = await json<{ token: string }>('token get');
  const body = JSON.stringify({ error: false, message: '', token, expiration: 3600 });
  sandbox.addFault({ action: 'status', status: 200, route: 'POST /requesttoken', times: 1, body });
  await run('token get --lifetime 1h');
  expect(await json<{ tokens: unknown[] }>('token list')).toMatchObject({ tokens: [{}, {}] });
  expect(await run('logout --revoke')).toMatchObject({ status: 0, stderr: '' });
  expect(await json('token list')).toMatchObject({ tokens: [] });
});

test('logout --revoke of a profile without a user finds the tokens of a rotated secret', async () => {
  const b = await bench({ serverVersion: '4.1.2' });
  const { secret } = await b.json<{ secret: string }>('secret create ci');
  const env = { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' };
  await b.run('login -p by_secret --secret-stdin', { env, stdin: secret });
  for (const lifetime of ['1h', '2h']) await b.run(`token get --lifetime ${lifetime} -p by_secret`, { env });
  expect(await b.run('secret rotate ci -p by_secret', { env })).toMatchObject({ status: 0 });
  const out = await b.run('logout --revoke -p by_secret', { env });
  expect(out).toMatchObject({ status: 0, stdout: expect.stringContaining('Deleted 2 revoked tokens') });
});

// holds: C2.19
test('logout of a profile without a user deletes each secret that was saved with its own', async () => {
  const b = await bench({ serverVersion: '4.1.2' });
  const env = { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' };
  const { secret } = await b.json<{ secret: string }>('secret create first');
  await b.run('login -p own --secret-stdin', { env, stdin: secret });
  await b.run('secret create second --save -p own', { env });
  expect((await b.run('logout -p own', { env })).stdout).toContain('2 saved credentials');
  expect(secretFiles(b.home)).toEqual([]);
});

// holds: C4.2
test('logout of a profile that names a secret by its alias deletes nothing else of its users', async () => {
  const users = ['ada', 'eve'].map((name) => ({ name, password: name, role: 'superuser' as const }));
  const b = await bench({ serverVersion: '4.1.2', users });
  for (const { name } of users)
    for (const alias of ['ci', 'other'])
      await b.run(`secret create ${alias} --save -u ${name}`, { env: { GRAPHCRED_PASSWORD: name } });
  const { restUrl, gsqlUrl } = b.sandbox;
  configure(b.home, { profiles: { shared: { restUrl, gsqlUrl, secretAlias: 'ci' } } });
  const env = { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' };
  expect((await b.run('logout -p shared', { env })).stdout).toContain('2 saved credentials');
  expect(secretFiles(b.home)).toHaveLength(2);
});

test('token delete ends the tokens it can read and keeps the others, whatever this clock says', async () => {
  const clock = { ms: Date.now() };
  const b = await bench({ now: () => clock.ms });
  const withKey = (fill: number) => ({
    now: () => clock.ms,
    env: { GRAPHCRED_STORE_KEY: Buffer.alloc(32, fill).toString('base64') },
  });
  for (const life of ['1m', '2h']) await b.run(`token get --lifetime ${life}`, withKey(1));
  await b.run('token get --lifetime 1h', withKey(2));
  clock.ms += 120_000;
  const out = await b.run('token delete', withKey(2));
  expect(out).toMatchObject({ status: 10, stdout: 'Deleted 1 token.\n' });
  expect(out.stderr).toContain('Still stored here, and not revoked: ');
  expect((await b.json<{ tokens: unknown[] }>('token list', withKey(2))).tokens).toHaveLength(2);
});

// holds: C2.26
test('a live token of another store key stays listed when it is replaced, and logout --revoke names it', async () => {
  const b = await bench();
  const withKey = (fill: number) => ({
    env: { GRAPHCRED_STORE_KEY: Buffer.alloc(32, fill).toString('base64') },
  });
  await b.run('token get', withKey(1));
  await b.run('token get', withKey(2));
  const { tokens } = await b.json<{ tokens: { id: string }[] }>('token list', withKey(2));
  expect(tokens).toHaveLength(2);
  expect(await b.run('logout --revoke', withKey(2))).toMatchObject({
    status: 10,
    stdout: expect.stringContaining('Deleted 1 revoked token'),
    stderr: expect.stringContaining('A stored token cannot be read'),
  });
});

test('logout --all names the secrets that stay by alias', async () => {
  const { run } = await bench();
  const aliases = ['b', 'e', 'a', 'd', 'c'];
  for (const alias of aliases) await run(`secret create ${alias} --save`);
  const { stderr } = await run('logout --all --yes');
  expect(stderr.match(/(?<=the secret ")\w(?=" was not dropped)/g)).toEqual([...aliases].sort());
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
  const kept = secretFiles(b.home).map((file) => JSON.parse(fs.readFileSync(file, 'utf8')).info.alias);
  expect(kept.sort()).toEqual(['his', 'there']);
});

test('logout forgets what lies in a store that was used before', async () => {
  const b = await bench();
  await b.run('token get');
  expect((await b.run('login --store none')).status).toBe(0);
  const { status, stdout } = await b.run('logout', { env: { GRAPHCRED_STORE: '' } });
  expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/^Deleted 1 token from /) });
});

test.runIf(process.platform === 'linux')(
  'logout deletes what it can when another store of the machine cannot be used',
  async () => {
    const { run, home } = await bench();
    await run('token get');
    const [token] = listEntries(stateOf(home));
    const { record } = defined(token);
    const newer = { ...record, store: 'keychain', createdAtUnix: record.createdAtUnix + 9 } as const;
    writeEntry(stateOf(home), { record: newer });
    const env = { GRAPHCRED_STORE: undefined };
    expect(await run('logout', { env })).toMatchObject({ status: 6 });
    expect(listEntries(stateOf(home)).map((one) => one.record.store)).toEqual(['keychain']);
  },
);

test('logout --store redis removes nothing from another store', async () => {
  const { run, json } = await bench();
  await run('token get');
  const env = {
    GRAPHCRED_REDIS_URL: 'redis://127.0.0.1:1',
    GRAPHCRED_STORE_KEY: Buffer.alloc(32, 7).toString('base64'),
  };
  expect((await run('logout --store redis', { env })).status).toBe(3);
  expect(await json('token list')).toMatchObject({ tokens: [{}] });
});
