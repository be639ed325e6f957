// This file limits what a Redis server may send before the client library sees it. The library's own parser accepts
// replies nested without end, arrays of any length and replies without a request; some of these crash the process.

/**
 * Thrown when the server sent something that is not a reply, or not a reply to what was asked. Asking again does not
 * help.
 */
export class InvalidReply extends Error {}

const MAX_BYTES = 1 << 20;
const MAX_LINE = 1024;
const MAX_DEPTH = 4;
const MAX_ITEMS = 1024;

const INTEGER = /^:-?\d{1,19}$/;
const BULK_LENGTH = /^\$(-1|\d{1,7})$/;
const ARRAY_LENGTH = /^\*(-1|\d{1,4})$/;

export interface ReplyLimits {
  /** Allows this many more replies, in addition to those still missing. */
  expect(replies: number): void;
  /**
   * Takes the next bytes of the connection, and returns those that may go to the parser. A line is held back until it
   * is complete, because the parser acts on incomplete ones. Throws InvalidReply.
   */
  accept(chunk: Buffer): Buffer;
}

/** Follows the framing of RESP2 replies without building any value. */
export function replyLimits(): ReplyLimits {
  let expected = 0;
  let bytes = 0;
  /** The incomplete line; the bytes left of a bulk string; the elements left of each open array. */
  let line = Buffer.alloc(0);
  let bulk = 0;
  const arrays: number[] = [];

  function valueComplete(): void {
    while (arrays.length > 0) {
      const left = (arrays.pop() as number) - 1;
      if (left > 0) {
        arrays.push(left);
        return;
      }
    }
    expected--;
  }

  function lineComplete(text: string): void {
    switch (text[0]) {
      case '+':
      case '-':
        if (text.includes('\r')) throw malformed();
        break;
      case ':':
        if (!INTEGER.test(text)) throw malformed();
        break;
      case '$': {
        const length = Number(BULK_LENGTH.exec(text)?.[1] ?? Number.NaN);
        if (Number.isNaN(length)) throw malformed();
        if (length === -1) break;
        // The line end after the string counts too.
        bulk = length + 2;
        return;
      }
      case '*': {
        const length = Number(ARRAY_LENGTH.exec(text)?.[1] ?? Number.NaN);
        if (!(length <= MAX_ITEMS)) throw malformed();
        if (length <= 0) break;
        if (arrays.push(length) > MAX_DEPTH) throw new InvalidReply('it sent a reply nested too deeply');
        return;
      }
      default:
        throw malformed();
    }
    valueComplete();
  }

  return {
    expect(replies) {
      expected += replies;
      bytes = 0;
    },
    accept(chunk) {
      bytes += chunk.length;
      if (bytes > MAX_BYTES) throw new InvalidReply('it sent a reply that is too long');
      const data = Buffer.concat([line, chunk]);
      let at = 0;
      while (at < data.length) {
        if (bulk > 0) {
          const taken = Math.min(bulk, data.length - at);
          at += taken;
          bulk -= taken;
          if (bulk === 0) valueComplete();
          continue;
        }
        if (expected === 0) throw new InvalidReply('it sent a reply to no command');
        const end = data.indexOf('\r\n', at);
        if ((end < 0 ? data.length : end) - at > MAX_LINE) throw malformed();
        if (end < 0) break;
        lineComplete(data.toString('latin1', at, end));
        at = end + 2;
      }
      line = data.subarray(at);
      return data.subarray(0, at);
    },
  };
}

function malformed(): InvalidReply {
  return new InvalidReply('it sent a malformed reply');
}
