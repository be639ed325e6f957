import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { GraphConnection } from '../../src/core/connection.js';
import { listEntries, stageEntry } from '../../src/store/records.js';
import { bench, cli, temporaryHome } from '../helpers/cli.js';
import { secretFiles, stateOf } from '../helpers/home.js';

const V4 = { serverVersion: '4.1.2' };

const CREATE = 'POST /gsql/v1/secrets';

type Bench = Awaited<ReturnType<typeof bench>>;

const aliases = async ({ json }: Bench) =>
  (await json<{ secrets: { alias: string }[] }>('secret list')).secrets.map(({ alias }) => alias);

/** Without the password, a token can be minted only from a saved secret. */
const SAVED_ONLY = { env: { GRAPHCRED_PASSWORD: '' } };

/** The paths at which tokens are minted. */
const MINT = { 3: '/requesttoken', 4: '/gsql/v1/tokens' } as const;

describe.each(['3.10.1', '4.1.2'])('secret rotate on %s', (serverVersion) => {
  async function ready() {
    const made = await bench({ serverVersion });
    expect((await made.run('secret create ci --save')).status).toBe(0);
    const state = path.join(made.home, '.local/state/graphcred');
    return {
      ...made,
      masks: async () => {
        const { secrets } = await made.json<{ secrets: { alias: string; masked: string }[] }>('secret list');
        return Object.fromEntries(secrets.map(({ alias, masked }) => [alias, masked]));
      },
      works: async () => (await made.run('token get --fresh', SAVED_ONLY)).status === 0,
      /** Deletes the stored value, as if the process had been killed before it saved it. */
      forgetSaved: (alias: string) => {
        const files = fs.readdirSync(state).map((name) => path.join(state, name));
        const saved = files.filter(
          (file) => /secret-[^/]*json$/.test(file) && fs.readFileSync(file, 'utf8').includes(`"${alias}"`),
        );
        expect(saved).toHaveLength(1);
        for (const file of saved) fs.rmSync(file);
      },
      leftOver: () => fs.readdirSync(state).filter((name) => name.startsWith('rotate-')),
    };
  }

  // holds: C2.9
  test('gives the alias a new value, which is saved and works', async () => {
    const { run, masks, works, leftOver, requests } = await ready();
    const before = await masks();
    requests();
    const done = await run('secret rotate ci -o json');
    expect(done.status).toBe(0);
    expect(JSON.parse(done.stdout)).toEqual({ schemaVersion: 1, alias: 'ci', saved: true });
    expect(done.stderr.includes('stay valid until')).toBe(serverVersion.startsWith('4'));
    expect(requests().some((line) => line === 'DELETE /gsql/v1/tokens')).toBe(false);
    const after = await masks();
    expect(Object.keys(after)).toEqual(['ci']);
    expect(after.ci).not.toBe(before.ci);
    expect(await works()).toBe(true);
    expect(leftOver()).toEqual([]);
  });

  // Only 4.x takes a secret as a login.
  if (serverVersion === '4.1.2')
    // holds: C4.4
    test('logs in with the secret that it replaces, and after a lost answer with what it saved', async () => {
      const clean = await ready();
      clean.requests();
      expect((await clean.run('secret rotate ci', SAVED_ONLY)).status).toBe(0);
      const count = clean.requests().length;
      for (let nth = 1; nth <= count; nth++) {
        const { sandbox, run, works, masks } = await ready();
        sandbox.addFault({ action: 'drop-after', nth });
        const first = await run('secret rotate ci', SAVED_ONLY);
        if (first.status !== 0)
          expect((await run('secret rotate ci', SAVED_ONLY)).status, `rerun after ${nth}`).toBe(0);
        expect(await works()).toBe(true);
        expect(Object.keys(await masks())).toEqual(['ci']);
      }
    });

  // Whichever request fails, before or after the server carried it out, a saved secret works, and a second run finishes the rotation.
  // holds: C2.9, C2.10
  test.each(['drop-before', 'drop-after'] as const)(
    'recovers from %s at every request',
    async (action) => {
      const clean = await ready();
      clean.requests();
      await clean.run('secret rotate ci');
      const count = clean.requests().length;
      expect(count).toBeGreaterThan(5);
      for (let nth = 1; nth <= count; nth++) {
        const { sandbox, run, masks, works, leftOver } = await ready();
        const before = await masks();
        sandbox.addFault({ action, nth });
        const first = await run('secret rotate ci');
        expect(await works(), `a saved secret works after request ${nth} failed`).toBe(true);
        if (first.status !== 0) expect((await run('secret rotate ci')).status, `rerun after ${nth}`).toBe(0);
        const after = await masks();
        expect(Object.keys(after), `after ${nth}`).toEqual(['ci']);
        expect(after.ci).not.toBe(before.ci);
        expect(await works()).toBe(true);
        expect(leftOver()).toEqual([]);
      }
    },
    120_000,
  );

  test('finishes a rotation that was interrupted before it saved the new value, even if the next run is interrupted too', async () => {
    let cutOff = 0;
    for (let nth = 1; nth <= 6; nth++) {
      const { sandbox, run, masks, works, forgetSaved } = await ready();
      sandbox.addFault({ action: 'drop-before', route: MINT[serverVersion[0] as '3' | '4'], times: 1 });
      expect((await run('secret rotate ci')).status).not.toBe(0);
      forgetSaved('ci_next');
      sandbox.addFault({ action: 'drop-after', nth });
      // graphcred repeats some requests by itself, and then the rotation succeeds.
      if ((await run('secret rotate ci')).status === 0) continue;
      cutOff++;
      expect({ nth, ...(await run('secret rotate ci')) }).toMatchObject({ nth, status: 0 });
      expect(Object.keys(await masks()), `after ${nth}`).toEqual(['ci']);
      expect(await works()).toBe(true);
    }
    expect(cutOff).toBeGreaterThan(2);
  }, 120_000);

  test('an unknown alias is NOT_FOUND and changes nothing, with or without a store', async () => {
    const { run, masks } = await ready();
    const before = await masks();
    expect((await run('secret rotate other')).status).toBe(3);
    expect((await run('secret rotate other --store none')).status).toBe(3);
    expect(await masks()).toEqual(before);
  });
});

