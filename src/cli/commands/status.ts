import { formatDuration, localTime, secretInstead, times } from '../../app/format.js';
import { findStatus, type Status, UNKNOWN } from '../../app/status.js';
import { defaultProfileOf, type Flags, noteUnknownVariables } from '../../config/keys.js';
import { expected, type Hint } from '../../core/errors.js';
import { STORES } from '../../store/store.js';
import type { Invocation } from '../command.js';
import { exitStatus } from '../output/exit-codes.js';
import { textOf } from '../output/hints.js';
import { errorBody, singleLine } from '../output/report.js';
import { type Colours, colours, printList, shorten, toneOfLife } from '../output/table.js';
import { openLocalRun, openRun } from '../session.js';

/** `status` runs in shell prompts and monitors, so it must not ask anything. */
const NO_QUESTIONS = { noInput: true };

export async function execute(invocation: Invocation): Promise<number> {
  const { ctx, flags, report } = invocation;
  noteUnknownVariables(ctx.env, report.note);
  const isOfAll = flags['all-profiles'] === true;
  const settings = isOfAll ? (await openLocalRun(invocation, NO_QUESTIONS)).settings : undefined;
  // All at once, so that one slow server takes no time from the others, and the time limit holds for the whole run.
  const all = await Promise.all(
    settings ? settings.profileNames.map((name) => lookAt(invocation, name)) : [look(invocation)],
  );
  const [first] = all;
  if (settings) await printAll(invocation, all, defaultProfileOf(settings.file?.config));
  else if (first && report.json) report.document(asDocument(first));
  else if (first) report.raw(describe(first, await colours(invocation), invocation));
  if (!report.json || !isOfAll) for (const { error } of all) if (error) report.error(error);
  const ends = new Set(all.map(statusOf));
  return ends.size > 1 ? exitStatus('PARTIAL') : ([...ends][0] ?? 0);
}

async function look(invocation: Invocation, answers = {}): Promise<Status> {
  const run = await openRun(invocation, { ...NO_QUESTIONS, answers });
  return findStatus(run, invocation.flags.offline === true);
}

/** Looks at one of several profiles: a malformed one must not hide the others. */
function lookAt(invocation: Invocation, profile: string): Promise<Status> {
  return look(invocation, { profile }).catch((error) => ({ ...UNKNOWN, profile, error: expected(error) }));
}

function statusOf({ state, error }: Status): number {
  if (error) return exitStatus(error.code);
  if (state === 'rejected') return exitStatus('AUTH_FAILED');
  return state === 'none' || state === 'expired' ? exitStatus('NOT_FOUND') : 0;
}

/** Prints a line for each profile, the default one with a star. */
async function printAll(
  invocation: Invocation,
  all: readonly Status[],
  standard: string | undefined,
): Promise<void> {
  const { ctx, flags } = invocation;
  const withError = (status: Status) =>
    status.error && { error: errorBody(status.error, placeOf(status, flags)) };
  await printList(invocation, {
    document: { profiles: all.map((status) => ({ ...asDocument(status), ...withError(status) })) },
    head: ['', 'PROFILE', 'SERVER', 'GRAPH', 'USER', 'STORE', 'TOKEN'],
    rows: all.map((status) => {
      const { profile, gsqlUrl, graph = '-', username = '-', store, state, life, error } = status;
      const left =
        isAlive(state) && life ? `, ${formatDuration(life.expiresAtUnix - ctx.now() / 1000)} left` : '';
      const star = profile === standard ? '*' : '';
      const token = error ? `${state}, ${error.code}` : state + left;
      return [star, profile, gsqlUrl ? new URL(gsqlUrl).host : '-', graph, username, store, token];
    }),
    tones: all.map(toneOf),
    shrinkOrder: [5, 3, 4, 2, 1],
    none: ['there are no profiles; make one', { command: 'login' }],
  });
}

function toneOf({ state, error }: Pick<Status, 'state' | 'error'>): 'good' | 'warn' | 'bad' {
  return error ? 'bad' : state === 'valid' ? 'good' : state === 'unverified' ? 'warn' : 'bad';
}

