import net from 'node:net';
import { listenOnFreePort } from './ports.js';

/** Returns the bytes to send in answer to a command; undefined means no answer. */
export type Answer = (command: readonly string[]) => string | Buffer | undefined;

export interface HostileRedis {
  readonly url: string;
  /** The names of all received commands, in upper case. */
  readonly commands: string[];
  /** Returns the number of connections that were opened. */
  readonly connections: () => number;
  /** Returns the number of connections that are open. */
  readonly open: () => number;
}

/** Starts a hostile server that speaks a part of the Redis protocol. */
export async function startHostileRedis(answer: Answer, greeting = ''): Promise<HostileRedis> {
  const commands: string[] = [];
  let connections = 0;
  let open = 0;
  const server = net.createServer((socket) => {
    connections++;
    open++;
    socket.on('close', () => open--);
    if (greeting !== '') socket.write(greeting);
    let received = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      for (let parsed = parseCommand(received); parsed; parsed = parseCommand(received)) {
        received = received.subarray(parsed.end);
        commands.push(String(parsed.command[0]).toUpperCase());
        const bytes = answer(parsed.command);
        if (bytes !== undefined) socket.write(bytes);
      }
    });
  });
  const url = `redis://127.0.0.1:${await listenOnFreePort(server)}`;
  return { url, commands, connections: () => connections, open: () => open };
}

/** Returns the first command in the buffer, once it is complete. */
function parseCommand(buffer: Buffer): { command: string[]; end: number } | undefined {
  let at = 0;
  const line = () => {
    const end = buffer.indexOf('\r\n', at);
    if (end < 0) return undefined;
    const text = buffer.toString('latin1', at + 1, end);
    at = end + 2;
    return text;
  };
  const count = line();
  if (count === undefined) return undefined;
  const command: string[] = [];
  for (let left = Number(count); left > 0; left--) {
    const length = line();
    if (length === undefined || buffer.length < at + Number(length) + 2) return undefined;
    command.push(buffer.toString('latin1', at, at + Number(length)));
    at += Number(length) + 2;
  }
  return { command, end: at };
}

export const bulk = (value: string | Buffer | null) => {
  if (value === null) return Buffer.from('$-1\r\n');
  const bytes = Buffer.from(value as string);
  return Buffer.concat([Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')]);
};

export const array = (...items: Buffer[]) => Buffer.concat([Buffer.from(`*${items.length}\r\n`), ...items]);
