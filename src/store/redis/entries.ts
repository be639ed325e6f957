import type { GraphException } from '../../core/errors.js';
import { Sensitive } from '../../core/sensitive.js';
import { fieldsOf, refusalFrom } from '../lock/shared-error.js';
import type { StoreRecord } from '../store.js';
import type { Reply } from './connection.js';
import { InvalidReply } from './reply-limits.js';
import type { Seal } from './seal.js';

/**
 * The clocks of two machines may differ by the hour of a time zone. A token that expired two hours ago by this
 * machine's clock has certainly expired.
 */
const CLOCK_TOLERANCE_MS = 2 * 3_600_000;

/** A token as stored in Redis, with its times converted to this machine's clock. */
export interface TokenEntry {
  readonly record: StoreRecord;
  readonly value: Sensitive;
  /** The turn in which it was minted; 0 when it was written outside a turn. */
  readonly generation: number;
}

export function closeToken(seal: Seal, engineKey: string, entry: TokenEntry): Buffer {
  const { record, value, generation } = entry;
  return seal.close(engineKey, { record, value: value.reveal(), generation });
}

/**
 * Decrypts a token. Undefined when it was not encrypted for this key, or has expired.
 * @param lifeMs the rest of its life according to the server, whose clock decides because it deletes the token
 */
export function openToken(
  seal: Seal,
  name: string,
  sealed: Buffer,
  lifeMs: number,
  nowMs: number,
): TokenEntry | undefined {
  const content = seal.open(seal.keyOf('t', name), sealed) as
    | { record: StoreRecord; value: string; generation: number }
    | undefined;
  // The writer had the store key and is trusted, but may be another version of graphcred.
  if (content?.record?.v !== 1 || content.record.kind !== 'token' || typeof content.value !== 'string')
    return undefined;
  const { record, value, generation } = content;
  const { createdAtUnix, expiresAtUnix } = record;
  if (expiresAtUnix === undefined || seal.nameOf('token', record.key) !== name) return undefined;
  if (lifeMs <= 0 || nowMs > expiresAtUnix * 1000 + CLOCK_TOLERANCE_MS) return undefined;
  // The server cannot give the token more life than it had at first.
  const endMs = nowMs + Math.min(lifeMs, (expiresAtUnix - createdAtUnix) * 1000);
  const end = Math.round(endMs / 1000);
  return {
    record: { ...record, createdAtUnix: end - (expiresAtUnix - createdAtUnix), expiresAtUnix: end },
    value: new Sensitive(value),
    generation,
  };
}

export function closeRefusal(
  seal: Seal,
  engineKey: string,
  refusal: GraphException,
  generation: number,
): Buffer {
  return seal.close(engineKey, { ...fieldsOf(refusal), generation });
}

/** Returns the error that another process met, if it met it after this process looked first. */
export function openRefusal(
  seal: Seal,
  engineKey: string,
  sealed: Buffer,
  since: number,
): GraphException | undefined {
  const content = seal.open(engineKey, sealed) as { generation: number } | undefined;
  if (!content || !(content.generation > since)) return undefined;
  return refusalFrom({ ...content });
}

export function integer(reply: Reply | undefined): number {
  if (typeof reply === 'number') return reply;
  throw new InvalidReply('it sent another type than was asked for');
}

/** Reads the reply of a command that answers 1 when it has done something, and 0 otherwise. */
export function yesOrNo(reply: Reply | undefined): boolean {
  if (reply === 0 || reply === 1) return reply === 1;
  throw new InvalidReply('it sent another type than was asked for');
}

export function bytesOrNothing(reply: Reply | undefined): Buffer | undefined {
  if (reply === null) return undefined;
  if (Buffer.isBuffer(reply)) return reply;
  throw new InvalidReply('it sent another type than was asked for');
}

export function list(reply: Reply | undefined, length?: number): readonly Reply[] {
  if (Array.isArray(reply) && (length === undefined || reply.length === length)) return reply;
  throw new InvalidReply('it sent another type than was asked for');
}
