import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type Keytar from 'keytar';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TRIAL } from '../../src/app/secrets/save-credential.js';
import { idOf } from '../../src/app/tokens/list-tokens.js';
import { fingerprint, secretId } from '../../src/auth/credential.js';
import { COMMANDS } from '../../src/cli/args/catalogue.js';
import { KEYCHAIN_CHILD } from '../../src/cli/context.js';
import { Sensitive } from '../../src/core/sensitive.js';
import { Deadline } from '../../src/core/time.js';
import { emptyState, loadState, type State } from '../../src/sandbox/state.js';
import { SERVICE } from '../../src/store/keychain/helper.js';
import { openStore } from '../../src/store/open.js';
import { partsOf } from '../../src/store/records.js';
import { cipherOf } from '../../src/store/redis/cipher.js';
import { parseRedisUrl } from '../../src/store/redis/url.js';
import type { StoreName } from '../../src/store/store.js';
import { cli, temporaryHome } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';
import { gate } from '../helpers/gate.js';
import { foldersOf } from '../helpers/home.js';
import { type Keyring, keyringSkipReason, startKeyring } from '../helpers/keyring.js';
import { BIN, COMMAND, sandboxFor, spawned, standaloneSkipReason, start } from '../helpers/process.js';
import { DEEP } from '../helpers/property.js';
import { type RedisServer, redisSkipReason, startRedis } from '../helpers/redis.js';
import { onTerminal, python } from '../helpers/terminal.js';

/**
 * Preloaded into the built command: counts its changes on the disk, and what it sends and receives through sockets and
 * the pipes of the keychain's helper. Right after the step with the given number it sends itself the signal.
 */
const HOOK = `
const fs = require('node:fs');
const { Socket } = require('node:net');
const [at, signal] = process.env.TEST_END_AT.split(' ');
let done = 0;
const step = () => {
  if (++done === Number(at)) process.kill(process.pid, signal);
};
const count = (owner, name, isStep = () => true) => {
  const original = owner[name];
  owner[name] = function (...args) {
    const counts = isStep(this);
    const answer = original.apply(this, args);
    if (counts) step();
    return answer;
  };
};
if (!process.argv.includes('__keychain')) {
  for (const name of ['writeFileSync', 'renameSync', 'linkSync', 'unlinkSync', 'rmSync', 'mkdirSync']) count(fs, name);
  // Until it is connected, a socket sends nothing; what it was given is sent afterwards.
  count(Socket.prototype, '_writeGeneric', (socket) => !socket.connecting);
  // The answer has arrived, and nobody has read it.
  const push = Socket.prototype.push;
  Socket.prototype.push = function (...args) {
    step();
    return push.apply(this, args);
  };
  if (at === '0') process.on('exit', () => console.error('steps: ' + done));
}
`;
const SIGNALS = ['SIGKILL', 'SIGTERM', 'SIGINT'] as const;
type Signal = (typeof SIGNALS)[number];
const LONG_MS = DEEP ? 3_600_000 : 300_000;
const GIVEN = 'abcdefghijklmnopqrstuvwxyz012345';
/** The longest life of a token that only proves a secret, which is left to expire. */
const TRIAL_SECONDS = 300;

/** A command line, and those that are run before it. `@` stands before one that has the saved secret for a login. */
interface Row {
  readonly line: string;
  readonly before?: readonly string[];
  readonly only?: '3' | '4';
  readonly stdin?: string;
  readonly stores?: readonly StoreName[];
}

