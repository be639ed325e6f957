import { Sensitive } from '../core/sensitive.js';
import type { Store, StoreRecord } from '../store/store.js';
import type { LoggedIn } from './login.js';
import { requireKeeping } from './require.js';
import type { Session } from './session.js';

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

type Owner = Pick<LoggedIn, 'session' | 'credential' | 'store' | 'version'>;

/** Secrets saved here under this name for the server, user and graph of this call; the one saved last comes first. */
export function savedUnder(owner: Owner, alias: string): StoreRecord[] {
  const { username } = owner.credential;
  return owner.store
    .list()
    .filter(({ kind, info }) => {
      const isOurs = username === undefined || info.username === username;
      return kind === 'secret' && info.alias === alias && isOurs && isHere(owner, info);
    })
    .sort((a, b) => b.createdAtUnix - a.createdAtUnix);
}

/**
 * Forgets a secret that is about to go or has gone: what is saved of it, and the held tokens minted from that.
 * @returns how many tokens were forgotten
 */
export async function forgetSecret(owner: Owner, alias: string): Promise<number> {
  const { credential, store } = owner;
  const { username } = credential;
  const isMinted = (principal: string) =>
    username === undefined
      ? principal.startsWith('saved:') && principal.endsWith(`/${alias}`)
      : principal === `saved:${username}/${alias}`;
  for (const { key } of savedUnder(owner, alias)) await store.remove(key);
  const tokens = store
    .list()
    .filter(({ kind, info }) => kind === 'token' && isMinted(String(info.principal)) && isHere(owner, info));
  for (const { key } of tokens) await store.remove(key);
  return tokens.length;
}

/** Made for this server, and on 3.x, where a secret belongs to a graph, for this one or for no graph in particular. */
function isHere({ session, version }: Owner, info: StoreRecord['info']): boolean {
  const anyGraph = version.generation === 'C' || info.graph === null;
  return info.gsqlUrl === session.target.gsqlUrl && (anyGraph || info.graph === session.graph);
}
