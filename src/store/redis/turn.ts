import crypto from 'node:crypto';
import { GraphException } from '../../core/errors.js';
import type { Turn, TurnOptions } from '../store.js';
import type { Command } from './connection.js';
import { uptimeMs } from './connection.js';
import {
  bytesOrNothing,
  closeRefusal,
  closeToken,
  integer,
  list,
  openRefusal,
  type TokenEntry,
  yesOrNo,
} from './entries.js';
import { InvalidReply } from './reply-limits.js';
import { PUBLISH, RELEASE, TAKE } from './scripts.js';
import type { Seal } from './seal.js';
import type { RedisServer } from './server.js';

/** How long the lock of a process that died delays the others. */
const LEASE_MS = 3_000;
const EXTEND_MS = 1_000;
/**
 * How long the turn counter is stored, longer than any process waits. After that it starts again at the current time.
 */
const COUNTER_MS = 24 * 3_600_000;
const REFUSAL_MS = 30_000;
const SHORTEST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 250;

export interface TurnDeps {
  readonly server: RedisServer;
  readonly seal: Seal;
  /** The key of the token in Redis. */
  readonly name: string;
  /** The turn that was current when this process looked first. */
  readonly since: number;
  /** Returns milliseconds since 1970, by the clock that records use. */
  now(): number;
  /** Looks for the token once more. */
  find(): Promise<TokenEntry | undefined>;
}

/**
 * Waits until no other machine of the fleet has the turn. Undefined when a usable token was stored meanwhile.
 * @throws GraphException the error that another process met; LOCK_TIMEOUT; STORE_UNAVAILABLE
 */
export async function takeFleetTurn(options: TurnOptions, deps: TurnDeps): Promise<Turn | undefined> {
  const { server, seal, name, since } = deps;
  const [lock, refusal, counter] = [seal.keyOf('l', name), seal.keyOf('r', name), seal.keyOf('g', name)];
  const nonce = crypto.randomBytes(16).toString('base64url');
  const deadline = uptimeMs() + options.waitMs;
  let lastCount: string | undefined;
  for (let pause = SHORTEST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    const look = [['MGET', refusal, lock, counter] as const];
    const [met, holder, count] = await server.run(look, ([reply]) => list(reply, 3).map(bytesOrNothing));
    const theirs = met && openRefusal(seal, refusal, met, since);
    if (theirs) throw theirs;
    // One command is enough while the same machine has the lock: it stores its token just before it frees the lock.
    const counted = count?.toString() ?? '';
    if (holder === undefined || counted !== lastCount) {
      lastCount = counted;
      const entry = await deps.find();
      if (entry && options.accepts(entry.record)) return undefined;
    }
    // Plain commands are sent first, because they cost the server a seventh of what a script costs.
    if (holder === undefined) {
      const take = [['EVAL', TAKE, 2, lock, counter, nonce, LEASE_MS, COUNTER_MS, counted] as const];
      const generation = await server.run(take, ([reply]) => integer(reply));
      if (generation > 0) return openTurn(nonce, generation, deps);
    }
    const left = deadline - uptimeMs();
    if (left <= 0) throw timedOut(options.waitMs);
    // The pause is random, so that the waiting machines do not all try again at the same time.
    await sleep(Math.min(left, pause * (0.5 + Math.random() / 2)));
  }
}

function openTurn(nonce: string, generation: number, deps: TurnDeps): Turn {
  const { server, seal, name } = deps;
  const [lock, refusal, counter] = [seal.keyOf('l', name), seal.keyOf('r', name), seal.keyOf('g', name)];
  let extending = Promise.resolve();
  let busy = false;
  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    extending = server
      .run([['EVAL', TAKE, 2, lock, counter, nonce, LEASE_MS, COUNTER_MS]], ([reply]) => void integer(reply))
      // If this fails, the lock is lost, which costs one more mint.
      .catch(() => {})
      .finally(() => {
        busy = false;
      });
  }, EXTEND_MS);

  return {
    async write(record, value) {
      await publish(deps, { record, value, generation }, nonce);
    },
    async refuse(error) {
      try {
        // The refusal gets a number of its own, so that processes which were already waiting get it and later ones do
        // not.
        const number = await server.run([['INCR', counter]], ([reply]) => integer(reply));
        const sealed = closeRefusal(seal, refusal, error, number);
        await server.run([['SET', refusal, sealed, 'PX', REFUSAL_MS]], () => {});
      } catch {
        // If this fails, the waiting processes ask the server themselves.
      }
    },
    async release() {
      clearInterval(timer);
      await extending;
      await server.run([['EVAL', RELEASE, 1, lock, nonce]], () => {}).catch(() => {});
    },
  };
}

/**
 * Stores a token in Redis.
 * @param nonce of the turn; '' outside a turn, where a stored token is always replaced
 */
export async function publish(
  { server, seal, name, now }: Pick<TurnDeps, 'server' | 'seal' | 'name' | 'now'>,
  entry: TokenEntry,
  nonce: string,
): Promise<void> {
  const token = seal.keyOf('t', name);
  const sealed = closeToken(seal, token, entry);
  const endMs = (entry.record.expiresAtUnix as number) * 1000;
  const keys = [seal.keyOf('l', name), token, seal.index];
  const commands = (): Command[] => [
    ['EVAL', PUBLISH, keys.length, ...keys, nonce, sealed, Math.max(1, endMs - now()), name],
    ['GET', token],
  ];
  await server.run(commands, ([published, stored]) => {
    // Without this check, a Redis server that does not store the token would make every job of the fleet mint.
    if (yesOrNo(published) && !bytesOrNothing(stored)?.equals(sealed))
      throw new InvalidReply('it did not keep the token');
  });
}

function timedOut(waitMs: number): GraphException {
  return new GraphException(
    'LOCK_TIMEOUT',
    `another machine is minting this token; waited ${Math.round(waitMs / 1000)} s`,
    { hint: 'run the command again, or allow more time with --timeout' },
  );
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
