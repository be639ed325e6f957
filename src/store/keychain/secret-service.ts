import type { Socket } from 'node:net';
import { uptimeMs } from '../../core/time.js';
import { type Argument, endOfMessage, errorOf, isAnswer, methodCall, type Table, valuesOf } from './dbus.js';

/** Says for each state why there is no keychain to use. `silent`: something listens but does not answer. */
export const ABSENT = {
  'no-bus': 'there is no OS keychain: no session bus is running',
  'foreign-bus': 'the OS keychain is not used: its session bus belongs to another user',
  'no-service': 'there is no OS keychain: no Secret Service runs on the session bus',
  'no-default-collection': 'the OS keychain has no default keyring yet',
  silent: 'the OS keychain does not answer',
} as const;

export interface KeychainAnswer {
  /** Only `unlocked` means that a keychain operation answers at once without a prompt. */
  readonly state: 'unlocked' | 'locked' | keyof typeof ABSENT;
  /** The value of the item, which only an unlocked keychain gives, and not every one in a way that is understood here. */
  readonly value?: string;
}

type Env = Readonly<Record<string, string | undefined>>;

const ROOT = '/org/freedesktop/secrets';
const ANSWERS_MS = 5_000;

/** Asks for the keychain's state and the value of one item. Never causes a prompt, leaves a connection open or rejects. */
export async function askKeychain(env: Env, item?: Table): Promise<KeychainAnswer> {
  const end = uptimeMs() + ANSWERS_MS;
  const paths = busPaths(env);
  // Root may use every bus, and would share its credentials with the user of that one.
  if (paths.some(isOfAnother)) return { state: 'foreign-bus' };
  let answer: KeychainAnswer = { state: 'no-bus' };
  // Twice: a busy gnome-keyring says about once in a thousand times by mistake that it has no default collection.
  for (const path of [...paths, ...paths]) {
    answer = await askBus(path, end - uptimeMs(), item);
    if (answer.state !== 'no-bus' && answer.state !== 'no-default-collection') break;
  }
  return answer;
}

/** Returns the socket paths of the session bus in the order to try them; abstract ones start with a zero byte. */
export function busPaths({ DBUS_SESSION_BUS_ADDRESS: addresses, XDG_RUNTIME_DIR: folder }: Env): string[] {
  if (!addresses) return folder ? [`${folder}/bus`] : [];
  return addresses.split(';').flatMap((address) => {
    const [, kind, value] = /^unix:(?:[^,]*,)*?(path|abstract)=([^,]+)/.exec(address) ?? [];
    if (value === undefined) return [];
    try {
      return [`${kind === 'abstract' ? '\0' : ''}${decodeURIComponent(value)}`];
    } catch {
      return [];
    }
  });
}

/** Whether a socket belongs to another user than this one and root. An abstract one has no owner. */
function isOfAnother(path: string): boolean {
  try {
    const { uid } = process.getBuiltinModule('node:fs').statSync(path);
    return uid !== 0 && uid !== process.geteuid?.();
  } catch {
    return false;
  }
}

async function askBus(path: string, waitMs: number, item: Table | undefined): Promise<KeychainAnswer> {
  const bus = new Bus(path, waitMs);
  /** What it means when the next question is refused. */
  let state: KeychainAnswer['state'] = 'no-service';
  try {
    await bus.open();
    const [collection] = await bus.ask<[string]>(ROOT, 'Secret.Service.ReadAlias', ['o'], ['s', 'default']);
    state = 'no-default-collection';
    if (collection === '/') return { state };
    const of = ['s', 'org.freedesktop.Secret.Collection'] as const;
    const get = 'DBus.Properties.Get';
    const [isLocked] = await bus.ask<unknown[]>(collection, get, ['v'], of, ['s', 'Locked']);
    if (typeof isLocked !== 'boolean') return { state };
    if (isLocked) return { state: 'locked' };
    state = 'unlocked';
    return item ? await readItem(bus, item) : { state };
  } catch (error) {
    return { state: error instanceof BusFailure ? error.message : state };
  } finally {
    bus.close();
  }
}

