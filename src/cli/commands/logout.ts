import { revokeTokens } from '../../app/delete-tokens.js';
import { listTokens, otherStores, type TokenRow } from '../../app/list-tokens.js';
import { endLogin } from '../../app/login/identity.js';
import { pluralize } from '../../app/words.js';
import { findCredential, profileOwner } from '../../auth/choose.js';
import { isOfProvider } from '../../auth/oidc/settings.js';
import { isSamePair, ownerOf, recordsOf, serversInForce, serversOfRecord } from '../../auth/servers.js';
import { loginHomes } from '../../auth/sources.js';
import { chooseStore, open, requireAllRead, requireReadable } from '../../auth/stores.js';
import { GraphException } from '../../core/errors.js';
import { newestFirst } from '../../store/records.js';
import { STORES, type Store, type StoreRecord } from '../../store/store.js';
import type { Invocation } from '../command.js';
import { confirm } from '../output/prompt.js';
import type { Session } from '../session.js';
import { openSession } from '../session.js';

/** Runs `graphcred logout`. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, report } = invocation;
  const session = await openSession(invocation);
  const isRevoking = flags.revoke === true;
  const { stores, homes, records } = await chooseRecords(session, isRevoking);
  const whose = flags.all === true ? ', of every server and user' : ` of ${session.target.gsqlUrl}`;
  if (records.length === 0) return refuseNothing(session, stores);
  // No server can end a JWT of an identity provider, so it is only deleted here.
  const jwts = isRevoking ? records.filter(({ info }) => isOfProvider(String(info.principal))) : [];
  const isToken = (record: StoreRecord) => record.kind === 'token' && !jwts.includes(record);
  const tokens = records.filter(isToken);
  const credentials = records.filter((record) => !isToken(record));
  if (flags.all === true && flags.yes !== true && session.canPrompt)
    await confirm(
      invocation,
      `${summary(tokens.length, credentials.length, isRevoking, 'Forget')}${whose}?`,
      'Nothing was forgotten.',
    );
  invocation.interruption?.begin();
  const revocation = isRevoking ? await revoke(session, stores, tokens) : undefined;
  const failure = revocation?.failure;
  // Credentials are still needed to revoke what is left. A revoked token is already removed from its store, and another
  // process may have stored a new one since.
  if (!failure) await forget(session, [...stores, ...homes], isRevoking ? credentials : records);
  const gone = revocation ? revocation.deleted + revocation.missing : tokens.length;
  const forgotten = gone + (failure ? 0 : credentials.length);
  const cause = revocation?.cause;
  // If nothing changed, the server's own answer says more.
  if (failure && forgotten === 0) throw flags.all !== true && isOfServer(cause) ? cause : failure;
  report.done(
    { forgotten, tokens: gone, revoked: gone > 0 && isRevoking && !failure },
    `${summary(gone, forgotten - gone, isRevoking, 'Forgot')}${whose}.`,
  );
  if (jwts.some(({ kind }) => kind === 'token'))
    report.note('a JWT of an identity provider stays valid until it expires; no server can revoke it');
  if (failure) throw failure;
  await requireAllRead(session);
  return 0;
}

/** @throws GraphException NOT_FOUND, or why something that is stored cannot be read */
async function refuseNothing(session: Session, stores: readonly Store[]): Promise<never> {
  const isOfAll = session.invocation.flags.all === true;
  if (!isOfAll) for (const store of stores) await requireReadable(session, store);
  await requireAllRead(session);
  const where = isOfAll ? '' : ` for ${session.target.gsqlUrl}`;
  throw new GraphException('NOT_FOUND', `No saved credentials or tokens${where}.`, {
    hint: 'see: graphcred token list',
  });
}

function isOfServer(cause: GraphException | undefined): boolean {
  return Boolean(cause?.hint) && !cause?.ambiguous && cause?.code !== 'INPUT_REQUIRED';
}

