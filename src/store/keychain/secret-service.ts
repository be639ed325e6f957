import { Bus, BusFailure, uptimeMs } from './bus.js';

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

const ROOT = '/org/freedesktop/secrets';
/** The time limit of all answers together. */
const ALL_ANSWERS_MS = 5_000;

/** The attributes by which an item is found. */
type Item = Readonly<Record<string, string>>;

/**
 * Asks for the keychain's state and, in the same exchange, for the value of the one item with these attributes. This
 * is faster than loading the native module, which is used only when the bus gives no value. Never causes a prompt,
 * leaves a connection open or rejects.
 */
export async function askKeychain(env: Env, item?: Item): Promise<KeychainAnswer> {
  const end = uptimeMs() + ALL_ANSWERS_MS;
  const answer = await askBuses(env, end, item);
  // A busy gnome-keyring gives this answer by mistake about once in a thousand times.
  return answer.state === 'no-default-collection' ? askBuses(env, end, item) : answer;
}

async function askBuses(env: Env, end: number, item: Item | undefined): Promise<KeychainAnswer> {
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
async function askBus(path: string, end: number, item: Item | undefined): Promise<KeychainAnswer> {
  const bus = new Bus(path, end);
  let state: KeychainState | undefined;
  try {
    const asked = readState(bus);
    const answer = item && readItem(bus, item);
    // It may fail while the state is still awaited, which then tells why.
    answer?.catch(() => {});
    state = await asked;
    return state === 'unlocked' && answer ? await answer : { state };
  } catch (error) {
    const reason = error instanceof BusFailure ? error.reason : 'no-service';
    // A service that reports `unlocked` and then stops answering counts as silent too: the native module would hang.
    // One that breaks is not used, but if the state is known, the native module may try.
    return { state: reason === 'silent' ? reason : (state ?? reason) };
  } finally {
    bus.close();
  }
}

async function readState(bus: Bus): Promise<KeychainState> {
  const alias = await bus.call(ROOT, 'Secret.Service.ReadAlias', [{ s: 'default' }]);
  if (alias.error !== undefined) return stateOfError(alias.error, 'no-service');
  const collection = alias.body().string();
  if (collection === '/') return 'no-default-collection';
  const property = [{ s: 'org.freedesktop.Secret.Collection' }, { s: 'Locked' }];
  const locked = await bus.call(collection, 'DBus.Properties.Get', property);
  if (locked.error !== undefined) return stateOfError(locked.error, 'no-default-collection');
  const body = locked.body();
  if (body.signature() !== 'b') throw new Error('not a boolean');
  return body.uint32() === 0 ? 'unlocked' : 'locked';
}

function stateOfError(name: string, otherwise: KeychainState): KeychainState {
  return /\.(NoReply|Timeout|TimedOut)$/.test(name) ? 'silent' : otherwise;
}

/** Reads the value of the item. The answer counts only if the keychain is unlocked; a single item can still be locked. */
async function readItem(bus: Bus, item: Item): Promise<KeychainAnswer> {
  // It is not encrypted: any process that could listen on this bus can also ask for the value.
  const opening = bus.call(ROOT, 'Secret.Service.OpenSession', [{ s: 'plain' }, { v: '' }]);
  const searching = bus.call(ROOT, 'Secret.Service.SearchItems', [{ 'a{ss}': item }]);
  // It may fail while the session is still awaited, which then tells why.
  searching.catch(() => {});
  const opened = await opening;
  if (opened.error !== undefined) return withoutValue(opened.error);
  const session = opened.body();
  if (session.signature() === 's') session.string();
  const plain = { o: session.string() };
  const found = await searching;
  if (found.error !== undefined) return withoutValue(found.error);
  const items = found.body();
  const [path, ...others] = items.paths();
  // The second list is of locked items, which may be in another keyring than the default one.
  if (path === undefined && items.paths().length > 0) return { state: 'locked' };
  if (path === undefined || others.length > 0) return { state: 'unlocked' };
  const secret = await bus.call(path, 'Secret.Item.GetSecret', [plain]);
  if (secret.error !== undefined) return withoutValue(secret.error);
  const body = secret.body();
  body.structure();
  body.string();
  // A value with parameters is encrypted, which ours never is.
  if (body.bytes().length > 0) return { state: 'unlocked' };
  return { state: 'unlocked', value: body.bytes().toString('utf8') };
}

function withoutValue(error: string): KeychainAnswer {
  return { state: error.endsWith('.IsLocked') ? 'locked' : 'unlocked' };
}
