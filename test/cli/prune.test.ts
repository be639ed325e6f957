import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { stageEntry } from '../../src/store/records.js';
import { bench } from '../helpers/cli.js';
import { configOf, configure, secretFiles } from '../helpers/home.js';

type Bench = Awaited<ReturnType<typeof bench>>;

// holds: C2.13
test.each(['3.10.1', '4.1.2'])(
  'prune on %s drops generated secrets and nothing else, and only after a yes',
  async (serverVersion) => {
    const { run, json } = await bench({ serverVersion });
    await run('secret create');
    await run('secret create AUTO_GENERATED_ALIAS_saved --save');
    await run('secret create named');
    const aliases = async () =>
      (await json<{ secrets: { alias: string }[] }>('secret list')).secrets.map(({ alias }) => alias);
    const before = await aliases();
    expect(before).toHaveLength(3);
    expect(await run('secret prune')).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('--yes'),
    });
    const dry = await json<{ dropped: string[] }>('secret prune --dry-run');
    expect(dry).toEqual({
      schemaVersion: 1,
      dropped: [expect.stringMatching(/^AUTO_GENERATED_ALIAS_/)],
      missing: [],
      dryRun: true,
    });
    expect(await aliases()).toEqual(before);
    expect(await json('secret prune --yes')).toEqual({ ...dry, dryRun: false });
    expect(await aliases()).toEqual(before.filter((alias) => alias !== dry.dropped[0]));
    expect(await json('secret prune --yes')).toMatchObject({ dropped: [] });
  },
);

test('a secret saved in another store than the one in use is not dropped', async () => {
  const { json } = await bench();
  const alias = 'AUTO_GENERATED_ALIAS_saved';
  await json(`secret create ${alias} --save`);
  expect(await json('secret prune --yes --store none')).toMatchObject({ dropped: [] });
  const { secrets } = await json<{ secrets: { alias: string }[] }>('secret list');
  expect(secrets.map((secret) => secret.alias)).toEqual([alias]);
});

test('a drop that fails half-way reports what was dropped, and the next run drops the rest', async () => {
  const { run, json, sandbox } = await bench({ serverVersion: '3.10.1' });
  for (let made = 0; made < 3; made++) await run('secret create');
  const { dropped: litter } = await json<{ dropped: string[] }>('secret prune --dry-run');
  expect(litter).toHaveLength(3);
  // The list and the first drop succeed, and every later request fails.
  sandbox.addFault({ action: 'status', status: 500, route: '/gsqlserver/gsql/file', nth: 3, times: 9 });
  const half = await run('secret prune -y -o json');
  expect(half.status).toBe(10);
  expect(half.stderr).toContain('graphcred secret list"');
  expect(JSON.parse(half.stdout)).toMatchObject({ dropped: [litter[0]] });
  await fetch(`${sandbox.gsqlUrl}/__sandbox/faults`, { method: 'DELETE' });
  expect(await json('secret prune --dry-run')).toMatchObject({ dropped: litter.slice(1) });
});

test('prune goes on although a config file that this folder hides, or the folder itself, cannot be used', async () => {
  const { run, json, home } = await bench();
  await run('secret create');
  const own = path.join(home, 'own.json');
  fs.writeFileSync(own, '{}', { mode: 0o600 });
  const hidden = path.join(home, '.config/graphcred/config.json');
  fs.mkdirSync(path.dirname(hidden), { recursive: true, mode: 0o700 });
  fs.writeFileSync(hidden, '{"profiles":7}', { mode: 0o600 });
  for (const name of ['.graphcredrc', '.graphcredrc.json']) fs.writeFileSync(path.join(home, name), '{}');
  const { dropped } = await json<{ dropped: string[] }>(`secret prune --dry-run --config ${own}`);
  expect(dropped).toHaveLength(1);
});

test('prune drops nothing while a saved secret that it cannot read may be one of these', async () => {
  const { run, json } = await bench({ serverVersion: '3.6.1' });
  const { secret } = await json<{ secret: string }>('secret create');
  // Before 3.6.2 the alias of a given secret is not known.
  expect((await run('login -p dev --secret-stdin', { stdin: secret })).status).toBe(0);
  expect(await json('secret prune --dry-run')).toMatchObject({ dropped: [] });
  const env = { GRAPHCRED_STORE_KEY: Buffer.alloc(32, 7).toString('base64') };
  expect(await run('secret prune --yes', { env })).toMatchObject({
    status: 6,
    stdout: '',
    stderr: expect.stringMatching(/^graphcred: Nothing was dropped: .*\nhint: unlock the store/m),
  });
});

