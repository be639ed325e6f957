// Tests, one by one, mistakes with credentials that belong to somebody else or get lost.
import fs from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/server.js';
import { bench, cli, temporaryHome } from '../helpers/cli.js';

const NO_PASSWORD = { env: { GRAPHCRED_PASSWORD: '' } };

test('login at a new address replaces the old address, its version and its secretCommand', async () => {
  const [old, fresh] = [await bench(), await bench({ serverVersion: '4.1.2' })];
  const ran = path.join(fresh.home, 'ran');
  const folder = path.join(fresh.home, '.config', 'graphcred');
  const file = path.join(folder, 'config.json');
  fs.mkdirSync(folder, { recursive: true });
  const { gsqlUrl, restUrl } = old.sandbox;
  const work = { gsqlUrl, restUrl, serverVersion: '3.10.1', secretCommand: ['touch', ran], lifetime: '15m' };
  fs.writeFileSync(file, JSON.stringify({ profiles: { work } }), { mode: 0o600 });
  const done = await fresh.run('login -p work');
  expect(done).toMatchObject({ status: 0 });
  expect(done.stderr).toContain('secretCommand');
  const { profiles } = JSON.parse(fs.readFileSync(file, 'utf8'));
  expect(profiles.work).toMatchObject({ gsqlUrl: fresh.sandbox.gsqlUrl, lifetime: '15m' });
  expect(profiles.work).not.toHaveProperty('serverVersion');
  expect(profiles.work).not.toHaveProperty('secretCommand');
  expect({ ran: fs.existsSync(ran), old: old.requests() }).toEqual({ ran: false, old: [] });
});

test('a secret that login saved is deleted by its real alias, not by the name that login invented', async () => {
  const b = await bench({ serverVersion: '4.1.2' });
  const { secret } = await b.json<{ secret: string }>('secret create ci');
  expect((await b.run('login --secret-stdin', { ...NO_PASSWORD, stdin: secret })).status).toBe(0);
  await b.run('secret drop login --ignore-missing');
  expect(await b.run('token get --fresh', NO_PASSWORD)).toMatchObject({ status: 0 });
  expect((await b.run('secret drop ci')).status).toBe(0);
  expect((await b.run('token get --fresh', NO_PASSWORD)).status).toBe(2);
});

