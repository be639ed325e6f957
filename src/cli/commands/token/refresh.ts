import { GraphException } from '../../../core/errors.js';
import type { ServerVersion } from '../../../core/protocol.js';
import type { Sensitive } from '../../../core/sensitive.js';
import type { Store, StoreRecord } from '../../../store/store.js';
import type { HeldToken } from '../../../tokens/find.js';
import { heldTokens } from '../../../tokens/held.js';
import { identityKey } from '../../../tokens/identity.js';
import { renewToken } from '../../../tokens/mint.js';
import { keep } from '../../../tokens/mint-once.js';
import type { Call } from '../../call.js';
import { connect, secretOf } from '../../connect.js';
import { findCredential, refuseUntrusted } from '../../credential.js';
import { requireReadable } from '../../require.js';
import { openSession, type Session } from '../../session.js';
import { chooseStore } from '../../stores.js';
import { checkOutput, printToken } from '../../token-output.js';
import { tokenFromStdin } from '../../token-stdin.js';

/** `graphcred token refresh` */
export async function run(call: Call): Promise<undefined> {
  const session = await openSession(call);
  await checkOutput(session);
  const { ctx, report } = call;
  const { store } = await chooseStore(session, { needed: true });
  const { graph, lifetime, target } = session;
  const { gsqlUrl, restUrl } = target;
  const credential = await findCredential(session, 'mint', async () => store).catch(async (error) => {
    if (!(error instanceof GraphException) || error.code !== 'INPUT_REQUIRED') throw error;
    // Without a credential nothing vouches for where an untrusted file leads.
    await refuseUntrusted(session, { literal: false });
    await refuseOn4(session, store);
    throw error;
  });
  const base = { gsqlUrl, restUrl, graph, principal: credential.principal };
  const given = await tokenFromStdin(call);
  // The caller's token, not the file's: it goes to no host that only the file vouches for.
  if (given) await refuseUntrusted(session, { literal: false });
  const held = heldTokens(store, base);
  const record = given ? undefined : held[0];
  const version = await refuseOn4(session, store);
  const token = given ?? (record && (await store.read(record)));
  if (!token) {
    await requireReadable(store);
    throw new GraphException('NOT_FOUND', 'This machine holds no token to refresh.', {
      hint: 'get one: graphcred token get',
    });
  }
  const login = await connect(session, credential, store.name !== 'none');
  const secret = await secretOf(credential);
  const renewed = await renewToken(
    { connection: login.connection, version, token, secret, lifetime },
    { now: ctx.now, warn: report.warn },
  );
  const identity = { ...base, lifetime };
  const kept = await keep(
    identityKey(identity),
    renewed,
    { identity, host: target.host },
    { store, now: ctx.now, warn: report.warn },
  );
  // It is one token still: under its old lifetime it must not be found, or it would be deleted twice.
  const others = held.filter(({ key }) => kept && key !== identityKey(identity));
  for (const other of others) {
    if (other === record || (given && (await holds(store, other, given))))
      await forget(store, other, report.warn);
  }
  await printToken(session, { ...renewed, source: 'server' } satisfies HeldToken);
}

/** The version decides before anything else: 4.x has no refresh, held token or not. */
async function refuseOn4(session: Session, store: Store): Promise<ServerVersion> {
  const { connection, version } = await connect(session, undefined, store.name !== 'none');
  if (version.generation === 'C')
    await connection.renewToken({ token: 'unused', lifetime: session.lifetime });
  return version;
}

/** An entry that cannot be read is not known to be this token, and stays. */
async function holds(store: Store, record: StoreRecord, token: Sensitive): Promise<boolean> {
  const value = await store.read(record).catch(() => undefined);
  return value?.reveal() === token.reveal();
}

/** By now the server has renewed the token: whatever goes wrong here must not cost it. */
async function forget(store: Store, { key }: StoreRecord, warn: (text: string) => void): Promise<void> {
  try {
    await store.remove(key);
  } catch (error) {
    const why = error instanceof GraphException ? error.message : `the ${store.name} store failed`;
    warn(`${why}; the token also stays held under its old lifetime`);
  }
}
