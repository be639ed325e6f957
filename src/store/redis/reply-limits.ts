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

/** A line of RESP2: a text or an error, a number, the length of a string, or the length of an array. */
const LINE = /^(?:[+-][^\r]*|:-?\d{1,19}|\$(-1|\d{1,7})|\*(-1|\d{1,4}))$/;

/** Follows the framing of RESP2 replies without building any value. */
export class ReplyLimits {
  #expected = 0;
  #bytes = 0;
  /** The incomplete line; the bytes left of a string; the elements left of each open array. */
  #line = Buffer.alloc(0);
  #string = 0;
  readonly #arrays: number[] = [];

  /** Allows this many more replies, in addition to those still missing. */
  expect(replies: number): void {
    this.#expected += replies;
    this.#bytes = 0;
  }

  /**
   * Takes the next bytes of the connection, and returns those that may go to the parser. A line is held back until it
   * is complete, because the parser acts on incomplete ones. Throws InvalidReply.
   */
  accept(chunk: Buffer): Buffer {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_BYTES) throw new InvalidReply('it sent a reply that is too long');
    const data = Buffer.concat([this.#line, chunk]);
    let at = 0;
    while (at < data.length) {
      if (this.#string > 0) {
        const taken = Math.min(this.#string, data.length - at);
        at += taken;
        this.#string -= taken;
        if (this.#string === 0) this.#valueComplete();
        continue;
      }
      if (this.#expected === 0) throw new InvalidReply('it sent a reply to no command');
      const end = data.indexOf('\r\n', at);
      if ((end < 0 ? data.length : end) - at > MAX_LINE) throw malformed();
      if (end < 0) break;
      this.#lineComplete(data.toString('latin1', at, end));
      at = end + 2;
    }
    this.#line = data.subarray(at);
    return data.subarray(0, at);
  }

  #lineComplete(text: string): void {
    const [line, string = '-1', array = '0'] = LINE.exec(text) ?? [];
    if (line === undefined || Number(array) > MAX_ITEMS) throw malformed();
    // The line end after the string counts too.
    if (string !== '-1') this.#string = Number(string) + 2;
    else if (Number(array) <= 0) this.#valueComplete();
    else if (this.#arrays.push(Number(array)) > MAX_DEPTH)
      throw new InvalidReply('it sent a reply nested too deeply');
  }

  #valueComplete(): void {
    for (let left = this.#arrays.pop(); left !== undefined; left = this.#arrays.pop()) {
      if (left > 1) {
        this.#arrays.push(left - 1);
        return;
      }
    }
    this.#expected--;
  }
}

function malformed(): InvalidReply {
  return new InvalidReply('it sent a malformed reply');
}
