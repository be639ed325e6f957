import { type Argument, endOfMessage, methodCall, parseMessage, type Reply } from './dbus.js';
import { waitAtMost } from './timeout.js';

/**
 * What the session bus says about the Secret Service. `silent`: something listens but does not answer. Only
 * `unlocked` means that a keychain operation answers at once without a prompt.
 */
export type KeychainState =
  | 'unlocked'
  | 'locked'
  | 'no-default-collection'
  | 'no-service'
  | 'no-bus'
  | 'silent';

/** `DBUS_SESSION_BUS_ADDRESS` and `XDG_RUNTIME_DIR` are read from it. */
type Env = Readonly<Record<string, string | undefined>>;

export interface KeychainAnswer {
  readonly state: KeychainState;
  /** The value, if the bus gave it at once. When it is absent, the value may still exist. */
  readonly value?: string;
}

const SERVICE = 'org.freedesktop.secrets';
const ROOT = '/org/freedesktop/secrets';
const HELLO = 1;
const READ_ALIAS = 2;
const GET_LOCKED = 3;
const OPEN_SESSION = 4;
const SEARCH_ITEMS = 5;
const GET_SECRET = 6;
const LONGEST_GREETING = 1 << 16;
/** The time limits of one answer, and of all together. */
const ANSWER_MS = 3_000;
const ALL_ANSWERS_MS = 5_000;

/**
 * Asks for the keychain's state and, in the same exchange, for the value of the one item with these attributes. This
 * is faster than loading the native module, which is used only when the bus gives no value. Never causes a prompt,
 * leaves a connection open or rejects.
 */
export async function askKeychain(
  env: Env,
  item?: Readonly<Record<string, string>>,
): Promise<KeychainAnswer> {
  const end = uptimeMs() + ALL_ANSWERS_MS;
  const answer = await askBuses(env, end, item);
  // A busy gnome-keyring gives this answer by mistake about once in a thousand times.
  return answer.state === 'no-default-collection' ? askBuses(env, end, item) : answer;
}

async function askBuses(
  env: Env,
  end: number,
  item: Readonly<Record<string, string>> | undefined,
): Promise<KeychainAnswer> {
  for (const path of busPaths(env)) {
    const answer = await askBus(path, end, item);
    if (answer.state !== 'no-bus') return answer;
  }
  return { state: 'no-bus' };
}

/** Returns the socket paths of the session bus in the order to try them; abstract ones start with a zero byte. */
export function busPaths(env: Env): string[] {
  const addresses = env.DBUS_SESSION_BUS_ADDRESS;
  if (!addresses) return env.XDG_RUNTIME_DIR ? [`${env.XDG_RUNTIME_DIR}/bus`] : [];
  return addresses.split(';').flatMap((address) => {
    if (!address.startsWith('unix:')) return [];
    for (const pair of address.slice('unix:'.length).split(',')) {
      const [name, value = ''] = pair.split(/=(.*)/s);
      try {
        if (name === 'path' && value !== '') return [decodeURIComponent(value)];
        if (name === 'abstract') return [`\0${decodeURIComponent(value)}`];
      } catch {
        return [];
      }
    }
    return [];
  });
}