const SAVED = ['secret create ci --save', '@token get', '@token get --lifetime 1h'];
const CACHED = ['token get', 'token get --lifetime 1h'];
const ON_MACHINE: readonly StoreName[] = ['file', 'keychain'];
const FILE: readonly StoreName[] = ['file'];
const ROWS: readonly Row[] = [
  { line: 'secret create ci', stores: FILE },
  { line: 'secret prune --yes', before: ['secret create', 'secret create'], stores: FILE },
  { line: 'token delete', before: CACHED, stores: FILE },
  { line: 'login -p new --save-password', stores: FILE },
  { line: 'exec --revoke -- true', stores: FILE },
  { line: 'secret create ci --save', stores: ON_MACHINE },
  { line: 'secret drop ci', before: SAVED, stores: ON_MACHINE },
  { line: 'secret drop ci --revoke', before: SAVED, stores: ON_MACHINE },
  { line: 'secret rotate ci', before: SAVED, stores: ON_MACHINE },
  { line: '@secret rotate ci', before: SAVED, only: '4', stores: ON_MACHINE },
  { line: 'login -p new --secret-stdin', stdin: GIVEN, stores: ON_MACHINE },
  { line: '@token get', before: ['secret create ci --save'], stores: ON_MACHINE },
  { line: 'token get', stores: ['redis'] },
  { line: 'token refresh --lifetime 60d', before: CACHED, only: '3' },
  { line: 'token delete --everything', before: CACHED },
  { line: 'token delete --everything', before: SAVED, stores: ON_MACHINE },
  { line: 'logout --revoke', before: CACHED },
];

const keytar: typeof Keytar = createRequire(import.meta.url)('keytar');
let keyring: Keyring | undefined;
let redis: RedisServer | undefined;
const missing = { file: undefined, none: undefined, keychain: keyringSkipReason(), redis: redisSkipReason() };
const ends: (() => void)[] = [];
beforeAll(async () => {
  if (missing.keychain === undefined) {
    keyring = await startKeyring({ state: 'unlocked' });
    process.env.DBUS_SESSION_BUS_ADDRESS = keyring.env.DBUS_SESSION_BUS_ADDRESS;
  }
  if (missing.redis === undefined) redis = await startRedis({ onEnd: (end) => ends.push(end) });
});
afterAll(async () => {
  for (const end of ends) end();
  await keyring?.stop();
});

interface Held {
  readonly id: string;
  /** The fingerprint of the token, or the id of the secret. */
  readonly of: string;
  /** Whether the value is there too. */
  readonly isWhole: boolean;
  /** When the record of a token may be forgotten, in seconds since 1970. */
  readonly endsAt: number;
}

/** What is true now: at the server, and on this machine. */
interface Truth {
  /** The values of the secrets that exist, by alias. Those that a mint by password makes are not counted. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The tokens that the server accepts, without those that only prove a secret. */
  readonly living: readonly string[];
  readonly held: readonly Held[];
}

