import type { Socket } from 'node:net';
import { type Argument, endOfMessage, methodCall, parseMessage, type Reply } from './dbus.js';
import { waitAtMost } from './timeout.js';

export class BusFailure extends Error {
  /** Nothing speaks D-Bus there; an answer did not come; it cannot be understood. */
  readonly reason: 'no-bus' | 'silent' | 'no-service';

  constructor(reason: BusFailure['reason']) {
    super(reason);
    this.reason = reason;
  }
}

const SERVICE = 'org.freedesktop.secrets';
const LONGEST_GREETING = 1 << 16;
/** The time limit of one answer. */
const ANSWER_MS = 3_000;

/** One connection to a session bus, to ask the Secret Service. */
export class Bus {
  readonly #socket: Socket;
  readonly #end: number;
  readonly #calls = new Map<number, { resolve(reply: Reply): void; reject(failure: BusFailure): void }>();
  /** What is sent when the bus has let us in. */
  #unsent: Buffer[] | undefined = [Buffer.from('BEGIN\r\n')];
  #received: Buffer = Buffer.alloc(0);
  #failure: BusFailure | undefined;
  #serial = 0;
  #answered = () => {};

  /** @param end of the time for all answers, by `uptimeMs` */
  constructor(path: string, end: number) {
    this.#end = end;
    // An object is passed, because connect(path) takes a path of digits for a port.
    this.#socket = process.getBuiltinModule('node:net').connect({ path });
    const lost = () => this.#fail('no-bus');
    this.#socket.on('error', lost).on('close', lost);
    this.#socket.on('data', (chunk) => this.#receive(chunk));
    const uid = Buffer.from(String(process.geteuid?.() ?? 0)).toString('hex');
    this.#socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
    this.#waitOn();
    const to = 'org.freedesktop.DBus';
    this.#send({ to, path: '/org/freedesktop/DBus', of: to, name: 'Hello' });
  }

  /** Calls `org.freedesktop.<what>`. Throws BusFailure. */
  call(path: string, what: string, args: readonly Argument[]): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (this.#failure) return reject(this.#failure);
      const dot = what.lastIndexOf('.');
      const [of, name] = [`org.freedesktop.${what.slice(0, dot)}`, what.slice(dot + 1)];
      this.#calls.set(this.#send({ to: SERVICE, path, of, name, args }), { resolve, reject });
    });
  }

  close(): void {
    this.#answered();
    this.#socket.destroy();
  }

  #send(call: Omit<Parameters<typeof methodCall>[0], 'serial'>): number {
    this.#serial++;
    const message = methodCall({ ...call, serial: this.#serial });
    if (this.#unsent) this.#unsent.push(message);
    else this.#socket.write(message);
    return this.#serial;
  }

  #waitOn(): void {
    // The time limit covers all answers together.
    const left = this.#end - uptimeMs();
    if (left <= 0 || this.#socket.destroyed) return;
    this.#answered();
    this.#answered = waitAtMost(Math.min(ANSWER_MS, left), () => this.#fail('silent'));
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    if (this.#unsent && !this.#greeted(this.#unsent)) return;
    try {
      for (let end = endOfMessage(this.#received); end > 0; end = endOfMessage(this.#received)) {
        const reply = parseMessage(this.#received.subarray(0, end));
        this.#received = this.#received.subarray(end);
        // A signal is not an answer, so it does not extend the wait.
        if (reply.replyTo === undefined) continue;
        this.#waitOn();
        this.#calls.get(reply.replyTo)?.resolve(reply);
      }
    } catch {
      this.#fail('no-service');
    }
  }

  /** Whether the bus has let us in. */
  #greeted(unsent: readonly Buffer[]): boolean {
    const end = this.#received.indexOf('\r\n');
    if (end < 0 && this.#received.length <= LONGEST_GREETING) return false;
    if (end < 0 || !this.#received.toString('latin1', 0, end).startsWith('OK ')) {
      this.#fail('no-bus');
      return false;
    }
    this.#received = this.#received.subarray(end + 2);
    this.#unsent = undefined;
    this.#waitOn();
    this.#socket.write(Buffer.concat(unsent));
    return true;
  }

  #fail(reason: BusFailure['reason']): void {
    this.#failure ??= new BusFailure(reason);
    this.close();
    for (const { reject } of this.#calls.values()) reject(this.#failure);
  }
}

/** Returns the uptime. performance.now() is not used, because it loads another module. */
export function uptimeMs(): number {
  return process.uptime() * 1000;
}
