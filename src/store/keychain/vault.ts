import { GraphException } from '../../core/errors.js';
import type { KeychainOptions } from '../store.js';
import {
  type Answer,
  itemOf,
  loadKeytar,
  locked,
  type Operation,
  OTHER_STORE,
  performNatively,
} from './native.js';
import { askKeychain, type KeychainAnswer, type KeychainState } from './secret-service.js';
import { waitAtMost } from './timeout.js';

const ANSWER_MS = 5_000;
const PROMPT_MS = 60_000;
const MACOS_PROMPT_NOTICE_MS = 2_000;

const ABSENT: Readonly<Record<Exclude<KeychainState, 'locked' | 'unlocked'>, string>> = {
  'no-bus': 'there is no OS keychain: no session bus is running',
  'no-service': 'there is no OS keychain: no Secret Service runs on the session bus',
  'no-default-collection': 'the OS keychain has no default keyring yet',
  silent: 'the OS keychain does not answer',
};

/** The operations of an OS keychain that are used. `undefined` and false mean that there is no such entry. */
interface Vault {
  get(account: string): Promise<string | undefined>;
  set(account: string, value: string): Promise<void>;
  delete(account: string): Promise<boolean>;
  /** Throws the error that the next operation would throw if the keychain cannot be used now. */
  check(): Promise<void>;
}

/**
 * Returns the OS keychain of this machine. It performs one operation at a time, even if several are requested at once.
 */
export function keychainVault(options: KeychainOptions): Vault {
  let silent = false;
  // A keychain that did not answer once is not asked again.
  const probe: Probe = async (account) => {
    if (silent) return { state: 'silent' };
    const answer = await askKeychain(options.env, account === undefined ? undefined : itemOf(account));
    silent = answer.state === 'silent';
    return answer;
  };
  let last: Promise<unknown> = Promise.resolve();
  // Operations run one after the other: each blocks a thread of Node's pool of four, and with all four blocked, file
  // reading stops too.
  const run = (operation: Operation): Promise<Answer> => {
    const next = last.then(() => perform(operation, options, probe));
    last = next.catch(() => {});
    return next;
  };
  return {
    async check() {
      // A hundred processes may check at once before one of them does the work. So where possible, only the existence
      // of the keychain is checked.
      if (options.platform === 'linux' && (await probe()).state === 'unlocked') await loadKeytar();
      // Elsewhere a read of a missing entry shows whether the keychain works.
      else await run({ op: 'get', account: 'graphcred' });
    },
    async get(account) {
      const value = await run({ op: 'get', account });
      return typeof value === 'string' ? value : undefined;
    },
    async set(account, value) {
      await run({ op: 'set', account, value });
    },
    async delete(account) {
      return (await run({ op: 'delete', account })) === true;
    },
  };
}

/** Asks for the state of the keychain, and for the value of an account if one is given. */
type Probe = (account?: string) => Promise<KeychainAnswer>;

async function perform(operation: Operation, options: KeychainOptions, probe: Probe): Promise<Answer> {
  if (options.platform === 'win32') return inChild(operation, options, false);
  if (options.platform === 'darwin') return onMacOs(operation, options);
  // libsecret cannot tell a locked keyring from an empty one, and may prompt or wait for ever. So the bus is asked
  // first, and libsecret only when it can answer at once.
  const { state, value } = await probe(operation.op === 'get' ? operation.account : undefined);
  if (value !== undefined) return value;
  // A value to write was made just now and exists nowhere else, so a child process writes it: this process must survive
  // to show it.
  if (state === 'unlocked' && operation.op === 'set') return inChild(operation, options, false);
  if (state === 'unlocked') return inThisProcess(operation, options);
  if (state === 'locked') return throughPrompt(operation, options, probe);
  throw new GraphException('STORE_UNAVAILABLE', ABSENT[state], {
    hint: OTHER_STORE,
    setting: 'store',
  });
}

async function inThisProcess(operation: Operation, options: KeychainOptions): Promise<Answer> {
  const answered = waitAtMost(ANSWER_MS, () => {
    options.notify(`the OS keychain stopped answering during a call; gave up after ${ANSWER_MS / 1000} s`);
    // Node waits for the blocked thread even in process.exit(), so only a signal ends the process.
    process.kill(process.pid, 'SIGKILL');
  });
  try {
    return await performNatively(operation);
  } finally {
    answered();
  }
}

async function throughPrompt(operation: Operation, options: KeychainOptions, probe: Probe): Promise<Answer> {
  if (!options.mayPrompt) throw locked();
  options.notify(
    `the OS keychain is locked: answer the desktop's prompt (waiting up to ${PROMPT_MS / 1000} s)`,
  );
  // Deleting an entry never shows the prompt, but reading it does, so it is read first.
  const { account } = operation;
  const answer = await inChild(operation.op === 'delete' ? { op: 'get', account } : operation, options, true);
  if (answer !== undefined && operation.op !== 'delete') return answer;
  // After a dismissed prompt the entry looks missing, so the state is checked.
  if ((await probe(account)).state === 'locked') throw locked();
  return operation.op === 'delete' ? inThisProcess(operation, options) : answer;
}

/** On macOS any operation may prompt, and there is no way to know beforehand, so it runs in a child process. */
async function onMacOs(operation: Operation, options: KeychainOptions): Promise<Answer> {
  if (!options.mayPrompt) return inChild(operation, options, false);
  const notice = setTimeout(() => {
    options.notify(`waiting for the keychain: answer its prompt (up to ${PROMPT_MS / 1000} s)`);
  }, MACOS_PROMPT_NOTICE_MS);
  try {
    return await inChild(operation, options, true);
  } finally {
    clearTimeout(notice);
  }
}

async function inChild(operation: Operation, options: KeychainOptions, prompting: boolean): Promise<Answer> {
  const { askChild } = await import('./helper-parent.js');
  return askChild(operation, options, { ms: prompting ? PROMPT_MS : ANSWER_MS, prompting });
}
