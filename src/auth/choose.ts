import { expected, GraphException, type Hint } from '../core/errors.js';
import { SAVED_HERE, Sensitive } from '../core/sensitive.js';
import type { ProfileOwner } from '../store/ownership.js';
import { noneStore, type Store } from '../store/store.js';
import { findVersion } from './connect.js';
import {
  type Credential,
  type CredentialKind,
  type CredentialSource,
  fingerprint,
  once,
  type Purpose,
} from './credential.js';
import { isOfProvider, notLoggedIn, oidcOf } from './oidc/settings.js';
import { type Run, usernameOf } from './run.js';
import { savedSource, savedSources, sourcesInSettings } from './sources.js';
import type { SavedEntry } from './stores.js';

/**
 * Finds the credential of this run in the first of flags, variables, config file, store and prompt that has one for the
 * pair of base URLs in force. A file, stdin or a variable is read, since the value tells whose it is. A person is asked for
 * a missing user name; for a password only when it is needed, and only then a program runs.
 * @param store that may hold a saved one; the one in force when absent
 * @param mayAsk whether a person may be asked
 * @throws GraphException INPUT_REQUIRED, HOST_MISMATCH, USAGE
 */
export async function findCredential(
  run: Run,
  purpose: Purpose,
  store?: Store,
  mayAsk = run.ports.canPrompt,
): Promise<Credential> {
  const credential = await nearestCredential(run, purpose, store, mayAsk);
  requireTypedUser(run, credential);
  const { tokenLabel } = run.settings;
  return tokenLabel === undefined ? credential : { ...credential, principal: tokenLabel };
}

/**
 * Requires that a JWT is of the user who was typed: it says itself whom it logs in.
 * @throws GraphException USAGE
 */
function requireTypedUser({ settings }: Run, { kind, label, username }: Credential): void {
  const [typed] = settings.all.username;
  if (kind !== 'jwt' || typed?.level !== 'flag' || typed.value === username) return;
  throw new GraphException('USAGE', `The JWT from ${label} is of ${username}, not of ${typed.value}.`, {
    hint: 'leave --username out, or give a JWT of that user',
  });
}

async function nearestCredential(
  run: Run,
  purpose: Purpose,
  store: Store | undefined,
  mayAsk: boolean,
): Promise<Credential> {
  let sources = sourcesInSettings(run);
  let usable = await usableAmong(run, sources, purpose);
  if (usable.length === 0) {
    const saved = await savedSources(run, store ?? (await run.stores.chosen()));
    sources = [...sources, ...saved];
    usable = await usableAmong(run, sources, purpose);
    requireOneChoice(run, usable);
  }
  if (usable.length > 0) return resolveCredential(usable, purpose, usernameOf(run));
  const [unusable] = sources;
  const oidc = oidcOf(run);
  if (oidc && !unusable) throw notLoggedIn(run, `Nobody is logged in at ${oidc.issuer} for these servers.`);
  const { promptedCredential, notSaved } = await import('./prompts.js');
  const { secretAlias } = run.settings;
  // A login that goes on without what is saved has said why.
  if (mayAsk && purpose === 'mint' && secretAlias !== undefined && !unusable && store !== noneStore)
    run.ports.reporter.note(notSaved(secretAlias));
  return promptedCredential(run, purpose, unusable, mayAsk);
}

/** Whether a cached token is found by its credential. With a label another machine may have minted it, unless a JWT is set. */
export function needsCredential(run: Run): boolean {
  return run.settings.tokenLabel === undefined || isJwtSet(run);
}

/** Whether flags, variables or the config file set a JWT: it is used as it is, whatever is cached. */
export function isJwtSet(run: Run): boolean {
  return sourcesInSettings(run).some(({ kind }) => kind === 'jwt');
}

/** @throws GraphException USAGE when a lifetime was typed */
export function refuseLifetime({ settings }: Run, label: string): void {
  if (settings.all.lifetime[0]?.level !== 'flag') return;
  throw new GraphException('USAGE', `The JWT from ${label} has its own end; --lifetime cannot change it.`, {
    hint: 'leave --lifetime out',
  });
}

/** Returns the credential that is found without asking anybody; undefined when there is none, or it cannot be found now. */
export async function findWithoutAsking(
  run: Run,
  purpose: Purpose,
  store: Store,
): Promise<Credential | undefined> {
  return findCredential(run, purpose, store, false).catch((error) => void expected(error));
}

