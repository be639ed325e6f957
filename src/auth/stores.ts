import path from 'node:path';
import { refuseValue } from '../config/errors.js';
import type { Settings } from '../config/keys.js';
import { valueOfVariable } from '../config/settings.js';
import { expected, GraphException } from '../core/errors.js';
import { Sensitive } from '../core/sensitive.js';
import { howToMend, readChecked, stageFile } from '../files/private-files.js';
import { inspectRedis, openStore, type ServerReport } from '../store/open.js';
import {
  CREDENTIAL_STORES,
  type CredentialRecord,
  noneStore,
  STORE_NAMES,
  STORES,
  type Store,
  type StoreName,
  type StoreOptions,
  type StoreRecord,
} from '../store/store.js';
import type { Call, LocalCall, Places } from './call.js';

const DEFAULT_TIMEOUT_MS = 30_000;

type CallWithTimeout = LocalCall & Partial<Pick<Call, 'timeoutMs' | 'learned'>>;

/**
 * Opens the store of this run.
 * @param options.needed the command cannot do without it, so the desktop may ask to unlock the keychain
 * @throws GraphException STORE_UNAVAILABLE when there is no folder for the store
 */
export function chooseStore(call: LocalCall, { needed = false } = {}): Promise<Store> {
  const { name, setAt } = call.store;
  return open(call, name, needed || setAt !== undefined);
}

/** Opens the stores of this machine that may hold credentials and tokens; none without a folder for them. */
export async function machineStores(call: LocalCall, worthAPrompt = false): Promise<readonly Store[]> {
  const names = call.stateDir === undefined ? [] : CREDENTIAL_STORES;
  return Promise.all(names.map((name) => open(call, name, worthAPrompt)));
}

/** Opens the local store that is used for tokens while the fleet's store fails. Undefined if this is another store. */
export async function fallbackOf(call: LocalCall, store: Store): Promise<Store | undefined> {
  return STORES[store.name].scope === 'fleet' && !isStoreRequired(call)
    ? open(call, 'file', false)
    : undefined;
}

/** Opens the store of this run, or its fallback while it cannot be reached, for commands that only read. */
export async function chooseReadableStore(call: LocalCall, options = { needed: false }): Promise<Store> {
  const store = await chooseStore(call, options);
  const fallback = await fallbackOf(call, store);
  if (fallback === undefined) return store;
  try {
    // Any node of a cluster answers PING, and only one has the tokens.
    await store.find('');
    return store;
  } catch (error) {
    call.ports.reporter.warn(`${expected(error).message}; this looks at the tokens of this machine only`);
    return fallback;
  }
}

/** Whether a failure of the store is an error even if the call could mint a token without it. */
export function isStoreRequired({ store: { name, setAt } }: LocalCall): boolean {
  const { scope, canAsk } = STORES[name];
  return scope === 'fleet' ? setAt === 'flag' : canAsk && setAt !== undefined;
}

/**
 * Opens a store.
 * @param worthAPrompt whether the desktop may ask a person to unlock the keychain for this
 */
export async function open(call: CallWithTimeout, name: StoreName, worthAPrompt: boolean): Promise<Store> {
  if (!STORES[name].keeps.tokens) return noneStore;
  return openStore(name, storeOptions(call, name, worthAPrompt));
}

/**
 * Examines the fleet's Redis server, for `doctor`.
 * @throws GraphException STORE_UNAVAILABLE, INPUT_REQUIRED
 */
export async function inspectSharedStore(call: CallWithTimeout): Promise<ServerReport> {
  return inspectRedis(storeOptions(call, 'redis', false));
}

function storeOptions(call: CallWithTimeout, name: StoreName, worthAPrompt: boolean): StoreOptions {
  const { ports, stateDir, configDir, timeoutMs = DEFAULT_TIMEOUT_MS } = call;
  const { warn } = ports.reporter;
  if (stateDir === undefined || configDir === undefined)
    throw noFolder(call, `There is no home folder, so the ${name} store cannot be used.`);
  const { GRAPHCRED_STORE_KEY, GRAPHCRED_STORE_KEY_FILE } = ports.env;
  const key = valueOfVariable('GRAPHCRED_STORE_KEY', GRAPHCRED_STORE_KEY, true);
  return {
    stateDir,
    configDir,
    storeKey: key === undefined ? undefined : new Sensitive(key),
    storeKeyFile: GRAPHCRED_STORE_KEY_FILE || undefined,
    timeoutMs,
    keychain: {
      platform: ports.platform,
      get env() {
        return ports.childEnvironment();
      },
      mayPrompt: worthAPrompt && ports.canUnlock,
      child: ports.keychainHelper,
      notify: warn,
    },
    redis: async () => (await import('./redis.js')).redisOptions(call, timeoutMs, call.learned),
    warn,
  };
}

/** A record, and the store that holds its value. */
export interface StoreEntry<R extends StoreRecord = StoreRecord> {
  readonly store: Store;
  readonly record: R;
}

export type SavedEntry = StoreEntry<CredentialRecord>;

/** Returns all that these stores hold. */
export async function entriesOf(stores: readonly Store[]): Promise<StoreEntry[]> {
  const lists = stores.map(async (store) => (await store.list()).map((record) => ({ store, record })));
  return (await Promise.all(lists)).flat();
}

