// This file implements the part of the D-Bus wire format that graphcred needs. Values are aligned to their size,
// counted from the start of the message; a string is preceded by its length and followed by a zero byte. Numbers begin
// with the lowest byte: where a machine has them the other way round, keytar does not load either.

export interface MethodCall {
  readonly to: string;
  readonly path: string;
  readonly of: string;
  readonly name: string;
  /** The D-Bus types of the arguments: `s` string, `o` object path, `v` variant, `a{ss}` table of strings. */
  readonly signature?: string;
  /** The arguments. A variant holds a string; a table is the only argument. */
  readonly args?: readonly (string | Readonly<Record<string, string>>)[];
}

const LITTLE_ENDIAN = 0x6c;
const METHOD_CALL = 1;
const METHOD_RETURN = 2;
const ERROR = 3;
const FIXED_HEADER = 16;
const LARGEST_MESSAGE = 1 << 20;
const FIELD = { path: 1, interface: 2, member: 3, destination: 6, signature: 8 };

const aligned = (offset: number, to: number) => Math.ceil(offset / to) * to;

/** Encodes a call. The serial number says which call it is of those on this connection. */
export function methodCall(call: MethodCall, serial: number): Buffer {
  const { signature = '', args = [] } = call;
  const body = new Writer();
  for (const [index, value] of args.entries()) {
    if (signature[index] === 'v') body.signature('s');
    if (typeof value === 'string') body.string(value);
    else body.table(value);
  }
  const fields = new Writer();
  fields.field(FIELD.path, 'o', call.path);
  fields.field(FIELD.interface, 's', call.of);
  fields.field(FIELD.member, 's', call.name);
  fields.field(FIELD.destination, 's', call.to);
  if (signature !== '') fields.field(FIELD.signature, 'g', signature);
  const message = new Writer();
  message.bytes.push(LITTLE_ENDIAN, METHOD_CALL, 0, 1);
  for (const number of [body.bytes.length, serial, fields.bytes.length]) message.uint32(number);
  message.bytes.push(...fields.bytes);
  message.pad(8);
  return Buffer.from([...message.bytes, ...body.bytes]);
}

/** Writes values one after the other. What it writes is aligned in a message where it begins at a multiple of 8. */
class Writer {
  readonly bytes: number[] = [];

  pad(to: number): void {
    while (this.bytes.length % to !== 0) this.bytes.push(0);
  }

  uint32(value: number): void {
    this.pad(4);
    this.bytes.push(value & 255, (value >>> 8) & 255, (value >>> 16) & 255, value >>> 24);
  }

  /** Writes a string or an object path, which have the same form. */
  string(value: string): void {
    const encoded = Buffer.from(value);
    this.uint32(encoded.length);
    this.bytes.push(...encoded, 0);
  }

  signature(value: string): void {
    this.bytes.push(value.length, ...Buffer.from(value), 0);
  }

  field(code: number, type: string, value: string): void {
    this.pad(8);
    this.bytes.push(code);
    this.signature(type);
    if (type === 'g') this.signature(value);
    else this.string(value);
  }

  table(entries: Readonly<Record<string, string>>): void {
    const content = new Writer();
    for (const [name, value] of Object.entries(entries)) {
      content.pad(8);
      content.string(name);
      content.string(value);
    }
    this.uint32(content.bytes.length);
    this.pad(8);
    this.bytes.push(...content.bytes);
  }
}

/** Returns where the first message in the buffer ends; 0 while it is not complete. Throws when it is not D-Bus. */
export function endOfMessage(buffer: Buffer): number {
  if (buffer.length < FIXED_HEADER) return 0;
  const end = bodyOf(buffer) + buffer.readUInt32LE(4);
  if (buffer[0] !== LITTLE_ENDIAN || end > LARGEST_MESSAGE) throw notDBus();
  return end <= buffer.length ? end : 0;
}

/** Reads the values of an answer's body one after the other. Throws when the next value is missing. */
export class Answer {
  readonly #message: Buffer;
  #at: number;

  /** @param message one complete message */
  constructor(message: Buffer) {
    this.#message = message;
    this.#at = bodyOf(message);
  }

  /** False for a signal, which answers no call. */
  get isAnswer(): boolean {
    return this.#message[1] === METHOD_RETURN || this.isError();
  }

  /** Whether it is an error, and one of these names if some are given: `NoReply` is the end of a whole name. */
  isError(...names: readonly string[]): boolean {
    if (this.#message[1] !== ERROR) return false;
    // The header holds the name of the error as a string, and nothing else that ends like one.
    const header = this.#message.toString('latin1', FIXED_HEADER, bodyOf(this.#message));
    return names.length === 0 || names.some((name) => header.includes(`.${name}\0`));
  }

  uint32(): number {
    this.#at = aligned(this.#at, 4) + 4;
    return this.#message.readUInt32LE(this.#at - 4);
  }

  bytes(): Buffer {
    return this.#take(this.uint32());
  }

  /** Reads a string or an object path. */
  string(): string {
    const text = this.bytes().toString('utf8');
    this.#take(1);
    return text;
  }

  signature(): string {
    const text = this.#take(this.#take(1).readUInt8(0)).toString('latin1');
    this.#take(1);
    return text;
  }

  paths(): string[] {
    const length = this.uint32();
    const end = this.#at + length;
    const found: string[] = [];
    while (this.#at < end) found.push(this.string());
    return found;
  }

  /** Skips to the next multiple of 8, where a structure begins. */
  structure(): void {
    this.#at = aligned(this.#at, 8);
  }

  #take(length: number): Buffer {
    if (this.#at + length > this.#message.length) throw notDBus();
    this.#at += length;
    return this.#message.subarray(this.#at - length, this.#at);
  }
}

function bodyOf(message: Buffer): number {
  return aligned(FIXED_HEADER + message.readUInt32LE(12), 8);
}

function notDBus(): Error {
  return new Error('not a D-Bus message');
}
