import path from 'node:path';
import { type ConfigKey, isInFile, PRECEDENCE, type SourcedValue } from '../../config/keys.js';
import { GraphException } from '../../core/errors.js';
import { Sensitive } from '../../core/sensitive.js';
import {
  type Credential,
  type CredentialSource,
  type Purpose,
  resolveCredential,
} from '../../credentials/resolve.js';
import { noneStore } from '../../store/none.js';
import { newestFirst } from '../../store/records.js';
import { STORES, type Store, type StoreRecord } from '../../store/store.js';
import { environmentWithoutCredentials } from '../context.js';
import {
  describeLevel,
  describePair,
  gsqlUrlOfFile,
  isForThisPair,
  isNamedBy,
  isSamePair,
  ownerOf,
  type ProfileOwner,
  serversInForce,
  serversOfLevel,
  serversOfRecord,
} from './binding.js';
import { findVersion } from './connect.js';
import { resolvePath } from './session.js';
import type { Session } from './types.js';

const KINDS = ['secret', 'password'] as const;

/** Loaded for a credential whose value is needed, which is not so while its token is cached. */
const readers = () => import('../../credentials/readers.js');

/**
 * Finds the credential of this run in the first of flags, variables, config file, store and prompt that has one for the
 * pair of base URLs in force. Nobody is asked and no program runs before its value is needed.
 * @param openStore gives the store that may hold a saved one; called only when no flag, variable or config file has one
 * @throws GraphException INPUT_REQUIRED, HOST_MISMATCH, USAGE
 */
export async function findCredential(
  session: Session,
  purpose: Purpose,
  openStore: () => Promise<Store>,
): Promise<Credential> {
  const credential = await nearestCredential(session, purpose, openStore);
  return session.principal === undefined ? credential : { ...credential, principal: session.principal };
}

async function nearestCredential(
  session: Session,
  purpose: Purpose,
  openStore: () => Promise<Store>,
): Promise<Credential> {
  const set = await partition(session, setSources(session));
  const usableSet = await usable(session, set.bound, purpose);
  if (usableSet.length > 0) return resolveCredential(usableSet, purpose, session.username);
  const saved = await savedSources(session, await openStore());
  const usableSaved = await usable(session, saved.bound, purpose);
  if (usableSaved.length > 0) {
    requireOneChoice(session, usableSaved);
    return resolveCredential(usableSaved, purpose, session.username);
  }
  const { promptedCredential } = await import('./prompts.js');
  return promptedCredential(session, purpose, {
    excluded: set.excluded ?? saved.excluded,
    unusable: set.bound[0] ?? saved.bound[0],
  });
}

/** Returns whom the session acts as, for finding what is stored for it. Asks nobody. */
export async function profileOwner(session: Session): Promise<ProfileOwner> {
  const { target, username, secretAlias } = session;
  let principal: string | undefined;
  try {
    const nobody = { ...session, canPrompt: false };
    ({ principal } = await findCredential(nobody, 'mint', async () => noneStore));
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
  }
  return { gsqlUrl: target.gsqlUrl, username, secretAlias, principal };
}

/** Returns every secret in the settings of this run, whatever it is used for. */
export function secretsInSettings(session: Session): CredentialSource[] {
  return setSources(session).filter(({ kind }) => kind === 'secret');
}

interface Partition {
  readonly bound: CredentialSource[];
  /** The credential of highest priority that belongs to another pair. */
  readonly excluded: CredentialSource | undefined;
}

async function partition(session: Session, sources: readonly CredentialSource[]): Promise<Partition> {
  const bound: CredentialSource[] = [];
  let excluded: CredentialSource | undefined;
  for (const source of sources) {
    if (source.level !== 'store' && (await isForThisPair(session, source.level))) bound.push(source);
    else excluded ??= source;
  }
  return { bound, excluded };
}

/**
 * Selects the sources for a login: passwords, and secrets only if there is no password and the server accepts a secret
 * as login.
 */
async function usable(
  session: Session,
  sources: readonly CredentialSource[],
  purpose: Purpose,
): Promise<readonly CredentialSource[]> {
  if (purpose === 'mint' || sources.length === 0) return sources;
  const passwords = sources.filter(({ kind }) => kind === 'password');
  if (passwords.length > 0) return passwords;
  return (await findVersion(session)).secretLogsIn ? sources : [];
}

/**
 * Requires that the saved credentials are those of one owner, and that there is one secret among them.
 * @throws GraphException USAGE, which names the ones to choose from
 */
function requireOneChoice({ target }: Session, saved: readonly CredentialSource[]): void {
  const owners = new Set(saved.map(({ owner }) => owner));
  if (owners.size > 1)
    throw new GraphException(
      'USAGE',
      `Credentials of several users are saved for ${target.gsqlUrl}: ${[...owners].sort().join(', ')}.`,
      { hint: 'choose one with --username NAME or --secret-alias NAME, or log in again: graphcred login' },
    );
  // During a rotation the value saved last is the one that works, and it comes first.
  const secrets = new Set(saved.flatMap(({ kind, savedAs }) => (kind === 'secret' ? [savedAs] : [])));
  if (secrets.size > 1)
    throw new GraphException(
      'USAGE',
      `Several secrets are saved for ${target.host}: ${[...secrets].sort().join(', ')}.`,
      { hint: 'choose one with --secret-alias NAME, or set secretAlias in the profile' },
    );
}