test('prune needs no folder of stored values, and ignores an entry that a test of the store left there', async () => {
  const { run, json, home } = await bench();
  await run('secret create --store none');
  const state = path.join(home, '.local/state/graphcred');
  expect(fs.existsSync(state)).toBe(false);
  const without = await json<{ dropped: string[] }>('secret prune --dry-run --store none');
  expect(without.dropped).toHaveLength(1);
  expect(fs.existsSync(state)).toBe(false);
  const record = {
    v: 1,
    kind: 'secret',
    key: 'trial entry 1',
    store: 'file',
    createdAtUnix: 1,
    info: {},
  } as const;
  const staged = stageEntry(state, { record, sealed: 'x' });
  staged.commit();
  // A record that others can write is not read as one.
  for (const name of fs.readdirSync(state)) fs.chmodSync(path.join(state, name), 0o602);
  expect((await json<{ dropped: string[] }>('secret prune --dry-run')).dropped).toHaveLength(1);
});

test('prune spares a secret of the user’s own file when the folder holds two files and another one is named', async () => {
  const { json, home } = await bench();
  const { secret } = await json<{ secret: string }>('secret create');
  const named = path.join(home, 'named.json');
  fs.writeFileSync(named, '{}', { mode: 0o600 });
  for (const name of ['.graphcredrc', '.graphcredrc.json']) fs.writeFileSync(path.join(home, name), '{}');
  const own = path.join(home, '.config/graphcred/config.json');
  fs.mkdirSync(path.dirname(own), { recursive: true, mode: 0o700 });
  fs.writeFileSync(own, JSON.stringify({ secret }), { mode: 0o600 });
  expect(await json(`secret prune --dry-run --config ${named}`)).toMatchObject({ dropped: [] });
});

test('prune is not held up by a saved secret that it cannot read if its alias is known', async () => {
  const { run } = await bench();
  await run('secret create ci --save');
  await run('secret create');
  // A token is no secret, so it need not be read.
  await run('token get');
  const env = { GRAPHCRED_STORE_KEY: Buffer.alloc(32, 7).toString('base64') };
  const { status, stdout } = await run('secret prune --yes', { env });
  expect({ status, stdout }).toEqual({
    status: 0,
    stdout: expect.stringMatching(/^Dropped:\nAUTO_GENERATED_/),
  });
});

test.each(['{"info":null}', 'no JSON'])(
  'prune drops nothing while a stored file with %j may belong to a secret',
  async (text) => {
    const { run, home } = await bench();
    await run('secret create');
    await run('secret create ci --save');
    const state = path.join(home, '.local/state/graphcred');
    fs.mkdirSync(state, { recursive: true, mode: 0o700 });
    fs.writeFileSync(path.join(state, `secret-${'0'.repeat(28)}.json`), text, { mode: 0o600 });
    expect(await run('secret prune --yes')).toMatchObject({
      status: 6,
      stdout: '',
      stderr: expect.stringContaining('cannot be read, and its alias is not known'),
    });
  },
);

// holds: C2.13
test('prune names the profile of this server whose secretCommand it did not run', async () => {
  const { run, home, sandbox } = await bench();
  await run('secret create');
  const secretCommand = ['never-run'];
  const profiles = { job: { gsqlUrl: sandbox.gsqlUrl, secretCommand }, away: { secretCommand } };
  fs.mkdirSync(path.join(home, '.config/graphcred'), { recursive: true });
  fs.writeFileSync(path.join(home, '.config/graphcred/config.json'), JSON.stringify({ profiles }), {
    mode: 0o600,
  });
  expect((await run('secret prune --dry-run')).stderr).toContain(
    'one of these may be in use: the secretCommand of profile job was not run',
  );
});

describe('secret prune never drops a secret that this machine uses', () => {
  const generated = async (b: Bench) => b.json<{ alias: string; secret: string }>('secret create');

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

  test('if its record is ignored because of its mode', async () => {
    const b = await bench();
    await b.run('secret create AUTO_GENERATED_ALIAS_saved --save');
    const [file] = secretFiles(b.home);
    fs.chmodSync(file as string, 0o666);
    expect(await b.json('secret prune --yes')).toMatchObject({ dropped: [] });
  });
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
