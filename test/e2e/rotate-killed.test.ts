import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type Result, temporaryHome } from '../helpers/cli.js';
import { gate } from '../helpers/gate.js';
import { type Keyring, keyringSkipReason, startKeyring } from '../helpers/keyring.js';
import { sandboxFor, standaloneSkipReason, start } from '../helpers/process.js';
import { DEEP } from '../helpers/property.js';
import { randomFrom, seedFor } from '../helpers/storm.js';

/**
 * Preloaded into the built command: counts the command's changes on the disk, and ends the process right after the change with the given number, as
 * SIGKILL would. The keychain's child process is not affected.
 */
const KILL_AFTER_WRITE = `
const fs = require('node:fs');
const at = Number(process.env.TEST_KILL_AFTER_WRITE);
let done = 0;
if (!process.argv.includes('__keychain')) {
  for (const name of ['writeFileSync', 'renameSync', 'linkSync', 'unlinkSync', 'rmSync', 'mkdirSync']) {
    const original = fs[name];
    fs[name] = (...args) => {
      const answer = original(...args);
      if (++done === at) process.kill(process.pid, 'SIGKILL');
      return answer;
    };
  }
  if (at === 0) process.on('exit', () => console.error('writes: ' + done));
}
`;

/** The lock of a dead process delays the next one by at most 5 s. A busy machine may take three times as long. */
const LONGEST_MS = 15_000;

type Moment = { readonly at: 'before' | 'after' | 'write'; readonly nth: number };

interface Variant {
  readonly serverVersion: string;
  readonly store: 'file' | 'keychain';
  readonly login: 'password' | 'saved secret';
}

async function stage({ serverVersion, store, login }: Variant, keyring?: Keyring) {
  const home = temporaryHome();
  const hook = path.join(home, 'kill-after-write.cjs');
  fs.writeFileSync(hook, KILL_AFTER_WRITE);
  const is4 = serverVersion.startsWith('4');
  const { sandbox, env: bare } = await sandboxFor(home, {
    serverVersion,
    gsqlPort: 0,
    ...(is4 ? {} : { restPort: 0 }),
  });

  // Requests to both servers pass through a gate that can hold one back for ever, before or after the server carries it out.
  let held: { moment: Moment; seen: number; happened: () => void } | undefined;
  const hold = (at: Moment['at']) => async () => {
    if (held?.moment.at !== at || ++held.seen !== held.moment.nth) return;
    held.happened();
    await new Promise(() => {});
  };
  const front = (target: string) => gate(target, /./, hold('after'), hold('before'));
  const gsqlUrl = await front(sandbox.gsqlUrl);
  const env: Record<string, string> = {
    ...keyring?.env,
    ...bare,
    GRAPHCRED_STORE: store,
    GRAPHCRED_GSQL_URL: gsqlUrl,
    GRAPHCRED_REST_URL: is4 ? `${gsqlUrl}/restpp` : await front(sandbox.restUrl),
  };
  const savedOnly = { ...env, GRAPHCRED_PASSWORD: '' };
  const rotating = login === 'password' ? env : savedOnly;

  // Only the rotation that is killed, and commands that use the keychain, need a process of their own.
  const run = async (line: string, withEnv = env): Promise<Result> =>
    keyring ? start(line.split(' '), withEnv).ended : cli(home, line.split(' '), { env: withEnv });

  const killer = (nth: number) => ({ NODE_OPTIONS: `--require=${hook}`, TEST_KILL_AFTER_WRITE: String(nth) });

  return {
    /** Counts the requests and the changes on the disk of a rotation that is not interrupted. */
    async count(alias: string): Promise<{ calls: number; writes: number }> {
      await run(`secret create ${alias} --save`);
      const seen = sandbox.requests.length;
      const { status, stderr } = await start(['secret', 'rotate', alias], { ...rotating, ...killer(0) })
        .ended;
      expect(status, stderr).toBe(0);
      return {
        calls: sandbox.requests.length - seen,
        writes: Number(/writes: (\d+)/.exec(stderr)?.[1] ?? 0),
      };
    },

    /** Starts a rotation and kills it at that point, unless it ends before. */
    async rotateKilled(alias: string, moment: Moment): Promise<void> {
      const reached = new Promise<void>((resolve) => {
        held = { moment, seen: 0, happened: resolve };
      });
      const more = moment.at === 'write' ? killer(moment.nth) : {};
      const running = start(['secret', 'rotate', alias], { ...rotating, ...more });
      if (moment.at !== 'write') {
        await Promise.race([reached, running.ended]);
        running.child.kill('SIGKILL');
      }
      const { signal, stderr } = await running.ended;
      held = undefined;
      expect(signal, stderr).toBe('SIGKILL');
    },

    /** Starts a rotation and kills it after this many milliseconds. */
    async rotateFor(alias: string, ms: number) {
      const running = start(['secret', 'rotate', alias], rotating);
      const timer = setTimeout(() => running.child.kill('SIGKILL'), ms);
      const { signal, status } = await running.ended;
      clearTimeout(timer);
      return signal ?? status;
    },

    create: (alias: string) => run(`secret create ${alias} --save`),
    drop: (alias: string) => run(`secret drop ${alias}`),
    rotate: (alias: string) => run(`secret rotate ${alias}`, rotating),
    /** Whether a token can be minted with nothing but a secret that is saved here. */
    works: async () => {
      const { status, stderr } = await run('token get --fresh --lifetime 1h', savedOnly);
      return status === 0 ? 'works' : stderr;
    },
    names: async (alias: string): Promise<Record<string, string>> => {
      const listed = await cli(home, ['secret', 'list', '-o', 'json', '--store', 'none'], { env });
      const { secrets } = JSON.parse(listed.stdout) as { secrets: { alias: string; masked: string }[] };
      return Object.fromEntries(
        secrets.filter((one) => one.alias.startsWith(alias)).map((one) => [one.alias, one.masked]),
      );
    },
    /** The records of secrets. */
    left: () =>
      fs
        .readdirSync(path.join(home, '.local/state/graphcred'))
        .filter((name) => /^secret-.*\.json$/.test(name)),
  };
}