function asDocument(status: Status): Record<string, unknown> {
  const { profile, host, store, restAuth, state, life } = status;
  const { gsqlUrl = null, restUrl = null, graph = null, username = null } = status;
  const { provider = null, credential = null, serverVersion = null } = status;
  const ends = life ? times('expires', life.expiresAtUnix) : { expiresAt: null, expiresAtUnix: null };
  const where = { profile, host, gsqlUrl, restUrl, graph, username, provider };
  return { ...where, credential, store, serverVersion, restAuth, token: { state, ...ends } };
}

function describe(status: Status, paint: Colours, invocation: Invocation): string {
  const width = invocation.ctx.stdout.columns;
  const { profile, state, chosenBy, life } = status;
  const label = (name: string) => `  ${name.padEnd(12)} `;
  const verb = isAlive(state) ? 'until' : state === 'expired' && 'ended';
  const end = life && verb ? ` ${verb} ${localTime(life.expiresAtUnix)}` : '';
  const rows = rowsOf(status).filter(([, value]) => value !== undefined);
  return [
    paint.bold(shorten(`${singleLine(profile)} (${WHY[chosenBy] ?? chosenBy})`, width)),
    ...rows.map(([name, value = '']) => shorten(`${label(name)}${singleLine(value)}`, width)),
    `${label('token')}${paint[toneOf({ state })](state)}${shorten(end, width && width - 15 - state.length)}`,
    ...(life && isAlive(state) ? [`${label('')}${describeLife(life, invocation, paint)}`] : []),
    `${label('next')}${singleLine(textOf(nextStep(status), placeOf(status, invocation.flags)))}`,
  ].join('\n');
}

/** Returns what is known from settings and server, without the token. */
function rowsOf(status: Status): [string, string | undefined][] {
  const { restUrl, gsqlUrl, serverVersion, restAuth, provider, credential, store, storeNote = '' } = status;
  return [
    ['GSQL server', gsqlUrl ?? 'unknown'],
    ['REST server', restUrl ?? (gsqlUrl === undefined ? 'unknown' : 'depends on the server version')],
    ['version', `${serverVersion ?? 'unknown'}, REST authentication ${restAuth}`],
    ['graph', status.graph ?? 'none'],
    ['user', status.username ?? 'unknown'],
    ['provider', provider],
    ['credential', credential ? `${credential.kind} (${credential.source})` : 'none at hand'],
    ['store', `${store}${storeNote}`],
  ];
}

function isAlive(state: Status['state']): boolean {
  return state === 'valid' || state === 'unverified';
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

/** Returns what to type next, as far as the state shows it. */
function nextStep({ state, credential, error, restAuth, store, username, chosenBy }: Status): Hint {
  const isNew = chosenBy === 'default' && username === undefined && credential === undefined;
  if (isNew && error?.code === 'NETWORK') return { command: 'login' };
  // Without REST authentication the server gives out no tokens.
  if (error || restAuth === 'off') return { command: 'doctor' };
  if (state === 'valid') return { command: 'exec -- COMMAND' };
  // A login leaves no credential behind in a store that keeps none.
  if (credential === undefined)
    return STORES[store].keeps.credentials ? { command: 'login' } : secretInstead(store);
  // A refused token that could not be deleted from the store would be printed again without --fresh.
  return { command: `token get${state === 'rejected' ? ' --fresh' : ''}` };
}

type Life = NonNullable<Status['life']>;
const BAR_WIDTH = 20;

/** Shows how much of a token's life is left, as a bar and as text. */
function describeLife({ expiresAtUnix, seconds }: Life, { ctx }: Invocation, paint: Colours): string {
  const left = Math.max(0, expiresAtUnix - ctx.now() / 1000);
  const part = Math.min(1, left / seconds);
  const full = Math.round(part * BAR_WIDTH);
  return `[${paint[toneOfLife(part)]('#'.repeat(full))}${paint.dim('-'.repeat(BAR_WIDTH - full))}] ${formatDuration(left)} left`;
}
