import { endOfMessage, methodCall, parseMessage } from './dbus-message.js';

/**
 * What the session bus says about the Secret Service. `silent`: something listens but does not answer.
 * Only `unlocked` means that a keychain operation answers at once without asking anybody.
 */
export type KeychainState =
  | 'unlocked'
  | 'locked'
  | 'no-default-collection'
  | 'no-service'
  | 'no-bus'
  | 'silent';

export interface ProbeOptions {
  /** `DBUS_SESSION_BUS_ADDRESS` and `XDG_RUNTIME_DIR` are read from it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** In ms, for the whole of it. Default 3000. */
  readonly limitMs?: number;
}

const SERVICE = 'org.freedesktop.secrets';
const HELLO = 1;
const READ_ALIAS = 2;
const GET_LOCKED = 3;

/** Asks, without ever causing a prompt. Leaves nothing open. Never rejects. */
export async function probeKeychain({ env, limitMs = 3000 }: ProbeOptions): Promise<KeychainState> {
  const deadline = uptimeMs() + limitMs;
  const state = await probeBuses(env, deadline);
  // A busy gnome-keyring gives this answer by mistake about once in a thousand times.
  return state === 'no-default-collection' ? probeBuses(env, deadline) : state;
}

async function probeBuses(env: ProbeOptions['env'], deadline: number): Promise<KeychainState> {
  for (const path of busPaths(env)) {
    const state = await probeBus(path, deadline - uptimeMs());
    if (state !== 'no-bus') return state;
  }
  return 'no-bus';
}

/** Socket paths of the session bus in the order of trying; abstract ones start with a zero byte. */
export function busPaths(env: ProbeOptions['env']): string[] {
  const addresses = env.DBUS_SESSION_BUS_ADDRESS;
  if (!addresses) return env.XDG_RUNTIME_DIR ? [`${env.XDG_RUNTIME_DIR}/bus`] : [];
  return addresses.split(';').flatMap((address) => {
    if (!address.startsWith('unix:')) return [];
    for (const pair of address.slice('unix:'.length).split(',')) {
      const [name, value = ''] = pair.split(/=(.*)/s);
      try {
        if (name === 'path') return [decodeURIComponent(value)];
        if (name === 'abstract') return [`\0${decodeURIComponent(value)}`];
      } catch {
        return [];
      }
    }
    return [];
  });
}

function probeBus(path: string, limitMs: number): Promise<KeychainState> {
  const net = process.getBuiltinModule('node:net');
  return new Promise((resolve) => {
    const socket = net.connect(path);
    let greeted = false;
    let received: Buffer = Buffer.alloc(0);
    const finish = (state: KeychainState) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(state);
    };
    const timer = setTimeout(finish, Math.max(limitMs, 0), 'silent');
    socket.on('error', () => finish('no-bus'));
    socket.on('close', () => finish('no-bus'));
    socket.on('connect', () => {
      const uid = Buffer.from(String(process.geteuid?.() ?? 0)).toString('hex');
      socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
    });
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (!greeted) {
        const end = received.indexOf('\r\n');
        if (end < 0) return;
        if (!received.toString('latin1', 0, end).startsWith('OK ')) return finish('no-bus');
        greeted = true;
        received = received.subarray(end + 2);
        socket.write('BEGIN\r\n');
        socket.write(hello());
        socket.write(readDefaultAlias());
      }
      try {
        for (let end = endOfMessage(received); end > 0; end = endOfMessage(received)) {
          const reply = parseMessage(received.subarray(0, end));
          received = received.subarray(end);
          if (reply.replyTo === READ_ALIAS) {
            if (reply.error !== undefined) return finish(stateOfError(reply.error));
            const collection = reply.firstString();
            if (collection === '/') return finish('no-default-collection');
            socket.write(getLocked(collection));
          } else if (reply.replyTo === GET_LOCKED) {
            if (reply.error === undefined) return finish(reply.variantBoolean() ? 'locked' : 'unlocked');
            const state = stateOfError(reply.error);
            return finish(state === 'silent' ? state : 'no-default-collection');
          }
        }
      } catch {
        // Not D-Bus, or broken: whoever it is will not keep our secrets.
        finish('no-service');
      }
    });
  });
}

/** Not performance.now(), which loads a module of its own. */
function uptimeMs(): number {
  return process.uptime() * 1000;
}

function stateOfError(name: string): KeychainState {
  return /\.(NoReply|Timeout|TimedOut)$/.test(name) ? 'silent' : 'no-service';
}

function hello(): Buffer {
  const bus = 'org.freedesktop.DBus';
  return methodCall({ serial: HELLO, to: bus, path: '/org/freedesktop/DBus', of: bus, name: 'Hello' });
}

function readDefaultAlias(): Buffer {
  return methodCall({
    serial: READ_ALIAS,
    to: SERVICE,
    path: '/org/freedesktop/secrets',
    of: 'org.freedesktop.Secret.Service',
    name: 'ReadAlias',
    args: ['default'],
  });
}

function getLocked(collection: string): Buffer {
  return methodCall({
    serial: GET_LOCKED,
    to: SERVICE,
    path: collection,
    of: 'org.freedesktop.DBus.Properties',
    name: 'Get',
    args: ['org.freedesktop.Secret.Collection', 'Locked'],
  });
}
