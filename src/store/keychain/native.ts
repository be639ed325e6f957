import type Keytar from 'keytar';
import { type Fix, GraphException } from '../../core/errors.js';

// No other file uses keytar. findCredentials and findPassword are never called: on a locked keyring, and on items made
// by other programs, they end the process with a segmentation fault.

/** Entries are listed under this name in the desktop's keychain application. */
export const SERVICE = 'graphcred';

export type Operation =
  | { readonly op: 'get' | 'delete'; readonly account: string }
  | { readonly op: 'set'; readonly account: string; readonly value: string };

/**
 * The result of an operation: for `get` the value (undefined if there is none), for `delete` whether it was found, for
 * `set` true.
 */
export type Answer = string | boolean | undefined;

const VANISHED = /No such (?:interface|object path)|Object does not exist at path/;

/** Performs an operation in this process. It may block a thread for as long as a prompt stays open. */
export async function performNatively(operation: Operation, isAgain = false): Promise<Answer> {
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
    // An item may vanish meanwhile, because another process replaced or deleted it.
    if (!isAgain && VANISHED.test(String(error))) return performNatively(operation, true);
    throw translate(error);
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
    throw unavailable(
      'the library that opens the OS keychain cannot be loaded',
      process.platform === 'linux'
        ? 'install libsecret (Debian, Ubuntu: apt install libsecret-1-0)'
        : undefined,
    );
  }
}

function translate(error: unknown): GraphException {
  const text = error instanceof Error ? error.message : String(error);
  // On macOS -25308 means that no interaction is possible (over SSH), and -128 that a prompt was dismissed.
  if (/locked collection|interaction is not allowed|-25308|dismissed|user canceled|-128\b/i.test(text))
    return locked();
  return unavailable(`the OS keychain refused: ${text.replace(/\p{Cc}+/gu, ' ').slice(0, 200)}`);
}

const OTHER_STORE: readonly Fix[] = ['choose another store', { command: 'login --store file' }];

/** @param remedy what to do other than choosing another store */
export function unavailable(message: string, remedy?: string): GraphException {
  const hint = [...(remedy === undefined ? [] : [remedy]), ...OTHER_STORE];
  return new GraphException('STORE_UNAVAILABLE', message, { hint });
}

export function locked(): GraphException {
  return new GraphException('STORE_LOCKED', 'the OS keychain is locked', {
    hint: ['unlock it in your desktop session and run the command again', ...OTHER_STORE],
  });
}
