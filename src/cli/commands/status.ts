import { deleteCached, lastCached, readCached } from '../../app/token-cache.js';
import { formatDuration, localTime, times } from '../../app/words.js';
import { findCredential } from '../../auth/choose.js';
import { bind, connect } from '../../auth/connect.js';
import type { Credential } from '../../auth/credential.js';
import { serversInForce } from '../../auth/servers.js';
import { chooseReadableStore } from '../../auth/stores.js';
import { readServerCache } from '../../auth/version-cache.js';
import { defaultProfileOf } from '../../config/keys.js';
import { settingText } from '../../config/settings.js';
import { GraphException } from '../../core/errors.js';
import { readClaims } from '../../core/protocol/reply.js';
import { maskLogin } from '../../core/redact.js';
import { sensitiveOf } from '../../core/sensitive.js';
import { STORES, type Store, type StoreRecord } from '../../store/store.js';
import type { Flags, Invocation } from '../command.js';
import { exitStatus } from '../output/exit-codes.js';
import { inPlace } from '../output/hints.js';
import { errorBody, singleLine } from '../output/report.js';
import { type Colours, colours, shorten } from '../output/table.js';
import type { Session } from '../session.js';
import { openLocalSession, openSession } from '../session.js';

type State = 'valid' | 'expired' | 'rejected' | 'none' | 'unverified';

interface Status {
  readonly profile: string;
  /** Where the profile's name was set. */
  readonly chosenBy: string;
  readonly host: string;
  readonly gsqlUrl: string | null;
  /** Null while it depends on a version that is not known. */
  readonly restUrl: string | null;
  readonly graph: string | null;
  readonly username: string | null;
  /** The identity provider of the profile, if it has one. */
  readonly provider: string | null;
  readonly credential: { readonly kind: string; readonly source: string } | null;
  readonly store: string;
  /** The Redis server through which machines share the store, for people. */
  readonly sharedThrough?: string | undefined;
  readonly serverVersion: string | null;
  readonly restAuth: 'on' | 'off' | 'unknown';
  /** With --all, shown instead of where the profile's name was set. */
  readonly listedAs?: string;
  readonly state: State;
  readonly record: StoreRecord | undefined;
  /** The error that ended the check, if any. */
  readonly error: GraphException | undefined;
}

/** The state of a profile whose settings cannot be read; its keys have the order of the JSON document. */
const UNKNOWN: Status = {
  profile: '',
  chosenBy: '--profile',
  host: '',
  gsqlUrl: null,
  restUrl: null,
  graph: null,
  username: null,
  provider: null,
  credential: null,
  store: 'none',
  serverVersion: null,
  restAuth: 'unknown',
  state: 'none',
  record: undefined,
  error: undefined,
};
/** `status` runs in shell prompts and monitors, so it must not ask anything. */
const NO_QUESTIONS = { noInput: true };

/** Runs `graphcred status`. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, report, ctx } = invocation;
  const names = await profilesToShow(invocation);
  // All at once, so that one slow server takes no time from the others, and the time limit holds for the whole call.
  const all = await Promise.all(names.map((name) => look(invocation, name)));
  if (report.json && flags['all-profiles'] === true) {
    const withError = (status: Status) =>
      status.error && { error: errorBody(status.error, placeOf(status, flags)) };
    report.document({ profiles: all.map((status) => ({ ...asDocument(status), ...withError(status) })) });
  } else if (report.json) report.document(all.map(asDocument)[0] ?? {});
  else {
    const paint = await colours(invocation);
    const now = ctx.now() / 1000;
    report.result(
      all.map((status) => describe(status, paint, now, invocation)).join('\n\n') || 'There are no profiles.',
    );
  }
  if (!report.json || flags['all-profiles'] !== true)
    for (const { error } of all) if (error) report.error(error);
  const ends = new Set(all.map(statusOf));
  return ends.size > 1 ? exitStatus('PARTIAL') : ([...ends][0] ?? 0);
}

/** Lists the profiles to show; undefined stands for the profile in force. */
async function profilesToShow(invocation: Invocation): Promise<readonly (string | undefined)[]> {
  if (invocation.flags['all-profiles'] !== true) return [undefined];
  return (await openLocalSession(invocation, NO_QUESTIONS)).settings.profileNames;
}

async function look(invocation: Invocation, profile: string | undefined): Promise<Status> {
  if (profile === undefined) return lookAt(await openSession(invocation, NO_QUESTIONS));
  try {
    const session = await openSession(invocation, { ...NO_QUESTIONS, profile });
    const isDefault = defaultProfileOf(session.settings.file?.config) === profile;
    return { ...(await lookAt(session)), listedAs: isDefault ? 'defaultProfile' : '' };
  } catch (error) {
    // One malformed profile must not hide the others.
    if (!(error instanceof GraphException)) throw error;
    return { ...UNKNOWN, profile, listedAs: '', error };
  }
}

