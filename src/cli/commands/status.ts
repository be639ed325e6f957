import { formatDuration, localTime, secretInstead, shortPath, times } from '../../app/format.js';
import { findStatus, type Status, UNKNOWN } from '../../app/status.js';
import { defaultProfileOf } from '../../config/keys.js';
import { type ErrorCode, expected, type Hint, usageError, whyFailed } from '../../core/errors.js';
import { STORES } from '../../store/store.js';
import type { Invocation } from '../command.js';
import { exitStatus } from '../output/exit-codes.js';
import { textOf } from '../output/hints.js';
import { singleLine } from '../output/plain.js';
import { errorBody } from '../output/report.js';
import { type Colours, colours, printList, shorten, type Tone } from '../output/table.js';
import { noteLeftOut, openLocalRun, openRun } from '../session.js';

export async function execute(invocation: Invocation): Promise<number> {
  const { flags, report } = invocation;
  const isOfAll = flags['all-profiles'] === true;
  const settings = isOfAll ? (await openLocalRun(invocation)).settings : undefined;
  const jwts = settings && !flags.offline ? [...settings.all.jwt, ...settings.all.jwtFile] : [];
  const set = jwts.find(({ level }) => level === 'flag' || level === 'variable');
  const given = flags['jwt-stdin'] ? '--jwt-stdin' : set?.label;
  if (isOfAll && given)
    throw usageError(
      `${given} would be sent to the servers of every profile.`,
      'give it with one profile: -p NAME',
    );
  // All at once, so that one slow server takes no time from the others, and the time limit holds for the whole run.
  const all = await Promise.all(
    settings?.profileNames.map((profile) =>
      look(invocation, { profile }).catch((error) => ({ ...UNKNOWN, profile, error: expected(error) })),
    ) ?? [look(invocation)],
  );
  const [first] = all;
  if (settings) await printAll(invocation, all, defaultProfileOf(settings.file?.config));
  else if (first && report.json) report.document(statusDocument(first));
  else if (first) report.raw(statusText(first, await colours(invocation), invocation));
  for (const { profile, error } of all) {
    if (!error || (report.json && isOfAll)) continue;
    if (isOfAll) Object.assign(report, { typed: { ...flags, profile }, settings: undefined });
    report.error(error);
  }
  const ends = new Set(all.map(({ state, error }) => exitStatus(error?.code ?? STATES[state].code)));
  return ends.size > 1 ? exitStatus('PARTIAL') : ([...ends][0] ?? 0);
}

async function look(invocation: Invocation, moreFlags = {}): Promise<Status> {
  const run = await openRun(invocation, { moreFlags });
  const status = await findStatus(run, invocation.flags.offline === true);
  // A mismatch is told as the error.
  if (!invocation.report.json && status.error?.code !== 'HOST_MISMATCH')
    noteLeftOut(run.settings, invocation.report);
  // A keychain may be silent, so it is asked where the answer is shown.
  const isShown = !invocation.report.json && !invocation.flags['all-profiles'];
  const store = isShown && STORES[status.store].canBeLocked && (await run.stores.chosen());
  const why = store ? await whyFailed(store.check()) : undefined;
  return why ? { ...status, storeNote: `, but ${why.message}` } : status;
}

const STATES: Readonly<Record<Status['state'], { tone: Tone; end?: 'until' | 'since'; code?: ErrorCode }>> = {
  valid: { tone: 'good', end: 'until' },
  unverified: { tone: 'warn', end: 'until' },
  expired: { tone: 'bad', end: 'since', code: 'NOT_FOUND' },
  none: { tone: 'bad', code: 'NOT_FOUND' },
  rejected: { tone: 'bad', code: 'AUTH_FAILED' },
};

function describeToken({ state, expiresAtUnix: end }: Status, { ctx }: Invocation): string {
  if (end === undefined || STATES[state].end !== 'until') return state;
  return `${state}, ${formatDuration(end - ctx.now() / 1000)} left`;
}

