import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { maskSecret } from '../../src/core/redact.js';
import type { SandboxOptions } from '../../src/sandbox/server.js';
import { isSecret } from '../../src/store/ownership.js';
import { listEntries, writeEntry } from '../../src/store/records.js';
import { startRelay } from '../e2e/relay.js';
import { bench, cli, temporaryHome } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';
import { stateOf } from '../helpers/home.js';
import { freshToken } from '../helpers/redis-store.js';

const V4 = { serverVersion: '4.1.2' };

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
    saved: () => files().filter((file) => /^secret-.*\.json$/.test(path.basename(file))),
  };
}

describe.each(['3.10.1', '4.1.2'])('secret rotate on %s', (serverVersion) => {
  // What happens when the server has not done it is in docs/reliability.md.
  // holds: C2.9, C2.10
  test('leaves a saved secret that works when any answer gets lost, and is finished by another run', async () => {
    const clean = await ready({ serverVersion });
    clean.requests();
    expect((await clean.rotate()).status).toBe(0);
    const count = clean.requests().length;
    expect(count).toBeGreaterThan(5);
    for (let nth = 1; nth <= count; nth++) {
      const { sandbox, rotate, run, masks, works, saved } = await ready({ serverVersion });
      const before = await masks();
      sandbox.addFault({ action: 'drop-after', nth });
      const first = await rotate();
      expect(await works(), `a saved secret works after request ${nth} failed`).toBe(true);
      // The second request makes ci_next. Nobody has its value, so it cannot be told from one of another machine.
      if (nth === 2) {
        const between = await masks();
        expect(first.stderr).toContain('graphcred secret drop ci_next');
        expect(await rotate()).toMatchObject({ status: 8 });
        expect(await masks()).toEqual(between);
        expect((await run('secret drop ci_next')).status).toBe(0);
      }
      const made = (await masks()).ci;
      if (first.status !== 0) expect((await rotate()).status, `rerun after ${nth}`).toBe(0);
      const after = await masks();
      // The last request drops ci_next. The new value of ci may be in use by then, so it is not replaced.
      if (nth === count) expect(after.ci).toBe(made);
      expect(Object.keys(after), `after ${nth}`).toEqual(['ci']);
      expect(after.ci).not.toBe(before.ci);
      expect(await works()).toBe(true);
      expect(saved()).toHaveLength(1);
    }
  }, 120_000);

  // holds: C2.11
  test('prints a value whose predecessor was not saved here, and does not keep it, also when it was broken off', async () => {
    const { run, sandbox, masks, saved, rotate } = await ready({ serverVersion });
    for (const nth of [0, 1, 2]) {
      await run('secret drop ci');
      expect((await run('secret create ci')).status).toBe(0);
      // The first and the second new value is saved, and the token that would prove it is not minted.
      const route = serverVersion === '4.1.2' ? 'POST /gsql/v1/tokens' : 'POST /requesttoken';
      if (nth > 0) sandbox.addFault({ action: 'drop-before', route, nth });
      if (nth > 0) expect(await rotate()).toMatchObject({ status: 7, stdout: '' });
      const { status, stdout } = await rotate();
      expect({ nth, status, masked: maskSecret(stdout.trim()) }).toEqual({
        nth,
        status: 0,
        masked: (await masks()).ci,
      });
      expect(saved()).toEqual([]);
    }
  });
});

// holds: C2.11
test('a new value that cannot be printed is not made, or stays saved', async () => {
  const { run, masks, saved } = await ready();
  await run('secret drop ci');
  const old = (await run('secret create ci')).stdout.trim();
  const before = await masks();
  expect((await run('secret rotate ci', { toNowhere: true })).status).toBe(2);
  expect(await masks()).toEqual(before);
  expect(await run('secret rotate ci', { fullDisk: true })).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('hint: the new value of "ci" is saved here; '),
  });
  expect(saved()).toHaveLength(1);
  // It logs the next rotation in, in place of the old value that is still set.
  const env = { GRAPHCRED_PASSWORD: '', GRAPHCRED_SECRET: old };
  expect((await run('secret rotate ci --print', { env })).stdout).toMatch(/^[a-z0-9]{32}\n$/);
  expect(saved()).toEqual([]);
});

