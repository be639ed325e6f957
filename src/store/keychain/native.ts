import type Keytar from 'keytar';
import { GraphException } from '../../core/errors.js';

// The only place that knows keytar. findCredentials and findPassword are never called: on a locked keyring,
// and on items made by other programs, they end the process with a segmentation fault.

/** Entries are listed under this name in the desktop's keychain application. */
const SERVICE = 'graphcred';

/** What keytar on Linux finds an account's item by. */
export function itemOf(account: string): Readonly<Record<string, string>> {
  return { service: SERVICE, account };
}

export const OTHER_STORE = 'choose another store with: graphcred login --store file';

/** One operation, as it goes to the native module or to the child process. */
export type Operation =
  | { readonly op: 'get' | 'delete'; readonly account: string }
  | { readonly op: 'set'; readonly account: string; readonly value: string };

/** The value of `get` (undefined: not there); whether `delete` found it; true for `set`. */
export type Answer = string | boolean | undefined;

/** Performs it in this process. May block a thread for as long as a prompt stays open. */
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

/** Throws STORE_UNAVAILABLE when the module, or the library it opens the keychain with, is missing. */
export async function loadKeytar(): Promise<typeof Keytar> {
  try {
    return (await import('keytar')).default;
  } catch (error) {
    if (/MODULE_NOT_FOUND$/.test(String((error as NodeJS.ErrnoException).code))) {
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
      hint: `on Linux install libsecret (Debian, Ubuntu: apt install libsecret-1-0), or ${OTHER_STORE}`,
      setting: 'store',
    });
  }
}

/** An item vanished while it was being looked at, because another process replaced or deleted it. */
function isTransient(error: unknown): boolean {
  return /No such (?:interface|object path)|Object does not exist at path/.test(String(error));
}

function translate(error: unknown): GraphException {
  const text = error instanceof Error ? error.message : String(error);
  // -25308 and -128 are macOS: no interaction possible (over SSH), and a prompt turned down.
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
