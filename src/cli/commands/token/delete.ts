import type { GraphConnection } from '../../../core/connection.js';
import { GraphException } from '../../../core/errors.js';
import type { Sensitive } from '../../../core/sensitive.js';
import type { Store, StoreRecord } from '../../../store/store.js';
import { heldOnHost, heldTokens } from '../../../tokens/held.js';
import type { Call } from '../../call.js';
import { connect, secretOf } from '../../connect.js';
import { findCredential, refuseUntrusted } from '../../credential.js';
import { requireReadable } from '../../require.js';
import { openSession } from '../../session.js';
import { chooseStore } from '../../stores.js';
import { tokenFromStdin } from '../../token-stdin.js';

/** `graphcred token delete` */
export async function run(call: Call): Promise<number> {
  const { flags } = call;
  const session = await openSession(call);
  const { store } = await chooseStore(session, { needed: true });
  const credential = await findCredential(session, 'mint', async () => store);
  const { gsqlUrl, restUrl } = session.target;
  const { principal } = credential;
  const given = await tokenFromStdin(call);
  // The caller's token, not the file's: it goes to no host that only the file vouches for.
  if (given) await refuseUntrusted(session, { literal: false });
  const held =
    flags.all === true || given
      ? heldOnHost(store, { gsqlUrl, restUrl, principal })
      : heldTokens(store, { gsqlUrl, restUrl, graph: session.graph, principal });
  const victims = await Promise.all(
    held.map(async (record) => ({ records: [record], token: await store.read(record) })),
  );
  // A token named on stdin may be held, even more than once: every entry of it goes with it.
  const same = victims.filter(({ token }) => given && token?.reveal() === given.reveal());
  const wanted: Victim[] = given
    ? [{ records: same.flatMap(({ records }) => records), token: given }]
    : victims;
  if (wanted.length === 0) {
    await requireReadable(store);
    return tell(call, 0, 0, 'This machine holds no such token.');
  }
  const { connection } = await connect(session, credential, store.name !== 'none');
  const secret = await secretOf(credential);
  let deleted = 0;
  let missing = 0;
  for (const victim of wanted) {
    if (await deleteOne(victim, { connection, secret, store })) deleted++;
    else missing++;
  }
  return tell(call, deleted, missing, 'The server does not know the token; it is forgotten here too.');
}

interface Victim {
  readonly records: readonly StoreRecord[];
  readonly token: Sensitive | undefined;
}

interface Tools {
  connection: GraphConnection;
  secret: Sensitive | undefined;
  store: Store;
}

/** The server first; what it deleted or does not know is forgotten here. When it cannot be reached, nothing is. */
async function deleteOne({ records, token }: Victim, { connection, secret, store }: Tools): Promise<boolean> {
  const known = token !== undefined && (await isDeleted(connection, secret, token));
  for (const { key } of records) await store.remove(key);
  return known;
}

async function isDeleted(
  connection: GraphConnection,
  secret: Sensitive | undefined,
  token: Sensitive,
): Promise<boolean> {
  try {
    await connection.deleteToken(secret, { token });
    return true;
  } catch (error) {
    if (error instanceof GraphException && error.code === 'NOT_FOUND') return false;
    throw error;
  }
}

function tell({ report, flags }: Call, deleted: number, missing: number, why: string): number {
  const forgiven = flags['skip-missing'] === true;
  const failed = !forgiven && (missing > 0 || deleted === 0);
  if (report.json && !(failed && deleted + missing === 0)) report.document({ deleted, missing });
  else if (deleted > 0) report.result(`Deleted ${deleted} ${deleted === 1 ? 'token' : 'tokens'}.`);
  if (failed) {
    throw new GraphException(deleted > 0 ? 'PARTIAL' : 'NOT_FOUND', why, {
      hint: '--skip-missing makes this no error; held tokens: graphcred token list',
    });
  }
  if (!report.json && deleted === 0) report.note('there was no token to delete');
  return 0;
}
