import { ownerInfo, secretId } from '../../auth/credential.js';
import { Sensitive } from '../../core/sensitive.js';
import { graphOf, type Run } from '../../run/run.js';
import { serversInForce } from '../../run/server.js';
import type { CredentialRecord, Store } from '../../store/store.js';
import type { Login } from '../gsql-login.js';

type Names = Readonly<Partial<Record<'alias' | 'rotationOf' | 'replaces' | 'origin', string | undefined>>>;

export const TRIAL = 'trial entry ';

/** Tests the store: writes a trial entry and removes it, together with trial entries that killed processes left. */
export async function tryStore({ ports, stores }: Run, store: Store): Promise<void> {
  stores.requireKeeping(store.name, '--save');
  // The entry names no server, so it is never used as a credential if it is left behind.
  const info = { host: '', gsqlUrl: '', restUrl: '', graph: null, id: TRIAL };
  const at = { store: store.name, createdAtUnix: ports.now() / 1000 };
  await store.put({ v: 1, kind: 'secret', key: TRIAL + process.pid, ...at, info }, new Sensitive('trial'));
  for (const { key } of await store.list()) if (key.startsWith(TRIAL)) await store.delete(key);
}

/** Stores a secret for the pair, the owner and the graph of a login, and returns its id. It replaces no other secret. */
export async function saveSecret({ run, store, credential }: Login, value: Sensitive, names: Names) {
  const graph = graphOf(run);
  const id = secretId(value);
  const key = `${id} of ${credential.owner} for ${graph === undefined ? 'any graph' : `graph ${graph}`}`;
  const known = Object.fromEntries(Object.entries(names).filter(([, name]) => name !== undefined));
  const info = { graph: graph ?? null, id, ...ownerInfo(credential), ...known };
  await saveCredential(run, store, { kind: 'secret', key, info }, value);
  return id;
}

/** Stores a credential for this pair of base URLs, which is added to `key` and `info`. */
export async function saveCredential(
  run: Run,
  store: Store,
  { kind, key, info }: Pick<CredentialRecord, 'kind' | 'key'> & { readonly info: object },
  value: Sensitive,
): Promise<void> {
  const { gsqlUrl, restUrl } = await serversInForce(run);
  const others = (await store.list()).filter((record) => record.kind === kind);
  // Later than the others, whatever the clock says: of the secrets of one rotation the one saved last works.
  const times = others.map(({ createdAtUnix }) => createdAtUnix + 0.001);
  const record = {
    v: 1,
    kind,
    key: `${key}, at ${gsqlUrl} rest ${restUrl}`,
    store: store.name,
    createdAtUnix: Math.max(run.ports.now() / 1000, ...times),
    info: { host: run.target.host, gsqlUrl, restUrl, ...info },
  } as CredentialRecord;
  run.ports.interruption.begin();
  await store.put(record, value);
}
