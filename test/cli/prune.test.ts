import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { stageEntry } from '../../src/store/records.js';
import { bench } from '../helpers/cli.js';
import { configure, put, secretFiles, stateOf } from '../helpers/home.js';

test('prune goes on although a config file that this folder hides, or the folder itself, cannot be used', async () => {
  const { run, json, home } = await bench();
  await run('secret create');
  const own = put(home, 'own.json', '{}');
  configure(home, '{"profiles":7}');
  for (const name of ['.graphcredrc', '.graphcredrc.json']) put(home, name, '{}');
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
  const dropped = async (line = '') =>
    (await json<{ dropped: string[] }>(`secret prune --dry-run${line}`)).dropped;
  expect(await dropped(' --store none')).toHaveLength(1);
  expect(fs.existsSync(stateOf(home))).toBe(false);
  const about = { kind: 'secret', key: 'trial entry 1', store: 'file', createdAtUnix: 1, info: {} } as const;
  stageEntry(stateOf(home), { record: { v: 1, ...about }, sealed: 'x' }).commit();
  // A record that others can write is not read as one.
  for (const name of fs.readdirSync(stateOf(home))) fs.chmodSync(path.join(stateOf(home), name), 0o602);
  expect(await dropped()).toHaveLength(1);
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
    put(home, `.local/state/graphcred/secret-${'0'.repeat(28)}.json`, text);
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
  configure(home, { profiles });
  expect((await run('secret prune --dry-run')).stderr).toContain(
    'one of these may be in use: the secretCommand of profile job was not run',
  );
});

test.each<[string, object]>([
  ['.config/graphcred/config.json', { secretFile: '~/all.secret', profiles: {} }],
  ['.graphcredrc', { profiles: { other: { secretFile: '~/all.secret' } } }],
])('prune spares a secret of ~/%s while --config names another file', async (name, content) => {
  const { json, home, run } = await bench();
  const { secret } = await json<{ secret: string }>('secret create');
  await run('secret create');
  put(home, 'all.secret', `${secret}\n`);
  put(home, name, content);
  const other = put(home, 'other.json', '{}');
  const { dropped } = await json<{ dropped: string[] }>(`secret prune --dry-run --config ${other}`);
  expect(dropped).toHaveLength(1);
});

test('prune spares a secret whose record is ignored because of its mode', async () => {
  const { run, json, home } = await bench();
  await run('secret create AUTO_GENERATED_ALIAS_saved --save');
  for (const file of secretFiles(home)) fs.chmodSync(file, 0o666);
  expect(await json('secret prune --yes')).toMatchObject({ dropped: [] });
});
