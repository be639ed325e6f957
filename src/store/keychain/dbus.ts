// This file implements the part of the D-Bus wire format that graphcred needs. Values are aligned to their size,
// counted from the start of the message; a string is preceded by its length and followed by a zero byte. Numbers begin
// with the lowest byte: where a machine has them the other way round, keytar does not load either.

/** An argument, named by its D-Bus type: string, object path, variant that holds a string, table of strings. */
export type Argument =
  | { readonly s: string }
  | { readonly o: string }
  | { readonly v: string }
  | { readonly 'a{ss}': Readonly<Record<string, string>> };

export interface MethodCall {
  readonly serial: number;
  readonly to: string;
  readonly path: string;
  readonly of: string;
  readonly name: string;
  readonly args?: readonly Argument[];
}

export interface Reply {
  /** The serial number of the call that this message answers; absent on signals. */
  readonly replyTo: number | undefined;
  /** The name of the D-Bus error, when the message is one. */
  readonly error: string | undefined;
  /** Returns a reader that starts at the beginning of the message's body. */
  body(): Body;
}

const LITTLE_ENDIAN = 0x6c;
const METHOD_CALL = 1;
const ERROR = 3;
const FIXED_HEADER = 16;
const LARGEST_MESSAGE = 1 << 20;
const FIELD = {
  path: 1,
  interface: 2,
  member: 3,
  errorName: 4,
  replySerial: 5,
  destination: 6,
  signature: 8,
};

const aligned = (offset: number, to: number) => Math.ceil(offset / to) * to;

export function methodCall(call: MethodCall): Buffer {
  const args = call.args ?? [];
  const bytes: number[] = [LITTLE_ENDIAN, METHOD_CALL, 0, 1];
  const pad = (to: number) => {
    while (bytes.length % to !== 0) bytes.push(0);
  };
  const uint32 = (value: number) => {
    pad(4);
    bytes.push(...littleEndian(value));
  };
  const string = (value: string) => {
    const encoded = Buffer.from(value);
    uint32(encoded.length);
    bytes.push(...encoded, 0);
  };
  const signature = (value: string) => bytes.push(value.length, ...Buffer.from(value), 0);
  const field = (code: number, type: string, value: string) => {
    pad(8);
    bytes.push(code);
    signature(type);
    if (type === 'g') signature(value);
    else string(value);
  };

  uint32(0); // length of the body, filled in at the end
  uint32(call.serial);
  uint32(0); // length of the header fields, filled in at the end
  field(FIELD.path, 'o', call.path);
  field(FIELD.interface, 's', call.of);
  field(FIELD.member, 's', call.name);
  field(FIELD.destination, 's', call.to);
  if (args.length > 0) field(FIELD.signature, 'g', args.map((arg) => Object.keys(arg)[0]).join(''));
  const endOfFields = bytes.length;
  pad(8);
  const body = bytes.length;
  for (const arg of args) {
    if ('s' in arg) string(arg.s);
    else if ('o' in arg) string(arg.o);
    else if ('v' in arg) {
      signature('s');
      string(arg.v);
    } else {
      uint32(0); // length of the table, filled in at the end
      const length = bytes.length - 4;
      pad(8);
      const start = bytes.length;
      for (const [name, value] of Object.entries(arg['a{ss}'])) {
        pad(8);
        string(name);
        string(value);
      }
      bytes.splice(length, 4, ...littleEndian(bytes.length - start));
    }
  }

  const message = Buffer.from(bytes);
  message.writeUInt32LE(message.length - body, 4);
  message.writeUInt32LE(endOfFields - FIXED_HEADER, 12);
  return message;
}

function littleEndian(value: number): number[] {
  return [value & 255, (value >>> 8) & 255, (value >>> 16) & 255, value >>> 24];
}

/** Returns where the first message in the buffer ends; 0 while it is not complete. Throws when it is not D-Bus. */
export function endOfMessage(buffer: Buffer): number {
  if (buffer.length < FIXED_HEADER) return 0;
  const end = bodyOf(buffer) + buffer.readUInt32LE(4);
  if (buffer[0] !== LITTLE_ENDIAN || end > LARGEST_MESSAGE) throw notDBus();
  return end <= buffer.length ? end : 0;
}

/** Reads one complete message. Throws when it is not D-Bus. */
export function parseMessage(message: Buffer): Reply {
  const uint32 = (at: number) => message.readUInt32LE(at);
  const string = (at: number) => message.toString('utf8', at + 4, at + 4 + uint32(at));
  let replyTo: number | undefined;
  let errorName: string | undefined;
  for (let at = FIXED_HEADER; at < FIXED_HEADER + uint32(12); ) {
    at = aligned(at, 8);
    const code = message[at];
    const type = message.toString('latin1', at + 2, at + 2 + message.readUInt8(at + 1));
    at += 3 + type.length;
    if (type === 'g') {
      at += message.readUInt8(at) + 2;
      continue;
    }
    at = aligned(at, 4);
    if (type === 'u') {
      if (code === FIELD.replySerial) replyTo = uint32(at);
      at += 4;
    } else if (type === 's' || type === 'o') {
      if (code === FIELD.errorName) errorName = string(at);
      at += 4 + uint32(at) + 1;
    } else {
      throw notDBus();
    }
  }
  return {
    replyTo,
    error: message[1] === ERROR ? (errorName ?? '') : undefined,
    body: () => new Body(message),
  };
}

/** Reads the values of a body one after the other. Throws when the next value is missing. */
class Body {
  readonly #message: Buffer;
  #at: number;

  constructor(message: Buffer) {
    this.#message = message;
    this.#at = bodyOf(message);
  }

  uint32(): number {
    this.#at = aligned(this.#at, 4) + 4;
    return this.#message.readUInt32LE(this.#at - 4);
  }

  bytes(): Buffer {
    return this.#take(this.uint32());
  }

  /** Reads a string or an object path, which have the same form. */
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
