import { Sensitive } from '../core/sensitive.js';
import type { Store, StoreRecord } from '../store/store.js';
import type { Session } from './session.js';
import { requireKeeping } from './stores.js';

export interface SavedSecret {
  readonly alias: string;
  readonly username: string | undefined;
  readonly value: Sensitive;
}

const TRIAL = 'trial entry ';

/** Writes a trial entry and removes it again, with those of processes that were killed in between. */
export async function tryStore({ call }: Session, store: Store): Promise<void> {
  requireKeeping(store, '--save');
  const { pid, now } = call.ctx;
  await store.write(
    {
      v: 1,
      kind: 'secret',
      key: TRIAL + pid,
      store: store.name === 'file' ? 'file' : 'keychain',
      createdAtUnix: Math.floor(now() / 1000),
      // Without a server it can be taken for nobody's credential, should it stay behind.
      info: {},
    },
    new Sensitive('trial'),
  );
  for (const { key } of store.list()) if (key.startsWith(TRIAL)) await store.remove(key);
}

/** Keeps a secret as a credential for this host, user and graph. */
export async function saveSecret(session: Session, store: Store, saved: SavedSecret): Promise<void> {
  const { target, graph, call } = session;
  const { alias, username = '', value } = saved;
  const record: StoreRecord = {
    v: 1,
    kind: 'secret',
    key: `secret ${alias} of ${username} for ${graph === undefined ? 'any graph' : `graph ${graph}`}, at ${target.gsqlUrl}`,
    store: store.name === 'file' ? 'file' : 'keychain',
    // Not in whole seconds: of two saved by one rotation the later one has to be told.
    createdAtUnix: call.ctx.now() / 1000,
    info: { host: target.host, gsqlUrl: target.gsqlUrl, graph: graph ?? null, username, alias },
  };
  await store.write(record, value);
}
