import { formatDuration, pluralize, times } from '../../app/format.js';
import { checkTokenInUse } from '../../app/tokens/check-token.js';
import { deleteTokens, type Targets } from '../../app/tokens/delete-tokens.js';
import { listTokens, type TokenRow } from '../../app/tokens/list-tokens.js';
import { refreshToken } from '../../app/tokens/refresh-token.js';
import { usageError } from '../../core/errors.js';
import type { Invocation } from '../command.js';
import { printList } from '../output/table.js';
import { printToken } from '../print-token.js';
import { openLocalRun, openRun, skipsMissing } from '../session.js';

export async function list(invocation: Invocation): Promise<undefined> {
  const owner = invocation.flags.profile === undefined ? undefined : await openRun(invocation);
  const run = owner ?? (await openLocalRun(invocation));
  const tokens = await listTokens(run, await run.stores.chosen(), owner);
  const now = Math.floor(invocation.ctx.now() / 1000);
  await printList(invocation, {
    tones: tokens.map(({ record }) => (record.expiresAtUnix > now ? 'good' : 'bad')),
    document: { tokens: tokens.map((token) => tokenDocument(token, now)) },
    head: ['ID', 'SERVER', 'GRAPH', 'FROM', 'STORE', 'AGE', 'LIFE'],
    rows: tokens.map(({ id, from, record: { info, store: name, createdAtUnix, expiresAtUnix } }) => {
      const life = expiresAtUnix > now ? `${formatDuration(expiresAtUnix - now)} left` : 'expired';
      const age = formatDuration(now - createdAtUnix);
      return [id, info.gsqlUrl.replace(/^https?:\/\//, ''), info.graph ?? '-', from, name, age, life];
    }),
    shrinkOrder: [5, 4, 3, 2, 1],
    none: ['there are no tokens here; get one', { command: 'token get' }],
  });
  await run.stores.requireReadable();
}

function tokenDocument({ id, record }: TokenRow, now: number): Record<string, unknown> {
  const { info, store, createdAtUnix, expiresAtUnix } = record;
  const { host, restUrl, gsqlUrl, graph, principal } = info;
  const life = { ...times('created', createdAtUnix), ...times('expires', expiresAtUnix) };
  const secondsLeft = Math.max(0, expiresAtUnix - now);
  return { id, host, restUrl, gsqlUrl, graph, principal, store, ...life, secondsLeft };
}

export async function refresh(invocation: Invocation): Promise<undefined> {
  const run = await openRun(invocation);
  await printToken(invocation, run, () => refreshToken(run));
}

export async function check(invocation: Invocation): Promise<undefined> {
  const refusal = await checkTokenInUse(await openRun(invocation));
  invocation.report.show({ accepted: refusal === undefined }, refusal ? '' : 'The server accepts the token.');
  if (refusal) throw refusal;
}

export async function remove(invocation: Invocation): Promise<undefined> {
  const { report } = invocation;
  const targets = targetsOf(invocation);
  const run = await openRun(invocation);
  const { deleted, ended, missing, failure } = await deleteTokens(run, targets, skipsMissing(invocation));
  const isKnown = failure?.code !== 'NOT_FOUND' || ended + missing > 0;
  const done = deleted > 0 ? `Deleted ${pluralize(deleted, 'token')}.` : '';
  if (isKnown) report.show({ deleted, missing, ended }, done);
  if (failure) throw failure;
  if (!report.json && deleted === 0) report.note('there was no token left to delete');
  if (targets === 'every graph' || targets === 'everything') await run.stores.requireReadable();
}

function targetsOf({ args, flags }: Invocation): Targets {
  const isNamed = args.length > 0;
  if ([isNamed, flags.everything, flags.all, flags['token-stdin']].filter(Boolean).length > 1)
    throw usageError('ID, --all, --everything and --token-stdin cannot be combined.', [
      'give only one of them',
      { command: 'token delete ID' },
    ]);
  if (isNamed) return args;
  if (flags.everything === true) return 'everything';
  return flags.all === true ? 'every graph' : 'one graph';
}
