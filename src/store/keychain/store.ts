import { Sensitive } from '../../core/sensitive.js';
import { machineStore } from '../machine-store.js';
import { partsOf } from '../records.js';
import type { Store, StoreOptions, StoreRecord } from '../store.js';
import { askHelper, type HelperCall, loadKeytar, locked, PROMPT_MS, SERVICE, unavailable } from './helper.js';
import { ABSENT, askKeychain, type KeychainAnswer } from './secret-service.js';

/** Whether the keychain gives a text back as it is: libsecret cuts it at the first zero byte. */
const isFit = (text: string) => text !== '' && !/\p{Cc}/u.test(text);

/** Whether a record is for the servers and the provider that its key names: the keychain has the key alone. */
function isAsKeyed({ kind, key, info }: StoreRecord): boolean {
  const [, servers] = /, at (\S+ rest \S+)$/.exec(partsOf(key).identity) ?? [];
  const isOfServers = servers === undefined || servers === `${info.gsqlUrl} rest ${info.restUrl}`;
  return isOfServers && (kind !== 'login' || key.includes(JSON.stringify(info.issuer)));
}

/** How many bytes the Credential Manager of Windows takes. */
const LONGEST_ON_WINDOWS = 2560;

/** Stores the value in the OS keychain, with the record's key as account. */
export function keychainStore(options: StoreOptions): Store {
  const vault = keychainVault(options);
  return machineStore('keychain', options, {
    async put({ key, kind }, secret) {
      const value = secret.reveal();
      if (!isFit(value))
        throw unavailable(
          'the OS keychain cannot keep an empty value or one with control characters',
          'check where the value comes from',
        );
      if (options.keychain.platform === 'win32' && Buffer.byteLength(value) > LONGEST_ON_WINDOWS)
        throw unavailable(
          `Windows keeps values of at most ${LONGEST_ON_WINDOWS} bytes in its keychain, and this ${kind} is longer`,
        );
      await vault.perform({ op: 'set', account: key, value });
      return undefined;
    },

    async get(record) {
      if (!isAsKeyed(record)) return undefined;
      const value = await vault.perform({ op: 'get', account: record.key });
      // Other programs can write to the keychain too: what is never stored counts as missing.
      return typeof value === 'string' && isFit(value) ? new Sensitive(value) : undefined;
    },

    delete: async (key) => void (await vault.perform({ op: 'delete', account: key })),

    check: () => vault.check(),
  });
}

export function keychainVault({ keychain, warn }: Pick<StoreOptions, 'keychain' | 'warn'>) {
  const { platform, mayPrompt } = keychain;
  let silent = false;
  /** Asks for the state of the keychain, and for the value of an account. One that did not answer is not asked again. */
  const probe = async (account?: string): Promise<KeychainAnswer> => {
    if (silent) return { state: 'silent' };
    const item = account === undefined ? undefined : { service: SERVICE, account };
    const answer = await askKeychain(keychain.childEnvironment(), item);
    silent = answer.state === 'silent';
    return answer;
  };
  const perform = async (operation: HelperCall) => {
    // On macOS any operation may prompt.
    if (platform === 'win32' || platform === 'darwin')
      return askHelper(operation, keychain, platform === 'darwin' && mayPrompt);
    // The bus is asked first: libsecret takes a locked keyring for an empty one, and may prompt or wait for ever.
    const { state, value } = await probe(operation.op === 'get' ? operation.account : undefined);
    if (state === 'unlocked') return value ?? askHelper(operation, keychain, false);
    if (state !== 'locked') throw unavailable(ABSENT[state]);
    if (!mayPrompt) throw locked();
    warn(`the OS keychain is locked: answer the desktop's prompt (waiting up to ${PROMPT_MS / 1000} s)`);
    const answer = await askHelper(operation, keychain, true);
    // After a dismissed prompt the entry looks missing, so the state is checked.
    if (!answer && (await probe(operation.account)).state === 'locked') throw locked();
    return answer;
  };
  return {
    perform,
    async check(): Promise<void> {
      // A hundred processes may check at once, so where possible none asks more than whether there is a keychain.
      if (platform === 'linux' && (await probe()).state === 'unlocked') await loadKeytar();
      // Elsewhere a read of a missing entry shows whether the keychain works.
      else await perform({ op: 'get', account: 'graphcred' });
    },
  };
}
