import type Keytar from 'keytar';
import { type Fix, GraphException } from '../../core/errors.js';
import { errorFrom } from '../lock.js';
import type { KeychainOptions } from '../store.js';

// Both ends of the helper process that performs a keychain operation, since a prompt or a silent keychain may block it.
// It gets one request as a line on its stdin, so that no credential is in its argument list, and answers with one line.

/** Entries are listed under this name in the desktop's keychain application. */
export const SERVICE = 'graphcred';

export type HelperCall =
  | { readonly op: 'get' | 'delete'; readonly account: string }
  | { readonly op: 'set'; readonly account: string; readonly value: string };

/** For `get` the value, undefined if there is none; for `delete` whether it was found; for `set` true. */
type Answer = string | boolean | undefined;

type Reply = { readonly answer?: Answer; readonly error?: Record<string, unknown> };

/** The helper writes this when it has started. The time limit of the keychain counts from then on. */
const READY = '\n';
const KEYCHAIN_MS = 5_000;
export const PROMPT_MS = 60_000;
/** The helper may take this many times longer to start than the keychain to answer, since the machine may be busy. */
const START_FACTOR = 3;

/**
 * Lets a helper process perform the operation, and kills it when the time limit ends: a process that waits for a prompt
 * cannot end itself. Throws STORE_LOCKED when a prompt was not answered, else STORE_UNAVAILABLE.
 * @param prompting whether the keychain waits for a person to answer its prompt
 */
export async function askHelper(operation: HelperCall, options: KeychainOptions, prompting: boolean) {
  const { command, args } = options.keychainHelper;
  const noAnswer = (how: string) => unavailable(`the OS keychain did not answer ${how}`);
  const child = process.getBuiltinModule('node:child_process').spawn(command, args, {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: options.childEnvironment(),
    windowsHide: true,
  });
  let timer: NodeJS.Timeout | undefined;
  try {
    const line = await new Promise<string>((resolve, reject) => {
      const waitFor = (ms: number) => {
        clearTimeout(timer);
        const error = prompting ? locked() : noAnswer(`within ${ms / 1000} s`);
        // On a busy machine the timer may fire although the answer has arrived, so that is read first.
        timer = setTimeout(() => setImmediate(reject, error), ms);
      };
      waitFor(prompting ? PROMPT_MS : KEYCHAIN_MS * START_FACTOR);
      child.on('error', ({ code = 'unknown error' }: NodeJS.ErrnoException) =>
        reject(noAnswer(`because its helper process did not start (${code})`)),
      );
      child.on('close', (status, signal) =>
        reject(noAnswer(`because its helper process ended early (${signal ?? `status ${status}`})`)),
      );
      let received = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        if (received === '') waitFor(prompting ? PROMPT_MS : KEYCHAIN_MS);
        received += text;
        if (received !== READY && received.endsWith('\n')) resolve(received);
      });
      // stdin stays open: its end tells the helper that this process is gone. Its errors are reported by 'close'.
      child.stdin.on('error', () => {}).write(`${JSON.stringify(operation)}\n`);
    });
    const { answer, error }: Reply = JSON.parse(line);
    if (error) throw errorFrom(error);
    return answer;
  } finally {
    clearTimeout(timer);
    // The helper is killed, because what libsecret or its own helpers still have open would keep this process waiting.
    child.kill('SIGKILL');
    child.stdout.destroy();
  }
}

/** Runs in the helper process, which kills itself when its parent is gone: a pending prompt would keep it alive. */
export async function runKeychainHelper(input: NodeJS.ReadableStream, output: NodeJS.WritableStream) {
  output.write(READY);
  const request = await new Promise<string>((resolve) => {
    let text = '';
    input.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.endsWith('\n')) resolve(text);
    });
    input.on('end', () => process.kill(process.pid, 'SIGKILL'));
  });
  const reply: Reply = await performNatively(JSON.parse(request)).then(
    (answer) => ({ answer }),
    (error: GraphException) => ({ error: { ...error.toJSON() } }),
  );
  await new Promise<void>((resolve) => output.write(`${JSON.stringify(reply)}\n`, () => resolve()));
  input.removeAllListeners('end').pause();
}

// No other file uses keytar. findCredentials and findPassword are never called: on a locked keyring, and on items made
// by other programs, they end the process with a segmentation fault.

const VANISHED = /No such (?:interface|object path)|Object does not exist at path/;
/** On macOS -25308 means that no interaction is possible (over SSH), and -128 that a prompt was dismissed. */
const LOCKED = /locked collection|interaction is not allowed|-25308|dismissed|user canceled|-128\b/i;

/** Performs an operation in this process. A prompt may block a thread for as long as it stays open. */
export async function performNatively(operation: HelperCall, isAgain = false): Promise<Answer> {
  const keytar = await loadKeytar();
  const { op, account } = operation;
  try {
    if (op === 'set') {
      await keytar.setPassword(SERVICE, account, operation.value);
      return true;
    }
    // Deleting an entry never shows the prompt of a locked keychain, but reading it does, so it is read first.
    const value = await keytar.getPassword(SERVICE, account);
    return op === 'get' ? (value ?? undefined) : await keytar.deletePassword(SERVICE, account);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    // An item may vanish meanwhile, because another process replaced or deleted it.
    if (!isAgain && VANISHED.test(text)) return performNatively(operation, true);
    if (LOCKED.test(text)) throw locked();
    throw unavailable(`the OS keychain refused: ${text.replace(/\p{Cc}+/gu, ' ').slice(0, 200)}`);
  }
}

/** Loads keytar. Throws STORE_UNAVAILABLE when the module, or the library it opens the keychain with, is missing. */
export async function loadKeytar(): Promise<typeof Keytar> {
  try {
    return (await import('keytar')).default;
  } catch (error) {
    if (/MODULE_NOT_FOUND/.test(String((error as NodeJS.ErrnoException).code)))
      throw unavailable(
        'the package keytar, which opens the OS keychain, is not installed',
        'install graphcred with its optional dependencies (npm install --include=optional)',
      );
    const onLinux = 'install libsecret (Debian, Ubuntu: apt install libsecret-1-0)';
    const remedies = process.platform === 'linux' ? [onLinux] : [];
    throw unavailable('the library that opens the OS keychain cannot be loaded', ...remedies);
  }
}

const OTHER_STORE: readonly Fix[] = [
  'to use files instead: GRAPHCRED_STORE=file, or for good',
  { command: 'login --store file' },
];

/** @param remedies what to do other than choosing another store */
export function unavailable(message: string, ...remedies: readonly string[]): GraphException {
  return new GraphException('STORE_UNAVAILABLE', message, { hint: [...remedies, ...OTHER_STORE] });
}

export function locked(): GraphException {
  return new GraphException('STORE_LOCKED', 'the OS keychain is locked', {
    hint: ['unlock it in your desktop session and run the command again', ...OTHER_STORE],
  });
}
