import type Keytar from 'keytar';
import { GraphException } from '../../core/errors.js';

// No other file uses keytar. findCredentials and findPassword are never called: on a locked keyring, and on items made
// by other programs, they end the process with a segmentation fault.

/** Entries are listed under this name in the desktop's keychain application. */
const SERVICE = 'graphcred';

/** Returns the attributes by which keytar on Linux finds an account's item. */
export function itemOf(account: string): Readonly<Record<string, string>> {
  return { service: SERVICE, account };
}

export const OTHER_STORE = 'choose another store with: graphcred login --store file';

/** An operation on the keychain, as it is passed to the native module or to the child process. */
export type Operation =
  | { readonly op: 'get' | 'delete'; readonly account: string }
  | { readonly op: 'set'; readonly account: string; readonly value: string };

/**
 * The result of an operation: for `get` the value (undefined if there is none), for `delete` whether it was found, for
 * `set` true.
 */
export type Answer = string | boolean | undefined;

/** Performs an operation in this process. It may block a thread for as long as a prompt stays open. */
export async function performNatively(operation: Operation): Promise<Answer> {
  const keytar = await loadKeytar();
  try {
    return await call(keytar, operation);
  } catch (error) {
    if (!isTransient(error)) throw translate(error);
  }
  try {
    return await call(keytar, operation);
  } catch (error) {
    throw translate(error);
  }
}

async function call(keytar: typeof Keytar, operation: Operation): Promise<Answer> {
  switch (operation.op) {
    case 'get':
      return (await keytar.getPassword(SERVICE, operation.account)) ?? undefined;
    case 'set':
      await keytar.setPassword(SERVICE, operation.account, operation.value);
      return true;
    case 'delete':
      return keytar.deletePassword(SERVICE, operation.account);
  }
}

/** Loads keytar. Throws STORE_UNAVAILABLE when the module, or the library it opens the keychain with, is missing. */
export async function loadKeytar(): Promise<typeof Keytar> {
  try {
    return (await import('keytar')).default;
  } catch (error) {
    if (/MODULE_NOT_FOUND/.test(String((error as NodeJS.ErrnoException).code))) {
      throw new GraphException(
        'STORE_UNAVAILABLE',
        'the package keytar, which opens the OS keychain, is not installed',
        {
          hint: `install graphcred with its optional dependencies (npm install --include=optional), or ${OTHER_STORE}`,
          setting: 'store',
        },
      );
    }
    throw new GraphException('STORE_UNAVAILABLE', 'the library that opens the OS keychain cannot be loaded', {
      hint:
        process.platform === 'linux'
          ? `install libsecret (Debian, Ubuntu: apt install libsecret-1-0), or ${OTHER_STORE}`
          : OTHER_STORE,
      setting: 'store',
    });
  }
}

/** Whether an item vanished during the operation, because another process replaced or deleted it. */
function isTransient(error: unknown): boolean {
  return /No such (?:interface|object path)|Object does not exist at path/.test(String(error));
}

function translate(error: unknown): GraphException {
  const text = error instanceof Error ? error.message : String(error);
  // On macOS -25308 means that no interaction is possible (over SSH), and -128 that a prompt was dismissed.
  if (/locked collection|interaction is not allowed|-25308|dismissed|user canceled|-128\b/i.test(text)) {
    return locked();
  }
  const words = text.replace(/\p{Cc}+/gu, ' ').slice(0, 200);
  return new GraphException('STORE_UNAVAILABLE', `the OS keychain refused: ${words}`, {
    hint: OTHER_STORE,
    setting: 'store',
  });
}

export function locked(): GraphException {
  return new GraphException('STORE_LOCKED', 'the OS keychain is locked', {
    hint: `unlock it in your desktop session and run the command again, or ${OTHER_STORE}`,
    setting: 'store',
  });
}
