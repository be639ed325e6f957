import crypto from 'node:crypto';
import { isLoopbackHost } from '../../core/endpoints.js';
import type { GraphException } from '../../core/errors.js';
import { Sensitive } from '../../core/sensitive.js';
import { listOf } from './client.js';
import type { RedisStore } from './store.js';

/** What an inspection of the Redis server found. `undefined` means that the Redis user may not ask for it. */
export type ServerReport = Awaited<ReturnType<typeof inspectServer>>;

/** Long enough for a few commands. */
const TRIAL_S = 10;

/** Tests the server as a job would use it, with an entry that it removes. Throws STORE_UNAVAILABLE. */
export async function inspectServer(store: RedisStore) {
  const { server, options } = store;
  await store.list('');
  const tokens = (await store.list()).length;
  const [role] = listOf(await ifAllowed(server.run('ROLE')));
  const [time] = listOf(await ifAllowed(server.run('TIME')));
  const isReplica = String(role) === 'slave';
  return {
    encrypted: options.tls,
    local: options.addresses.every(({ host }) => isLoopbackHost(host)),
    /** A slave takes no writes, which says nothing about the user's rights. */
    role: role === undefined ? undefined : String(role),
    canWrite: !isReplica && (await ifAllowed(tryToWrite(store, options.now() / 1000))) === true,
    /** By the server's clock. */
    timeUnix: time === undefined ? undefined : Number(time),
    /** Identifies the store key in use without revealing it. */
    keyId: store.cipher.keyId,
    tokens,
  };
}

async function tryToWrite(store: RedisStore, now: number): Promise<true> {
  const key = `trial ${crypto.randomUUID()}`;
  const times = { createdAtUnix: now, expiresAtUnix: now + TRIAL_S };
  const where = { host: '', gsqlUrl: '', restUrl: '', graph: null };
  const info = { ...where, principal: '', lifetime: 0, serverVersion: '' };
  await store.put({ v: 1, kind: 'token', key, store: 'redis', ...times, info }, new Sensitive('trial'));
  await store.delete(key);
  return true;
}

const ifAllowed = <T>(asking: Promise<T>): Promise<T | undefined> =>
  asking.catch((error: GraphException) => {
    if (error.serverCode === 'NOPERM') return undefined;
    throw error;
  });
