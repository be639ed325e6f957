import { type ConfigKey, type Level, PRECEDENCE } from '../config/keys.js';
import { isSamePair } from '../config/target.js';
import { GraphException } from '../core/errors.js';
import { Sensitive } from '../core/sensitive.js';
import { aliasOf, isSaved, ownerOf, secretsNamed } from '../store/ownership.js';
import { newestFirst } from '../store/records.js';
import { STORES, type Store } from '../store/store.js';
import { findVersion, knownPair } from './connect.js';
import type { CredentialKind, CredentialSource } from './credential.js';
import { type Oidc, oidcOf, providerPrincipal } from './oidc/settings.js';
import { pathOf } from './ports.js';
import { graphOf, type Run, usernameOf } from './run.js';
import { entriesOf, type SavedEntry } from './stores.js';

const KINDS = ['jwt', 'secret', 'password'] as const;

/** Loaded for a credential whose value is needed, which is not so while its token is cached. */
const reading = () => import('./read.js');

/** Returns the credentials that flags, variables and the config file set, highest priority first. */
export function sourcesInSettings(run: Run): CredentialSource[] {
  return PRECEDENCE.flatMap((level) => KINDS.flatMap((kind) => sourcesSetAt(run, level, kind)));
}

function sourcesSetAt(run: Run, level: Level, kind: CredentialKind): CredentialSource[] {
  const { ports, settings } = run;
  const oidc = kind === 'jwt' ? oidcOf(run) : undefined;
  const sources: CredentialSource[] = [];
  const add = (label: string, read: CredentialSource['read'], more: Partial<CredentialSource> = {}) => {
    sources.push({ kind, level, label, read, ...more });
  };
  const find = (key: ConfigKey) => settings.all[key].find((one) => one.level === level);
  if (level === 'flag' && ports.stdin.holds === kind) {
    const label = `--${kind}-stdin`;
    add(label, async () => (await reading()).fromStdin(run, label));
  }
  const literal = find(kind);
  if (literal) add(literal.label, async () => new Sensitive(String(literal.value)));
  const file = find(`${kind}File`);
  if (file) add(file.label, async () => (await reading()).fromFile(run, file));
  const program = find(`${kind}Command`);
  if (program) {
    const [name = '', ...args] = program.value as readonly string[];
    // A relative path is looked for beside the config file, never in the working directory.
    const command = [/[/\\]/.test(name) ? pathOf(run, { value: name, level }) : name, ...args];
    // JSON is used, so that two commands that differ only in where their words are split are two principals.
    const reference = `command:${JSON.stringify(command)}`;
    const ask = async () => (await reading()).fromCommand(command, program.label, ports);
    add(program.label, () => run.asked.answer(reference, ask), { reference });
  }
  // A job gets JWTs of an identity provider in its own name.
  if (oidc?.isJob && oidc.level === level) {
    const read = async () => (await import('./oidc/provider.js')).jobToken(run, oidc);
    const reference = providerPrincipal(oidc);
    add(`client ${oidc.clientId} at ${oidc.issuer}`, read, { reference });
  }
  return sources;
}

/** Returns the credentials in the store for this pair of base URLs and user, newest first. */
export async function savedSources(run: Run, store: Store): Promise<CredentialSource[]> {
  const oidc = oidcOf(run);
  const homes = STORES[store.name].keeps.credentials ? [store] : await loginHomes(run);
  const pair = knownPair(run);
  // The value of a record whose write was broken off may not be there, and the one before it works.
  const here = (await entriesOf(homes))
    .filter(isSaved)
    .filter(({ record: { info } }) => info.unfinished !== 'write' && isSamePair(info, pair));
  return (await ofThisGraph(run, ofThisProfile(run, oidc, here)))
    .sort((a, b) => newestFirst(a.record, b.record))
    .map((entry) => savedSource(run, oidc, entry));
}

/** Returns the stores of this machine that may hold a login while its tokens are a fleet's; none where they are its own. */
export async function loginHomes(run: Run): Promise<readonly Store[]> {
  const oidc = oidcOf(run);
  return run.stores.areShared && oidc && !oidc.isJob ? run.stores.ofMachine() : [];
}

/**
 * Selects what this profile may use: the secret that it names, and what else is saved for its user, or for the owner of
 * that secret when it has no user. With an identity provider: the logins there.
 */
function ofThisProfile(run: Run, oidc: Oidc | undefined, saved: readonly SavedEntry[]): SavedEntry[] {
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
  const named = secretsNamed(kept, { username, secretAlias });
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
export function savedSource(run: Run, oidc: Oidc | undefined, entry: SavedEntry): CredentialSource {
  const { record, store } = entry;
  const { username: user, gsqlUrl, restUrl } = record.info;
  const base = {
    level: 'store',
    owner: ownerOf(record),
    username: user,
    servers: { gsqlUrl, restUrl },
    read: () => readSaved(entry),
  } as const;
  if (record.kind === 'password') return { ...base, kind: 'password', label: 'saved password' };
  if (record.kind === 'login') {
    if (oidc === undefined) throw new GraphException('INTERNAL', 'a login without a provider');
    return {
      ...base,
      kind: 'jwt',
      label: `login at ${oidc.issuer}`,
      reference: providerPrincipal(oidc, user),
      read: async () => (await import('./oidc/saved-login.js')).renew(run, oidc, record, store),
    };
  }
  const { alias, id, origin = id } = record.info;
  return {
    ...base,
    kind: 'secret',
    label: alias ? `saved secret ${alias}` : `saved ${String(id).replace(':', ' ')}`,
    // A value saved during a rotation has the name that is rotated.
    savedAs: (user !== undefined && aliasOf(record)) || origin,
    reference: id,
  };
}

async function readSaved({ record, store }: SavedEntry): Promise<Sensitive> {
  const value = await store.get(record);
  if (value !== undefined) return value;
  const message = `The saved ${record.kind} cannot be read from the ${store.name} store.`;
  throw new GraphException('NOT_FOUND', message, {
    hint: ['if the key of the store was changed, restore it; else save it again', { command: 'login' }],
  });
}