function everyMoment({ calls, writes }: { calls: number; writes: number }): Moment[] {
  const upTo = (at: Moment['at'], count: number) =>
    Array.from({ length: count }, (_, index) => ({ at, nth: index + 1 }));
  return [...upTo('before', calls), ...upTo('after', calls), ...upTo('write', writes)];
}

/**
 * Kills a rotation at each of these points, each time with another secret, and checks what is left.
 * @returns how many were finished by another run, and before how many of them the first new value was lost
 */
async function killAtEach(
  made: Awaited<ReturnType<typeof stage>>,
  moments: readonly Moment[],
): Promise<{ unfinished: number; lost: number }> {
  let unfinished = 0;
  let lost = 0;
  for (const [index, moment] of moments.entries()) {
    const where = `${moment.at} ${moment.nth}`;
    const alias = `ci${index}`;
    expect((await made.create(alias)).status, where).toBe(0);
    const before = await made.names(alias);
    await made.rotateKilled(alias, moment);

    expect(await made.works(), where).toBe('works');
    const onServer = await made.names(alias);
    const pending = `${alias}_next` in onServer;
    // The server has no other secret than these two.
    expect(Object.keys(onServer).filter((name) => name !== alias && name !== `${alias}_next`)).toEqual([]);

    let again = await timed(() => made.rotate(alias));
    if (again.status === 8 && onServer[alias] === before[alias]) {
      lost++;
      expect(await made.names(alias), where).toEqual(onServer);
      expect((await made.drop(`${alias}_next`)).status, where).toBe(0);
      again = await made.rotate(alias);
    } else if (pending) {
      unfinished++;
      expect(again.stderr, where).toContain('going on with a rotation');
    }
    expect(again.status, `${where}: ${again.stderr}`).toBe(0);

    const after = await made.names(alias);
    expect(Object.keys(after), where).toEqual([alias]);
    expect(after[alias], where).not.toBe(before[alias]);
    expect(await made.works(), where).toBe('works');
    expect(made.left(), where).toEqual([expect.stringMatching(/^secret-/)]);
    expect((await made.drop(alias)).status, where).toBe(0);
    expect(made.left(), where).toEqual([]);
  }
  return { unfinished, lost };
}

