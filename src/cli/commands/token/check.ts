import { GraphException } from '../../../core/errors.js';
import { heldTokens } from '../../../tokens/held.js';
import type { Call } from '../../call.js';
import { connect } from '../../connect.js';
import { findCredential, refuseUntrusted } from '../../credential.js';
import { openSession, type Session } from '../../session.js';
import { chooseStore } from '../../stores.js';
import { tokenFromStdin } from '../../token-stdin.js';
import { tokenFromVariable } from '../../token-variable.js';

/** `graphcred token check` */
export async function run(call: Call): Promise<number> {
  const { report } = call;
  const session = await openSession(call);
  const { store } = await chooseStore(session, { needed: true });
  const given = (await tokenFromStdin(call)) ?? tokenFromVariable(session);
  if (given) await refuseUntrusted(session, { literal: false });
  const record = given ? undefined : await heldRecord(session, store);
  const token = given ?? (record && (await store.read(record)));
  if (!token) {
    throw new GraphException('NOT_FOUND', 'This machine holds no token to check.', {
      hint: 'get one: graphcred token get',
    });
  }
  const { connection } = await connect(session, undefined, store.name !== 'none');
  const { accepted } = await connection.checkToken(token);
  if (report.json) report.document({ accepted });
  else if (accepted) report.result('The server accepts the token.');
  if (accepted) return 0;
  // What the server refuses is of no use to anybody here either.
  if (record) await store.remove(record.key);
  throw new GraphException('AUTH_FAILED', 'The server does not accept the token.', {
    hint: record
      ? 'it is forgotten here; get a new one: graphcred token get'
      : 'get a new one: graphcred token get; a secret is no token, mint one from it: graphcred token get --secret-stdin',
  });
}

async function heldRecord(session: Session, store: Parameters<typeof heldTokens>[0]) {
  const { principal } = await findCredential(session, 'mint', async () => store);
  const { gsqlUrl, restUrl } = session.target;
  return heldTokens(store, { gsqlUrl, restUrl, graph: session.graph, principal })[0];
}
