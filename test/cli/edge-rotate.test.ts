import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { listEntries, stageEntry } from '../../src/store/records.js';
import { bench } from '../helpers/cli.js';

const V4 = { serverVersion: '4.1.2' };
const CREATE = 'POST /gsql/v1/secrets';
const stateOf = (home: string) => path.join(home, '.local/state/graphcred');

test('a rotation that is finished later leaves a secret that somebody else has given the temporary name', async () => {
  const { run, home, json, sandbox } = await bench(V4);
  await run('secret create ci --save');
  sandbox.addFault({ action: 'drop-before', route: 'DELETE /gsql/v1/secrets', nth: 2 });
  expect((await run('secret rotate ci')).status).not.toBe(0);
  expect((await run('secret drop ci_next --store none')).status).toBe(0);
  await run('secret create ci_next --store none');
  expect(fs.readdirSync(stateOf(home)).some((name) => name.startsWith('rotate-'))).toBe(true);
  const { status, stderr } = await run('secret rotate ci');
  expect(status).toBe(0);
  expect(stderr).toContain('another secret has the name ci_next now');
  const { secrets } = await json<{ secrets: { alias: string }[] }>('secret list');
  expect(secrets.map(({ alias }) => alias).sort()).toEqual(['ci', 'ci_next']);
});

test('a token that another process mints from the old value during a rotation stays listed', async () => {
  let onRequest = (_line: string) => {};
  const { run, home, json, sandbox } = await bench({ ...V4, log: (line) => onRequest(line) });
  await run('secret create ci --save');
  const [saved] = listEntries(stateOf(home), () => {});
  let stored = 0;
  onRequest = (line) => {
    const { method, path: route } = JSON.parse(line) as { method: string; path: string };
    if (method !== 'DELETE' || !route.startsWith('/gsql/v1/secrets') || stored > 0) return;
    stored++;
    const { restUrl, gsqlUrl, graph } = sandbox;
    const now = Math.floor(Date.now() / 1000);
    const info = { restUrl, gsqlUrl, graph, principal: String(saved?.record.info.id), lifetime: 3600 };
    const key = 'token of the other process';
    const record = { v: 1, kind: 'token', key, store: 'file', createdAtUnix: now, info } as const;
    stageEntry(stateOf(home), { record: { ...record, expiresAtUnix: now + 3600 }, sealed: 'x' }).commit();
  };
  expect((await run('secret rotate ci')).status).toBe(0);
  expect(stored).toBe(1);
  expect((await json<{ tokens: unknown[] }>('token list')).tokens).toHaveLength(1);
});

describe('a secret with the temporary name, made by a rotation that got no answer,', () => {
  const TAKEN = 'The name ci_next is needed, and a secret has it.';
  /** Returns what runs the rotation so many seconds after the first, whose answer got lost. */
  const lost = async () => {
    const { run, sandbox } = await bench(V4);
    const begin = Date.now();
    const at = (seconds: number) => run('secret rotate ci', { now: () => begin + seconds * 1000 });
    const loseAnswer = () => sandbox.addFault({ action: 'drop-after', route: CREATE, nth: 1 });
    await run('secret create ci --save');
    loseAnswer();
    expect((await at(0)).status).not.toBe(0);
    return { run, at, loseAnswer };
  };

  test.each([
    ['is not taken for our own after the clock was set back', -60, 8],
    ['is taken for our own for ten minutes', 599, 0],
    ['is not taken for our own after ten minutes', 600, 8],
  ])('%s', async (_title, seconds, end) => {
    const { at } = await lost();
    const { status, stderr } = await at(seconds);
    expect({ status, taken: stderr.includes(TAKEN) }).toEqual({ status: end, taken: end === 8 });
    // A refusal changes nothing, so the rotation can still be finished.
    expect((await at(1)).status).toBe(0);
  });

  test('is taken for our own for another ten minutes after it was made anew', async () => {
    const { at, loseAnswer } = await lost();
    loseAnswer();
    expect((await at(590)).status).not.toBe(0);
    expect((await at(1100)).status).toBe(0);
  });

  test('is not taken for our own if the alias has another value meanwhile', async () => {
    const { run, at } = await lost();
    await run('secret drop ci --store none');
    await run('secret create ci --store none');
    expect(await at(1)).toMatchObject({ status: 8, stderr: expect.stringContaining(TAKEN) });
  });
});

