import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { GraphConnection } from '../../src/core/connection.js';
import type { SandboxOptions } from '../../src/sandbox/server.js';
import { listEntries, stageEntry } from '../../src/store/records.js';
import { bench, cli, temporaryHome } from '../helpers/cli.js';
import { stateOf } from '../helpers/home.js';

const V4 = { serverVersion: '4.1.2' };
const CREATE = 'POST /gsql/v1/secrets';
const FAILING = { action: 'status', status: 500, route: 'POST /gsql/v1/tokens', times: 1 } as const;

/** Without the password, a token can be minted only from a saved secret. */
const SAVED_ONLY = { env: { GRAPHCRED_PASSWORD: '' } };

/** Creates a server and a machine with its saved secret `ci`. */
async function ready(options: SandboxOptions = V4) {
  const made = await bench(options);
  expect((await made.run('secret create ci --save')).status).toBe(0);
  const files = () => fs.readdirSync(stateOf(made.home)).map((name) => path.join(stateOf(made.home), name));
  const masks = async () => {
    const { secrets } = await made.json<{ secrets: { alias: string; masked: string }[] }>('secret list');
    return Object.fromEntries(secrets.map(({ alias, masked }) => [alias, masked]));
  };
  return {
    ...made,
    rotate: () => made.run('secret rotate ci'),
    masks,
    aliases: async () => Object.keys(await masks()).sort(),
    works: async () => (await made.run('token get --fresh', SAVED_ONLY)).status === 0,
    /** Deletes the stored value, as if the process had been killed before it saved it. */
    forgetSaved: (alias: string) => {
      const saved = files().filter((file) => fs.readFileSync(file, 'utf8').includes(`"alias":"${alias}"`));
      expect(saved).toHaveLength(1);
      for (const file of saved) fs.rmSync(file);
    },
    notes: () => files().filter((file) => path.basename(file).startsWith('rotate-')),
  };
}

describe.each(['3.10.1', '4.1.2'])('secret rotate on %s', (serverVersion) => {
  // Whichever request fails, before or after the server carried it out, a saved secret works, and a second run finishes the rotation.
  // holds: C2.9, C2.10
  test.each(['drop-before', 'drop-after'] as const)(
    'recovers from %s at every request',
    async (action) => {
      const clean = await ready({ serverVersion });
      clean.requests();
      expect((await clean.rotate()).status).toBe(0);
      const count = clean.requests().length;
      expect(count).toBeGreaterThan(5);
      for (let nth = 1; nth <= count; nth++) {
        const { sandbox, rotate, masks, works, notes } = await ready({ serverVersion });
        const before = await masks();
        sandbox.addFault({ action, nth });
        const first = await rotate();
        expect(await works(), `a saved secret works after request ${nth} failed`).toBe(true);
        if (first.status !== 0) expect((await rotate()).status, `rerun after ${nth}`).toBe(0);
        const after = await masks();
        expect(Object.keys(after), `after ${nth}`).toEqual(['ci']);
        expect(after.ci).not.toBe(before.ci);
        expect(await works()).toBe(true);
        expect(notes()).toEqual([]);
      }
    },
    120_000,
  );

  test('finishes a rotation that was interrupted before it saved the new value, even if the next run is interrupted too', async () => {
    const route = serverVersion === '4.1.2' ? '/gsql/v1/tokens' : '/requesttoken';
    let cutOff = 0;
    for (let nth = 1; nth <= 6; nth++) {
      const { sandbox, rotate, aliases, works, forgetSaved } = await ready({ serverVersion });
      sandbox.addFault({ action: 'drop-before', route, times: 1 });
      expect((await rotate()).status).not.toBe(0);
      forgetSaved('ci_next');
      sandbox.addFault({ action: 'drop-after', nth });
      // graphcred repeats some requests by itself, and then the rotation succeeds.
      if ((await rotate()).status === 0) continue;
      cutOff++;
      expect({ nth, ...(await rotate()) }).toMatchObject({ nth, status: 0 });
      expect(await aliases(), `after ${nth}`).toEqual(['ci']);
      expect(await works()).toBe(true);
    }
    expect(cutOff).toBeGreaterThan(2);
  }, 120_000);
});

