import fs from 'node:fs';
import { GraphException } from '../../core/errors.js';
import { acquireMachineLock, readRefusal } from '../lock.js';
import { entryPath } from '../records.js';
import type { Lock, LockOptions, Store, StoreOptions } from '../store.js';
import { Cipher } from './cipher.js';
import { InvalidReply } from './errors.js';
import { acquireFleetLock } from './lock.js';
import { bytesOrNothing } from './replies.js';
import { RedisServer, type ServerOptions } from './server.js';
import { SharedTokens } from './tokens.js';
import { addressText } from './url.js';

export interface RedisStoreOptions extends ServerOptions, Pick<StoreOptions, 'stateDir'> {
  /** 32 bytes, the same for the whole fleet. */
  readonly storeKey: Buffer;
}

/** Returns a store that shares tokens between machines through a Redis server, which sees neither names nor values. */
export function redisStore(options: RedisStoreOptions): Store {
  const { stateDir } = options;
  // The same for all processes of this machine that use this server.
  const awayFile = entryPath(stateDir, 'token', options.addresses.map(addressText).join(), 'refused');
  const server = new RedisServer(options, awayFile);
  const tokens = new SharedTokens(server, new Cipher(options.storeKey), options);

  return {
    name: 'redis',
    find: (key) => tokens.find(key),
    tokensOf: async (identity) => [await tokens.newest(identity)].filter((one) => one !== undefined),
    read: async (record) => (record.store === 'redis' ? tokens.read(record) : undefined),
    write: (record, value) => tokens.publish({ record, value, generation: 0 }),
    delete: (key) => tokens.delete(key),
    list: async () => (await tokens.list()).records,

    check: () =>
      server.run([['PING']], ([reply]) => {
        if (bytesOrNothing(reply)?.toString() !== 'PONG') throw new InvalidReply('it does not answer PING');
      }),

    lock: (identity, lock) => acquireBothLocks(lock, { tokens, identity, stateDir, awayFile }),
  };
}

interface Place extends Pick<StoreOptions, 'stateDir'> {
  readonly tokens: SharedTokens;
  readonly identity: string;
  /** The note that the server is away. */
  readonly awayFile: string;
}

/** Waits for the lock of this machine, then for that of the fleet. */
async function acquireBothLocks(lock: LockOptions, at: Place): Promise<Lock | undefined> {
  const { tokens, identity } = at;
  // What was minted while this process waits is newer than what it sees now.
  await tokens.firstGeneration(identity);
  const deadline = tokens.now() + lock.waitMs;
  const own = await acquireOwnLock(lock, at);
  let fleet: Lock | undefined;
  try {
    const waitMs = Math.max(0, deadline - tokens.now());
    fleet = await acquireFleetLock(tokens, identity, { ...lock, waitMs });
  } finally {
    if (fleet === undefined) await own?.release();
  }
  if (fleet === undefined) return undefined;
  const { write, refuse, release } = fleet;
  return {
    write,
    refuse: async (error) => {
      await refuse(error);
      await own?.refuse(error);
    },
    release: async () => {
      await release();
      await own?.release();
    },
  };
}

/**
 * Waits for the lock of this machine, since only one process of a machine asks the server: this spares the server, and
 * no server, whatever it answers, can make this machine mint more than one token at a time.
 */
async function acquireOwnLock(
  lock: LockOptions,
  { tokens, identity, stateDir, awayFile }: Place,
): Promise<Lock | undefined> {
  const begun = tokens.now();
  let away: GraphException | undefined;
  // Processes that wait here need no connection.
  if (fs.existsSync(entryPath(stateDir, 'token', identity, 'lock'))) tokens.server.disconnect();
  const tokensOf = async () => {
    away = readRefusal(awayFile, begun, tokens.now());
    if (away) throw away;
    return [];
  };
  try {
    return await acquireMachineLock(identity, { tokensOf, write: async () => {} }, { ...lock, stateDir });
  } catch (error) {
    // Without a writable folder only the fleet's lock is used.
    const cannotLock = error instanceof GraphException && error.code === 'STORE_UNAVAILABLE';
    if (cannotLock && error !== away) return undefined;
    throw error;
  }
}
