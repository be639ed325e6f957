import { isSamePair } from '../core/endpoints.js';
import { expected, GraphException, type Hint, usageError } from '../core/errors.js';
import { once } from '../run/once.js';
import { graphOf, type Run, usernameOf } from '../run/run.js';
import { findVersion, knownPair, setButEmpty } from '../run/server.js';
import { entriesOf, type SavedEntry } from '../run/stores.js';
import { isSaved, ownerOf, type ProfileOwner, secretsNamed } from '../store/ownership.js';
import { newestFirst } from '../store/records.js';
import { STORES, type Store } from '../store/store.js';
import {
  type Credential,
  type CredentialSource,
  emptyVariables,
  nameInProfile,
  type Purpose,
  resolveCredential,
  sourcesInSettings,
  type TokenOwner,
} from './credential.js';
import { type Oidc, oidcOf, providerPrincipal } from './oidc/settings.js';

interface Search {
  /** The store that may hold a saved one, by default that in force; `ignored` where only a login at a provider will do. */
  readonly saved?: Store | 'ignored' | undefined;
  /** Whether a person may be asked; by default where a prompt is possible. */
  readonly mayAsk?: boolean;
}

/**
 * Finds the credential of this run in the first of flags, variables, config file, store and prompt that has one for the
 * pair of base URLs in force. A file, stdin or a variable is read, since the value tells whose it is. A person is asked for
 * a missing user name; for a password only when it is needed, and only then a program runs.
 * @throws GraphException INPUT_REQUIRED, HOST_MISMATCH, USAGE, AUTH_FAILED (nobody is logged in at the provider), STORE_…
 */
export async function findCredential(run: Run, purpose: Purpose, search: Search = {}): Promise<Credential> {
  const sources = await usableSources(run, purpose, search);
  const credential = await resolveCredential(sources, purpose, usernameOf(run));
  const { kind, label, level, username } = credential;
  if (kind === 'password' && username === undefined)
    throw (await import('./prompts.js')).withoutUser(run, label);
  // Those of other tools may not count here.
  const empty = emptyVariables(run).filter((name) => name.startsWith('GRAPHCRED_'));
  if (run.ports.inCi && level === 'store' && empty.length > 0)
    run.ports.reporter.warn(`${setButEmpty(empty)}, so the ${label} is used`);
  // A JWT says itself whom it logs in and when it ends.
  if (kind === 'jwt') refuseLifetime(run, label);
  if (kind === 'jwt') refuseOtherUser(run, label, username);
  const { tokenLabel } = run.settings;
  return tokenLabel === undefined ? credential : { ...credential, principal: tokenLabel };
}

async function usableSources(run: Run, purpose: Purpose, { saved: where, ...search }: Search) {
  const { mayAsk = run.ports.canPrompt } = search;
  const set = sourcesInSettings(run);
  const usable = await usableAmong(run, set, purpose);
  if (usable.length > 0) return usable;
  const store = where ?? (await run.stores.chosen());
  const saved = await savedSources(run, store);
  const usableHere = await usableAmong(run, saved, purpose);
  requireOneChoice(run, usableHere);
  if (usableHere.length > 0) return usableHere;
  // A keychain that is missing does not say that the secret of the profile is.
  const isNeeded = set.length === 0 && run.settings.secretAlias !== undefined && !mayAsk;
  if (isNeeded && store !== 'ignored' && STORES[store.name].canBeLocked) await store.check();
  const { promptSource } = await import('./prompts.js');
  const [unusable] = [...set, ...saved];
  const ask = { mayAsk, saysNotSaved: store !== 'ignored' };
  return [await promptSource(run, purpose, unusable, ask)];
}

/**
 * Returns whose the tokens of a run are: its credential's, or of a label. With a label another machine may have minted
 * them, so the credential is looked for only when one is needed; a JWT that is set is used whatever is cached.
 */
export async function pickCredential(run: Run, store?: Store) {
  const credential = once(() => findCredential(run, 'mint', { saved: store }));
  const labelled = isJwtSet(run) ? undefined : ownerOfLabel(run);
  return { owner: labelled ?? (await credential()), credential };
}

export function ownerOfLabel({ settings: { tokenLabel, username } }: Run): TokenOwner | undefined {
  return tokenLabel === undefined ? undefined : { principal: tokenLabel, username, owner: tokenLabel };
}

