import path from 'node:path';
import { refuseValue } from '../config/errors.js';
import { variableIn } from '../config/keys.js';
import { type Fix, GraphException, usageError } from '../core/errors.js';
import { Sensitive } from '../core/sensitive.js';
import { readChecked, writePrivateFile } from '../files/private-files.js';
import { openRedis, openStore, withFallback } from '../store/open.js';
import { listEntries, type Unread } from '../store/records.js';
import type { ServerReport } from '../store/redis/inspect.js';
import {
  type CredentialRecord,
  MACHINE_STORES,
  noneStore,
  STORE_NAMES,
  STORES,
  type Store,
  type StoreName,
  type StoreOptions,
  type StoreRecord,
} from '../store/store.js';
import { once } from './once.js';
import type { Places } from './places.js';
import { type BareRun, hasDesktop } from './ports.js';

/** The stores of a run: which one is in force, which stands in for it, and the folders where they are. */
export class Stores {
  readonly #inForce: () => ReturnType<typeof storeInForce>;
  readonly stateDir: string | undefined;
  readonly configDir: string | undefined;
  readonly #foreign: Places['foreign'];
  readonly #run: BareRun;
  /** A store is opened once for each way to unlock it, so that one which gave no answer is not waited for again. */
  readonly #opened = new Map<string, Promise<Store>>();
  /** It is read once for all stores of the run, because it may come through a pipe. */
  readonly #storeKey = once(async () => {
    const { env } = this.#run.ports;
    const key = variableIn(env, 'GRAPHCRED_STORE_KEY', true);
    const file = env.GRAPHCRED_STORE_KEY_FILE;
    if (key !== undefined) return new Sensitive(key);
    return file ? (await import('./read.js')).readKeyFile(this.#run, file) : undefined;
  });

  constructor(run: BareRun, places: Places) {
    this.#inForce = once(() => storeInForce(run, places));
    this.stateDir = places.stateDir;
    this.configDir = places.configDir;
    this.#foreign = places.foreign;
    this.#run = run;
  }

  /** The store of a run, and where that was set; undefined for the default. Throws STORE_UNAVAILABLE, USAGE, CONFIG_INVALID. */
  get inForce() {
    return this.#inForce();
  }

  /** Whether the store in force is one through which machines share tokens. */
  get areShared(): boolean {
    return STORES[this.inForce.name].isShared;
  }

  /** Where a run looks for what is stored, for messages. */
  get place(): string {
    return this.inForce.setAt === 'flag' ? `in the ${this.inForce.name} store` : 'on this machine';
  }

  /** Whether what a run learns is kept for the next ones. */
  get remember(): boolean {
    return this.stateDir !== undefined && STORES[this.inForce.name].keeps.tokens;
  }

  /**
   * Opens the store in force with what stands in for it while it fails: for that of a fleet this machine's own, and for
   * any where a token can be minted, `none`. Nothing stands in for a typed `redis`, or a keychain that a setting names.
   * @param options.needed its failure is an error, and the desktop may ask to unlock the keychain
   * @param options.mints the run can mint a token without it
   */
  async chosen({ needed = false, mints = false } = {}): Promise<Store> {
    const { name, setAt, lacks } = this.inForce;
    const { ports } = this.#run;
    if (needed && lacks) this.requireFolder(lacks);
    let store = await this.open(name, needed || setAt !== undefined);
    if (this.areShared ? setAt === 'flag' : STORES[name].canBeLocked && setAt !== undefined) return store;
    if (this.areShared) store = withFallback(store, await this.open('file', false), ports, needed);
    return mints && store !== noneStore ? withFallback(store, noneStore, ports, needed) : store;
  }

  /** Opens the stores of this machine that may hold credentials and tokens; none without a folder for them. */
  async ofMachine(mayPrompt = false): Promise<readonly Store[]> {
    const names = [this.stateDir, this.configDir].includes(undefined) ? [] : MACHINE_STORES;
    return Promise.all(names.map((name) => this.open(name, mayPrompt)));
  }

  /** Lets what follows open each store anew: one that failed may work again. */
  restart(): void {
    this.#opened.clear();
  }

  /** Opens a store. @param mayPrompt whether the desktop may ask a person to unlock the keychain for this */
  async open(name: StoreName, mayPrompt: boolean): Promise<Store> {
    if (!STORES[name].keeps.tokens) return noneStore;
    const key = `${name} ${mayPrompt}`;
    const store = this.#opened.get(key) ?? openStore(name, this.#options(mayPrompt));
    this.#opened.set(key, store);
    return store;
  }

  async inspectShared(): Promise<ServerReport> {
    // What it would warn of is in the report.
    const store = await openRedis({ ...this.#options(false), warn: () => {} }, true);
    const { inspectServer } = await import('../store/redis/inspect.js');
    return inspectServer(store);
  }

  #options(mayPrompt: boolean): StoreOptions {
    const { ports } = this.#run;
    const { platform, keychainHelper, childEnvironment } = ports;
    const canPrompt = mayPrompt && ports.canPrompt && hasDesktop(ports);
    return {
      stateDir: this.requireFolder('stateDir'),
      configDir: this.requireFolder('configDir'),
      keychain: { platform, keychainHelper, childEnvironment, mayPrompt: canPrompt },
      storeKey: this.#storeKey,
      redis: async () => (await import('./redis.js')).redisOptions(this.#run),
      warn: ports.reporter.warn,
    };
  }

  /** Records the store of a login for later runs that name none, where it was typed, or chosen in place of the one in force. */
  recordChoice({ name }: Store): void {
    if (this.inForce.setAt !== 'flag' && name === this.inForce.name) return;
    const file = path.join(this.requireFolder('configDir'), 'store');
    const before = readChecked(file);
    writePrivateFile(file, `${name}\n`);
    if (before && 'text' in before && before.text.trim() !== name)
      this.#run.ports.reporter.note(
        `every profile that names no store uses "${name}" from now on; to change that, log in with --store`,
      );
  }

  /** Throws where values that are locked away, or records that cannot be read, would be overlooked. @param store where the command has looked, beside the records */
  async requireReadable(store?: Store): Promise<void> {
    if (store && STORES[store.name].canBeLocked) await store.check();
    const unread: Unread[] = [];
    listEntries(this.stateDir, (one) => unread.push(one));
    if (unread.length === 0) return;
    const files = unread.map(({ file, why }) => `${file}: ${why}`);
    const why = `Not all of the store could be read: ${files.join('; ')}.`;
    const hint = [...new Set(unread.map(({ mend }) => mend))].join('; ');
    throw new GraphException('PARTIAL', why, { hint });
  }

  /** Requires a store for secrets and passwords. Throws USAGE for another, STORE_UNAVAILABLE where a home is missing. */
  requireKeeping(name: StoreName, what: string, otherwise: readonly Fix[] = []): void {
    if (this.inForce.lacks) this.requireFolder(this.inForce.lacks);
    const { keeps, isShared } = STORES[name];
    if (keeps.credentials) return;
    const needed = isShared
      ? 'a store on this machine: secrets and passwords are never kept on a Redis server'
      : 'a persistent store; the current store is none';
    const choose = 'choose one with --store file, or on a desktop --store keychain';
    throw usageError(`${what} needs ${needed}.`, [choose, ...otherwise]);
  }

  /** Returns the folder of this machine's records, or of the user's config file. Throws STORE_UNAVAILABLE without one. */
  requireFolder(of: 'stateDir' | 'configDir'): string {
    if (this[of] !== undefined) return this[of];
    const { path: folder, variable = 'HOME', why } = this.#foreign ?? {};
    const own = folder ? ` to your own folder${variable === 'HOME' ? ' (sudo -H)' : ''}` : '';
    const what = folder
      ? `${folder}, named by ${variable}, is not used: it ${why}.`
      : 'There is no home folder to keep anything in.';
    throw new GraphException('STORE_UNAVAILABLE', what, { hint: `set ${variable}${own}` });
  }
}