test('a rotation that made its temporary secret twice, and lost the second answer, takes that secret for its own', async () => {
  const { run, home, json, sandbox } = await bench(V4);
  await run('secret create ci --save');
  sandbox.addFault({ action: 'status', status: 500, route: 'POST /gsql/v1/tokens', times: 1 });
  expect((await run('secret rotate ci')).status).toBe(8);
  const records = fs.readdirSync(stateOf(home)).map((name) => path.join(stateOf(home), name));
  const saved = records.filter((file) => /"alias":"ci_next"/.test(fs.readFileSync(file, 'utf8')));
  expect(saved).toHaveLength(1);
  for (const file of saved) fs.rmSync(file);
  sandbox.addFault({ action: 'drop-after', route: CREATE, nth: 1 });
  expect((await run('secret rotate ci')).status).toBe(7);
  expect((await run('secret rotate ci')).status).toBe(0);
  const { secrets } = await json<{ secrets: { alias: string }[] }>('secret list');
  expect(secrets.map(({ alias }) => alias)).toEqual(['ci']);
});

test('on 3.x a rotation on one graph is not continued by one on another graph', async () => {
  const { run, sandbox } = await bench({ graphs: ['demo', 'other'] });
  for (const graph of ['demo', 'other']) await run(`secret create ci --save --graph ${graph}`);
  sandbox.addFault({ action: 'drop-after', route: '/requesttoken', nth: 1 });
  expect((await run('secret rotate ci --graph demo')).status).not.toBe(0);
  const other = await run('secret rotate ci --graph other');
  expect({ status: other.status, stderr: other.stderr }).toEqual({ status: 0, stderr: '' });
  expect((await run('secret rotate ci --graph demo')).stderr).toContain('going on with a rotation of ci');
});

test('a rotation that may create no secret leaves no note, and one without a store none either', async () => {
  const { run, home, sandbox } = await bench(V4);
  await run('secret create ci --store none');
  expect((await run('secret rotate ci --store none')).status).toBe(0);
  expect(fs.readdirSync(home, { recursive: true })).toEqual([]);
  sandbox.addFault({ action: 'status', status: 403, route: CREATE });
  expect(await run('secret rotate ci')).toMatchObject({
    status: 4,
    stderr: expect.not.stringContaining('not finished'),
  });
  expect(fs.readdirSync(stateOf(home)).filter((name) => name.startsWith('rotate-'))).toEqual([]);
});

test('a rotation that is resumed makes no new secret while the server cannot test the saved one', async () => {
  const { run, json, sandbox } = await bench(V4);
  await run('secret create ci --save');
  const failing = { action: 'status', status: 500, route: 'POST /gsql/v1/tokens' } as const;
  sandbox.addFault({ ...failing, times: 1 });
  expect(await run('secret rotate ci')).toMatchObject({
    status: 8,
    stderr: expect.stringContaining(
      'hint: the rotation of ci is not finished; when this is mended, run it again, it goes on from there: graphcred secret rotate ci\n',
    ),
  });
  await run('secret drop ci_next --store none');
  sandbox.addFault(failing);
  expect((await run('secret rotate ci')).status).not.toBe(0);
  const { secrets } = await json<{ secrets: { alias: string }[] }>('secret list');
  expect(secrets.map(({ alias }) => alias)).toEqual(['ci']);
});