async function lookAt(session: Session): Promise<Status> {
  const { invocation, target } = session;
  const store = await chooseReadableStore(session);
  const offline = invocation.flags.offline === true;
  const nowUnix = invocation.ctx.now() / 1000;
  let status = describeSettings(session, store);
  try {
    const isVersionSet = session.serverVersion !== 'auto';
    // The REST server depends on the version, which is unknown without asking the server.
    if (offline && target.restUrl === undefined && status.serverVersion === null && !isVersionSet)
      return status;
    const credential = await credentialIfAny(session, async () => store);
    const { restUrl } = await serversInForce(session);
    const username = credential?.username ?? status.username;
    const source = credential ? { kind: credential.kind, source: credential.label } : null;
    status = { ...status, restUrl, username, credential: source };
    const jwt = credential?.kind === 'jwt' && !credential.isFromProgram ? credential : undefined;
    const record = await (jwt ? recordOf(jwt, nowUnix) : findCached(session, store, credential));
    const expired = (record?.expiresAtUnix ?? 0) <= nowUnix;
    status = { ...status, record, state: record === undefined ? 'none' : expired ? 'expired' : 'unverified' };
    const unreadable = credential && (await whyUnreadable(credential, store));
    if (offline) return { ...status, error: unreadable };
    return await askServer(session, store, status, jwt, unreadable);
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    return { ...status, state: 'none', error };
  }
}

function describeSettings({ settings, stateDir, target, graph, username }: Session, store: Store): Status {
  const known = stateDir === undefined ? undefined : readServerCache(stateDir, target.gsqlUrl).version;
  return {
    ...UNKNOWN,
    profile: settings.profile.name,
    chosenBy: settings.profile.source,
    host: target.host,
    gsqlUrl: target.gsqlUrl,
    restUrl: target.restUrl ?? null,
    graph: graph ?? null,
    username: username ?? null,
    provider: settingText(settings, 'oidc.issuer') ?? null,
    store: store.name,
    sharedThrough:
      STORES[store.name].scope === 'fleet' ? maskLogin(settingText(settings, 'redis.url') ?? '') : undefined,
    serverVersion: known ?? null,
  };
}

/** Returns the record of the cached token that expires last. */
async function findCached(
  session: Session,
  store: Store,
  credential: Credential | undefined,
): Promise<StoreRecord | undefined> {
  const { principal, username } = session;
  const owner = principal ?? credential?.principal ?? (username && `user:${username}`);
  return owner === undefined ? undefined : lastCached(session, store, owner);
}

/**
 * Asks the server for its version, and whether it accepts the token.
 * @param jwt the token, when it is not one of the store
 * @param unreadable why the credential cannot be used for a new token
 */
async function askServer(
  session: Session,
  store: Store,
  local: Status,
  jwt: Credential | undefined,
  unreadable: GraphException | undefined,
): Promise<Status> {
  const { record } = local;
  try {
    const { connection, version } = await connect(session, undefined);
    const restAuth = await connection.restAuthentication();
    const asked = { ...local, serverVersion: version.version, restAuth, error: unreadable };
    // A server that requires no token cannot say whether one is valid.
    if (restAuth === 'off' || local.state === 'expired') return asked;
    const token = record && (await (jwt ? bind(jwt) : readCached(store, record)));
    if (record === undefined || token === undefined) return { ...asked, state: 'none' };
    const { accepted } = await connection.checkToken(token);
    if (accepted) return { ...asked, state: 'valid', error: undefined };
    const failure = jwt ? undefined : await deleteCached(store, record, sensitiveOf(token));
    if (failure)
      session.invocation.report.warn(`the refused token could not be forgotten here: ${failure.message}`);
    return { ...asked, state: 'rejected' };
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    return { ...local, error };
  }
}

/** Returns what the record of a JWT would say of it; undefined when it is none. */
async function recordOf({ value }: Credential, nowUnix: number): Promise<StoreRecord | undefined> {
  const claims = readClaims(await value());
  if (claims === undefined) return undefined;
  const { exp, iat = Math.floor(nowUnix) } = claims;
  const info = { lifetime: exp - iat };
  return { v: 1, kind: 'token', key: '', store: 'none', createdAtUnix: iat, expiresAtUnix: exp, info };
}

/** Returns why a saved credential cannot be used for a new token. A keychain is not asked: it might ask a person. Nor is a provider. */
async function whyUnreadable(
  { level, value, readUnderLock }: Credential,
  { name }: Store,
): Promise<GraphException | undefined> {
  if (level !== 'store' || readUnderLock || STORES[name].canAsk) return undefined;
  try {
    await value();
    return undefined;
  } catch (error) {
    if (error instanceof GraphException) return error;
    throw error;
  }
}

/** Returns the credential; undefined where a person would have to be asked for it, which is no error here. */
async function credentialIfAny(
  session: Session,
  store: Parameters<typeof findCredential>[2],
): Promise<Credential | undefined> {
  try {
    const credential = await findCredential(session, 'mint', store);
    return credential.level === 'prompt' ? undefined : credential;
  } catch (error) {
    if (error instanceof GraphException && error.code === 'INPUT_REQUIRED') return undefined;
    throw error;
  }
}

