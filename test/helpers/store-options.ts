import path from 'node:path';
import type { KeychainOptions, StoreOptions, StoreRecord } from '../../src/store/store.js';

/** The settings of a Linux machine without a session bus. */
export const NO_KEYCHAIN: KeychainOptions = {
  platform: 'linux',
  env: {},
  mayPrompt: false,
  child: { command: 'false', args: [] },
  notify: () => {},
};

/** The options of a store below a folder, on a machine without a keychain. */
export const storeOptions = (dir: string, warn: (text: string) => void): StoreOptions => ({
  stateDir: path.join(dir, 'state'),
  configDir: path.join(dir, 'config'),
  timeoutMs: 30_000,
  warn,
  keychain: NO_KEYCHAIN,
});

/** The record of a token. */
export const RECORD: StoreRecord = {
  v: 1,
  kind: 'token',
  key: 'demo',
  store: 'file',
  createdAtUnix: 1_700_000_000,
  expiresAtUnix: 1_700_003_600,
  info: { graph: 'demo', port: 9000, user: null },
};