test.each([
  [
    { action: 'status', status: 500, route: 'POST /gsql/v1/tokens' },
    'drop it: graphcred secret drop ci_next --ignore-missing; ci is as it was',
  ],
  [
    { action: 'drop-after', route: CREATE },
    'drop it: graphcred secret drop ci_next --ignore-missing; ci is as it was',
  ],
  [
    { action: 'status', status: 403, route: CREATE },
    'nothing was changed; when this is mended, run it again: graphcred secret rotate ci',
  ],
  [
    { action: 'drop-after', route: 'DELETE /gsql/v1/secrets' },
    'ci_next has the value that was printed; see which of ci and ci_next there are',
  ],
  [
    { action: 'drop-after', route: CREATE, nth: 2 },
    'ci_next has the value that was printed; make ci anew, then drop ci_next',
  ],
  [
    { action: 'drop-after', route: 'DELETE /gsql/v1/secrets', nth: 2 },
    'ci has the value that was printed; drop the other',
  ],
] as const)('after %j a rotation without a store says what to do by hand: %s', async (fault, hint) => {
  const { run, sandbox } = await bench(V4);
  await run('secret create ci --save');
  sandbox.addFault(fault);
  const { status, stderr } = await run('secret rotate ci --store none');
  expect(status).not.toBe(0);
  expect(stderr).toContain(`\nhint: ${hint}`);
});

test.each([
  ['POST', 1],
  ['DELETE', 1],
  ['POST', 2],
])(
  'when the disk is full after %s %i, the hint is to run the rotation again, without another store',
  async (method, nth) => {
    let isFull = false;
    let left = Number.POSITIVE_INFINITY;
    const log = (line: string) => {
      const request = JSON.parse(line) as { method: string; path: string };
      if (request.method === method && request.path.startsWith('/gsql/v1/secrets')) isFull ||= --left === 0;
    };
    const { run, json } = await bench({ ...V4, log });
    await run('secret create ci --save');
    left = nth;
    const rename = fs.renameSync;
    vi.spyOn(fs, 'renameSync').mockImplementation((from, to) => {
      if (isFull) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      rename(from, to);
    });
    onTestFinished(() => void vi.restoreAllMocks());
    const { status, stderr } = await run('secret rotate ci');
    expect({ status, hint: stderr.trim().split('\n').at(-1) }).toEqual({
      status: 6,
      hint: 'hint: the rotation of ci is not finished; when this is mended, run it again, it goes on from there: graphcred secret rotate ci',
    });
    isFull = false;
    expect(await run('secret rotate ci')).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('going on with a rotation of ci'),
    });
    const { secrets } = await json<{ secrets: { alias: string }[] }>('secret list');
    expect(secrets.map(({ alias }) => alias)).toEqual(['ci']);
  },
);

test('a rotation whose new value has vanished from the store ends with NOT_FOUND, and leaves nothing pending', async () => {
  const { run, home, json, sandbox } = await bench(V4);
  await run('secret create ci --save');
  sandbox.addFault({ action: 'drop-before', route: 'DELETE /gsql/v1/secrets', nth: 2 });
  expect((await run('secret rotate ci')).status).not.toBe(0);
  for (const name of fs.readdirSync(stateOf(home))) {
    const file = path.join(stateOf(home), name);
    if (/"alias":"ci"/.test(fs.readFileSync(file, 'utf8'))) fs.rmSync(file);
  }
  expect(await run('secret rotate ci')).toMatchObject({
    status: 3,
    stderr: expect.stringContaining('The new value of ci is no longer in the file store.'),
  });
  const { secrets } = await json<{ secrets: { alias: string }[] }>('secret list');
  expect(secrets.map(({ alias }) => alias)).toEqual(['ci']);
  expect(fs.readdirSync(stateOf(home)).filter((name) => name.startsWith('rotate-'))).toEqual([]);
});

test.each(['', '{"step":"next"'])(
  'a rotation whose note is damaged (%j) goes on from what is saved',
  async (text) => {
    const { run, home, json, sandbox } = await bench(V4);
    await run('secret create ci --save');
    // The old value is dropped, and the answer to the request for the new one gets lost.
    sandbox.addFault({ action: 'drop-before', route: CREATE, nth: 2 });
    expect((await run('secret rotate ci')).status).not.toBe(0);
    const [note = ''] = fs.readdirSync(stateOf(home)).filter((name) => /^rotate-.*json$/.test(name));
    fs.writeFileSync(path.join(stateOf(home), note), text);
    expect((await run('secret rotate ci')).status).toBe(0);
    expect(await json('secret list')).toMatchObject({ secrets: [{ alias: 'ci' }] });
    expect((await run('token get --fresh', { env: { GRAPHCRED_PASSWORD: '' } })).status).toBe(0);
  },
);