async function stage(row: Row, serverVersion: string, store: StoreName) {
  const home = temporaryHome();
  const is4 = serverVersion.startsWith('4');
  const hook = path.join(home, 'hook.cjs');
  const stateFile = path.join(home, 'sandbox.json');
  fs.writeFileSync(hook, HOOK);
  // On one Redis server, each sees its own tokens alone.
  const storeKey = crypto.randomBytes(32);
  const { sandbox, env: bare } = await sandboxFor(home, {
    serverVersion,
    stateFile,
    gsqlPort: 0,
    ...(is4 ? {} : { restPort: 0 }),
    secrets: [{ alias: 'given', value: GIVEN, user: 'tigergraph', graph: 'demo' }],
  });
  // Ahead of both servers, to see each token that is made, and when a request of a killed run has been carried out.
  const minted = new Set<string>();
  let underWay = 0;
  const note = async (answer: string) => {
    underWay--;
    const [, token] = /"token" ?: ?"([^"]{20,})"/.exec(answer) ?? [];
    if (token !== undefined) minted.add(token);
  };
  const front = (target: string) => gate(target, /./, note, async () => void underWay++);
  const gsqlUrl = await front(sandbox.gsqlUrl);
  const env: Record<string, string> = {
    ...keyring?.env,
    ...bare,
    GRAPHCRED_STORE: store,
    GRAPHCRED_GSQL_URL: gsqlUrl,
    GRAPHCRED_REST_URL: is4 ? `${gsqlUrl}/restpp` : await front(sandbox.restUrl),
    ...(store === 'redis' &&
      redis && { GRAPHCRED_REDIS_URL: redis.url, GRAPHCRED_STORE_KEY: storeKey.toString('base64') }),
  };
  const typed = (line: string) => ({
    argv: line.replace('@', '').split(' '),
    env: line.startsWith('@') ? { ...env, GRAPHCRED_PASSWORD: '' } : env,
  });
  const run = async (line: string, stdin = row.stdin) => {
    const { argv, env: own } = typed(line);
    return cli(home, argv, { env: own, ...(stdin !== undefined && { stdin }) });
  };
  const folders = foldersOf(home);
  const opened = await openStore(store, {
    ...folders,
    warn: () => {},
    storeKey: async () => (store === 'redis' ? new Sensitive(storeKey.toString('base64')) : undefined),
    redis: async () => ({
      ...defined(parseRedisUrl(redis?.url ?? '')),
      deadline: new Deadline(30_000),
      now: Date.now,
    }),
    keychain: {
      platform: process.platform,
      childEnvironment: () => env,
      mayPrompt: false,
      keychainHelper: { command: process.execPath, args: [BIN, KEYCHAIN_CHILD] },
    },
  });
  const held = async (): Promise<Held[]> => {
    const records = (await opened.list()).filter(({ key }) => !key.startsWith(TRIAL));
    return Promise.all(
      records.map(async (record) => ({
        id: idOf(record),
        of: record.kind === 'token' ? partsOf(record.key).token : 'id' in record.info ? record.info.id : '',
        isWhole: (await opened.get(record)) !== undefined,
        endsAt: record.info.unfinished === 'refresh' ? Infinity : (record.expiresAtUnix ?? 0),
      })),
    );
  };
  const lives = async (token: string, state: State) => {
    const { exp, iat = Date.now() / 1000 } = JSON.parse(
      Buffer.from(token.split('.')[1] ?? 'e30', 'base64').toString(),
    );
    const isTrial = (state.tokens.get(token)?.expiresAt ?? exp) - iat <= TRIAL_SECONDS + 10;
    return !isTrial && accepts(sandbox, token);
  };
  for (const line of row.before ?? []) {
    const { status, stderr } = await run(line);
    expect(status, `${line}: ${stderr}`).toBe(0);
  }
  return {
    run,
    /** Runs the command as a process, which sends itself the signal after that step. */
    async broken(at: number, signal: Signal) {
      const { argv, env: own } = typed(row.line);
      const hooked = { NODE_OPTIONS: `--require=${hook}`, TEST_END_AT: `${at} ${signal}` };
      const result = await start(argv, { ...own, ...hooked }, row.stdin).ended;
      // What it has sent is carried out before this one.
      do await fetch(`${gsqlUrl}/api/ping`);
      while (underWay > 0);
      return result;
    },
    /** Lets the time go by after which another process takes the locks of a dead one. */
    outliveLocks() {
      for (const dir of Object.values(folders).filter((one) => fs.existsSync(one)))
        for (const name of fs.readdirSync(dir).filter((one) => /\.(lock|turn)$/.test(one)))
          fs.utimesSync(path.join(dir, name), 0, 0);
      if (store !== 'redis') return;
      const locks = redis?.cliSync('KEYS', `graphcred:1:{${cipherOf(storeKey).keyId}}:l:*`).split('\n');
      for (const key of locks ?? []) redis?.cliSync('DEL', key);
    },
    /** Removes from the keychain all that a record names. */
    async clearKeychain() {
      if (store === 'keychain')
        for (const { key } of await opened.list()) await keytar.deletePassword(SERVICE, key);
    },
    async truth(): Promise<Truth> {
      const state = loadState(stateFile) ?? emptyState();
      const living: string[] = [];
      for (const token of minted)
        if (await lives(token, state)) living.push(fingerprint(new Sensitive(token)));
      const records = await held();
      // No record goes before its token has ended.
      for (const [token, { expiresAt }] of state.tokens)
        for (const { of, endsAt } of records)
          if (of === fingerprint(new Sensitive(token))) expect(endsAt).toBeGreaterThan(expiresAt - 10);
      const { tokens } = JSON.parse((await run('token list -o json')).stdout) as { tokens: { id: string }[] };
      const ids = records.filter(({ of }) => isToken(of)).map(({ id }) => id);
      expect(new Set(tokens.map(({ id }) => id))).toEqual(new Set(ids));
      const own = state.secrets.filter(({ alias }) => !alias.startsWith('AUTO_'));
      return {
        secrets: Object.fromEntries(own.map(({ alias, value }) => [alias, value])),
        living: living.sort(),
        held: records.sort((a, b) => (a.id < b.id ? -1 : 1)),
      };
    },
  };
}

