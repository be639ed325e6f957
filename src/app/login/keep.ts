import { savedCredential } from '../../auth/choose.js';
import { nameInProfile, secretId } from '../../auth/credential.js';
import { isSamePair } from '../../core/endpoints.js';
import { expected, GraphException, whyFailed } from '../../core/errors.js';
import type { Sensitive } from '../../core/sensitive.js';
import { once } from '../../run/once.js';
import { serversInForce } from '../../run/server.js';
import { aliasOf } from '../../store/ownership.js';
import { type SecretRecord, STORES } from '../../store/store.js';
import type { Login } from '../gsql-login.js';
import { createSecret } from '../secrets/create-secret.js';
import { saveCredential, saveSecret } from '../secrets/save-credential.js';
import { maskedLike, savedAs, savedForServer } from '../secrets/saved-secrets.js';
import { sendProof } from './prove-login.js';

/** How the secrets that logins make are called: the first free one of graphcred, graphcred_2, … */
const ALIAS = 'graphcred';

export interface Saved {
  /** What the profile names the secret by that this login has saved: its alias, else its id. */
  readonly saved?: string;
  readonly savedPassword?: boolean;
  /** A new secret that could not be saved, and that the server never shows again. */
  readonly lost?: { readonly alias: string; readonly value: Sensitive };
  /** Why something could not be made or saved. The profile is written anyway. */
  readonly failure?: unknown;
}

/** Returns what saves a credential to work with from now on. @param earlier the saved secret that the profile goes on with */
export async function whatToKeep({ run, store, credential }: Login, savePassword: boolean, earlier?: string) {
  if (savePassword) return keepPassword;
  if (!STORES[store.name].keeps.credentials) return undefined;
  if (credential.kind === 'secret') return credential.level === 'store' ? undefined : saveGiven;
  if (!run.ports.canPrompt || earlier !== undefined) return undefined;
  const question = 'Make a secret for this machine and keep it, so that no password is needed';
  return (await run.ports.prompter.yes(question, { proposed: true })) ? makeSecret : undefined;
}

/** Makes and saves what is to be kept. The login stands, whatever becomes of that. */
export async function keep(login: Login, save: (login: Login) => Promise<Saved>): Promise<Saved> {
  return save(login).catch((error) => {
    const { code, message, fix } = expected(error);
    if (code === 'CANCELLED') throw error;
    const unsaved = save === makeSecret ? 'no secret could be made' : 'the credential could not be saved';
    return { failure: new GraphException(code, `You are logged in, but ${unsaved}: ${message}`, { fix }) };
  });
}

async function makeSecret(login: Login): Promise<Saved> {
  const [typed] = login.run.settings.all.secretAlias;
  const wanted = typed?.level === 'flag' ? String(typed.value) : ALIAS;
  const { alias, value, unsaved } = await createSecret(login, wanted, true).catch(async (error) => {
    if (expected(error).code !== 'ALREADY_EXISTS' || typed?.level === 'flag') throw error;
    const taken = (await login.connection.listSecrets()).map((one) => one.alias);
    let n = 2;
    while (taken.includes(`${ALIAS}_${n}`)) n++;
    return createSecret(login, `${ALIAS}_${n}`, true);
  });
  return unsaved === undefined ? { saved: alias } : { lost: { alias, value }, failure: unsaved };
}

async function keepPassword({ run, store, credential }: Login): Promise<Saved> {
  const { username = '' } = credential;
  const [key, value] = [`password of ${username}`, await credential.read()];
  await saveCredential(run, store, { kind: 'password', key, info: { graph: null, username } }, value);
  return { savedPassword: true };
}

/** Saves a secret that was given, under its alias where the server's list tells it. Where it cannot log in, there is no list. */
async function saveGiven(login: Login): Promise<Saved> {
  const { store, connection, credential } = login;
  const value = await credential.read();
  const id = secretId(value);
  const same = (await recordsHere(login)).filter(({ info }) => info.id === id);
  const ofUsers = same.filter(({ info }) => info.username !== undefined);
  const isOfUser = credential.username !== undefined;
  // It is saved once: for its user, where that is known.
  if (!isOfUser) for (const record of ofUsers) if (await store.get(record)) return { saved: id };
  const fitting = await maskedLike(await connection.listSecrets().catch(() => []), credential.read);
  const named = fitting.length === 1 ? fitting[0]?.alias : undefined;
  const others = (await savedAs(login, named ? [{ alias: named }] : []))
    .filter((one) => one.store === store && one.record.info.id !== id)
    .map(({ record }) => record);
  // The user name is not proven, so one of this name that still works may be another person's.
  const living = await withoutRefused(login, others);
  const alias = living.length > 0 ? undefined : named;
  await saveSecret(login, value, { alias });
  if (isOfUser) for (const one of same) if (!ofUsers.includes(one)) await store.delete(one.key);
  // Without a user name, another person's secret may have the same alias.
  return { saved: isOfUser ? (alias ?? id) : id };
}

/** Returns the name of the user's saved secret beside a password: the profile's, or the only one. Deletes refused ones. */
export async function savedHere(login: Login): Promise<string | undefined> {
  const { run, store, credential } = login;
  const { record } = credential;
  if (credential.kind === 'secret') return record?.kind === 'secret' ? nameInProfile(record) : undefined;
  if (!STORES[store.name].keeps.credentials) return undefined;
  const own = (await recordsHere(login)).filter(({ info }) => info.username === credential.username);
  const living = await withoutRefused(login, own);
  const names = new Set(living.flatMap((one) => aliasOf(one) ?? []));
  const { secretAlias = '', all } = run.settings;
  if (names.has(secretAlias)) return secretAlias;
  const isTyped = all.secretAlias[0]?.level === 'flag';
  return names.size === 1 && !isTyped ? [...names][0] : undefined;
}

/** Returns the secrets that the store of a login has for its pair, of any user. */
async function recordsHere(login: Login): Promise<SecretRecord[]> {
  const servers = await serversInForce(login.run);
  const entries = (await savedForServer(login)).filter(({ store }) => store === login.store);
  return entries.map(({ record }) => record).filter(({ info }) => isSamePair(info, servers));
}

async function withoutRefused(login: Login, saved: readonly SecretRecord[]) {
  const { run, store, version, connection } = login;
  const list = once(() => connection.listSecrets().catch(() => undefined));
  const living: SecretRecord[] = [];
  for (const record of saved) {
    const credential = await savedCredential(run, { store, record });
    // With another store key nobody can use it, and a person is asked for a new one.
    if (run.ports.canPrompt && (await whyFailed(credential.read()))?.code === 'NOT_FOUND') continue;
    // A server that takes no login by secret could only be asked with a mint.
    const refused = version.secretLogsIn ? await whyFailed(sendProof(run, credential)) : undefined;
    // A single answer may be wrong, and the value is nowhere else: the list of secrets has to agree.
    const listed = refused?.code === 'AUTH_FAILED' && (await list());
    const isGone = listed && (await maskedLike(listed, credential.read)).length === 0;
    if (!isGone || (await whyFailed(store.delete(record.key)))) living.push(record);
    else
      run.ports.reporter.note(
        `the server refused the old secret "${nameInProfile(record)}", so it was deleted on this machine`,
      );
  }
  return living;
}