export interface StoreEntry<R extends StoreRecord = StoreRecord> {
  readonly store: Store;
  readonly record: R;
}

export type SavedEntry = StoreEntry<CredentialRecord>;

export async function entriesOf(stores: readonly Store[]): Promise<StoreEntry[]> {
  const lists = stores.map(async (store) => (await store.list()).map((record) => ({ store, record })));
  return (await Promise.all(lists)).flat();
}

/** Takes the first of setting, login's record, `none` in CI, keychain. Without a home: `none`, unless one was typed. */
function storeInForce({ settings, ports }: BareRun, { configDir, stateDir }: Places) {
  const [set] = settings.all.store;
  const known = STORE_NAMES.find((one) => one === set?.value);
  if (set && !known)
    refuseValue(settings, 'store', 'is not a store', `choose one of: ${STORE_NAMES.join(', ')}`);
  const recorded = set || configDir === undefined ? undefined : recordedStore(path.join(configDir, 'store'));
  const name = known ?? recorded ?? (ports.inCi ? 'none' : 'keychain');
  const missing = [...(stateDir ? [] : ['stateDir' as const]), ...(configDir ? [] : ['configDir' as const])];
  const lacks = STORES[name].keeps.tokens && set?.level !== 'flag' ? missing[0] : undefined;
  if (lacks) return { name: 'none' as const, setAt: undefined, isRecorded: false, lacks };
  return { name, setAt: set?.level, isRecorded: recorded !== undefined, lacks };
}

/** Returns the store that `login` recorded, if it did. Throws STORE_UNAVAILABLE for a record that cannot be used. */
function recordedStore(file: string): StoreName | undefined {
  const checked = readChecked(file);
  if (!checked) return undefined;
  const name = 'text' in checked ? checked.text.trim() : '';
  const known = STORE_NAMES.find((one) => one === name);
  if (known) return known;
  const why = 'why' in checked ? checked.why : 'it names no store';
  const message = `${file}, which names the store in use, cannot be read: ${why}.`;
  const choose = 'remove it, and choose a store again';
  throw new GraphException('STORE_UNAVAILABLE', message, {
    hint: [choose, { command: 'login --store keychain' }],
  });
}
