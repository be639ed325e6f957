// This file implements the part of the D-Bus wire format that graphcred needs. Values are aligned to their size,
// counted from the start of the message; a string is preceded by its length and followed by a zero byte. Numbers begin
// with the lowest byte: where a machine has them the other way round, keytar does not load either.

export type Table = Readonly<Record<string, string>>;
export type Argument = readonly [type: string, value: string | Table];

const LITTLE_ENDIAN = 0x6c;
const METHOD_CALL = 1;
const METHOD_RETURN = 2;
const ERROR = 3;
const FIXED_HEADER = 16;
const LARGEST_MESSAGE = 1 << 20;
const NOT_DBUS = 'not a D-Bus message';

const aligned = (offset: number, to: number) => Math.ceil(offset / to) * to;

/**
 * Encodes a call of the Secret Service, or of the bus itself.
 * @param serial says which call it is of those on this connection
 * @param method the interface and the method, without `org.freedesktop.`
 * @param args each after its D-Bus type: `s` string, `o` object path, `v` variant that holds a string, `a{ss}` table
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
  const end = bodyStart(buffer) + buffer.readUInt32LE(4);
  if (buffer[0] !== LITTLE_ENDIAN || end > LARGEST_MESSAGE) throw new Error(NOT_DBUS);
  return end <= buffer.length ? end : 0;
}

/** Signals, and calls of other programs, are no answers. */
export function isAnswer(message: Buffer): boolean {
  return message[1] === METHOD_RETURN || message[1] === ERROR;
}

export function errorOf(message: Buffer): string | undefined {
  return message[1] === ERROR ? message.toString('latin1', FIXED_HEADER, bodyStart(message)) : undefined;
}

/** Reads the values that an answer begins with: `o` a path, `ao` paths, `ay` bytes, `v` a boolean or a string. */
export function valuesOf(message: Buffer, types: readonly string[]) {
  let at = bodyStart(message);
  const take = (length: number) => {
    if (at + length > message.length) throw new Error(NOT_DBUS);
    at += length;
    return message.subarray(at - length, at);
  };
  const uint32 = () => {
    at = aligned(at, 4);
    return take(4).readUInt32LE();
  };
  const text = (length: number) => take(length + 1).toString('utf8', 0, length);
  const paths = (length: number) => {
    const found: string[] = [];
    for (const end = at + length; at < end; ) found.push(text(uint32()));
    return found;
  };
  return types.map((type) => {
    if (type === 'v') return text(take(1).readUInt8()) === 'b' ? uint32() !== 0 : text(uint32());
    if (type === 'ao') return paths(uint32());
    return type === 'ay' ? take(uint32()) : text(uint32());
  });
}

function bodyStart(message: Buffer): number {
  return aligned(FIXED_HEADER + message.readUInt32LE(12), 8);
}
