import { defaultProfileOf } from '../../config/keys.js';
import { GraphException } from '../../core/errors.js';
import type { Credential } from '../../credentials/resolve.js';
import { STORES, type Store, type StoreName, type StoreRecord } from '../../store/store.js';
import { isPlainAlias } from '../secret/prepare.js';
import { tryStore } from '../secret/saved.js';
import { isSamePair, recordsOf, serversInForce, serversOfRecord } from '../session/binding.js';
import { findVersion } from '../session/connect.js';
import { open } from '../session/store.js';
import type { Session } from '../session/types.js';

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
 * @param taken the aliases that are taken, as far as they are known
 */
export async function offer(
  session: Session,
  credential: Credential,
  first: Store,
  taken: ReadonlySet<string>,
): Promise<LoginChoices> {
  const { store, instead } = await usableStore(session, credential, first);
  const savedAlias = await aliasSavedHere(session, credential, store);
  const keepsGiven =
    credential.kind === 'secret' && credential.level !== 'store' && STORES[store.name].keeps.credentials;
  const alias =
    savedAlias === undefined && credential.kind === 'password'
      ? await aliasToKeep(session, store, taken)
      : undefined;
  const password = await keepsPassword(session, credential, store);
  if (credential.kind === 'password' && !session.canPrompt && !password && savedAlias === undefined)
    session.invocation.report.note(
      'the password is not kept; to work without it: graphcred secret create NAME --save, or log in with --save-password',
    );
  const makeDefault = await becomesDefault(session);
  return { store, instead, alias, keepsGiven, savedAlias, password, makeDefault };
}

/**
 * Returns the store, after a test if something is to be stored. If it cannot be used, the person is asked for another
 * one.
 */
async function usableStore(
  session: Session,
  credential: Credential,
  store: Store,
): Promise<{ store: Store; instead: StoreName | undefined }> {
  const { invocation, canPrompt } = session;
  const asked = canPrompt || credential.kind === 'secret' || invocation.flags['save-password'] === true;
  const isSavedAlready = credential.level === 'store' && !canPrompt;
  if (!STORES[store.name].keeps.credentials || isSavedAlready || !asked) return { store, instead: undefined };
  try {
    await tryStore(session, store);
    return { store, instead: undefined };
  } catch (error) {
    if (!(error instanceof GraphException) || !canPrompt || session.store.setAt !== undefined) throw error;
    invocation.report.warn(error.message);
    const { askChoice } = await import('../output/prompt.js');
    const instead = await askChoice<StoreName>(invocation, 'Where to keep secrets and tokens instead', [
      { name: 'in encrypted files, key beside them', value: 'file' },
      { name: 'nowhere: every command asks the server anew', value: 'none' },
    ]);
    return { store: await open(session, instead, true), instead };
  }
}

/**
 * Finds the saved secret that the profile is to name: the one that logged in, else one of this user for these servers
 * and, on 3.x, this graph: the one the profile names, else the only one.
 */
async function aliasSavedHere(
  session: Session,
  { username, kind, savedAs }: Credential,
  store: Store,
): Promise<string | undefined> {
  if (kind === 'secret') return savedAs;
  // The store `redis` holds only tokens, so a login needs no Redis server.
  if (!STORES[store.name].keeps.credentials || username === undefined) return undefined;
  const { gsqlUrl } = session.target;
  const { secretsNeedGraph } = await findVersion(session);
  const servers = await serversInForce(session);
  const fits = (record: StoreRecord) =>
    record.kind === 'secret' &&
    record.info.alias !== undefined &&
    isSamePair(serversOfRecord(record), servers) &&
    (!secretsNeedGraph || record.info.graph === session.graph);
  const names = new Set(
    recordsOf(await store.list(), { gsqlUrl, username, secretAlias: undefined })
      .filter(fits)
      .map(({ info }) => String(info.rotationOf ?? info.alias)),
  );
  if (session.secretAlias !== undefined && names.has(session.secretAlias)) return session.secretAlias;
  return names.size === 1 ? [...names][0] : undefined;
}

/** Asks for the name of a secret to make and store. */
async function aliasToKeep(
  { invocation, canPrompt }: Session,
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
  const { askText } = await import('../output/prompt.js');
  const alias = await askText(invocation, 'Name of a secret to create and keep (- for none)', {
    suggestion,
    refuse,
  });
  return alias === '-' ? undefined : alias;
}

/**
 * Whether to save the password. Without a flag, a person who typed it is asked; the answer proposed is yes for the
 * keychain.
 */
async function keepsPassword(
  { invocation }: Session,
  { kind, level }: Credential,
  store: Store,
): Promise<boolean> {
  if (invocation.flags['save-password'] === true) return true;
  if (kind !== 'password' || level !== 'prompt' || !STORES[store.name].keeps.credentials) return false;
  const { askYes } = await import('../output/prompt.js');
  const inKeychain = STORES[store.name].canAsk;
  const where = inKeychain ? 'in the keychain' : 'in an encrypted file, the key beside it';
  return askYes(invocation, `Keep the password ${where}, so that secret commands do not ask for it?`, {
    proposed: inKeychain,
  });
}

async function becomesDefault({ invocation, canPrompt, settings }: Session): Promise<boolean> {
  const { file, profile } = settings;
  const other = defaultProfileOf(file?.config);
  if (!canPrompt || profile.exists || other === undefined || other === profile.name) return false;
  const { askYes } = await import('../output/prompt.js');
  return askYes(invocation, `Make ${profile.name} the default profile instead of ${other}?`, {
    proposed: true,
  });
}