/** Reads the value of the item. A single item may be locked although the keychain is not. */
async function readItem(bus: Bus, item: Table): Promise<KeychainAnswer> {
  const search = 'Secret.Service.SearchItems';
  const [[path], locked] = await bus.ask<[string[], string[]]>(ROOT, search, ['ao', 'ao'], ['a{ss}', item]);
  if (path === undefined) return { state: locked.length > 0 ? 'locked' : 'unlocked' };
  // It is not encrypted: any process that could listen on this bus can also ask for the value.
  const open = 'Secret.Service.OpenSession';
  const [, session] = await bus.ask<[string, string]>(ROOT, open, ['v', 'o'], ['s', 'plain'], ['v', '']);
  // Before the value come the session and the parameters of an encrypted one.
  const read = 'Secret.Item.GetSecret';
  const [, , value] = await bus.ask<[string, Buffer, Buffer]>(path, read, ['o', 'ay', 'ay'], ['o', session]);
  return { state: 'unlocked', value: value.toString('utf8') };
}

/** Ends the questions. The message is the state of the keychain. */
class BusFailure extends Error {
  declare readonly message: 'no-bus' | 'silent' | 'locked';
}

/** One connection to a session bus, to ask the Secret Service one question after the other. */
class Bus {
  readonly #socket: Socket;
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #timer: NodeJS.Timeout;
  #received: Buffer = Buffer.alloc(0);
  #serial = 0;

  constructor(path: string, waitMs: number) {
    // An object is passed, because connect(path) takes a path of digits for a port.
    this.#socket = process.getBuiltinModule('node:net').connect({ path });
    this.#chunks = this.#socket[Symbol.asyncIterator]();
    const giveUp = () => this.#socket.destroy(new BusFailure('silent'));
    // On a busy machine the timer may fire although the answer has arrived, so that is read first.
    this.#timer = setTimeout(() => setImmediate(giveUp), waitMs);
  }

  async open(): Promise<void> {
    const uid = Buffer.from(String(process.geteuid?.() ?? 0)).toString('hex');
    this.#socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
    const greeting = await this.#read((received) => received.indexOf('\n') + 1);
    if (!greeting.toString('latin1').startsWith('OK ')) throw new BusFailure('no-bus');
    this.#socket.write('BEGIN\r\n');
    await this.ask('/org/freedesktop/DBus', 'DBus.Hello');
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#socket.destroy();
  }

  /**
   * Calls a method of the Secret Service, or of the bus, and returns the values of its answer, or throws its error. Only
   * one call is under way at a time, so the next answer belongs to it.
   * @param returned the D-Bus types of the values, which T says in TypeScript
   */
  async ask<T extends readonly unknown[]>(
    path: string,
    method: string,
    returned: readonly string[] = [],
    ...args: readonly Argument[]
  ): Promise<T> {
    this.#serial++;
    this.#socket.write(methodCall(this.#serial, path, method, args));
    let answer: Buffer;
    do answer = await this.#read(endOfMessage);
    while (!isAnswer(answer));
    const error = errorOf(answer);
    if (error === undefined) return valuesOf(answer, returned) as unknown as T;
    if (/\.(?:NoReply|Timeout|TimedOut)\b/.test(error)) throw new BusFailure('silent');
    if (/\.IsLocked\b/.test(error)) throw new BusFailure('locked');
    throw new Error('refused');
  }

  /** Waits until `endOf` finds the end of what comes next, and returns that. */
  async #read(endOf: (received: Buffer) => number): Promise<Buffer> {
    for (;;) {
      const end = endOf(this.#received);
      const read = this.#received.subarray(0, end);
      this.#received = this.#received.subarray(end);
      if (end > 0) return read;
      const { value, done } = await this.#chunks.next().catch((error) => {
        throw error instanceof BusFailure ? error : new BusFailure('no-bus');
      });
      if (done) throw new BusFailure('no-bus');
      this.#received = Buffer.concat([this.#received, value]);
    }
  }
}
