import type { Call } from '../../auth/call.js';
import { findVersion } from '../../auth/connect.js';
import type { Credential } from '../../auth/credential.js';
import { isSamePair, recordsOf, serversInForce, serversOfRecord } from '../../auth/servers.js';
import { open } from '../../auth/stores.js';
import { defaultProfileOf } from '../../config/keys.js';
import { GraphException } from '../../core/errors.js';
import { STORES, type Store, type StoreName, type StoreRecord } from '../../store/store.js';
import { isPlainAlias } from '../gsql-login.js';
import { tryStore } from '../saved-secrets.js';

/** The choices of a login: what is stored, and where. */
export interface LoginChoices {
  readonly store: Store;
  /** The store chosen because the first one cannot be used. */
  readonly instead: StoreName | undefined;
  /** The name of the secret to make and store. */
  readonly alias: string | undefined;
  /** Whether to store the secret that logged in. */
  readonly keepsGiven: boolean;
  /** A secret that is already saved here and can be used for this profile. */
  readonly savedAlias: string | undefined;
  readonly password: boolean;
  readonly makeDefault: boolean;
}

/**
 * Asks the questions that follow once the server has accepted the credential. Nothing is written yet, so a person who
 * stops here leaves nothing behind.
 * @param known.taken the aliases that are taken, as far as they are known
 */
export async function offer(
  call: Call,
  credential: Credential,
  first: Store,
  { taken, savePassword }: { readonly taken: ReadonlySet<string>; readonly savePassword: boolean },
): Promise<LoginChoices> {
  const { store, instead } = await usableStore(call, credential, first, savePassword);
  const savedAlias = await aliasSavedHere(call, credential, store);
  const keepsGiven =
    credential.kind === 'secret' && credential.level !== 'store' && STORES[store.name].keeps.credentials;
  const alias =
    savedAlias === undefined && credential.kind === 'password'
      ? await aliasToKeep(call, store, taken)
      : undefined;
  // A saved secret does the work of a password.
  const keepsSecret = alias !== undefined || savedAlias !== undefined;
  const password = savePassword || (!keepsSecret && (await keepsPassword(call, credential, store)));
  if (credential.kind === 'password' && !call.canPrompt && !password && savedAlias === undefined)
    call.ports.reporter.note(
      'the password is not kept; to work without it: graphcred secret create NAME --save, or log in with --save-password',
    );
  const makeDefault = await becomesDefault(call);
  return { store, instead, alias, keepsGiven, savedAlias, password, makeDefault };
}

/**
 * Returns the store, after a test if something is to be stored. If it cannot be used, the person is asked for another
 * one.
 */
async function usableStore(
  call: Call,
  credential: Credential,
  store: Store,
  savePassword: boolean,
): Promise<{ store: Store; instead: StoreName | undefined }> {
  const { ports, canPrompt } = call;
  const asked = canPrompt || credential.kind === 'secret' || savePassword;
  const isSavedAlready = credential.level === 'store' && !canPrompt;
  if (!STORES[store.name].keeps.credentials || isSavedAlready || !asked) return { store, instead: undefined };
  try {
    await tryStore(call, store);
    return { store, instead: undefined };
  } catch (error) {
    if (!(error instanceof GraphException) || !canPrompt || call.store.setAt !== undefined) throw error;
    ports.reporter.warn(error.message);
    const instead = await ports.prompter.choice<StoreName>('Where to keep secrets and tokens instead', [
      { name: `in ${folderOf(call)} (protected by file permissions)`, value: 'file' },
      { name: 'nowhere: every command asks the server anew', value: 'none' },
    ]);
    return { store: await open(call, instead, true), instead };
  }
}

/**
 * Finds the saved secret that the profile is to name: the one that logged in, else one of this user for these servers
 * and, on 3.x, this graph: the one the profile names, else the only one.
 */
async function aliasSavedHere(
  call: Call,
  { username, kind, savedAs }: Credential,
  store: Store,
): Promise<string | undefined> {
  if (kind === 'secret') return savedAs;
  // The store `redis` holds only tokens, so a login needs no Redis server.
  if (!STORES[store.name].keeps.credentials || username === undefined) return undefined;
  const { gsqlUrl } = call.target;
  const { secretsNeedGraph } = await findVersion(call);
  const servers = await serversInForce(call);
  const fits = (record: StoreRecord) =>
    record.kind === 'secret' &&
    record.info.alias !== undefined &&
    isSamePair(serversOfRecord(record), servers) &&
    (!secretsNeedGraph || record.info.graph === call.graph);
  const names = new Set(
    recordsOf(await store.list(), { gsqlUrl, username, secretAlias: undefined })
      .filter(fits)
      .map(({ info }) => String(info.rotationOf ?? info.alias)),
  );
  if (call.secretAlias !== undefined && names.has(call.secretAlias)) return call.secretAlias;
  return names.size === 1 ? [...names][0] : undefined;
}

/** Asks for the name of a secret to make and store. */
async function aliasToKeep(
  { ports, canPrompt }: Call,
  store: Store,
  taken: ReadonlySet<string>,
): Promise<string | undefined> {
  if (!STORES[store.name].keeps.credentials || !canPrompt) return undefined;
  let suggestion = 'graphcred';
  for (let n = 2; taken.has(suggestion); n++) suggestion = `graphcred_${n}`;
  const refuse = (text: string) => {
    if (text === '-') return undefined;
    if (taken.has(text)) return 'There is a secret of this name already.';
    if (text.length > 128) return 'An alias has 128 characters at most.';
    return isPlainAlias(text) ? undefined : 'Begin with a letter or _, then letters, digits and _.';
  };
  const alias = await ports.prompter.text('Create a secret for this machine? Name (- for none)', {
    suggestion,
    refuse,
  });
  return alias === '-' ? undefined : alias;
}

/**
 * Asks a person who typed the password whether to save it; the answer proposed is yes for the keychain.
 */
async function keepsPassword({ ports }: Call, { kind, level }: Credential, store: Store): Promise<boolean> {
  if (kind !== 'password' || level !== 'prompt' || !STORES[store.name].keeps.credentials) return false;
  const inKeychain = STORES[store.name].canAsk;
  const question = inKeychain
    ? 'Save the password in the keychain?'
    : 'Save the password? Anyone who can read your home folder can read it.';
  return ports.prompter.yes(question, { proposed: inKeychain });
}

/** Asks whether the profile becomes the default one. */
export async function becomesDefault({ ports, canPrompt, settings }: Call): Promise<boolean> {
  const { file, profile } = settings;
  const other = defaultProfileOf(file?.config);
  if (!canPrompt || profile.exists || other === undefined || other === profile.name) return false;
  return ports.prompter.yes(`Make ${profile.name} the default profile instead of ${other}?`);
}

function folderOf({ stateDir = '', ports: { home } }: Call): string {
  return home !== undefined && stateDir.startsWith(`${home}/`) ? `~${stateDir.slice(home.length)}` : stateDir;
}