/** Records the store for later runs that name none. Throws STORE_UNAVAILABLE. */
export function recordStore(call: LocalCall, name: StoreName): void {
  stageFile(path.join(configDirOf(call), 'store'), `${name}\n`).commit();
}

/**
 * Returns the store from the first of: flag, variable, config file, the store that `login` recorded, `none` in CI or
 * without a home, and the keychain.
 */
export function storeInForce(
  settings: Settings,
  { configDir, stateDir }: Places,
  inCi: boolean,
): LocalCall['store'] {
  const [set] = settings.all.store;
  if (set !== undefined) {
    if (!STORE_NAMES.some((name) => name === set.value))
      refuseValue(settings, 'store', 'is not a store', `choose one of: ${STORE_NAMES.join(', ')}`);
    return { name: set.value as StoreName, setAt: set.level };
  }
  const recorded = configDir === undefined ? undefined : recordedStore(path.join(configDir, 'store'));
  const name = recorded ?? (inCi || stateDir === undefined ? 'none' : 'keychain');
  return { name, setAt: undefined, isRecorded: recorded !== undefined };
}

/**
 * Returns the store that `login` recorded, if it did.
 * @throws GraphException STORE_UNAVAILABLE when the record is there and cannot be used
 */
function recordedStore(file: string): StoreName | undefined {
  const checked = readChecked(file);
  if (!checked) return undefined;
  const name = 'text' in checked ? checked.text.trim() : '';
  const known = STORE_NAMES.find((one) => one === name);
  if (known) return known;
  const why = 'refused' in checked ? checked.refused : 'it names no store';
  throw new GraphException('STORE_UNAVAILABLE', `${file} cannot be used: ${why}.`, {
    hint: `${howToMend(file, why) ?? 'record it again: graphcred login --store keychain'}, or name one: --store file`,
    setting: 'store',
  });
}

/**
 * Moves all that is stored to another store, and records that one. Tokens move too: the server accepts them until they
 * end.
 */
export async function moveTo(call: LocalCall, name: StoreName): Promise<void> {
  const target = await open(call, name, true);
  await target.check();
  const sources = STORES[name].keeps.credentials ? await machineStores(call, true) : [];
  for (const source of sources.filter((other) => other.name !== name)) {
    for (const record of await source.list()) {
      const value = await source.read(record).catch((error) => {
        const what = record.kind === 'token' ? 'token' : `saved ${record.kind}`;
        call.ports.reporter.warn(
          `a ${what} stays behind in the ${source.name} store: ${expected(error).message} (${record.key})`,
        );
      });
      if (value === undefined) continue;
      await target.write(record, value);
      await source.delete(record.key);
    }
  }
  recordStore(call, name);
}

/**
 * Checks the store before a command reports that nothing is stored: neither a locked or missing keychain nor a record
 * that cannot be read must look empty.
 * @throws GraphException STORE_UNAVAILABLE, STORE_LOCKED, PARTIAL
 */
export async function requireReadable(call: LocalCall, store: Store): Promise<void> {
  if (STORES[store.name].canAsk) await store.check();
  await requireAllRead(call);
}

/**
 * Requires a store for secrets and passwords.
 * @throws GraphException USAGE when this store does not store them
 */
export function requireKeeping(store: Store, what: string, otherwise = ''): void {
  const { keeps, scope } = STORES[store.name];
  if (keeps.credentials) return;
  const needed =
    scope === 'fleet'
      ? 'a store of this machine: secrets and passwords are never kept on a Redis server'
      : 'a persistent store; the current store is none';
  throw new GraphException('USAGE', `${what} needs ${needed}.`, {
    hint: `choose one with --store keychain or --store file${otherwise}`,
  });
}

/**
 * Reports records that lie here and cannot be read: they may hold credentials, so a list without them is not the whole.
 * @throws GraphException PARTIAL
 */
export async function requireAllRead({ stateDir }: LocalCall): Promise<void> {
  if (stateDir === undefined) return;
  const { listEntries } = await import('../store/records.js');
  const unread = new Set<string>();
  const mends = new Set<string>();
  listEntries(stateDir, (_message, { file, why, mend }) => {
    unread.add(`${file}: ${why}`);
    mends.add(mend);
  });
  if (unread.size === 0) return;
  throw new GraphException('PARTIAL', `Not every record here can be read: ${[...unread].join('; ')}.`, {
    hint: [...mends].join('; '),
  });
}

/** Returns the folder of this machine's records. Every store except `none` has one. */
export function stateDirOf(call: LocalCall): string {
  if (call.stateDir !== undefined) return call.stateDir;
  throw noFolder(call, 'There is no home folder to keep anything in.');
}

/** Returns the folder of the user's config file, where `login` writes. */
export function configDirOf(call: LocalCall): string {
  if (call.configDir !== undefined) return call.configDir;
  throw noFolder(call, 'There is no home folder for a config file.');
}

function noFolder({ foreign }: LocalCall, message: string): GraphException {
  const { path: folder, why, variable = 'HOME' } = foreign ?? {};
  const own = foreign ? ` to your own folder${variable === 'HOME' ? ' (sudo -H)' : ''}` : '';
  return new GraphException(
    'STORE_UNAVAILABLE',
    foreign ? `${folder}, named by ${variable}, is not used: it ${why}.` : message,
    { hint: `set ${variable}${own}`, setting: 'store' },
  );
}