function statusOf({ state, error }: Status): number {
  if (error) return exitStatus(error.code);
  if (state === 'rejected') return exitStatus('AUTH_FAILED');
  return state === 'none' || state === 'expired' ? exitStatus('NOT_FOUND') : 0;
}

function asDocument(status: Status): Record<string, unknown> {
  const { chosenBy: _, sharedThrough: __, listedAs: ____, state, record, error: ___, ...known } = status;
  const end = record?.expiresAtUnix;
  const ends = end === undefined ? { expiresAt: null, expiresAtUnix: null } : times('expires', end);
  return { ...known, token: { state, ...ends } };
}

function describe(status: Status, paint: Colours, now: number, { ctx, flags }: Invocation): string {
  const width = ctx.stdout.columns;
  const { profile, state, record } = status;
  const chosenBy = status.listedAs ?? status.chosenBy;
  const tone = state === 'valid' ? paint.good : state === 'unverified' ? paint.warn : paint.bad;
  const until = describeEnd(status);
  const label = (name: string) => `  ${name.padEnd(12)} `;
  const left =
    isAlive(state) && record ? life(record, now, (width ?? Number.POSITIVE_INFINITY) - 17, paint) : '';
  return [
    paint.bold(
      shorten(`${singleLine(profile)}${chosenBy === '' ? '' : ` (${WHY[chosenBy] ?? chosenBy})`}`, width),
    ),
    ...rowsOf(status).map(([name, value]) => shorten(`${label(name)}${singleLine(value)}`, width)),
    `${label('token')}${tone(state)}${until === '' ? '' : ` ${shorten(until, width && width - 16 - state.length)}`}`,
    ...(left === '' ? [] : [`${label('')}${left}`]),
    `${label('next')}${inPlace(nextCommand(status), placeOf(status, flags))}`,
  ].join('\n');
}

/** Returns what is known from settings and server, without the token. */
function rowsOf(status: Status): [string, string][] {
  const { restUrl, gsqlUrl, serverVersion, restAuth, provider, credential, store, sharedThrough } = status;
  return [
    ['GSQL server', gsqlUrl ?? 'unknown'],
    ['REST server', restUrl ?? (gsqlUrl === null ? 'unknown' : 'depends on the server version')],
    ['version', `${serverVersion ?? 'unknown'}, REST authentication ${restAuth}`],
    ['graph', status.graph ?? 'none'],
    ['user', status.username ?? 'unknown'],
    ...(provider === null ? [] : ([['provider', provider]] satisfies [string, string][])),
    ['credential', credential ? `${credential.kind} (${credential.source})` : 'none at hand'],
    ['store', sharedThrough ? `${store} at ${sharedThrough}` : store],
  ];
}

function isAlive(state: State): boolean {
  return state === 'valid' || state === 'unverified';
}

/** Says until when the token lives or lived; empty where it is not known. */
function describeEnd({ state, record }: Status): string {
  const end = record?.expiresAtUnix;
  if (end === undefined || !(isAlive(state) || state === 'expired')) return '';
  return `${isAlive(state) ? 'until' : 'ended'} ${localTime(end)}`;
}

/** Explains why a profile is in force. */
const WHY: Readonly<Record<string, string>> = {
  defaultProfile: 'the default profile',
  default: 'no profile is chosen',
};

/** Returns what a printed command needs to be about this profile. */
function placeOf({ profile, chosenBy }: Status, flags: Flags): Flags {
  return { ...flags, profile: chosenBy === '--profile' ? profile : undefined };
}

/** Returns the command to type next, as far as the state shows it. */
function nextCommand({ state, credential, error }: Status): string {
  if (error) return 'graphcred doctor';
  if (credential === null && state !== 'valid') return 'graphcred login';
  if (state === 'valid') return 'graphcred exec -- COMMAND';
  // A refused token that could not be deleted from the store would be printed again without --fresh.
  return `graphcred token get${state === 'rejected' ? ' --fresh' : ''}`;
}

const BAR_WIDTH = 20;

/** Shows how much of a token's life is left, as text, and as a bar where there is room for one. */
function life(record: StoreRecord, now: number, width: number, paint: Colours): string {
  const left = Math.max(0, (record.expiresAtUnix ?? 0) - now);
  const part = Math.min(1, left / Number(record.info.lifetime));
  const words = `${formatDuration(left)} left`;
  if (width < words.length + BAR_WIDTH + 3) return words;
  const full = Math.round(part * BAR_WIDTH);
  const tone = part > 1 / 4 ? paint.good : part > 1 / 20 ? paint.warn : paint.bad;
  return `[${tone('#'.repeat(full))}${paint.dim('-'.repeat(BAR_WIDTH - full))}] ${words}`;
}