test('two rotations at the same time do not mix', async () => {
  const { rotate, aliases, works } = await ready();
  const both = await Promise.all([rotate(), rotate()]);
  expect(both.map(({ status }) => status)).toEqual([0, 0]);
  expect(await aliases()).toEqual(['ci']);
  expect(await works()).toBe(true);
});

// holds: C2.12
test('if two machines rotate one alias at once, one of them changes nothing and says so', async () => {
  const b = await ready({});
  const second = temporaryHome();
  fs.cpSync(b.home, second, { recursive: true });
  const at = (home: string, line: string, env = {}) =>
    cli(home, line.split(' '), { env: { ...b.env, ...env } });
  const both = await Promise.all([at(b.home, 'secret rotate ci'), at(second, 'secret rotate ci')]);
  expect(both.map(({ status }) => status).sort()).toEqual([0, 8]);
  const winner = both[0].status === 0 ? b.home : second;
  expect((await at(winner, 'token get --fresh', SAVED_ONLY.env)).status).toBe(0);
});

test.each(['3.10.1', '4.1.2'])(
  'on %s the token that proves a new secret lives for minutes, and on 3.x it is deleted',
  async (serverVersion) => {
    const lifetimes: number[] = [];
    const minted = vi.spyOn(GraphConnection.prototype, 'mintToken');
    onTestFinished(() => minted.mockRestore());
    const b = await ready({ serverVersion });
    const { secret } = await b.json<{ secret: string }>('secret create mine');
    b.requests();
    expect((await b.run('secret rotate ci')).status).toBe(0);
    const deleted = b.requests().filter((request) => request === 'DELETE /requesttoken');
    expect(deleted).toHaveLength(serverVersion.startsWith('3') ? 2 : 0);
    await b.run('login -p dev --secret-stdin', { stdin: secret, env: { GRAPHCRED_PASSWORD: '' } });
    for (const [options] of minted.mock.calls) lifetimes.push(options?.lifetime ?? 0);
    // The lifetimes are those of the two proofs of the rotation, and of the token with which the login is proved.
    expect(lifetimes).toEqual([300, 300, 2_592_000]);
  },
);

test('a server that throttles logins does not make a rotation lose a value that works', async () => {
  const { rotate, masks, sandbox } = await ready();
  // The new secret is created and saved, but the token that would prove it cannot be minted.
  sandbox.addFault(FAILING);
  expect((await rotate()).status).not.toBe(0);
  const before = await masks();
  expect(Object.keys(before).sort()).toEqual(['ci', 'ci_next']);
  const body = '{"error":true,"message":"Too many failed logins. Please re-login after 10 seconds."}';
  sandbox.addFault({ ...FAILING, status: 401, body });
  expect((await rotate()).status).toBe(4);
  expect(await masks()).toEqual(before);
});

test('a token that another process mints from the old value during a rotation stays listed', async () => {
  let onRequest = (_line: string) => {};
  const { rotate, home, json, sandbox } = await ready({ ...V4, log: (line) => onRequest(line) });
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
  expect((await rotate()).status).toBe(0);
  expect(stored).toBe(1);
  expect((await json<{ tokens: unknown[] }>('token list')).tokens).toHaveLength(1);
});

