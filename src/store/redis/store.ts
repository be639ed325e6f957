import crypto from 'node:crypto';
import fs from 'node:fs';
import { GraphException } from '../../core/errors.js';
import { ifUnwritable, retry } from '../../files/lock.js';
import { acquireMachineLock, errorFrom } from '../lock.js';
import { entryPath } from '../records.js';
import type { Lock, LockOptions, Store } from '../store.js';
import { list } from './client.js';
import { FREE, TAKE } from './scripts.js';
import { type RedisStoreOptions, SharedTokens } from './tokens.js';

/** How long the lock of a process that died delays the others. */
const LEASE_MS = 3_000;
const RENEW_MS = 1_000;
/** How long the counter is stored, longer than any process waits. After that it starts again at the current time. */
const COUNTER_MS = 24 * 3_600_000;
const REFUSAL_MS = 30_000;

/** Shares tokens between machines, of which one mints. */
export class RedisStore extends SharedTokens implements Store {
  constructor(options: RedisStoreOptions) {
    const { stateDir, addresses, tls, ca } = options;
    // The same for all processes of this machine that reach this server in this way.
    super(options, entryPath(stateDir, 'token', JSON.stringify([addresses, tls, ca]), 'refused'));
  }

  /** Waits for the lock of this machine, then for that of the fleet. */
  async lock(identity: string, options: LockOptions): Promise<Lock | undefined> {
    const { server, cipher } = this;
    // What was minted while this process waits is newer than what it sees now.
    const since = await this.firstGeneration(identity);
    const end = options.now() + options.waitMs;
    const own = await this.#lockMachine(identity, options);
    const { lock, refusal, counter } = cipher.keysOf(cipher.nameOf(identity));
    const nonce = crypto.randomBytes(16).toString('base64url');
    let lastCount: string | undefined;
    /** Returns the number of the lock once it is taken, and 0 when it is not needed. */
    const attempt = async (): Promise<number | undefined> => {
      const [met, holder, count] = list(await server.run('MGET', refusal, lock, counter));
      const theirs = cipher.decrypt(refusal, met);
      const error = theirs && Number(theirs.generation) > since ? errorFrom(theirs) : undefined;
      if (error) throw error;
      // One command is enough while the same machine has the lock: it stores its token just before it frees the lock.
      const counted = String(count ?? '');
      if (!holder || counted !== lastCount) {
        lastCount = counted;
        if ((await this.tokensOf(identity)).some(options.accepts)) return 0;
      }
      // Plain commands are sent first, because they cost the server a seventh of what a script costs.
      if (holder) return undefined;
      const args = [nonce, LEASE_MS, COUNTER_MS, counted] as const;
      return Number(await server.evaluate(TAKE, [lock, counter], ...args)) || undefined;
    };
    let generation: number | undefined;
    try {
      generation = await retry(attempt, Math.max(0, end - options.now()), { shortestMs: 25, longestMs: 250 });
    } finally {
      if (!generation) await own?.release();
    }
    if (generation === undefined)
      throw new GraphException(
        'LOCK_TIMEOUT',
        `another machine is minting this token; waited ${Math.round(options.waitMs / 1000)} s`,
        { hint: 'run the command again, or allow more time with --timeout' },
      );
    return generation === 0 ? undefined : this.#held(identity, { nonce, generation }, own);
  }

  #held(identity: string, taken: { nonce: string; generation: number }, own: Lock | undefined): Lock {
    const { server, cipher } = this;
    const { lock, refusal, counter } = cipher.keysOf(cipher.nameOf(identity));
    let renewing: Promise<unknown> = Promise.resolve();
    const timer = setInterval(() => {
      const renew = () => server.evaluate(TAKE, [lock, counter], taken.nonce, LEASE_MS, COUNTER_MS);
      // If this fails, the lock is lost, which costs one more mint.
      renewing = renewing.then(renew).catch(() => {});
    }, RENEW_MS);
    return {
      write: (record, value) => this.write(record, value, taken),
      async refuse(error) {
        try {
          // Processes that were already waiting get its number, and later ones do not.
          const generation = Number(await server.run('INCR', counter));
          const encrypted = cipher.encrypt(refusal, { ...error.toJSON(), generation });
          await server.run('SET', refusal, encrypted, 'PX', REFUSAL_MS);
        } catch {
          // If this fails, the waiting processes ask the server themselves.
        }
        await own?.refuse(error);
      },
      async release() {
        clearInterval(timer);
        await renewing;
        await server.evaluate(FREE, [lock], taken.nonce).catch(() => {});
        await own?.release();
      },
    };
  }

  /**
   * Waits for the lock of this machine, since only one process of a machine asks the server: this spares the server, and
   * no server, whatever it answers, can make this machine mint more than one token at a time.
   */
  async #lockMachine(identity: string, options: LockOptions): Promise<Lock | undefined> {
    const { stateDir } = this.options;
    // Processes that wait here need no connection.
    if (fs.existsSync(entryPath(stateDir, 'token', identity, 'lock'))) this.server.disconnect();
    const nothing = { tokensOf: async () => [], write: async () => {} };
    // Without a writable folder only the fleet's lock is used.
    return acquireMachineLock(identity, nothing, { ...options, stateDir }).catch(ifUnwritable);
  }
}