const accepts = async ({ restUrl }: { restUrl: string }, token: string) =>
  (await fetch(`${restUrl}/echo`, { headers: { authorization: `Bearer ${token}` } })).ok;
const isToken = (of: string) => /^[0-9a-f]{12}$/.test(of);
const isSaved = (held: readonly Held[], value = '') =>
  held.some(({ of, isWhole }) => isWhole && of === secretId(new Sensitive(value)));
const isListed = ({ held }: Truth, token: string) => held.some(({ of }) => of === token);
/** The secrets and tokens whose value nobody has any more. */
const lostIn = (before: Truth, { secrets, living, held }: Truth) => ({
  secrets: Object.keys(secrets).filter(
    (alias) => before.secrets[alias] !== secrets[alias] && !isSaved(held, secrets[alias]),
  ),
  tokens: living.filter((token) => !held.some(({ of, isWhole }) => isWhole && of === token)),
});

/** What two runs that did the same have in common. */
const shapeOf = (before: Truth, now: Truth, ignored: readonly string[] = []) => {
  const counts = (token: string) =>
    !ignored.includes(token) || now.held.some(({ of, isWhole }) => isWhole && of === token);
  const here = [
    ...now.living.filter(counts).map(() => 'living'),
    ...now.held.filter(({ of }) => counts(of)).map(({ of }) => (isToken(of) ? 'token' : 'credential')),
  ].sort();
  return {
    secrets: Object.entries(now.secrets)
      .map(([alias, value]) => `${alias} ${before.secrets[alias] === value ? 'as before' : 'new'}`)
      .sort(),
    here,
  };
};

type Ended = Awaited<ReturnType<Awaited<ReturnType<typeof stage>>['broken']>>;

/** Checks that all that was printed is so, and that all that was done is told. */
function checkTold(
  before: Truth,
  now: Truth,
  { status, signal, stdout, stderr }: Ended,
  where: string,
): void {
  const told = stdout + stderr;
  const inDoubt = /may have|may live/.test(stderr);
  const lost = lostIn(before, now);
  // No token that lived before is lost sight of, whatever ends the run.
  expect(
    before.living.filter((token) => now.living.includes(token) && !isListed(now, token)),
    where,
  ).toEqual([]);
  const unlisted = now.living.filter((token) => !isListed(now, token));
  if (signal === 'SIGKILL') {
    expect(unlisted.length + lost.secrets.length, where).toBeLessThan(2);
    return;
  }
  expect(stderr, where).not.toMatch(/ran into a bug/);
  // A run that was done, or whose program has ended, keeps its own status.
  if (signal === null && status !== 0) {
    expect([130, 143], where).toContain(status);
    // The command of exec may have got the signal, and its status is that of exec.
    if (!where.startsWith('exec'))
      expect(stderr, where).toMatch(/graphcred: Interrupted[:;,.]|Interrupted after the work was complete/);
  }
  if (!inDoubt)
    expect(
      { unlisted, lost: lost.secrets.filter((alias) => !told.includes(now.secrets[alias] ?? '')) },
      where,
    ).toEqual({ unlisted: [], lost: [] });
  if (signal !== null || stderr.includes('nothing was changed'))
    expect(now, `${where}: nothing was changed`).toEqual(before);
  const [, list = ''] = /Already done: (.*)\.$/m.exec(stderr) ?? [];
  const steps = list.split(', ').filter((step) => step !== '');
  for (const [index, step] of steps.entries()) {
    const [, verb = '', name = ''] = /^(.*?)(?: the (?:secret|token) "?([^\s"]+)"?)?$/.exec(step) ?? [];
    const isGone = steps.slice(index + 1).includes(`dropped the secret "${name}"`);
    const isTrue: Record<string, () => boolean> = {
      made: () =>
        isGone || inDoubt || (now.secrets[name] !== undefined && now.secrets[name] !== before.secrets[name]),
      'made and saved': () => isGone || inDoubt || isSaved(now.held, now.secrets[name]),
      dropped: () => before.secrets[name] === undefined || now.secrets[name] !== before.secrets[name],
      revoked: () => !now.held.some(({ id }) => id === name),
      forgot: () => !now.held.some(({ id }) => id === name),
      'forgot a token': () => now.held.length < before.held.length,
      'forgot a saved secret': () => now.held.length < before.held.length,
    };
    expect(isTrue[verb]?.(), `${where}: ${step}`).toBe(true);
  }
  // A run that ended by itself has told it all in its result.
  if (status < 128 || inDoubt) return;
  const changed = Object.keys({ ...before.secrets, ...now.secrets }).filter(
    (alias) => before.secrets[alias] !== now.secrets[alias],
  );
  expect(
    changed.filter((alias) => !told.includes(alias)),
    where,
  ).toEqual([]);
  // On 3.x a secret takes its tokens with it.
  if (changed.length > 0) return;
  const ended = before.held.filter(({ of }) => before.living.includes(of) && !now.living.includes(of));
  const [, counted = '0'] = /^\D*(\d+) (?:revoked )?tokens?\b/.exec(stdout) ?? [];
  expect(ended.filter(({ id }) => !stderr.includes(`the token ${id}`)).length, where).toBe(Number(counted));
}