// holds: C2.10
test.each(['POST /gsql/v1/secrets', 'DELETE /gsql/v1/secrets'])(
  'a rotation by a secret that is set, broken off at the second %s, is finished by running it again',
  async (route) => {
    const { run, sandbox, aliases, saved } = await ready();
    const job = (await run('secret create job')).stdout.trim();
    const env = { GRAPHCRED_PASSWORD: '', GRAPHCRED_USERNAME: '', GRAPHCRED_SECRET: job };
    sandbox.addFault({ action: 'drop-before', route, nth: 2 });
    expect((await run('secret rotate job', { env })).status).toBe(7);
    // What it has saved is no credential of other commands.
    expect((await run('token get', SAVED_ONLY)).status).toBe(0);
    expect((await run('secret rotate job', { env })).stdout).toMatch(/^[a-z0-9]{32}\n$/);
    expect([await aliases(), saved().length]).toEqual([['ci', 'job'], 1]);
  },
);

// holds: C2.10
test('an unfinished rotation of another user is not gone on with, also by a secret that the server refuses', async () => {
  const secrets = [{ alias: 'ci', value: 'b'.repeat(32), user: 'bob', graph: 'demo' }];
  const users = [
    { name: 'tigergraph', password: 'tigergraph', role: 'superuser' },
    { name: 'bob', password: 'bob', role: 'superuser' },
  ] as const;
  const { rotate, run, sandbox, masks } = await ready({ ...V4, users: [...users], secrets });
  sandbox.addFault({ action: 'drop-before', route: 'DELETE /gsql/v1/secrets', nth: 1, times: 1 });
  expect((await rotate()).status).toBe(7);
  const before = await masks();
  for (const [secret, status] of [
    ['x'.repeat(32), 4],
    ['b'.repeat(32), 0],
  ] as const) {
    const env = { GRAPHCRED_PASSWORD: '', GRAPHCRED_USERNAME: '', GRAPHCRED_SECRET: secret };
    expect((await run('secret rotate ci', { env })).status).toBe(status);
    expect(await masks()).toEqual(before);
  }
});

// holds: C2.10
test('two rotations of the secret that logs in follow one another', async () => {
  const { run, aliases } = await ready();
  const both = await Promise.all([0, 1].map(() => run('secret rotate ci', SAVED_ONLY)));
  expect(both.map(({ status }) => status)).toEqual([0, 0]);
  expect(await aliases()).toEqual(['ci']);
});

test('a new value that was lost before it was saved is dropped and made anew', async () => {
  const { sandbox, rotate, works, masks, forgetSaved } = await ready();
  sandbox.addFault({ action: 'drop-before', route: 'POST /gsql/v1/tokens', nth: 2 });
  expect((await rotate()).status).toBe(7);
  forgetSaved('ci');
  expect((await rotate()).status).toBe(0);
  expect(Object.keys(await masks())).toEqual(['ci']);
  expect(await works()).toBe(true);
});

test.each(['', ' --principal ci-job'])(
  'a token whose secret is rotated while it is minted is minted with the new value%s',
  async (label) => {
    const { run, sandbox } = await bench(V4);
    const relay = await startRelay(Number(new URL(sandbox.gsqlUrl).port), /"lifetime":"777"/);
    const GRAPHCRED_GSQL_URL = `http://127.0.0.1:${relay.port}`;
    const env = { GRAPHCRED_GSQL_URL, GRAPHCRED_REST_URL: `${GRAPHCRED_GSQL_URL}/restpp` };
    await run('secret create ci --save', { env });
    relay.hold();
    const got = run(`token get --lifetime 777${label}`, { env: { ...env, GRAPHCRED_PASSWORD: '' } });
    await relay.matched(1);
    expect((await run('secret rotate ci', { env })).status).toBe(0);
    relay.release();
    expect((await got).status).toBe(0);
  },
);

// holds: C2.12
test.each([' --save', ''])(
  'a secret of the temporary name that no rotation made (secret create ci_next%s) is left alone',
  async (save) => {
    const { run, rotate, masks } = await ready();
    await run(`secret create ci_next${save}`);
    const before = await masks();
    expect(await rotate()).toMatchObject({
      status: 8,
      stderr: expect.stringContaining('nobody uses "ci_next": graphcred secret drop ci_next'),
    });
    expect(await masks()).toEqual(before);
  },
);

