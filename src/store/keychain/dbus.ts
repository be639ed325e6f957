// This file implements the part of the D-Bus wire format that graphcred needs. Values are aligned to their size,
// counted from the start of the message; a string is preceded by its length and followed by a zero byte. Numbers begin
// with the lowest byte: where a machine has them the other way round, keytar does not load either.

/** An argument, with its D-Bus type: `s` string, `o` object path, `v` variant that holds a string, `a{ss}` table. */
export type Argument =
  | readonly [type: 's' | 'o' | 'v', text: string]
  | readonly [type: 'a{ss}', table: Table];

type Table = Readonly<Record<string, string>>;

const LITTLE_ENDIAN = 0x6c;
const METHOD_CALL = 1;
const METHOD_RETURN = 2;
const ERROR = 3;
const FIXED_HEADER = 16;
const LARGEST_MESSAGE = 1 << 20;

const aligned = (offset: number, to: number) => Math.ceil(offset / to) * to;

/**
 * Encodes a call of the Secret Service, or of the bus itself.
 * @param serial says which call it is of those on this connection
 * @param method the interface and the method, without `org.freedesktop.`
 */
export function methodCall(serial: number, path: string, method: string, args: readonly Argument[]): Buffer {
  const [, of = '', name = ''] = /^(.+)\.(.+)$/.exec(method) ?? [];
  const body: number[] = [];
  for (const [type, value] of args) append(body, type, value);
  const fields: number[] = [];
  for (const [code, type, value] of [
    [1, 'o', path],
    [2, 's', `org.freedesktop.${of}`],
    [3, 's', name],
    [6, 's', of === 'DBus' ? 'org.freedesktop.DBus' : 'org.freedesktop.secrets'],
    [8, 'g', args.map(([type]) => type).join('')],
  ] as const) {
    pad(fields, 8);
    fields.push(code);
    append(fields, 'g', type);
    append(fields, type, value);
  }
  const message = [LITTLE_ENDIAN, METHOD_CALL, 0, 1];
  for (const number of [body.length, serial, fields.length]) append(message, 'u', number);
  message.push(...fields);
  pad(message, 8);
  return Buffer.from([...message, ...body]);
}

/** Appends a value of this D-Bus type to bytes that stand in the message at a multiple of 8. */
function append(bytes: number[], type: string, value: number | string | Table): void {
  if (typeof value === 'number') {
    pad(bytes, 4);
    bytes.push(value & 255, (value >>> 8) & 255, (value >>> 16) & 255, value >>> 24);
  } else if (typeof value === 'object') {
    const table: number[] = [];
    for (const entry of Object.entries(value)) {
      pad(table, 8);
      for (const part of entry) append(table, 's', part);
    }
    append(bytes, 'u', table.length);
    pad(bytes, 8);
    bytes.push(...table);
  } else if (type === 'g') {
    bytes.push(value.length, ...Buffer.from(value), 0);
  } else {
    if (type === 'v') append(bytes, 'g', 's');
    const encoded = Buffer.from(value);
    append(bytes, 'u', encoded.length);
    bytes.push(...encoded, 0);
  }
}

function pad(bytes: number[], to: number): void {
  while (bytes.length % to !== 0) bytes.push(0);
}

/** Returns where the first message in the buffer ends; 0 while it is not complete. Throws when it is not D-Bus. */
export function endOfMessage(buffer: Buffer): number {
  if (buffer.length < FIXED_HEADER) return 0;
  const end = bodyOf(buffer) + buffer.readUInt32LE(4);
  if (buffer[0] !== LITTLE_ENDIAN || end > LARGEST_MESSAGE) throw notDBus();
  return end <= buffer.length ? end : 0;
}

/** A message, of which the values of the body are read one after the other. Throws when the next value is missing. */
export class Message {
  readonly #message: Buffer;
  #at: number;

  constructor(message: Buffer) {
    this.#message = message;
    this.#at = bodyOf(message);
  }

  /** Signals, and calls of other programs, are no answers. */
  get isAnswer(): boolean {
    return this.#message[1] === METHOD_RETURN || this.#message[1] === ERROR;
  }

  /** The header of an error, which holds the error's name. */
  get error(): string | undefined {
    if (this.#message[1] !== ERROR) return undefined;
    return this.#message.toString('latin1', FIXED_HEADER, bodyOf(this.#message));
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
