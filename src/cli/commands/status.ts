import { GraphException } from '../../core/errors.js';
import type { Credential } from '../../credentials/resolve.js';
import { readFacts } from '../../store/facts.js';
import type { StoreRecord } from '../../store/store.js';
import { heldTokens } from '../../tokens/held.js';
import type { Call } from '../call.js';
import { type Colours, colours } from '../colour.js';
import { connect } from '../connect.js';
import { findCredential, refuseUntrusted } from '../credential.js';
import { exitStatus } from '../exit.js';
import { times } from '../moments.js';
import { printable } from '../printable.js';
import { openSession, openSettings, type Session } from '../session.js';
import { chooseStore } from '../stores.js';
import { shorten } from '../table.js';
import { inWords } from '../words.js';

type State = 'valid' | 'expired' | 'rejected' | 'none' | 'unverified';

interface Status {
  readonly profile: string;
  readonly host: string;
  readonly serverVersion: string | null;
  readonly restAuth: 'on' | 'off' | 'unknown';
  readonly state: State;
  readonly record: StoreRecord | undefined;
  /** What stopped the look, if anything did. */
  readonly error: GraphException | undefined;
}

/** `graphcred status` */
export async function run(call: Call): Promise<number> {
  const { flags, report, ctx } = call;
  // Never a question: status is what a prompt or a monitor asks.
  const asked: Call = { ...call, flags: { ...flags, 'no-input': true } };
  const { settings } = await openSettings(asked);
  const names = flags['all-profiles'] === true ? settings.profileNames : [undefined];
  const all: Status[] = [];
  for (const name of names) {
    all.push(await look(name === undefined ? asked : { ...asked, flags: { ...asked.flags, profile: name } }));
  }
  if (report.json) {
    const documents = all.map(asDocument);
    report.document(flags['all-profiles'] === true ? { profiles: documents } : (documents[0] ?? {}));
  } else {
    const paint = await colours(call);
    const now = ctx.now() / 1000;
    report.result(
      all.map((status) => describe(status, paint, now, ctx.stdout.columns)).join('\n\n') ||
        'There are no profiles.',
    );
  }
  for (const { error } of all) if (error) report.error(error);
  const ends = new Set(all.map(statusOf));
  return ends.size > 1 ? exitStatus('PARTIAL') : ([...ends][0] ?? 0);
}

async function look(call: Call): Promise<Status> {
  const session = await openSession(call);
  const { store } = await chooseStore(session);
  const known = readFacts(session.stateDir, session.target.gsqlUrl).version ?? null;
  const base = { profile: session.settings.profile.name, host: session.target.host };
  const unknown = { ...base, serverVersion: known, restAuth: 'unknown' as const };
  const nowUnix = call.ctx.now() / 1000;
  let record: StoreRecord | undefined;
  try {
    const credential = await credentialIfAny(session, async () => store);
    const { gsqlUrl, restUrl } = session.target;
    record =
      credential &&
      heldTokens(store, { gsqlUrl, restUrl, graph: session.graph, principal: credential.principal })[0];
    const expired = record !== undefined && (record.expiresAtUnix ?? 0) <= nowUnix;
    const unasked: State = record === undefined ? 'none' : expired ? 'expired' : 'unverified';
    if (call.flags.offline === true) return { ...unknown, state: unasked, record, error: undefined };
    // Without one nothing vouches for where an untrusted file leads.
    if (credential === undefined) await refuseUntrusted(session, { literal: false });
    try {
      const { connection, version } = await connect(session, undefined, store.name !== 'none');
      const restAuth = await connection.restAuthentication();
      // A server that wants no token has nothing to say about one.
      const asks = restAuth !== 'off';
      const token = record && !expired && asks ? await store.read(record) : undefined;
      const reply = token && (await connection.checkToken(token));
      if (record && reply && !reply.accepted) await store.remove(record.key);
      const state: State = reply
        ? reply.accepted
          ? 'valid'
          : 'rejected'
        : asks && !expired
          ? 'none'
          : unasked;
      return { ...base, serverVersion: version.version, restAuth, state, record, error: undefined };
    } catch (error) {
      if (!(error instanceof GraphException)) throw error;
      return { ...unknown, state: unasked, record, error };
    }
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    return { ...unknown, state: 'none', record, error };
  }
}

/** Without a credential nobody knows whose token to look for; that is "none", not an error. */
async function credentialIfAny(
  session: Session,
  store: Parameters<typeof findCredential>[2],
): Promise<Credential | undefined> {
  try {
    return await findCredential(session, 'mint', store);
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

function asDocument({
  profile,
  host,
  serverVersion,
  restAuth,
  state,
  record,
}: Status): Record<string, unknown> {
  const end = record?.expiresAtUnix;
  const ends = end === undefined ? { expiresAt: null, expiresAtUnix: null } : times('expires', end);
  return { profile, host, serverVersion, restAuth, token: { state, ...ends } };
}

function describe(status: Status, paint: Colours, now: number, width: number | undefined): string {
  const { profile, host, serverVersion, restAuth, state, record } = status;
  const tone = state === 'valid' ? paint.good : state === 'unverified' ? paint.warn : paint.bad;
  const alive = record && (state === 'valid' || state === 'unverified');
  const token = `  token     ${state}`;
  const left = alive
    ? `  ${life(record, now, (width ?? Number.POSITIVE_INFINITY) - token.length - 2, paint)}`
    : '';
  const lines = [
    paint.bold(shorten(printable(profile), width)),
    shorten(`  host      ${printable(host)}`, width),
    shorten(`  server    ${printable(serverVersion ?? 'unknown')}, REST authentication ${restAuth}`, width),
    `  token     ${tone(state)}${left}`,
  ];
  return lines.join('\n');
}

const BAR = 20;

/** How much of its life is left, in words, and as a bar where there is room for one. */
function life(record: StoreRecord, now: number, width: number, paint: Colours): string {
  const left = Math.max(0, (record.expiresAtUnix ?? 0) - now);
  const part = Math.min(1, left / Math.max(1, Number(record.info.lifetime)));
  const words = `${inWords(left)} left`;
  if (width < words.length + BAR + 3) return words;
  const full = Math.round(part * BAR);
  const tone = part > 1 / 4 ? paint.good : part > 1 / 20 ? paint.warn : paint.bad;
  return `[${tone('#'.repeat(full))}${paint.dim('-'.repeat(BAR - full))}] ${words}`;
}
