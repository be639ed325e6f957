import { GraphException } from '../../core/errors.js';
import type { Store, StoreRecord } from '../../store/store.js';
import type { Call } from '../call.js';
import { connect, secretOf } from '../connect.js';
import { findCredential } from '../credential.js';
import { requireReadable } from '../require.js';
import { openSession, type Session } from '../session.js';
import { chooseStore } from '../stores.js';
import { counted } from '../words.js';

/** `graphcred logout` */
export async function run(call: Call): Promise<number> {
  const { flags, report } = call;
  const session = await openSession(call);
  const { store } = await chooseStore(session, { needed: true });
  const mine = store.list().filter((record) => belongs(record, session));
  if (mine.length === 0) {
    await requireReadable(store);
    throw new GraphException('NOT_FOUND', `Nothing of ${session.target.host} is kept here.`, {
      hint: 'see: graphcred token list',
    });
  }
  // Revoking tells the REST server the token, and one made for another address is not this server's to know.
  const elsewhere = (record: StoreRecord) =>
    flags.revoke === true &&
    record.kind === 'token' &&
    record.info.restSetting !== (session.target.restUrl ?? null);
  const gone = mine.filter((record) => !elsewhere(record));
  if (gone.length < mine.length)
    report.warn(
      `tokens of another REST address stay held; log out with that address too: ${mine.length - gone.length}`,
    );
  if (flags.revoke === true) await revoke(session, store, gone);
  for (const record of gone) await store.remove(record.key);
  const tokens = gone.filter(({ kind }) => kind === 'token').length;
  if (report.json) report.document({ forgotten: gone.length, tokens, revoked: flags.revoke === true });
  else
    report.result(
      `Forgot ${counted(tokens, 'token')} and ${counted(gone.length - tokens, 'saved credential')} of ${session.target.host}.`,
    );
  return 0;
}

function belongs({ info }: StoreRecord, { target, username }: Session): boolean {
  if (info.gsqlUrl !== target.gsqlUrl) return false;
  if (username === undefined) return true;
  if (info.username !== undefined) return info.username === username;
  // A token minted from a secret of unknown owner goes too: staying logged in by accident is worse.
  const principal = String(info.principal);
  if (principal.startsWith('saved:')) return principal.startsWith(`saved:${username}/`);
  return !principal.startsWith('user:') || principal === `user:${username}`;
}

/** The server first: what it could not be told stays held, so that it can be revoked later. */
async function revoke(session: Session, store: Store, records: readonly StoreRecord[]): Promise<void> {
  const tokens = records.filter(({ kind }) => kind === 'token');
  if (tokens.length === 0) return;
  const credential = await findCredential(session, 'mint', async () => store);
  const { connection } = await connect(session, credential, store.name !== 'none');
  const secret = await secretOf(credential);
  for (const record of tokens) {
    const token = await store.read(record);
    if (token) await connection.deleteToken(secret, { token, skipNA: true });
    await store.remove(record.key);
  }
}
