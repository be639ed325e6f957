import type { Store, StoreRecord } from '../../../store/store.js';
import type { Invocation } from '../../command.js';
import { table } from '../../output/table.js';
import { formatDuration, times } from '../../output/time.js';
import { openLocalSession } from '../../session/session.js';
import { chooseReadableStore, chooseStore, fallbackOf, open } from '../../session/store.js';
import type { LocalSession } from '../../session/types.js';

/** Runs `graphcred token list`. */
export async function run(invocation: Invocation): Promise<undefined> {
  const session = await openLocalSession(invocation);
  const stores = await readableStores(session);
  const now = Math.floor(invocation.ctx.now() / 1000);
  const records = (await Promise.all(stores.map((store) => store.list()))).flat();
  const tokens = records.filter(({ kind }) => kind === 'token');
  tokens.sort((a, b) => (b.expiresAtUnix ?? 0) - (a.expiresAtUnix ?? 0) || (a.key < b.key ? -1 : 1));
  if (invocation.report.json) {
    invocation.report.document({ tokens: tokens.map((record) => asDocument(record, now)) });
    return;
  }
  if (tokens.length === 0) {
    invocation.report.note('this machine holds no token; get one: graphcred token get');
    return;
  }
  const rows = tokens.map(({ info, store, createdAtUnix, expiresAtUnix = 0 }) => [
    serverOf(info),
    String(info.graph ?? '-'),
    String(info.principal),
    store,
    `${formatDuration(now - createdAtUnix)} ago`,
    expiresAtUnix > now ? `${formatDuration(expiresAtUnix - now)} left` : 'expired',
  ]);
  const width = invocation.ctx.stdout.columns;
  // A narrow terminal has no room for both the age and the time left, so the age is omitted.
  const fits = (_: string, column: number) => width === undefined || width >= 60 || column !== 4;
  const head = ['SERVER', 'GRAPH', 'PRINCIPAL', 'STORE', 'MADE', 'LIFE'].filter(fits);
  const shown = rows.map((row) => row.filter(fits));
  invocation.report.result(table(head, shown, { width, shrinkOrder: [2, 1, 0] }));
}

/** Names the GSQL server with its port, which distinguishes two servers of one host. */
function serverOf({ host, gsqlUrl }: StoreRecord['info']): string {
  try {
    const { host: nameAndPort } = new URL(String(gsqlUrl));
    return nameAndPort;
  } catch {
    return String(host);
  }
}

/** Returns the store that a setting names, else every store that may hold tokens. */
async function readableStores(session: LocalSession): Promise<Store[]> {
  if (session.store.name === 'redis') {
    const [shared, own] = [await chooseReadableStore(session), await fallbackOf(session)];
    return own === undefined || shared.name === 'file' ? [shared] : [shared, own];
  }
  if (session.store.setAt !== undefined || session.stateDir === undefined)
    return [await chooseStore(session)];
  return [await open(session, 'keychain', false), await open(session, 'file', false)];
}

function asDocument(
  { info, store, createdAtUnix, expiresAtUnix = 0 }: StoreRecord,
  now: number,
): Record<string, unknown> {
  const { host, restUrl, gsqlUrl, graph, principal } = info;
  return {
    host,
    restUrl,
    gsqlUrl,
    graph,
    principal,
    store,
    ...times('created', createdAtUnix),
    ...times('expires', expiresAtUnix),
    secondsLeft: Math.max(0, expiresAtUnix - now),
  };
}
