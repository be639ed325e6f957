import { listTokens, otherStores, type TokenRow } from '../../../app/list-tokens.js';
import { formatDuration, times } from '../../../app/words.js';
import { chooseReadableStore, entriesOf, requireAllRead, type StoreEntry } from '../../../auth/stores.js';
import type { StoreRecord } from '../../../store/store.js';
import type { Invocation } from '../../command.js';
import { printList } from '../../output/table.js';
import { openLocalSession, openSession } from '../../session.js';

export async function run(invocation: Invocation): Promise<undefined> {
  const local = await openLocalSession(invocation);
  const store = await chooseReadableStore(local);
  const isOfProfile = local.flags.profile !== undefined;
  const tokens = await listTokens(local, store, isOfProfile ? await openSession(local) : undefined);
  const entries = local.report.json ? [] : await entriesOf([store, ...(await otherStores(local, store))]);
  print(local, tokens, entries);
  await requireAllRead(local);
}

function print(invocation: Invocation, tokens: readonly TokenRow[], entries: readonly StoreEntry[]): void {
  const now = Math.floor(invocation.ctx.now() / 1000);
  const rows = tokens.map(({ id, record: { info, store, createdAtUnix, expiresAtUnix = 0 } }) => [
    id,
    serverOf(info),
    String(info.graph ?? '-'),
    ownerOfToken(String(info.principal), entries),
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
  printList(invocation, {
    document: { tokens: tokens.map((token) => asDocument(token, now)) },
    head: ['ID', 'SERVER', 'GRAPH', 'PRINCIPAL', 'STORE', 'MADE', 'LIFE'].filter(fits),
    rows: rows.map((row) => row.filter(fits)),
    shrinkOrder: [3, 2, 1],
    none: `${place} holds no token${whose}; get one: graphcred token get`,
  });
}

/** Names whose token it is: the user, and the secret where it was minted from one. */
function ownerOfToken(principal: string, entries: readonly StoreEntry[]): string {
  const [, kind, name = ''] = /^(user|secret):(.*)/s.exec(principal) ?? [];
  if (kind === 'user') return name;
  if (kind === undefined) return principal;
  const info = entries.find(({ record }) => record.info.id === principal)?.record.info;
  if (info === undefined) return `secret ${name.slice(0, 4)}… (not saved)`;
  const secret = `secret ${info.alias ?? `${name.slice(0, 4)}…`}`;
  return info.username === undefined ? secret : `${info.username} (${secret})`;
}

/** Names the GSQL server with its port, which distinguishes two servers of one host. */
function serverOf({ host, gsqlUrl }: StoreRecord['info']): string {
  const url = String(gsqlUrl);
  return URL.canParse(url) ? new URL(url).host : String(host);
}

function asDocument({ id, record }: TokenRow, now: number): Record<string, unknown> {
  const { info, store, createdAtUnix, expiresAtUnix = 0 } = record;
  const { host, restUrl, gsqlUrl, graph, principal } = info;
  const life = { ...times('created', createdAtUnix), ...times('expires', expiresAtUnix) };
  const secondsLeft = Math.max(0, expiresAtUnix - now);
  return { id, host, restUrl, gsqlUrl, graph, principal, store, ...life, secondsLeft };
}