// holds: C2.12
test('two rotations at the same time do not mix', async () => {
  const { run, json } = await bench();
  await run('secret create ci --save');
  const both = await Promise.all([run('secret rotate ci'), run('secret rotate ci')]);
  expect(both.map(({ status }) => status)).toEqual([0, 0]);
  const { secrets } = await json<{ secrets: { alias: string }[] }>('secret list');
  expect(secrets.map(({ alias }) => alias)).toEqual(['ci']);
  expect((await run('token get --fresh', SAVED_ONLY)).status).toBe(0);
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
  expect(secretFiles(b.home)).toHaveLength(2);
});

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
      'hint: the rotation of ci is not finished; fix the error, then run it again to resume: graphcred secret rotate ci\n',
    ),
  });
  await run('secret drop ci_next --store none');
  sandbox.addFault(failing);
  expect((await run('secret rotate ci')).status).not.toBe(0);
  const { secrets } = await json<{ secrets: { alias: string }[] }>('secret list');
  expect(secrets.map(({ alias }) => alias)).toEqual(['ci']);
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
      hint: 'hint: the rotation of ci is not finished; fix the error, then run it again to resume: graphcred secret rotate ci',
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

test('a secret with the longest name there is can be rotated', async () => {
  const { run } = await bench();
  const alias = 'a'.repeat(128);
  expect((await run(`secret create ${alias} --save`)).status).toBe(0);
  expect(await run(`secret rotate ${alias}`)).toMatchObject({ status: 0, stderr: '' });
});