/** Returns the credentials that flags, variables and the config file set, highest priority first. */
function setSources(session: Session): CredentialSource[] {
  const { invocation, settings, timeoutMs } = session;
  const { flags, ctx } = invocation;
  const sources: CredentialSource[] = [];
  for (const level of PRECEDENCE) {
    for (const kind of KINDS) {
      if (level === 'flag' && flags[`${kind}-stdin`] === true) {
        const label = `--${kind}-stdin`;
        const read = async () => (await readers()).fromStdin(ctx.stdin.read, label, timeoutMs);
        const belongsTo = describeLevel(session, level);
        sources.push({ kind, level, label, belongsTo, servers: async () => 'in force', read });
      }
      for (const form of ['', 'File', 'Command'] as const) {
        const key = `${kind}${form}` as ConfigKey;
        const value = settings.all[key].find((one) => one.level === level);
        if (value) sources.push(sourceOf(session, kind, form, key, value));
      }
    }
  }
  return sources;
}

function sourceOf(
  session: Session,
  kind: 'secret' | 'password',
  form: '' | 'File' | 'Command',
  key: ConfigKey,
  { value, level, source }: SourcedValue,
): CredentialSource {
  const { ctx, report } = session.invocation;
  const label = isInFile(level) ? `${source}: ${key}` : source;
  const belongsTo = describeLevel(session, level);
  const base = { kind, level, label, belongsTo, servers: () => serversOfLevel(session, level) };
  switch (form) {
    case '':
      return { ...base, read: async () => new Sensitive(value as string) };
    case 'File':
      return {
        ...base,
        read: async () => {
          const file = resolvePath(session, value as string, isInFile(level));
          return (await readers()).fromFile(file, label, session.timeoutMs);
        },
      };
    case 'Command': {
      const command = programBesideConfig(session, value as readonly string[]);
      return {
        ...base,
        // JSON is used, so that two commands that differ only in where their words are split are two principals.
        reference: `command:${JSON.stringify(command)}`,
        read: async () =>
          (await readers()).fromCommand(command, label, {
            cwd: ctx.cwd,
            env: environmentWithoutCredentials(ctx.env),
            say: report.note,
          }),
      };
    }
  }
}

/**
 * Makes a relative path of a program absolute: it is looked for beside the config file, never in the working directory.
 */
function programBesideConfig({ settings }: Session, command: readonly string[]): readonly string[] {
  const [program = '', ...args] = command;
  if (!/[/\\]/.test(program) || path.isAbsolute(program) || !settings.file) return command;
  return [path.resolve(path.dirname(settings.file.path), program), ...args];
}

/** Returns the credentials in the store for this database, user and graph. */
async function savedSources(session: Session, store: Store): Promise<Partition> {
  const { target, graph } = session;
  // The store `redis` holds only tokens, so the server need not be asked.
  if (!STORES[store.name].keeps.credentials) return { bound: [], excluded: undefined };
  // A credential saved for the profile's own server is not sent to another one, but the error mentions it.
  const ownServer = gsqlUrlOfFile(session);
  const records = ofThisProfile(
    session,
    (await store.list()).filter(
      ({ kind, info }) => kind !== 'token' && [target.gsqlUrl, ownServer].includes(String(info.gsqlUrl)),
    ),
  );
  if (records.length === 0) return { bound: [], excluded: undefined };
  records.sort(newestFirst);
  const inForce = await serversInForce(session);
  const bound: CredentialSource[] = [];
  let excluded: CredentialSource | undefined;
  for (const record of records) {
    const source = savedSource(record, store);
    if (!isSamePair(serversOfRecord(record), inForce)) excluded ??= source;
    else if (await isOfThisGraph(session, record, graph)) bound.push(source);
  }
  return { bound, excluded };
}

/**
 * Selects what this profile may use: the secret that it names, and what else is saved for its user, or for the owner of
 * that secret when it has no user.
 */
function ofThisProfile({ username, secretAlias }: Session, saved: readonly StoreRecord[]): StoreRecord[] {
  const ofUser = saved.filter(({ info }) => username === undefined || info.username === username);
  if (secretAlias === undefined) return ofUser;
  const named = ofUser.filter((record) => record.kind === 'secret' && isNamedBy(record, secretAlias));
  const owners = username === undefined ? named.map(ownerOf) : [username];
  return [...named, ...ofUser.filter((one) => one.kind === 'password' && owners.includes(ownerOf(one)))];
}

/** Whether a saved secret is for this graph. On 3.x a secret belongs to a graph; on 4.x it is valid for all. */
async function isOfThisGraph(
  session: Session,
  { kind, info }: StoreRecord,
  graph: string | undefined,
): Promise<boolean> {
  if (kind === 'password' || info.graph === null || graph === undefined || info.graph === graph) return true;
  return !(await findVersion(session)).secretsNeedGraph;
}

/** Returns the `secretAlias` that names a saved secret. A value saved during a rotation has the name that is rotated. */
function savedAs({ alias, rotationOf, origin, id, username }: StoreRecord['info']): string {
  return String((username !== undefined && (rotationOf ?? alias)) || (origin ?? id));
}

function savedSource(record: StoreRecord, store: Store): CredentialSource {
  const kind = record.kind as 'secret' | 'password';
  const servers = serversOfRecord(record);
  const { username, alias, id } = record.info;
  return {
    kind,
    level: 'store',
    label: kind === 'password' ? 'saved password' : alias ? `saved secret ${alias}` : `saved ${id}`,
    owner: ownerOf(record),
    ...(username !== undefined && { username: String(username) }),
    ...(kind === 'secret' && { savedAs: savedAs(record.info), reference: String(id) }),
    belongsTo: servers === undefined ? 'unknown servers' : describePair(servers),
    servers: async () => servers,
    read: async () => {
      const value = await store.read(record);
      if (value !== undefined) return value;
      throw new GraphException('NOT_FOUND', `The saved ${kind} is no longer in the ${store.name} store.`, {
        hint: 'save it again: graphcred secret create NAME --save, or graphcred login',
      });
    },
  };
}
