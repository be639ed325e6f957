import { renewToken } from '../../../app/mint-token.js';
import {
  type CachedToken,
  cachedTokens,
  identityKey,
  identityOf,
  isReplaced,
  type NewToken,
  readCached,
  storeToken,
} from '../../../app/token-cache.js';
import { findCredential } from '../../../auth/choose.js';
import { connect, findVersion } from '../../../auth/connect.js';
import { ownerInfo } from '../../../auth/credential.js';
import { tokenFromStdin } from '../../../auth/given-token.js';
import { chooseStore, requireReadable } from '../../../auth/stores.js';
import { GraphException } from '../../../core/errors.js';
import type { ServerVersion } from '../../../core/protocol/types.js';
import type { Sensitive } from '../../../core/sensitive.js';
import type { Lock, Store, StoreRecord } from '../../../store/store.js';
import type { Invocation } from '../../command.js';
import { checkOutput, printToken } from '../../print-token.js';
import type { Session } from '../../session.js';
import { openSession } from '../../session.js';

/** Runs `graphcred token refresh`. */
export async function run(invocation: Invocation): Promise<undefined> {
  const session = await openSession(invocation);
  checkOutput(session);
  const { ctx, report } = invocation;
  const store = await chooseStore(session, { needed: true });
  const { lifetime, target } = session;
  const version = await requireRefresh(session);
  const credential = await findCredential(session, 'mint', async () => store);
  const base = await identityOf(session, credential.principal);
  const given = await tokenFromStdin(session);
  const held = await cachedTokens(store, base);
  const record = given ? undefined : held.find((one) => !isReplaced(one));
  const token = given ?? (record && (await readCached(store, record)));
  if (!token) {
    await requireReadable(session, store);
    throw new GraphException('NOT_FOUND', 'This machine holds no token to refresh.', {
      hint: 'get one: graphcred token get',
    });
  }
  const { connection } = await connect(session, credential);
  const identity = { ...base, lifetime };
  const lock = await requireLock(session, store, identityKey(identity));
  let renewed: NewToken;
  let isStored: boolean;
  invocation.interruption?.begin();
  try {
    renewed = await renewToken({ connection, version, token, lifetime, now: ctx.now, warn: report.warn });
    const owner = ownerInfo(credential);
    const entry = { identity, host: target.host, owner, store, now: ctx.now, warn: report.warn };
    isStored = await storeToken(entry, renewed, lock);
  } finally {
    await lock.release();
  }
  // The refreshed token is the same token. If it stayed stored under its old lifetime too, it would be deleted twice.
  const others = held.filter(({ key }) => isStored && key !== identityKey(identity));
  for (const other of others) {
    if (other === record || (given && (await holds(store, other, given))))
      await forget(store, other, report.warn);
  }
  printToken(session, { ...renewed, source: 'server' } satisfies CachedToken);
}

/** Waits for the lock, so that no other process mints or replaces this entry meanwhile. */
async function requireLock({ invocation, timeoutMs }: Session, store: Store, key: string): Promise<Lock> {
  const { now } = invocation.ctx;
  const options = { waitMs: timeoutMs + 5000, since: now(), now, accepts: () => false };
  const lock = await store.lock(key, options);
  if (lock) return lock;
  throw new GraphException('INTERNAL', 'a store gave no lock');
}

/** Checks the version before anything else is asked or read: 4.x cannot refresh, whether a token is cached or not. */
async function requireRefresh(session: Session): Promise<ServerVersion> {
  const version = await findVersion(session);
  if (version.canRefresh) return version;
  throw new GraphException('UNSUPPORTED', 'This server cannot refresh tokens: 4.x has no such call.', {
    hint: 'mint a new one: graphcred token get --fresh',
  });
}

/** Whether an entry holds this token. One that cannot be read counts as another token, and stays. */
async function holds(store: Store, record: StoreRecord, token: Sensitive): Promise<boolean> {
  const value = await store.read(record).catch(() => undefined);
  return value?.reveal() === token.reveal();
}

/** Deletes an entry. The server has already renewed the token, so a failure here is only a warning. */
async function forget(store: Store, { key }: StoreRecord, warn: (text: string) => void): Promise<void> {
  try {
    await store.delete(key);
  } catch (error) {
    const why = error instanceof GraphException ? error.message : `the ${store.name} store failed`;
    warn(`${why}; the token also stays cached under its old lifetime`);
  }
}