/** @param end of the time for all answers, by `uptimeMs` */
function askBus(
  path: string,
  end: number,
  item: Readonly<Record<string, string>> | undefined,
): Promise<KeychainAnswer> {
  const net = process.getBuiltinModule('node:net');
  return new Promise((resolve) => {
    // An object is passed, because connect(path) takes a path of digits for a port.
    const socket = net.connect({ path });
    let greeted = false;
    let received: Buffer = Buffer.alloc(0);
    let state: KeychainState | undefined;
    let session = '';
    // The value is undefined until it is known, and null when the bus gives none.
    let value: string | null | undefined = item ? undefined : null;
    // A single item can be locked, or be in another keyring than the default one.
    let itemLocked = false;
    let answered = () => {};
    const finish = (last: KeychainState) => {
      answered();
      socket.destroy();
      resolve(last === 'unlocked' && typeof value === 'string' ? { state: last, value } : { state: last });
    };
    const waitOn = () => {
      const left = end - uptimeMs();
      // The time limit covers all answers together.
      if (left <= 0 || socket.destroyed) return;
      answered();
      // A service that reports `unlocked` and then stops answering counts as silent too: the native module would
      // hang.
      answered = waitAtMost(Math.min(ANSWER_MS, left), () => finish('silent'));
    };
    waitOn();
    const lost = () => finish(state ?? 'no-bus');
    socket.on('error', lost);
    socket.on('close', lost);
    socket.on('connect', () => {
      const uid = Buffer.from(String(process.geteuid?.() ?? 0)).toString('hex');
      socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
    });

    const begin = () => {
      const calls = [hello(), readDefaultAlias()];
      if (item) calls.push(openSession(), searchItems(item));
      socket.write(Buffer.concat([Buffer.from('BEGIN\r\n'), ...calls]));
    };
    const onState = (reply: Reply) => {
      if (reply.replyTo === READ_ALIAS) {
        if (reply.error !== undefined) return finish(stateOfError(reply.error));
        const collection = reply.body().string();
        if (collection === '/') return finish('no-default-collection');
        socket.write(getLocked(collection));
      } else if (reply.replyTo === GET_LOCKED) {
        if (reply.error !== undefined) {
          const failed = stateOfError(reply.error);
          return finish(failed === 'silent' ? failed : 'no-default-collection');
        }
        const body = reply.body();
        if (body.signature() !== 'b') throw new Error('not a boolean');
        state = body.uint32() === 0 ? 'unlocked' : 'locked';
      }
    };
    const onItem = (reply: Reply) => {
      if (reply.error !== undefined) {
        itemLocked = reply.error.endsWith('.IsLocked');
        value = null;
      } else if (reply.replyTo === OPEN_SESSION) {
        const body = reply.body();
        if (body.signature() === 's') body.string();
        session = body.string();
      } else if (reply.replyTo === SEARCH_ITEMS) {
        const body = reply.body();
        const [path, ...others] = body.paths();
        itemLocked = path === undefined && body.paths().length > 0;
        if (path === undefined || others.length > 0 || session === '') value = null;
        else socket.write(getSecret(path, session));
      } else if (reply.replyTo === GET_SECRET) {
        const body = reply.body();
        body.structure();
        body.string();
        // A value with parameters is encrypted, which ours never is.
        value = body.bytes().length === 0 ? body.bytes().toString('utf8') : null;
      }
    };
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (!greeted) {
        const end = received.indexOf('\r\n');
        if (end < 0) return received.length > LONGEST_GREETING ? finish('no-bus') : undefined;
        if (!received.toString('latin1', 0, end).startsWith('OK ')) return finish('no-bus');
        greeted = true;
        waitOn();
        received = received.subarray(end + 2);
        begin();
      }
      try {
        for (let end = endOfMessage(received); end > 0; end = endOfMessage(received)) {
          const reply = parseMessage(received.subarray(0, end));
          received = received.subarray(end);
          // A signal is not an answer, so it does not extend the wait.
          if (reply.replyTo !== undefined) waitOn();
          if (reply.replyTo === READ_ALIAS || reply.replyTo === GET_LOCKED) onState(reply);
          else if (reply.replyTo !== undefined && reply.replyTo > GET_LOCKED) onItem(reply);
          if (state === 'locked') return finish(state);
          if (state === 'unlocked' && value !== undefined) return finish(itemLocked ? 'locked' : state);
        }
      } catch {
        // Not D-Bus, or a broken service: it is not used, but if the state is known, the native module may try.
        finish(state ?? 'no-service');
      }
    });
  });
}

function stateOfError(name: string): KeychainState {
  return /\.(NoReply|Timeout|TimedOut)$/.test(name) ? 'silent' : 'no-service';
}

function hello(): Buffer {
  const bus = 'org.freedesktop.DBus';
  return methodCall({ serial: HELLO, to: bus, path: '/org/freedesktop/DBus', of: bus, name: 'Hello' });
}

function call(serial: number, path: string, what: string, args: readonly Argument[]): Buffer {
  const dot = what.lastIndexOf('.');
  const [of, name] = [`org.freedesktop.${what.slice(0, dot)}`, what.slice(dot + 1)];
  return methodCall({ serial, to: SERVICE, path, of, name, args });
}

function readDefaultAlias(): Buffer {
  return call(READ_ALIAS, ROOT, 'Secret.Service.ReadAlias', [{ s: 'default' }]);
}

function getLocked(collection: string): Buffer {
  const what = [{ s: 'org.freedesktop.Secret.Collection' }, { s: 'Locked' }];
  return call(GET_LOCKED, collection, 'DBus.Properties.Get', what);
}

/** Opens a session without encryption: any process that could listen on this bus can also ask for the value. */
function openSession(): Buffer {
  return call(OPEN_SESSION, ROOT, 'Secret.Service.OpenSession', [{ s: 'plain' }, { v: '' }]);
}

function searchItems(item: Readonly<Record<string, string>>): Buffer {
  return call(SEARCH_ITEMS, ROOT, 'Secret.Service.SearchItems', [{ 'a{ss}': item }]);
}

function getSecret(item: string, session: string): Buffer {
  return call(GET_SECRET, item, 'Secret.Item.GetSecret', [{ o: session }]);
}

/** Returns the uptime. performance.now() is not used, because it loads another module. */
function uptimeMs(): number {
  return process.uptime() * 1000;
}
