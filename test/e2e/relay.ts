import net from 'node:net';
import { listenOnFreePort } from '../helpers/ports.js';

/** A proxy that passes connections on to a port of this machine. It can hold back data or cut the connections. */
export interface Relay {
  readonly port: number;
  /** Returns how many chunks of data from clients have matched. */
  matches(): number;
  /** Resolves when this many chunks have matched. */
  matched(count: number): Promise<void>;
  /** Holds back matching data from now on, until `release` is called. */
  hold(): void;
  release(): void;
  /** From now on no data passes in either direction, and the connections stay open, as when a cable is cut. */
  cut(): void;
}

/** @param pattern of the data that is counted and can be held back */
export async function startRelay(targetPort: number, pattern?: RegExp): Promise<Relay> {
  const held: (() => void)[] = [];
  let waiting: { count: number; resolve: () => void }[] = [];
  let matches = 0;
  let holds = false;
  let isCut = false;
  const server = net.createServer((client) => {
    if (isCut) {
      client.pause();
      return;
    }
    const target = net.connect(targetPort, '127.0.0.1');
    target.on('error', () => client.destroy());
    target.on('close', () => {
      if (!isCut) client.destroy();
    });
    client.on('close', () => target.destroy());
    target.on('data', (chunk) => {
      if (!isCut) client.write(chunk);
    });
    client.on('data', (chunk) => {
      if (isCut) return;
      const isMatch = pattern?.test(chunk.toString('latin1')) === true;
      if (isMatch) {
        matches++;
        for (const one of waiting) if (matches >= one.count) one.resolve();
        waiting = waiting.filter(({ count }) => matches < count);
      }
      if (isMatch && holds) held.push(() => target.write(chunk));
      else target.write(chunk);
    });
  });
  return {
    port: await listenOnFreePort(server),
    matches: () => matches,
    matched: (count) =>
      matches >= count
        ? Promise.resolve()
        : new Promise((resolve) => {
            waiting.push({ count, resolve });
          }),
    hold() {
      holds = true;
    },
    release() {
      holds = false;
      for (const send of held.splice(0)) send();
    },
    cut() {
      isCut = true;
    },
  };
}
