import crypto from 'node:crypto';
import { GraphException } from '../../core/errors.js';
import { Sensitive } from '../../core/sensitive.js';
import { Cipher } from './cipher.js';
import { acquireFleetLock } from './lock.js';
import { bytesOrNothing, list, type Reply } from './replies.js';
import { type Command, RedisServer } from './server.js';
import type { RedisStoreOptions } from './store.js';
import { SharedTokens } from './tokens.js';
import { isOnThisMachine } from './url.js';

/** What an inspection of the Redis server found. `undefined` means that the Redis user may not ask for it. */
export type ServerReport = Awaited<ReturnType<typeof inspectServer>>;

/** The lifetime of the test entry: long enough for a few commands. */
const TRIAL_S = 10;

/**
 * Tests the server as a job would use it; writes a test entry and removes it.
 * @throws GraphException STORE_UNAVAILABLE when tokens cannot be read there
 */
export async function inspectServer(options: RedisStoreOptions) {
  const { addresses, tls } = options;
  const cipher = new Cipher(options.storeKey);
  // Warnings are in the report.
  const silent = { ...options, warn: () => {} };
  const server = new RedisServer(silent);
  const shared = new SharedTokens(server, cipher, silent);
  const ask = <T>(command: Command, read: (reply: Reply | undefined) => T) =>
    ifAllowed(() => server.run([command], ([reply]) => read(reply)));
  const { records, unreadable } = await shared.list();
  await shared.find('');
  const role = await ask(['ROLE'], roleOf);
  const timeUnix = await ask(['TIME'], (reply) => Number(bytesOrNothing(list(reply, 2)[0])?.toString()));
  // A replica accepts no writes, which says nothing about the user's rights.
  const canWrite = role === 'replica' || (await ifAllowed(() => tryLock(shared))) === true;
  return {
    encrypted: tls,
    /** The server is on this machine, so its traffic does not cross the network. */
    local: addresses.every(isOnThisMachine),
    /** Whether this Redis user may write tokens, or only read them. */
    canWrite,
    role,
    /** The time by the server's clock, in seconds since 1970. */
    timeUnix: Number.isFinite(timeUnix) ? timeUnix : undefined,
    /** Identifies the store key in use without revealing it. */
    keyId: cipher.keyId,
    /** How many tokens are stored under this store key, and how many of them cannot be decrypted with it. */
    tokens: records.length + unreadable,
    unreadable,
  };
}

/** Does everything that a process does to mint, with a test entry that is removed afterwards. */
async function tryLock(tokens: SharedTokens): Promise<true> {
  const { server, cipher, now } = tokens;
  const key = `trial ${crypto.randomBytes(16).toString('hex')}`;
  const { refusal, counter } = cipher.keysOf(cipher.nameOf(key));
  const createdAtUnix = Math.floor(now() / 1000);
  const times = { createdAtUnix, expiresAtUnix: createdAtUnix + TRIAL_S };
  const where = { host: '', gsqlUrl: '', restUrl: '', graph: null };
  const info = { ...where, principal: '', lifetime: 0, serverVersion: '' };
  const record = { v: 1, kind: 'token', key, store: 'redis', ...times, info } as const;
  const value = new Sensitive('trial');
  const lock = await acquireFleetLock(tokens, key, { waitMs: 0, accepts: () => false });
  try {
    await lock?.write(record, value);
    await tokens.delete(key);
    await server.run([['SET', refusal, 'trial', 'PX', 1]], () => {});
    return true;
  } finally {
    await lock?.release();
    await server.run([['DEL', counter]], () => {}).catch(() => {});
  }
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
