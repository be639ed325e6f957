import crypto from 'node:crypto';
import { GraphException } from '../../core/errors.js';
import { Sensitive } from '../../core/sensitive.js';
import type { Command, Reply } from './connection.js';
import { bytesOrNothing, integer, list, openToken } from './entries.js';
import { RELEASE, REMOVE_IF, TAKE } from './scripts.js';
import { createSeal, type Seal } from './seal.js';
import { RedisServer } from './server.js';
import type { RedisStoreOptions } from './store.js';
import { publish, type TurnDeps } from './turn.js';
import { isOnThisMachine } from './url.js';

/** What an inspection of the Redis server found. `undefined` means that the Redis user may not ask for it. */
export interface EngineReport {
  readonly encrypted: boolean;
  /** The server is on this machine, so its traffic does not cross the network. */
  readonly local: boolean;
  /** What this Redis user may do with tokens. */
  readonly rights: 'write' | 'read';
  readonly role: 'master' | 'replica' | undefined;
  /** The time by the server's clock, in seconds since 1970. */
  readonly timeUnix: number | undefined;
  /** Identifies the store key in use without revealing it. */
  readonly keyId: string;
  /** How many tokens are stored under this store key, and how many of them cannot be decrypted with it. */
  readonly tokens: number;
  readonly unreadable: number;
}

/** The lifetime of the test entry: long enough for a few commands. */
const TRIAL_MS = 10_000;
/** How many tokens are read at most. */
const MOST_READ = 100;

/**
 * Tests the server as a job would use it; writes a test entry and removes it.
 * @throws GraphException STORE_UNAVAILABLE when tokens cannot be read there
 */
export async function inspectEngine(given: RedisStoreOptions): Promise<EngineReport> {
  // Warnings are not printed, because the report contains them.
  const options = { ...given, warn: () => {} };
  const { addresses, tls, now } = options;
  const seal = createSeal(options.storeKey);
  // Each command gets a new connection, because a refused command ends its connection.
  const ask = <T>(command: Command, read: (reply: Reply | undefined) => T) =>
    new RedisServer(options).run([command], ([reply]) => read(reply));
  const contents = await readTokens({ server: new RedisServer(options), seal, now });
  const role = await ifAllowed(() => ask(['ROLE'], roleOf));
  const timeUnix = await ifAllowed(() =>
    ask(['TIME'], (reply) => Number(bytesOrNothing(list(reply, 2)[0])?.toString())),
  );
  // A replica accepts no writes, which says nothing about the user's rights.
  const canWrite = role === 'replica' || (await ifAllowed(() => tryTurn(options, seal))) === true;
  return {
    encrypted: tls,
    local: addresses.every(isOnThisMachine),
    rights: canWrite ? 'write' : 'read',
    role,
    timeUnix: Number.isFinite(timeUnix) ? timeUnix : undefined,
    keyId: /\{(.*)\}/.exec(seal.index)?.[1] as string,
    ...contents,
  };
}

/** Does everything that a process does to read tokens. */
async function readTokens({ server, seal, now }: Pick<TurnDeps, 'server' | 'seal' | 'now'>) {
  const page = ['ZRANGEBYSCORE', seal.index, '-inf', '+inf', 'LIMIT', 0, MOST_READ] as const;
  const names = await server.run([page], ([reply]) =>
    list(reply).map((name) => bytesOrNothing(name)?.toString() ?? ''),
  );
  let tokens = 0;
  let unreadable = 0;
  for (const name of ['', ...names]) {
    const [token, counter] = [seal.keyOf('t', name), seal.keyOf('g', name)];
    const commands = [['PTTL', token] as const, ['MGET', token, counter] as const];
    const [life, sealed] = await server.run(
      commands,
      ([pttl, values]) => [integer(pttl), bytesOrNothing(list(values, 2)[0])] as const,
    );
    if (sealed === undefined) continue;
    tokens++;
    if (!openToken(seal, name, sealed, life, now())) unreadable++;
  }
  return { tokens, unreadable };
}

/** Does everything that a process does to mint, with a test entry that is removed afterwards. */
async function tryTurn(options: RedisStoreOptions, seal: Seal): Promise<true> {
  const { now } = options;
  const server = new RedisServer(options);
  const key = `trial ${crypto.randomBytes(16).toString('hex')}`;
  const name = seal.nameOf('token', key);
  const [lock, counter, token] = [seal.keyOf('l', name), seal.keyOf('g', name), seal.keyOf('t', name)];
  const run = (command: Command) => server.run([command], ([reply]) => reply);
  const nowUnix = Math.floor(now() / 1000);
  const times = { createdAtUnix: nowUnix, expiresAtUnix: nowUnix + TRIAL_MS / 1000 };
  const record = { v: 1, kind: 'token', key, store: 'redis', ...times, info: {} } as const;
  await run(['EVAL', TAKE, 2, lock, counter, key, TRIAL_MS, TRIAL_MS]);
  const entry = { record, value: new Sensitive('trial'), generation: 1 };
  await publish({ server, seal, name, now }, entry, key);
  const content = bytesOrNothing(await run(['GET', token])) ?? '';
  await run(['EVAL', REMOVE_IF, 2, token, seal.index, content, name]);
  await run(['SET', seal.keyOf('r', name), 'trial', 'PX', 1]);
  await run(['EVAL', RELEASE, 1, lock, key]);
  await run(['DEL', counter]);
  return true;
}

async function ifAllowed<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof GraphException && error.serverCode === 'NOPERM') return undefined;
    throw error;
  }
}

function roleOf(reply: Reply | undefined): 'master' | 'replica' | undefined {
  const role = bytesOrNothing(list(reply)[0])?.toString();
  return role === 'master' ? 'master' : role === 'slave' ? 'replica' : undefined;
}
