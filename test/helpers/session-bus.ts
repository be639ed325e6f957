import { once } from 'node:events';
import net from 'node:net';
import { expect, onTestFinished } from 'vitest';

/** The imitated bus's answer to each call; `undefined` means that it does not answer. */
export interface Script {
  readonly auth?: string;
  readonly alias?: (call: number) => Reply | undefined;
  readonly locked?: Reply | undefined;
  readonly session?: Reply;
  readonly found?: Reply;
  readonly secret?: Reply;
}
type Part = string | number | Buffer;
export type Reply =
  | { readonly sig: 's' | 'v'; readonly body: string | boolean }
  | { readonly error: string }
  /** The parts are strings and byte arrays with their length before them, and lengths, each at a multiple of 4. */
  | { readonly parts: readonly Part[] };

export const UNLOCKED: Reply = { sig: 'v', body: false };
export const LOCKED: Reply = { sig: 'v', body: true };
export const alias = (body: string): Reply => ({ sig: 's', body });
export const COLLECTION = '/org/freedesktop/secrets/collection/login';

/** Starts a server on a socket, which ends with the test. */
export async function listenOn(where: string, onSocket: (socket: net.Socket) => void): Promise<net.Server> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    onSocket(socket);
  });
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  server.listen(where);
  await once(server, 'listening');
  return server;
}

interface Manner {
  /** Whether the answer is sent byte by byte. */
  readonly slowly?: boolean;
}

/** Starts a bus that follows the script, and counts how often it was asked for the default collection. */
export async function startFakeBus(where: string, script: Script, { slowly = false }: Manner = {}) {
  const seen = { aliasCalls: 0, text: '' };
  const server = await listenOn(where, (socket) => {
    let received = Buffer.alloc(0);
    let begun = false;
    let sending = Promise.resolve();
    const send = (bytes: Buffer) => {
      sending = sending.then(async () => {
        for (const part of slowly ? [...bytes].map((byte) => Buffer.from([byte])) : [bytes]) {
          await new Promise((resolve) => socket.write(part, resolve));
          // Without a turn of the event loop all bytes arrive at once, because the reader is in this process.
          if (slowly) await new Promise((resolve) => setImmediate(resolve));
        }
      });
    };
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (!begun) {
        const text = received.toString('latin1');
        if (text.endsWith('\r\n') && !text.includes('BEGIN')) send(Buffer.from(script.auth ?? 'OK 0123\r\n'));
        const begin = received.indexOf('BEGIN\r\n');
        if (begin < 0) return;
        expect(text).toMatch(/^\0AUTH EXTERNAL (?:3[0-9])+\r\nBEGIN\r\n/);
        begun = true;
        received = received.subarray(begin + 7);
      }
      while (received.length >= 16) {
        const end = Math.ceil((16 + received.readUInt32LE(12)) / 8) * 8 + received.readUInt32LE(4);
        if (received.length < end) return;
        const serial = received.readUInt32LE(8);
        const call = received.toString('latin1', 0, end);
        received = received.subarray(end);
        seen.text += call;
        if (call.includes('Hello')) {
          send(encode(serial, { sig: 's', body: ':1.7' }));
          // This signal is not the answer to a call.
          send(encode(undefined, { sig: 's', body: ':1.7' }));
        } else {
          const reply = call.includes('ReadAlias')
            ? script.alias?.(++seen.aliasCalls)
            : call.includes('OpenSession')
              ? script.session
              : call.includes('SearchItems')
                ? script.found
                : call.includes('GetSecret')
                  ? script.secret
                  : script.locked;
          if (reply) send(encode(serial, reply));
        }
      }
    });
  });
  return Object.assign(seen, { server });
}

/** Encodes a reply, or a signal if it answers no call. */
export function encode(replyTo: number | undefined, reply: Reply): Buffer {
  const u32 = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    return bytes;
  };
  const padded = (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8)]);
  const string = (text: string) => Buffer.concat([u32(Buffer.byteLength(text)), Buffer.from(`${text}\0`)]);
  const field = (code: number, type: string, value: Buffer) =>
    Buffer.concat([Buffer.from([code, 1, type.charCodeAt(0), 0]), value]);
  const isError = 'error' in reply;
  const body = isError
    ? string('what the service says about it')
    : 'parts' in reply
      ? reply.parts.reduce<Buffer>((before, part) => {
          const gap = Buffer.alloc((4 - (before.length % 4)) % 4);
          if (typeof part === 'number') return Buffer.concat([before, gap, u32(part)]);
          if (typeof part === 'string') return Buffer.concat([before, gap, string(part)]);
          return Buffer.concat([before, gap, u32(part.length), part]);
        }, Buffer.alloc(0))
      : reply.sig === 's'
        ? string(String(reply.body))
        : Buffer.concat([Buffer.from([1, 0x62, 0, 0]), u32(reply.body ? 1 : 0)]);
  const fields = [field(7, 's', string('org.freedesktop.DBus'))];
  if (replyTo === undefined) fields.push(field(3, 's', string('NameAcquired')));
  else fields.push(field(5, 'u', u32(replyTo)));
  if (isError) fields.push(field(4, 's', string(reply.error)));
  const sig = 'sig' in reply ? reply.sig : 's';
  fields.push(field(8, 'g', Buffer.from([1, sig.charCodeAt(0), 0])));
  const all = Buffer.concat(fields.map((one, i) => (i < fields.length - 1 ? padded(one) : one)));
  const type = replyTo === undefined ? 4 : isError ? 3 : 2;
  const start = Buffer.from([0x6c, type, 1, 1]);
  return Buffer.concat([
    padded(Buffer.concat([start, u32(body.length), u32(99), u32(all.length), all])),
    body,
  ]);
}

export const at = (socket: string) => ({ DBUS_SESSION_BUS_ADDRESS: `unix:path=${socket}` });
export const normal = (locked: Reply): Script => ({ alias: () => alias(COLLECTION), locked });