async function forget(
  session: Session,
  stores: readonly Store[],
  records: readonly StoreRecord[],
): Promise<void> {
  for (const record of records) {
    const home = stores.find(({ name }) => name === record.store);
    if (home && record.kind === 'login') await endLogin(session, record, home);
    await home?.delete(record.key);
  }
}

/** Returns what there is to forget, and the stores that hold it. */
async function chooseRecords(session: Session, isRevoking: boolean) {
  // A machine does not forget tokens that a fleet shares, only those it minted for itself.
  const leavesShared = STORES[session.store.name].scope === 'fleet' && !isRevoking;
  const store = leavesShared
    ? await open(session, 'file', true)
    : await chooseStore(session, { needed: true });
  const { flags, report } = session.invocation;
  if (leavesShared)
    report.note('the tokens on the Redis server stay for the other machines; --revoke ends them for all');
  const stores = [store, ...(flags.all === true ? await otherStores(session, store) : [])];
  // Of a fleet, a login lies in a store of this machine.
  const homes = (await loginHomes(session)).filter(({ name }) => stores.every((one) => one.name !== name));
  const logins = (await recordsIn(homes)).filter(({ kind }) => kind === 'login');
  const records = [...(await recordsIn(stores)), ...logins];
  return { stores, homes, records: flags.all === true ? records : await recordsOfProfile(session, records) };
}

async function recordsIn(stores: readonly Store[]): Promise<StoreRecord[]> {
  return (await Promise.all(stores.map((one) => one.list()))).flat();
}

async function revoke(session: Session, stores: readonly Store[], records: readonly StoreRecord[]) {
  if (records.length === 0) return undefined;
  const [store] = stores as readonly [Store];
  const isOfAll = session.invocation.flags.all === true;
  const given = isOfAll ? undefined : await findCredential(session, 'mint', async () => store);
  const all = await listTokens(session, store);
  const tokens = all.filter(({ record }) =>
    records.some((one) => one.key === record.key && one.store === record.store),
  );
  const inForce = given && (await serversInForce(session));
  const whyForeign = ({ record }: TokenRow) => {
    if (given === undefined || inForce === undefined) return undefined;
    if (!isSamePair(serversOfRecord(record), inForce)) return 'it is for another REST address';
    return given.principal === record.info.principal ? undefined : 'the credential in use did not make it';
  };
  return revokeTokens(session, tokens, all, given, whyForeign);
}

/**
 * Returns what is stored for the profile in force, newest first.
 * @throws GraphException USAGE when the profile names nobody, and several have something saved for its server
 */
async function recordsOfProfile(session: Session, records: readonly StoreRecord[]): Promise<StoreRecord[]> {
  const owner = await profileOwner(session);
  const { gsqlUrl, username, secretAlias, principal } = owner;
  const mine = recordsOf(records, owner);
  const owners = new Set(records.filter(({ info }) => info.gsqlUrl === gsqlUrl).map(ownerOf));
  const namesNobody = username === undefined && secretAlias === undefined && principal === undefined;
  if (mine.length > 0 || owners.size < 2 || !namesNobody) return mine.sort(newestFirst);
  throw new GraphException(
    'USAGE',
    `Credentials of several users are saved for ${gsqlUrl}: ${[...owners].sort().join(', ')}.`,
    { hint: 'choose one: graphcred logout --username NAME, or --secret-alias NAME' },
  );
}

/** Names only what there is. */
function summary(
  tokens: number,
  credentials: number,
  isRevoking: boolean,
  forget: 'Forget' | 'Forgot',
): string {
  const saved = credentials === 0 ? '' : pluralize(credentials, 'saved credential');
  if (tokens === 0) return `${forget} ${saved}`;
  const revoked = forget === 'Forgot' ? 'Revoked and forgot' : 'Revoke and forget';
  const ended = `${isRevoking ? revoked : forget} ${pluralize(tokens, 'token')}`;
  if (saved === '') return ended;
  return isRevoking ? `${ended}, ${forget.toLowerCase()} ${saved}` : `${ended} and ${saved}`;
}