export function isJwtSet(run: Run): boolean {
  return sourcesInSettings(run).some(({ kind }) => kind === 'jwt');
}

export function refuseOtherUser({ settings }: Run, label: string, username: string | undefined): void {
  const [typed] = settings.all.username;
  const message = `The JWT from ${label} belongs to "${username}", not to "${typed?.value}".`;
  if (typed?.level === 'flag' && typed.value !== username)
    throw usageError(message, 'leave --username out, or give a JWT of that user');
}

export function refuseLifetime({ settings }: Run, label: string): void {
  const message = `The JWT from ${label} has its own expiry time; --lifetime cannot change it.`;
  if (settings.all.lifetime[0]?.level === 'flag') throw usageError(message, 'leave --lifetime out');
}

/** Returns the credential that is found without asking anybody; undefined when there is none, or it cannot be found now. */
export async function findWithoutAsking(run: Run, purpose: Purpose, saved: Search['saved']) {
  const search = findCredential(run, purpose, { saved, mayAsk: false });
  const found = await search.catch((error) => void expected(error));
  return found?.level === 'prompt' ? undefined : found;
}

/** Returns whom the run acts as, for finding what is stored for it. Asks nobody. */
export async function profileOwner(run: Run): Promise<ProfileOwner> {
  const { target, settings } = run;
  const { username, secretAlias } = settings;
  const credential = await findWithoutAsking(run, 'mint', 'ignored');
  // Whose a credential is that is set and cannot be read, nobody knows, so it is taken for that of nothing stored here.
  const unknown = sourcesInSettings(run).length > 0 ? 'unknown' : undefined;
  return { gsqlUrl: target.gsqlUrl, username, secretAlias, principal: credential?.principal ?? unknown };
}

/** Selects the sources for a purpose: for a login passwords, else the JWTs and secrets that the server takes for one. */
async function usableAmong(run: Run, sources: readonly CredentialSource[], purpose: Purpose) {
  if (purpose === 'mint') return sources;
  const passwords = sources.filter(({ kind }) => kind === 'password');
  if (passwords.length > 0 || sources.length === 0) return passwords;
  const { jwtLogsIn, secretLogsIn } = await findVersion(run);
  return sources.filter(({ kind }) => (kind === 'jwt' ? jwtLogsIn : secretLogsIn));
}

/** Requires that the saved credentials are of one owner, with one secret among them. Throws USAGE, which names them. */
function requireOneChoice(run: Run, sources: readonly CredentialSource[]): void {
  const records = sources.flatMap(({ record }) => record ?? []);
  const owners = new Set(records.map(ownerOf));
  if (owners.size > 1)
    throw severalUsers(run.target.gsqlUrl, owners, [
      'choose one with --username NAME or --secret-alias NAME, or log in again',
      { command: 'login' },
    ]);
  const several = (which: Iterable<unknown>, what: string, option: string) =>
    usageError(`${what} saved for ${run.target.gsqlUrl}: ${[...which].sort().join(', ')}.`, [
      `choose one with ${option}, or for good`,
      { command: `login ${option}` },
    ]);
  const secrets = records.filter((one) => one.kind === 'secret');
  // During a rotation the value saved last is the one that works, and it comes first.
  const names = new Set(secrets.map(nameInProfile));
  if (names.size > 1) throw several(names, 'Several secrets are', '--secret-alias NAME');
  // On 3.x one name may mean a secret of each graph. The same secret may be saved for several.
  const graphs = new Set(new Map(secrets.map(({ info }) => [info.id, info.graph])).values());
  if (graphs.size > 1 && !graphs.has(null) && graphOf(run) === undefined)
    throw several(graphs, `The secret ${[...names]} of several graphs is`, '--graph NAME');
}

export function severalUsers(gsqlUrl: string, owners: Iterable<unknown>, hint: Hint): GraphException {
  const names = [...owners].sort().join(', ');
  return usageError(`Several users have credentials or tokens here for ${gsqlUrl}: ${names}.`, hint);
}

/** Returns the credential that is saved as this entry, which is no login at an identity provider. */
export function savedCredential(run: Run, entry: SavedEntry): Promise<Credential> {
  return resolveCredential([savedSource(run, entry)], 'mint', undefined);
}

