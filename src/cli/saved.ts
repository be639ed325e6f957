import { Sensitive } from '../core/sensitive.js';
import type { Store, StoreRecord } from '../store/store.js';
import type { Session } from './session.js';
import { requireKeeping } from './stores.js';

export interface SavedSecret {
  readonly alias: string;
  readonly username: string | undefined;
  readonly value: Sensitive;
}

/** Writes a trial entry and removes it again. */
export async function tryStore(session: Session, store: Store): Promise<void> {
  requireKeeping(store, '--save');
  const trial = secretRecord(session, store, { alias: `trial-${session.call.ctx.pid}`, username: 'trial' });
  await store.write(trial, new Sensitive('trial'));
  await store.remove(trial.key);
}

/** Keeps a secret as a credential for this host, user and graph. */
export async function saveSecret(
  session: Session,
  store: Store,
  { value, ...who }: SavedSecret,
): Promise<void> {
  await store.write(secretRecord(session, store, who), value);
}

export function secretRecord(session: Session, store: Store, who: Omit<SavedSecret, 'value'>): StoreRecord {
  const { target, graph, call } = session;
  const username = who.username ?? '';
  return {
    v: 1,
    kind: 'secret',
    key: `secret ${who.alias} of ${username} for ${graph === undefined ? 'any graph' : `graph ${graph}`}, at ${target.gsqlUrl}`,
    store: store.name === 'file' ? 'file' : 'keychain',
    createdAtUnix: Math.floor(call.ctx.now() / 1000),
    info: { host: target.host, gsqlUrl: target.gsqlUrl, graph: graph ?? null, username, alias: who.alias },
  };
}
