import crypto from 'node:crypto';
import { GraphException } from '../../core/errors.js';
import { retry } from '../../files/lock.js';
import type { Lock, LockOptions } from '../store.js';
import { bytesOrNothing, integer, list } from './replies.js';
import { evaluate, RELEASE, TAKE } from './scripts.js';
import type { SharedTokens } from './tokens.js';

/** How long the lock of a process that died delays the others. */
const LEASE_MS = 3_000;
const RENEW_MS = 1_000;
/** How long the counter is stored, longer than any process waits. After that it starts again at the current time. */
const COUNTER_MS = 24 * 3_600_000;
const REFUSAL_MS = 30_000;

/**
 * Waits until no other machine of the fleet has the lock of a token. Undefined when a usable token was stored meanwhile.
 * @throws GraphException the error that another process met; LOCK_TIMEOUT; STORE_UNAVAILABLE
 */
export async function acquireFleetLock(
  tokens: SharedTokens,
  identity: string,
  { waitMs, accepts }: Pick<LockOptions, 'waitMs' | 'accepts'>,
): Promise<Lock | undefined> {
  const { server, cipher } = tokens;
  const since = await tokens.firstGeneration(identity);
  const name = cipher.nameOf(identity);
  const { lock, refusal, counter } = cipher.keysOf(name);
  const nonce = crypto.randomBytes(16).toString('base64url');
  let lastCount: string | undefined;
  const attempt = async (): Promise<Lock | 'not needed' | undefined> => {
    const look = [['MGET', refusal, lock, counter] as const];
    const [met, holder, count] = await server.run(look, ([reply]) => list(reply, 3).map(bytesOrNothing));
    const theirs = met && cipher.decryptRefusal(name, met, since);
    if (theirs) throw theirs;
    // One command is enough while the same machine has the lock: it stores its token just before it frees the lock.
    const counted = count?.toString() ?? '';
    if (holder === undefined || counted !== lastCount) {
      lastCount = counted;
      const record = await tokens.newest(identity);
      if (record && accepts(record)) return 'not needed';
    }
    // Plain commands are sent first, because they cost the server a seventh of what a script costs.
    if (holder !== undefined) return undefined;
    const take = evaluate(TAKE, [lock, counter], nonce, LEASE_MS, COUNTER_MS, counted);
    const generation = await server.run([take], ([reply]) => integer(reply));
    return generation > 0 ? holdLock(tokens, name, nonce, generation) : undefined;
  };
  const timedOut = `another machine is minting this token; waited ${Math.round(waitMs / 1000)} s`;
  const acquired = await retry(attempt, waitMs, { shortestMs: 25, longestMs: 250 });
  if (acquired === undefined)
    throw new GraphException('LOCK_TIMEOUT', timedOut, {
      hint: 'run the command again, or allow more time with --timeout',
    });
  return acquired === 'not needed' ? undefined : acquired;
}

function holdLock(tokens: SharedTokens, name: string, nonce: string, generation: number): Lock {
  const { server, cipher } = tokens;
  const { lock, refusal, counter } = cipher.keysOf(name);
  let renewing: Promise<void> | undefined;
  const timer = setInterval(() => {
    renewing ??= server
      .run([evaluate(TAKE, [lock, counter], nonce, LEASE_MS, COUNTER_MS)], ([reply]) => void integer(reply))
      // If this fails, the lock is lost, which costs one more mint.
      .catch(() => {})
      .finally(() => {
        renewing = undefined;
      });
  }, RENEW_MS);

  return {
    write: (record, value) => tokens.publish({ record, value, generation }, nonce),
    async refuse(error) {
      try {
        const number = await server.run([['INCR', counter]], ([reply]) => integer(reply));
        const encrypted = cipher.encryptRefusal(name, error, number);
        await server.run([['SET', refusal, encrypted, 'PX', REFUSAL_MS]], () => {});
      } catch {
        // If this fails, the waiting processes ask the server themselves.
      }
    },
    async release() {
      clearInterval(timer);
      await renewing;
      await server.run([evaluate(RELEASE, [lock], nonce)], () => {}).catch(() => {});
    },
  };
}