test('a rotation by the saved secret itself goes on, whatever the clock says', async () => {
  const { run, sandbox, masks } = await ready();
  let time = Date.now();
  const now = () => {
    time -= 1000;
    return time;
  };
  sandbox.addFault({ action: 'drop-after', route: 'DELETE /gsql/v1/secrets', nth: 2 });
  expect((await run('secret rotate ci', { ...SAVED_ONLY, now })).status).toBe(7);
  expect((await run('secret rotate ci', { ...SAVED_ONLY, now })).status).toBe(0);
  expect(Object.keys(await masks())).toEqual(['ci']);
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

test('a token that another process mints from the old value during a rotation stays listed', async () => {
  let onRequest = (_line: string) => {};
  const { rotate, home, json, sandbox } = await ready({ ...V4, log: (line) => onRequest(line) });
  const [saved] = listEntries(stateOf(home)).filter(isSecret);
  let stored = 0;
  onRequest = (line) => {
    const { method, path: route } = JSON.parse(line) as { method: string; path: string };
    if (method !== 'DELETE' || !route.startsWith('/gsql/v1/secrets') || stored > 0) return;
    stored++;
    const { restUrl, gsqlUrl, graph } = sandbox;
    const info = { restUrl, gsqlUrl, graph, principal: defined(saved).record.info.id };
    const record = { ...freshToken('token of the other process', 3600, info), store: 'file' } as const;
    writeEntry(stateOf(home), { record, sealed: 'x' });
  };
  expect((await rotate()).status).toBe(0);
  expect(stored).toBe(1);
  expect((await json<{ tokens: unknown[] }>('token list')).tokens).toHaveLength(1);
});

test('on 3.x a rotation on one graph is not continued by one on another graph', async () => {
  const { run, sandbox } = await bench({ graphs: ['demo', 'other'] });
  for (const graph of ['demo', 'other']) await run(`secret create ci --save --graph ${graph}`);
  sandbox.addFault({ action: 'drop-after', route: '/requesttoken', nth: 1 });
  expect((await run('secret rotate ci --graph demo')).status).not.toBe(0);
  const other = await run('secret rotate ci --graph other');
  const ended = 'graphcred: tokens made from the old value of "ci" have ended\n';
  expect({ status: other.status, stderr: other.stderr }).toEqual({ status: 0, stderr: ended });
  expect((await run('secret rotate ci --graph demo')).stderr).toContain(
    'resuming the unfinished rotation of "ci"',
  );
});

test('when the disk is full, a secret that cannot be saved is dropped again', async () => {
  for (const nth of [1, 2]) {
    let made = 0;
    const log = (line: string) => {
      if (/"POST","path":"\/gsql\/v1\/secrets/.test(line)) made++;
    };
    const { rotate, masks, works } = await ready({ ...V4, log });
    made = 0;
    const rename = fs.renameSync;
    const spy = vi.spyOn(fs, 'renameSync').mockImplementation((from, to) => {
      if (made === nth) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      rename(from, to);
    });
    expect(await rotate()).toMatchObject({ status: 6 });
    spy.mockRestore();
    expect(Object.keys(await masks())).toEqual(nth === 1 ? ['ci'] : ['ci_next']);
    expect(await works()).toBe(true);
    expect((await rotate()).status).toBe(0);
    expect(Object.keys(await masks())).toEqual(['ci']);
  }
});

// holds: C3.18
test('a rotation that goes on at another REST server sends it no value of the first', async () => {
  const { run, sandbox } = await ready({ serverVersion: '3.10.1' });
  sandbox.addFault({ action: 'status', status: 503, route: 'POST /requesttoken', nth: 1 });
  expect((await run('secret rotate ci')).status).toBe(7);
  const { status, stderr } = await run('secret rotate ci', {
    env: { GRAPHCRED_REST_URL: 'http://127.0.0.1:9' },
  });
  expect([status, stderr]).toEqual([5, expect.stringContaining('is not sent to')]);
});

// holds: C5.7
test('without a keychain nothing is rotated, and no saved secret is taken for missing', async () => {
  const { run, masks } = await ready({});
  const before = await masks();
  const noKeychain = {
    GRAPHCRED_STORE: '',
    DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent',
    XDG_RUNTIME_DIR: '/nonexistent',
  };
  expect((await run('secret rotate ci', { env: noKeychain })).status).toBe(6);
  const onlySaved = { ...noKeychain, GRAPHCRED_SECRET_ALIAS: 'ci', GRAPHCRED_PASSWORD: '' };
  expect((await run('token get', { env: onlySaved })).status).toBe(6);
  expect(await masks()).toEqual(before);
});

test.each(['a'.repeat(128), `${'a'.repeat(123)}_next`])(
  'a secret with the longest name there is can be rotated: %s',
  async (alias) => {
    const { run } = await bench();
    expect((await run(`secret create ${alias} --save`)).status).toBe(0);
    expect(await run(`secret rotate ${alias} -q`)).toMatchObject({ status: 0, stderr: '' });
  },
);