async function breakAndRepeat(
  row: Row,
  version: string,
  store: StoreName,
  { at, signal }: { at: number; signal: Signal },
  wanted: unknown,
) {
  const where = `${row.line} on ${version}, ${store}, ${signal} after step ${at}`;
  const made = await stage(row, version, store);
  const before = await made.truth();
  const ended = await made.broken(at, signal);
  made.outliveLocks();
  const now = await made.truth();
  checkTold(before, now, ended, `${where}: ${ended.stderr}`);
  if (row.line.includes('rotate')) {
    const { status, stdout, stderr } = await made.run('@token get --fresh --lifetime 2h');
    expect(status, `${where}: ${stderr}`).toBe(0);
    await made.run('token delete --token-stdin', stdout);
  }
  const lost = lostIn(before, now);
  let again = await made.run(row.line);
  const hasMade = row.line.startsWith('secret create') && now.secrets.ci !== undefined;
  if (again.status === 8 && lost.secrets.length > 0) {
    // The value of a new secret got lost before it could be saved.
    for (const alias of lost.secrets) {
      expect(again.stderr).toContain(alias);
      await made.run(`secret drop ${alias}`);
    }
    again = await made.run(row.line);
  } else if (hasMade) again = { ...again, status: again.status - 8 };
  expect([0, 3], `${where}, again: ${again.stderr}`).toContain(again.status);
  expect(shapeOf(before, await made.truth(), lost.tokens), where).toEqual(wanted);
  await made.clearKeychain();
}

const VERSIONS = ['3.10.1', '4.1.2'];
const TABLE = VERSIONS.flatMap((version) =>
  ROWS.filter(({ only = version }) => version.startsWith(only)).flatMap((row) =>
    (row.stores ?? (['file', 'keychain', 'redis'] as const))
      .filter((store) => missing[store] === undefined)
      .map((store) => ({ version, row, store, line: row.line })),
  ),
);
/** Returns a sequence of numbers from 0 up to 1 that looks random and is the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a seed for a test and prints it, so that a failure can be repeated with GRAPHCRED_SEED. */
function seedFor(name: string): number {
  const seed = Number(process.env.GRAPHCRED_SEED ?? Math.trunc(Math.random() * 2 ** 31));
  console.log(`${name}: seed ${seed}; again with GRAPHCRED_SEED=${seed}`);
  return seed;
}

const random = randomFrom(seedFor('killed'));