/** Returns whom the run acts as, for finding what is stored for it. Asks nobody. */
export async function profileOwner(run: Run): Promise<ProfileOwner> {
  const { target, settings } = run;
  const { username, secretAlias } = settings;
  const credential = await findWithoutAsking(run, 'mint', noneStore);
  // Whose a credential is that is set and cannot be read, nobody knows, so it is taken for that of nothing stored here.
  const unknown = sourcesInSettings(run).length > 0 ? 'unknown' : undefined;
  return { gsqlUrl: target.gsqlUrl, username, secretAlias, principal: credential?.principal ?? unknown };
}

/** Selects the sources for a purpose: for a login passwords, else the JWTs and secrets that the server takes for one. */
async function usableAmong(
  run: Run,
  sources: readonly CredentialSource[],
  purpose: Purpose,
): Promise<readonly CredentialSource[]> {
  if (purpose === 'mint') return sources;
  const passwords = sources.filter(({ kind }) => kind === 'password');
  if (passwords.length > 0 || sources.length === 0) return passwords;
  const { jwtLogsIn, secretLogsIn } = await findVersion(run);
  return sources.filter(({ kind }) => (kind === 'jwt' ? jwtLogsIn : secretLogsIn));
}

/**
 * Requires that the saved credentials are those of one owner, and that there is one secret among them.
 * @throws GraphException USAGE, which names the ones to choose from
 */
function requireOneChoice({ target }: Run, saved: readonly CredentialSource[]): void {
  const owners = new Set(saved.map(({ owner }) => owner));
  if (owners.size > 1)
    throw severalUsers(target.gsqlUrl, owners, [
      'choose one with --username NAME or --secret-alias NAME, or log in again',
      { command: 'login' },
    ]);
  // During a rotation the value saved last is the one that works, and it comes first.
  const secrets = new Set(saved.flatMap(({ kind, savedAs }) => (kind === 'secret' ? [savedAs] : [])));
  if (secrets.size > 1)
    throw new GraphException(
      'USAGE',
      `Several secrets are saved for ${target.gsqlUrl}: ${[...secrets].sort().join(', ')}.`,
      { hint: 'choose one with --secret-alias NAME, or set secretAlias in the profile' },
    );
}

export function severalUsers(gsqlUrl: string, owners: Iterable<unknown>, hint: Hint): GraphException {
  const names = [...owners].sort().join(', ');
  const message = `Credentials of several users are saved for ${gsqlUrl}: ${names}.`;
  return new GraphException('USAGE', message, { hint });
}

/** Returns the credential that is saved as this entry, which is no login at an identity provider. */
export function savedCredential(run: Run, entry: SavedEntry): Promise<Credential> {
  return resolveCredential([savedSource(run, undefined, entry)], 'mint', undefined);
}

const PREFERRED: Readonly<Record<Purpose, readonly CredentialKind[]>> = {
  mint: ['jwt', 'secret', 'password'],
  login: ['password', 'jwt', 'secret'],
};

/**
 * Takes the highest level that has a credential and picks there the kind that the purpose prefers.
 * @param sources at least one
 * @param username the user name in force, if any
 */
export async function resolveCredential(
  sources: readonly CredentialSource[],
  purpose: Purpose,
  username: string | undefined,
): Promise<Credential> {
  const [first] = sources as [CredentialSource];
  const rank = ({ kind }: CredentialSource) => PREFERRED[purpose].indexOf(kind);
  const [source = first] = sources
    .filter(({ level }) => level === first.level)
    .sort((one, other) => rank(one) - rank(other));
  const { kind, label, level, reference } = source;
  const { savedAs = 'secret:' } = source;
  const named = savedAs.startsWith('secret:') ? '' : `named ${savedAs}, `;
  const origin = level === 'store' ? named + SAVED_HERE : `from ${label}`;
  const read = once(async () => new Sensitive((await source.read()).reveal(), origin));
  const isRead = reference === undefined || (purpose === 'login' && !isOfProvider(reference));
  // The start of every command does not load what reads answers.
  const { readClaims } = kind === 'jwt' && isRead ? await import('../core/protocol/reply.js') : {};
  const subject = readClaims?.(await read())?.sub;
  const owner = source.username ?? subject ?? username;
  if (kind === 'password' && owner === undefined) {
    throw new GraphException('INPUT_REQUIRED', `There is a password (${label}) but no user name.`, {
      hint: 'give --username or GRAPHCRED_USERNAME',
    });
  }
  const principal =
    kind === 'password' ? `user:${owner}` : (reference ?? `${kind}:${fingerprint(await read())}`);
  const savedWith = source.owner ?? owner ?? principal;
  return { ...source, username: owner, owner: savedWith, principal, read };
}
