import path from 'node:path';
import type { Level } from '../../src/config/keys.js';
import { Sensitive } from '../../src/core/sensitive.js';
import type { Places } from '../../src/run/places.js';
import type { BareRun, Ports } from '../../src/run/ports.js';
import { Stores } from '../../src/run/stores.js';
import { openStore } from '../../src/store/open.js';
import type {
  KeychainOptions,
  PasswordRecord,
  SecretRecord,
  StoreOptions,
  StoreRecord,
  TokenRecord,
} from '../../src/store/store.js';

/** The settings of a Linux machine without a session bus. */
export const NO_KEYCHAIN: KeychainOptions = {
  platform: 'linux',
  childEnvironment: () => ({}),
  mayPrompt: false,
  keychainHelper: { command: 'false', args: [] },
};

/** The options of a store below a folder, on a machine without a keychain. */
export const storeOptions = (dir: string, warn: (text: string) => void): StoreOptions => ({
  stateDir: path.join(dir, 'state'),
  configDir: path.join(dir, 'config'),
  storeKey: async () => undefined,
  warn,
  keychain: NO_KEYCHAIN,
});

/** Opens the file store that a command has used, with the key of its own or with a given one. */
export const openFileStore = (folders: Pick<StoreOptions, 'stateDir' | 'configDir'>, storeKey?: string) =>
  openStore('file', {
    ...folders,
    storeKey: async () => (storeKey === undefined ? undefined : new Sensitive(storeKey)),
    warn: () => {},
    keychain: NO_KEYCHAIN,
  });

/** The stores of a run in these folders. */
export function storesIn(places: Places, ports = { env: {}, reporter: {} } as Ports, setAt?: Level): Stores {
  const set = setAt ? [{ value: 'keychain', level: setAt }] : [];
  return new Stores({ ports, settings: { all: { store: set } } } as unknown as BareRun, places);
}

/** What a record says in place of the defaults; `info` in place of single facts. */
export type Changes<R extends StoreRecord> = Partial<Omit<R, 'kind' | 'info'>> & {
  readonly info?: Partial<R['info']>;
};

const ENTRY = { v: 1, key: 'demo', store: 'file', createdAtUnix: 1_700_000_000 } as const;
const WHERE = {
  host: 'http://127.0.0.1',
  gsqlUrl: 'http://127.0.0.1:14240',
  restUrl: 'http://127.0.0.1:9000',
  graph: 'demo',
};

export const tokenRecord = ({ info, ...more }: Changes<TokenRecord> = {}): TokenRecord => ({
  ...ENTRY,
  kind: 'token',
  expiresAtUnix: 1_700_003_600,
  ...more,
  info: { ...WHERE, principal: 'user:ada', lifetime: 3600, serverVersion: '4.1.2', ...info },
});

export const secretRecord = ({ info, ...more }: Changes<SecretRecord> = {}): SecretRecord => ({
  ...ENTRY,
  kind: 'secret',
  ...more,
  info: { ...WHERE, id: 'secret:0123456789ab', ...info },
});

export const passwordRecord = ({ info, ...more }: Changes<PasswordRecord> = {}): PasswordRecord => ({
  ...ENTRY,
  kind: 'password',
  ...more,
  info: { ...WHERE, username: 'ada', ...info },
});

export const RECORD = tokenRecord();
