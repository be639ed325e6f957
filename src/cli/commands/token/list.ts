import { formatDuration, times } from '../../../app/format.js';
import { listTokens, type TokenRow } from '../../../app/tokens/list-tokens.js';
import type { StoreRecord } from '../../../store/store.js';
import type { Invocation } from '../../command.js';
import { printList, toneOfLife } from '../../output/table.js';
import { openLocalRun, openRun } from '../../session.js';

export async function execute(invocation: Invocation): Promise<undefined> {
  const local = await openLocalRun(invocation);
  const store = await local.stores.readable();
  const isOfProfile = invocation.flags.profile !== undefined;
  const tokens = await listTokens(local, store, isOfProfile ? await openRun(invocation) : undefined);
  await print(invocation, tokens);
  await local.stores.requireAllRead();
}

function print(invocation: Invocation, tokens: readonly TokenRow[]): Promise<void> {
  const now = Math.floor(invocation.ctx.now() / 1000);
  const rows = tokens.map(({ id, from, record: { info, store, createdAtUnix, expiresAtUnix } }) => [
    id,
    serverOf(info),
    info.graph ?? '-',
    from,
    store,
    `${formatDuration(now - createdAtUnix)} ago`,
    expiresAtUnix > now ? `${formatDuration(expiresAtUnix - now)} left` : 'expired',
  ]);
  const { store: typed, profile } = invocation.flags;
  const place = typed === undefined ? 'this machine' : `the store ${typed}`;
  const whose = profile === undefined ? '' : ` of profile ${profile}`;
  const width = invocation.ctx.stdout.columns;
  // A narrow terminal has no room for the age, and a very narrow one none for the store.
  const needed = [0, 0, 0, 0, 50, 60, 0];
  const fits = (_: string, column: number) => width === undefined || width >= (needed[column] ?? 0);
  const lifeOf = ({ record: { createdAtUnix, expiresAtUnix = 0 } }: TokenRow) =>
    (expiresAtUnix - now) / (expiresAtUnix - createdAtUnix);
  return printList(invocation, {
    tones: tokens.map((token) => toneOfLife(lifeOf(token))),
    document: { tokens: tokens.map((token) => asDocument(token, now)) },
    head: ['ID', 'SERVER', 'GRAPH', 'FROM', 'STORE', 'MADE', 'LIFE'].filter(fits),
    rows: rows.map((row) => row.filter(fits)),
    shrinkOrder: [3, 2, 1],
    none: [`${place} holds no token${whose}; get one`, { command: 'token get' }],
  });
}

/** Names the GSQL server with its port, which distinguishes two servers of one host. */
function serverOf({ host, gsqlUrl }: StoreRecord['info']): string {
  return URL.canParse(gsqlUrl) ? new URL(gsqlUrl).host : host;
}

function asDocument({ id, record }: TokenRow, now: number): Record<string, unknown> {
  const { info, store, createdAtUnix, expiresAtUnix } = record;
  const { host, restUrl, gsqlUrl, graph, principal } = info;
  const life = { ...times('created', createdAtUnix), ...times('expires', expiresAtUnix) };
  const secondsLeft = Math.max(0, expiresAtUnix - now);
  return { id, host, restUrl, gsqlUrl, graph, principal, store, ...life, secondsLeft };
}