describe('a secret with the temporary name, made by a rotation that got no answer,', () => {
  const TAKEN = 'The name ci_next is needed, and a secret has it.';
  /** Returns what runs the rotation so many seconds after the first, whose answer got lost. */
  const lost = async () => {
    const { run, sandbox } = await ready();
    const begin = Date.now();
    const at = (seconds: number) => run('secret rotate ci', { now: () => begin + seconds * 1000 });
    const loseAnswer = () => sandbox.addFault({ action: 'drop-after', route: CREATE, nth: 1 });
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
  const { rotate, aliases, forgetSaved, sandbox } = await ready();
  sandbox.addFault(FAILING);
  expect((await rotate()).status).toBe(8);
  forgetSaved('ci_next');
  sandbox.addFault({ action: 'drop-after', route: CREATE, nth: 1 });
  expect((await rotate()).status).toBe(7);
  expect((await rotate()).status).toBe(0);
  expect(await aliases()).toEqual(['ci']);
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
    const { rotate, aliases } = await ready({ ...V4, log });
    left = nth;
    const rename = fs.renameSync;
    vi.spyOn(fs, 'renameSync').mockImplementation((from, to) => {
      if (isFull) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      rename(from, to);
    });
    onTestFinished(() => void vi.restoreAllMocks());
    const { status, stderr } = await rotate();
    expect({ status, hint: stderr.trim().split('\n').at(-1) }).toEqual({
      status: 6,
      hint: 'hint: the rotation of ci is not finished; fix the error, then run it again to resume: graphcred secret rotate ci',
    });
    isFull = false;
    expect(await rotate()).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('going on with a rotation of ci'),
    });
    expect(await aliases()).toEqual(['ci']);
  },
);

// holds: C5.7
test('without a keychain a rotation prints the new value, unless it is named or holds the old one', async () => {
  const { run, json, home, sandbox } = await bench();
  const noKeychain = {
    GRAPHCRED_STORE: '',
    DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent',
    XDG_RUNTIME_DIR: '/nonexistent',
  };
  await run('secret create ci');
  const rotated = await run('secret rotate ci', { env: noKeychain });
  expect(rotated).toMatchObject({ status: 0, stdout: expect.stringMatching(/^[a-z0-9]{32}\n$/) });
  expect(rotated.stderr).toMatch(/^graphcred: warning: there is no OS keychain.*--store file\)\n/);
  const { secrets } = await json<{ secrets: { alias: string }[] }>('secret list');
  expect(secrets.map(({ alias }) => alias)).toEqual(['ci']);
  expect((await run('secret rotate ci --store keychain', { env: noKeychain })).status).toBe(6);
  const info = { gsqlUrl: sandbox.gsqlUrl, graph: 'demo', username: 'tigergraph', alias: 'ci', id: 'ci' };
  const record = { v: 1, kind: 'secret', key: 'saved', store: 'keychain', createdAtUnix: 1, info } as const;
  stageEntry(stateOf(home), { record }).commit();
  expect((await run('secret rotate ci', { env: noKeychain })).status).toBe(6);
});

test('a rotation whose new value has vanished from the store ends with NOT_FOUND, and leaves nothing pending', async () => {
  const { rotate, aliases, forgetSaved, notes, sandbox } = await ready();
  sandbox.addFault({ action: 'drop-before', route: 'DELETE /gsql/v1/secrets', nth: 2 });
  expect((await rotate()).status).not.toBe(0);
  forgetSaved('ci');
  expect(await rotate()).toMatchObject({
    status: 3,
    stderr: expect.stringContaining('The new value of ci is no longer in the file store.'),
  });
  expect(await aliases()).toEqual(['ci']);
  expect(notes()).toEqual([]);
});

test.each(['', '{"step":"next"'])(
  'a rotation whose note is damaged (%j) goes on from what is saved',
  async (text) => {
    const { rotate, aliases, works, notes, sandbox } = await ready();
    // The old value is dropped, and the answer to the request for the new one gets lost.
    sandbox.addFault({ action: 'drop-before', route: CREATE, nth: 2 });
    expect((await rotate()).status).not.toBe(0);
    for (const note of notes()) fs.writeFileSync(note, text);
    expect((await rotate()).status).toBe(0);
    expect(await aliases()).toEqual(['ci']);
    expect(await works()).toBe(true);
  },
);

test('a secret with the longest name there is can be rotated', async () => {
  const { run } = await bench();
  const alias = 'a'.repeat(128);
  expect((await run(`secret create ${alias} --save`)).status).toBe(0);
  expect(await run(`secret rotate ${alias}`)).toMatchObject({ status: 0, stderr: '' });
});
