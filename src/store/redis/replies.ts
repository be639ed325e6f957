export type Reply = null | number | Buffer | readonly Reply[];

/**
 * Thrown when the server sent something that is not a reply, or not a reply to what was asked. Asking again does not
 * help.
 */
export class InvalidReply extends Error {}

const MAX_BYTES = 1 << 20;
/** Of all commands that are sent at once. */
const MAX_ARRAYS = 64;

/** A line of RESP2: a text or an error, a number, the length of a string, or the length of an array. */
const LINE = /^(?:[+-][^\r]*|:-?\d{1,19}|\$(-1|\d{1,7})|\*(-1|\d{1,4}))$/;

/**
 * Limits what a server may send before ioredis sees it: its parser takes arrays of any length and replies nested without
 * end, and a nil that answers no command ends the process.
 */
export class ReplyLimits {
  /** How many values are missing, those of open arrays included. */
  #missing = 0;
  #bytes = 0;
  #arrays = 0;
  #rest = Buffer.alloc(0);

  /** Allows this many more replies. */
  expect(replies: number): void {
    this.#missing += replies;
    this.#bytes = 0;
    this.#arrays = 0;
  }

  /** Takes the next bytes of the connection. Returns those whose lines and strings are complete. Throws InvalidReply. */
  accept(chunk: Buffer): Buffer {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_BYTES) throw new InvalidReply('it sent a reply that is too long');
    const data = Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (at < data.length) {
      if (this.#missing === 0) throw new InvalidReply('it sent a reply to no command');
      const end = data.indexOf('\r\n', at);
      if (end < 0) break;
      const [line, string = '-1', array = '0'] = LINE.exec(data.toString('latin1', at, end)) ?? [];
      if (line === undefined) throw new InvalidReply('it sent a malformed reply');
      // The line end after a string counts too.
      const next = end + 2 + (string === '-1' ? 0 : Number(string) + 2);
      if (next > data.length) break;
      if (array !== '0' && ++this.#arrays > MAX_ARRAYS)
        throw new InvalidReply('it sent a reply nested too deeply');
      this.#missing += Math.max(0, Number(array)) - 1;
      at = next;
    }
    this.#rest = data.subarray(at);
    return data.subarray(0, at);
  }
}

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