describe.skipIf(standaloneSkipReason)('a run that a signal ends', () => {
  // holds: C2.10, C2.24, C2.26, C5.9
  test.each(TABLE)(
    'loses sight of nothing, says what is true, and ends well when run again: $line on $version, $store store',
    async ({ row, version, store }) => {
      const whole = await stage(row, version, store);
      const before = await whole.truth();
      const { status, stderr } = await whole.broken(0, 'SIGKILL');
      expect(status, stderr).toBe(0);
      const wanted = shapeOf(before, await whole.truth());
      const steps = Number(/^steps: (\d+)$/m.exec(stderr)?.[1]);
      expect(steps).toBeGreaterThan(2);
      const every = Array.from({ length: steps }, (_, index) => index + 1);
      const moments = () => (DEEP ? every : [1 + Math.floor(random() * steps)]);
      const jobs = SIGNALS.flatMap((signal) => moments().map((at) => ({ at, signal })));
      // Each operation of the keychain starts a process, so of these one is tried.
      if (store === 'keychain' && !DEEP) jobs.splice(0, 3, ...jobs.splice(Math.floor(random() * 3), 1));
      const worker = async () => {
        for (let job = jobs.shift(); job !== undefined; job = jobs.shift())
          await breakAndRepeat(row, version, store, job, wanted);
      };
      await Promise.all([worker(), worker(), worker(), whole.clearKeychain()]);
    },
    LONG_MS,
  );

  test.skipIf(missing.keychain)('leaves nothing in the keychain that no record names', async () => {
    expect(await keyring?.items()).not.toContain('objectpath');
  });
});

test('every command that changes something is in this table', () => {
  const changing = COMMANDS.filter(({ writes }) => writes).map(({ path: words }) => words);
  expect(
    changing.filter((words) => !ROWS.some(({ line }) => line.replace('@', '').startsWith(words))),
  ).toEqual([]);
});

// holds: C2.24
test.skipIf(!python).each(['token get', 'secret create ci'])(
  '%s ends by SIGHUP when its window is closed, without a core file',
  async (line) => {
    const home = temporaryHome();
    const { sandbox, env } = await sandboxFor(home, { serverVersion: '4.1.2' });
    let close = () => {};
    let isClosed: Promise<unknown> | undefined;
    const url = await gate(sandbox.gsqlUrl, /^POST .*(tokens|secrets)/, async () => {
      close();
      await isClosed;
    });
    const at = { GRAPHCRED_GSQL_URL: url, GRAPHCRED_REST_URL: `${url}/restpp`, GRAPHCRED_STORE: 'none' };
    const terminal = onTerminal(line.split(' '), { env: { ...env, ...at }, cwd: home });
    close = terminal.close;
    isClosed = terminal.ended;
    // An abort would be -6.
    expect((await terminal.ended).status).toBe(-1);
  },
);

const CLOCKS = ['+62m', '-62m', '+60d', '-60d', '-20y'];
const noFaketime =
  spawnSync('faketime', ['--version']).error && 'faketime is not installed: apt install faketime';
if (noFaketime) console.log(`the clock of this machine is not wrong here: ${noFaketime}`);

test
  .skipIf(noFaketime || standaloneSkipReason)
  .each(VERSIONS.flatMap((version) => CLOCKS.map((clock) => [clock, version] as const)))(
  'with a clock that is %s wrong, on %s, what lives is listed and can be ended',
  async (clock, serverVersion) => {
    const home = temporaryHome();
    const { sandbox, env } = await sandboxFor(home, { serverVersion });
    const run = async (line: string, more = {}) => {
      const own = { ...env, ...more, GRAPHCRED_STORE: 'file', FAKETIME_DONT_FAKE_MONOTONIC: '1' };
      const { status, stdout, stderr } = await spawned(
        ['faketime', '-f', clock, ...COMMAND, ...line.split(' ')],
        own,
      );
      expect(status, `${line}: ${stderr}`).toBe(0);
      return stdout.trim();
    };
    const listed = async () => JSON.parse(await run('token list -o json')).tokens.length;
    await run('login -p clock --save-password');
    const tokens = [await run('token get')];
    expect(await listed()).toBe(1);
    expect(await run('token delete --everything')).toBe('Deleted 1 token.');
    tokens.push(await run('token get --lifetime 1h'));
    if (serverVersion.startsWith('3')) expect(await run('token refresh --lifetime 2h')).toBe(tokens[1]);
    expect(await listed()).toBe(1);
    await run('secret create ci --save');
    await run('secret rotate ci');
    // Minted with the saved secret: the variable goes before it.
    tokens.push(await run('token get', { GRAPHCRED_PASSWORD: '' }));
    await run('secret drop ci --revoke');
    expect(await run('logout --revoke')).toContain('Deleted 1 revoked token');
    expect(await Promise.all(tokens.map((token) => accepts(sandbox, token)))).toEqual([false, false, false]);
  },
);