async function printAll(invocation: Invocation, all: readonly Status[], standard: string | undefined) {
  const withError = ({ profile, error }: Status) =>
    error && { error: errorBody(error, { typed: { ...invocation.flags, profile } }) };
  await printList(invocation, {
    document: { profiles: all.map((status) => ({ ...statusDocument(status), ...withError(status) })) },
    head: ['', 'PROFILE', 'SERVER', 'GRAPH', 'USER', 'STORE', 'TOKEN'],
    rows: all.map((status) => {
      const { profile, gsqlUrl, graph = '-', username = '-', store, state, error } = status;
      const star = profile === standard ? '*' : '';
      const token = error ? `${state}, ${error.code}` : describeToken(status, invocation);
      return [star, profile, gsqlUrl ? new URL(gsqlUrl).host : '-', graph, username, store, token];
    }),
    tones: all.map(({ state, error }) => (error ? 'bad' : STATES[state].tone)),
    shrinkOrder: [5, 3, 4, 2, 1],
    none: ['there are no profiles; make one', { command: 'login' }],
  });
}

function statusDocument(status: Status): Record<string, unknown> {
  const { profile, host, gsqlUrl = null, restUrl = null, graph = null, username = null } = status;
  const { provider = null, credential = null, store, serverVersion = null, restAuth } = status;
  const { state, expiresAtUnix } = status;
  const ends = expiresAtUnix ? times('expires', expiresAtUnix) : { expiresAt: null, expiresAtUnix: null };
  const servers = { profile, host, gsqlUrl, restUrl, graph, username, provider };
  return { ...servers, credential, store, serverVersion, restAuth, token: { state, ...ends } };
}

function statusText(status: Status, paint: Colours, invocation: Invocation): string {
  const { ctx, report } = invocation;
  const { profile, chosenBy, file, serverVersion = 'unknown', credential, store, storeNote = '' } = status;
  const { state, expiresAtUnix } = status;
  const { tone, end } = STATES[state];
  const ends = expiresAtUnix && end ? ` ${end} ${localTime(expiresAtUnix)}` : '';
  const facts: [name: string, value: string | undefined][] = [
    ['config file', file && shortPath(file, ctx.home)],
    ['GSQL server', status.gsqlUrl],
    ['REST server', status.restUrl ?? 'depends on the server version'],
    ['version', `${serverVersion}, REST authentication ${status.restAuth}`],
    ['graph', status.graph ?? 'none'],
    ['user', status.username ?? 'unknown'],
    ['provider', status.provider],
    ['credential', credential ? `${credential.kind} (${credential.source})` : 'none found'],
    ['store', `${store}${storeNote}`],
  ];
  const label = (name: string) => `  ${name.padEnd(12)} `;
  const cut = (text: string) => shorten(text, ctx.stdout.columns);
  const token = cut(label('token') + describeToken(status, invocation) + ends);
  return [
    paint.bold(cut(`${singleLine(profile)} (${WHY[chosenBy] ?? chosenBy})`)),
    ...facts.flatMap(([name, value]) => (value === undefined ? [] : cut(label(name) + singleLine(value)))),
    token.replace(state, (word) => paint[tone](word)),
    label('next') + singleLine(textOf(nextStep(status), report)),
  ].join('\n');
}

const WHY: Readonly<Record<string, string>> = {
  defaultProfile: 'the default profile',
  default: 'no other is named',
};

function nextStep(status: Status): Hint {
  const { state, credential, error, restAuth, store, username, chosenBy, provider, hasVariable } = status;
  const isNew = chosenBy === 'default' && username === undefined && credential === undefined;
  if (isNew && error?.code === 'NETWORK') return error.fix;
  if (error || restAuth === 'off') return { command: 'doctor' };
  // A token of another lifetime is used only where that is asked for.
  const lifetime = status.otherLifetime ? ` --lifetime ${status.otherLifetime}` : '';
  if (state === 'valid') return { command: `exec${lifetime} -- COMMAND` };
  if (credential === undefined && hasVariable) return { command: 'token check' };
  // A login writes another file than the one in force, and leaves no credential in a store that keeps none.
  const mayLogIn = provider !== undefined || STORES[store].keeps.credentials;
  const isElsewhere = status.file && username !== undefined && provider === undefined;
  if (credential === undefined && mayLogIn) return { command: isElsewhere ? 'token get' : 'login' };
  if (credential === undefined) return secretInstead(store);
  // A refused token that could not be deleted from the store would be printed again without --fresh.
  return { command: `token get${state === 'rejected' ? ' --fresh' : ''}` };
}
