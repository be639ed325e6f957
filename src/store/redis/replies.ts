import { InvalidReply } from './errors.js';

export type Reply = null | number | Buffer | readonly Reply[];

export function integer(reply: Reply | undefined): number {
  if (typeof reply === 'number') return reply;
  throw wrongType();
}

/** Reads the reply of a command that answers 1 when it has done something, and 0 otherwise. */
export function yesOrNo(reply: Reply | undefined): boolean {
  if (reply === 0 || reply === 1) return reply === 1;
  throw wrongType();
}

export function bytesOrNothing(reply: Reply | undefined): Buffer | undefined {
  if (reply === null) return undefined;
  if (Buffer.isBuffer(reply)) return reply;
  throw wrongType();
}

export function list(reply: Reply | undefined, length?: number): readonly Reply[] {
  if (Array.isArray(reply) && (length === undefined || reply.length === length)) return reply;
  throw wrongType();
}

const wrongType = () => new InvalidReply('it sent another type than was asked for');