/** Returns the credentials in the store for this pair of base URLs and user, newest first. */
async function savedSources(run: Run, store: Store | 'ignored'): Promise<CredentialSource[]> {
  const keeps = store !== 'ignored' && STORES[store.name].keeps.credentials;
  const homes = keeps ? [store] : await loginHomes(run);
  const pair = knownPair(run);
  const here = (await entriesOf(homes)).filter(isSaved).filter(({ record: { kind, info } }) => {
    // A broken-off write may lack its value, and the one before works. A login is written and read under its lock.
    if (kind !== 'login' && info.unfinished === 'write') return false;
    // The values of a rotation whose secret is not saved here are that command's alone.
    if (kind === 'secret' && info.rotationOf && info.origin === undefined) return false;
    return isSamePair(info, pair);
  });
  return (await ofThisGraph(run, ofThisProfile(run, here)))
    .sort((a, b) => newestFirst(a.record, b.record))
    .map((entry) => savedSource(run, entry));
}

/** Returns the stores of this machine that may hold a login while its tokens are a fleet's; none where they are its own. */
export async function loginHomes(run: Run): Promise<readonly Store[]> {
  const oidc = oidcOf(run);
  return run.stores.areShared && oidc && !oidc.isJob ? run.stores.ofMachine() : [];
}

/** Selects a provider's logins; else the secret that the profile names, with its owner's password; else all of its user. */
function ofThisProfile(run: Run, saved: readonly SavedEntry[]): SavedEntry[] {
  const oidc = oidcOf(run);
  const { secretAlias } = run.settings;
  const username = usernameOf(run);
  const ofUser = saved.filter(({ record }) => username === undefined || record.info.username === username);
  if (oidc && !oidc.isJob)
    return ofUser.filter(
      ({ record: { kind, info } }) =>
        kind === 'login' && info.issuer === oidc.issuer && info.clientId === oidc.clientId,
    );
  const kept = ofUser.filter(({ record }) => record.kind !== 'login');
  if (secretAlias === undefined) return kept;
  const named = secretsNamed(kept, secretAlias);
  const owners = username === undefined ? named.map(({ record }) => ownerOf(record)) : [username];
  const isTheirs = ({ record }: SavedEntry) => record.kind === 'password' && owners.includes(ownerOf(record));
  return [...named, ...kept.filter(isTheirs)];
}

/** Selects what is for the graph in force: on 3.x a secret is for one alone, on 4.x for all. */
async function ofThisGraph(run: Run, saved: SavedEntry[]): Promise<SavedEntry[]> {
  const graph = graphOf(run);
  if (graph === undefined) return saved;
  const fitting = saved.filter(
    ({ record: { kind, info } }) => kind !== 'secret' || info.graph === null || info.graph === graph,
  );
  const areAll = fitting.length === saved.length || !(await findVersion(run)).secretsNeedGraph;
  return areAll ? saved : fitting;
}

/** A saved secret or password, or a login at an identity provider, whose refresh token gives JWTs. */
function savedSource(run: Run, { record, store }: SavedEntry): CredentialSource {
  const { kind, info } = record;
  const saved = { level: 'store', record } as const;
  if (kind === 'login') {
    // One is used only where its provider is set.
    const oidc = oidcOf(run) as Oidc;
    const reference = providerPrincipal(oidc, info.username);
    const read = async () => (await import('./oidc/saved-login.js')).renew(run, oidc, record, store);
    return { ...saved, kind: 'jwt', label: `login at ${oidc.issuer}`, reference, read };
  }
  const id = kind === 'secret' ? info.id : undefined;
  const named = kind === 'secret' && info.alias ? `secret "${info.alias}"` : undefined;
  const label = `saved ${named ?? id?.replace(':', ' ') ?? kind}`;
  const read = async () => {
    const value = await store.get(record);
    if (value !== undefined) return value;
    const message = `The ${label} cannot be read from the ${store.name} store.`;
    const why = 'if the store key was changed, undo that; else delete what is saved';
    const hint = [why, { command: 'logout' }, 'then', { command: 'login' }];
    throw new GraphException('NOT_FOUND', message, { hint });
  };
  return { ...saved, kind, label, reference: id, read };
}

/** Whether a saved credential could not be read, so that the server has not been asked. */
export function isUnread({ code, status }: GraphException): boolean {
  return code.startsWith('STORE_') || (code === 'NOT_FOUND' && status === undefined);
}