async function timed<T>(work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const result = await work();
  expect(performance.now() - began).toBeLessThan(LONGEST_MS);
  return result;
}

/** Rotates one secret many times and kills each rotation at a random time. The last rotation is not interrupted. */
async function killAtRandom(made: Awaited<ReturnType<typeof stage>>, kills: number, seed: number) {
  const random = randomFrom(seed);
  await made.create('ci');
  const began = performance.now();
  expect(await made.rotateFor('ci', LONG_MS)).toBe(0);
  const longest = (performance.now() - began) * 1.1;
  let killed = 0;
  for (let round = 0; round < kills; round++) {
    const end = await made.rotateFor('ci', random() * longest);
    if (end === 'SIGKILL') killed++;
    // The value of the first new secret got lost.
    if (end === 8) await made.drop('ci_next');
    expect(await made.works(), `round ${round}`).toBe('works');
  }
  expect(killed).toBeGreaterThan(0);
  let last = await timed(() => made.rotate('ci'));
  if (last.status === 8) {
    await made.drop('ci_next');
    last = await made.rotate('ci');
  }
  expect(last.status, last.stderr).toBe(0);
  expect(Object.keys(await made.names('ci'))).toEqual(['ci']);
  expect(await made.works()).toBe('works');
  expect(made.left()).toEqual([expect.stringMatching(/^secret-/)]);
}

const VERSIONS = ['3.10.1', '4.1.2'];
const KILLS = DEEP ? 200 : 15;
const LONG_MS = DEEP ? 3_600_000 : 600_000;

describe.each<Variant>([
  { serverVersion: '3.10.1', store: 'file', login: 'password' },
  { serverVersion: '4.1.2', store: 'file', login: 'password' },
  { serverVersion: '4.1.2', store: 'file', login: 'saved secret' },
  { serverVersion: '4.2.0', store: 'file', login: 'password' },
])('secret rotate on $serverVersion, $store store, login by $login, if killed', (variant) => {
  test(
    'loses no secret at any request, before or after its effect, or after any change on the disk',
    async () => {
      const made = await stage(variant);
      const moments = everyMoment(await made.count('counted'));
      await made.drop('counted');
      // The executable that needs no Node cannot count its changes on the disk, so it has fewer points.
      expect(moments.length).toBeGreaterThan(standaloneSkipReason ? 15 : 25);
      const { unfinished, lost } = await killAtEach(made, moments);
      // Most of the points are between saving the first secret and dropping it.
      expect(unfinished).toBeGreaterThan(moments.length / 3);
      expect(lost).toBeLessThan(5);
    },
    LONG_MS,
  );
});

test.each(VERSIONS)(
  'secret rotate on %s, file store, loses no secret if it is killed again and again at random times',
  async (serverVersion) => {
    const made = await stage({ serverVersion, store: 'file', login: 'password' });
    await killAtRandom(made, KILLS, seedFor('rotate killed'));
  },
  LONG_MS,
);

const skip = keyringSkipReason();
if (skip !== undefined) console.log(`rotations in the keychain are not killed here: ${skip}`);

describe.skipIf(skip !== undefined).each(VERSIONS)(
  'secret rotate on %s, keychain, if killed',
  (serverVersion) => {
    let keyring: Keyring;
    beforeAll(async () => {
      keyring = await startKeyring({ state: 'unlocked' });
    });
    afterAll(() => keyring.stop());

    test(
      'at every call and after every change on the disk; in the short form, at every fifth of them',
      async () => {
        const made = await stage({ serverVersion, store: 'keychain', login: 'password' }, keyring);
        const all = everyMoment(await made.count('counted'));
        await made.drop('counted');
        // Each version tries other points.
        const offset = VERSIONS.indexOf(serverVersion);
        await killAtEach(made, DEEP ? all : all.filter((_, index) => index % 5 === offset));
      },
      LONG_MS,
    );
  },
);
