import { settingText } from '../../../config/settings.js';
import type { StoreRecord } from '../../../store/store.js';
import type { Call } from '../../call.js';
import { times } from '../../moments.js';
import { openSettings } from '../../session.js';
import { chooseStore, open } from '../../stores.js';
import { table } from '../../table.js';
import { inWords } from '../../words.js';

/** `graphcred token list` */
export async function run(call: Call): Promise<undefined> {
  const place = { call, ...(await openSettings(call)) };
  const named = settingText(place.settings, 'store') !== undefined;
  const stores = named
    ? [(await chooseStore(place)).store]
    : [await open(place, 'keychain', false), await open(place, 'file', false)];
  const now = Math.floor(call.ctx.now() / 1000);
  const tokens = stores.flatMap((store) => store.list()).filter(({ kind }) => kind === 'token');
  tokens.sort((a, b) => (b.expiresAtUnix ?? 0) - (a.expiresAtUnix ?? 0) || (a.key < b.key ? -1 : 1));
  if (call.report.json) {
    call.report.document({ tokens: tokens.map((record) => asDocument(record, now)) });
    return;
  }
  if (tokens.length === 0) {
    call.report.note('this machine holds no token; get one: graphcred token get');
    return;
  }
  const rows = tokens.map(({ info, store, createdAtUnix, expiresAtUnix = 0 }) => [
    String(info.host),
    String(info.graph ?? '-'),
    String(info.principal),
    store,
    `${inWords(now - createdAtUnix)} ago`,
    expiresAtUnix > now ? `${inWords(expiresAtUnix - now)} left` : 'expired',
  ]);
  call.report.result(
    table(['HOST', 'GRAPH', 'PRINCIPAL', 'STORE', 'MADE', 'LIFE'], rows, {
      width: call.ctx.stdout.columns,
      giving: [2, 1, 0],
    }),
  );
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