test('on 4.x, too, logout --revoke revokes its own tokens, and keeps and names those of another credential', async () => {
  const b = await bench({ serverVersion: '4.1.2' });
  const { secret } = await b.json<{ secret: string }>('secret create ci');
  const other = { env: { GRAPHCRED_SECRET: secret } };
  const { token: theirs } = await b.json<{ token: string }>('token get --lifetime 20d', other);
  const { token: own } = await b.json<{ token: string }>('token get --lifetime 10d');
  const done = await b.run('logout --revoke');
  expect(done).toMatchObject({ status: 10 });
  expect(done.stderr).toMatch(/still held: \w+ \(secret:/);
  const check = (stdin: string) => b.run('token check --token-stdin', { stdin });
  expect([(await check(own)).status, (await check(theirs)).status]).toEqual([4, 0]);
});

test('if two machines rotate one alias at once, one of them changes nothing and says so', async () => {
  const b = await bench();
  await b.run('secret create ci --save');
  const second = temporaryHome();
  fs.cpSync(b.home, second, { recursive: true });
  const at = (home: string, line: string, env = {}) =>
    cli(home, line.split(' '), { env: { ...b.env, ...env } });
  const both = await Promise.all([at(b.home, 'secret rotate ci'), at(second, 'secret rotate ci')]);
  expect(both.map(({ status }) => status).sort()).toEqual([0, 8]);
  const winner = both[0].status === 0 ? b.home : second;
  expect((await at(winner, 'token get --fresh', { GRAPHCRED_PASSWORD: '' })).status).toBe(0);
});

test('on 4.x a saved secret is used for every graph', async () => {
  const b = await bench({ serverVersion: '4.1.2', graphs: ['demo', 'other'] });
  expect((await b.run('secret create ci --save')).status).toBe(0);
  expect(await b.run('token get --graph other', NO_PASSWORD)).toMatchObject({ status: 0 });
});

test('the command of graphcred sandbox gets none of the user’s own credentials', async () => {
  const home = temporaryHome();
  const out = path.join(home, 'environment');
  const own = {
    GRAPHCRED_SECRET: 'canary-1',
    GRAPHCRED_PASSWORD: 'canary-2',
    GRAPHCRED_STORE_KEY: 'canary-3',
    GRAPHCRED_REDIS_PASSWORD: 'canary-4',
    TG_PASSWORD: 'canary-5',
    TG_SECRET: 'canary-6',
    TG_API_TOKEN: 'canary-7',
    TG_HOST: 'http://canary-8',
  };
  const argv = ['sandbox', '-q', '--', 'sh', '-c', `env > ${out}`];
  expect(await cli(home, argv, { env: own })).toMatchObject({ status: 0 });
  const seen = fs.readFileSync(out, 'utf8');
  expect(seen).toContain('GRAPHCRED_PASSWORD=tigergraph');
  expect(seen).not.toContain('canary');
});

test('the name of a folder is printed on one line without control characters', async () => {
  const home = temporaryHome();
  const cwd = path.join(home, 'a\u001b[31mb\nhint: run this');
  fs.mkdirSync(cwd);
  const planted = { profiles: { 'p\u001b]0;title\u0007': {} } };
  fs.writeFileSync(path.join(cwd, '.graphcredrc.json'), JSON.stringify(planted));
  for (const line of ['status', 'config path', 'config show', 'config trust', 'doctor']) {
    const { stdout, stderr } = await cli(home, line.split(' '), { cwd, env: { GRAPHCRED_STORE: 'none' } });
    expect(stdout + stderr).toContain('.graphcredrc.json');
    expect(stdout + stderr).not.toContain('\u001b');
    expect(stdout + stderr).not.toMatch(/^hint: run this/m);
  }
});

test('--wait with --timeout takes no longer than both together', async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as { port: number };
  const env = { GRAPHCRED_GSQL_URL: `http://127.0.0.1:${port}`, GRAPHCRED_STORE: 'none' };
  const more = { GRAPHCRED_USERNAME: 'x', GRAPHCRED_PASSWORD: 'y', GRAPHCRED_GRAPH: 'demo' };
  const ends = async (line: string) => {
    const began = performance.now();
    const argv = `--wait 2 --timeout 2 ${line}`.split(' ');
    const { status } = await cli(temporaryHome(), argv, { env: { ...env, ...more } });
    expect({ line, status }).toEqual({ line, status: line.startsWith('exec') ? 125 : 7 });
    // If the command waited twice for both servers, it would take 8 s.
    expect(performance.now() - began, line).toBeLessThan(6500);
  };
  await Promise.all(['token get', 'exec -- true'].map(ends));
});

test('a rotation that is resumed while the server throttles logins deletes no value that works', async () => {
  let clock = Date.now();
  const sandbox = await startSandbox({ serverVersion: '3.10.1', gsqlPort: 0, restPort: 0, now: () => clock });
  onTestFinished(() => sandbox.close());
  const home = temporaryHome();
  const env = {
    GRAPHCRED_REST_URL: sandbox.restUrl,
    GRAPHCRED_GSQL_URL: sandbox.gsqlUrl,
    GRAPHCRED_GRAPH: 'demo',
    GRAPHCRED_USERNAME: 'tigergraph',
    GRAPHCRED_PASSWORD: 'tigergraph',
    GRAPHCRED_STORE: 'file',
  };
  const run = (line: string, more = {}) =>
    cli(home, line.split(' '), { env: { ...env, ...more }, now: () => clock });
  expect((await run('secret create ci --save')).status).toBe(0);
  // The rotation is interrupted when ci_next is saved and works, and ci is about to be dropped.
  sandbox.addFault({ action: 'drop-before', route: 'POST /gsqlserver/gsql/file', nth: 4, times: 1 });
  expect((await run('secret rotate ci')).status).not.toBe(0);
  for (let n = 0; n < 6; n++) await run('secret list', { GRAPHCRED_PASSWORD: 'wrong' });
  expect((await run('secret rotate ci')).status).not.toBe(0);
  clock += 3_600_000;
  expect(await run('token get --fresh', { GRAPHCRED_PASSWORD: '' })).toMatchObject({ status: 0 });
  expect(await run('secret rotate ci')).toMatchObject({ status: 0 });
  expect(await run('token get --fresh', { GRAPHCRED_PASSWORD: '' })).toMatchObject({ status: 0 });
});
