import { isSecretId, ownerInfo, secretId } from '../../auth/credential.js';
import { GraphException } from '../../core/errors.js';
import { maskSecret } from '../../core/redact.js';
import { Sensitive } from '../../core/sensitive.js';
import { isoSeconds } from '../../core/time.js';
import { graphOf, type Run } from '../../run/run.js';
import { serversInForce } from '../../run/server.js';
import { entriesOf, type StoreEntry } from '../../run/stores.js';
import { isSecret } from '../../store/ownership.js';
import { newestFirst } from '../../store/records.js';
import type { CredentialRecord, SecretRecord, Store, StoreRecord } from '../../store/store.js';
import { pluralize } from '../format.js';
import type { Login } from '../gsql-login.js';
import { listTokens, otherStores, type TokenRow } from '../tokens/list-tokens.js';
import { failureOf, revokeTokens } from '../tokens/revoke-tokens.js';

/** The names that the record of a secret keeps, as far as they are known. */
type Names = Readonly<Partial<Record<'alias' | 'rotationOf' | 'replaces' | 'origin', string | undefined>>>;

export const TRIAL = 'trial entry ';

/** Tests the store: writes a trial entry and removes it, together with trial entries that killed processes left. */
export async function tryStore({ ports, stores }: Run, store: Store): Promise<void> {
  stores.requireKeeping(store.name, '--save');
  await store.put(
    {
      v: 1,
      kind: 'secret',
      key: TRIAL + process.pid,
      store: store.name,
      createdAtUnix: Math.floor(ports.now() / 1000),
      // The entry names no server, so it is never used as a credential if it is left behind.
      info: { host: '', gsqlUrl: '', restUrl: '', graph: null, id: TRIAL },
    },
    new Sensitive('trial'),
  );
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
  const record = {
    v: 1,
    kind,
    key: `${key}, at ${gsqlUrl} rest ${restUrl}`,
    store: store.name,
    // Later than the others, whatever the clock says: of the secrets of one rotation the one saved last works.
    createdAtUnix: Math.max(
      run.ports.now() / 1000,
      ...others.map(({ createdAtUnix }) => createdAtUnix + 0.001),
    ),
    info: { host: run.target.host, gsqlUrl, restUrl, ...info },
  } as CredentialRecord;
  run.ports.interruption.begin();
  await store.put(record, value);
}

type SavedSecret = StoreEntry<SecretRecord>;

/** Returns the secrets saved in every store of this machine for the server and graph of this run, of any user. */
export async function savedForServer(login: Login): Promise<SavedSecret[]> {
  const { run, store } = login;
  const stores = run.settings.secretsOf === undefined ? [store, ...(await otherStores(run, store))] : [];
  return (await entriesOf(stores)).filter(isSecret).filter(({ record }) => isHere(login, record));
}

/** Whether user and alias identify a saved secret on the server; otherwise it is compared by its mask. */
export function isNamed({ credential }: Login, { info }: SecretRecord): boolean {
  return info.alias !== undefined && info.username !== undefined && credential.username !== undefined;
}

/** A secret as the server lists it; without the mask where that is not known. */
export interface Listed {
  readonly alias: string;
  readonly masked?: string | undefined;
}

/** Returns those of the server's list that have the mask of a value. It is read only where a mask is known. */
export async function maskedLike<One extends Listed>(
  secrets: readonly One[],
  read: () => Promise<Sensitive | undefined>,
): Promise<One[]> {
  if (secrets.every(({ masked }) => masked === undefined)) return [];
  const value = await read();
  return value ? secrets.filter(({ masked }) => masked === maskSecret(value.reveal())) : [];
}

/** Returns those of the server's list that a saved secret is. One that cannot be read counts as another one. */
async function listedAs<One extends Listed>(login: Login, saved: SavedSecret, secrets: readonly One[]) {
  const { store, record } = saved;
  if (!isNamed(login, record)) return maskedLike(secrets, () => store.get(record));
  const { username, alias } = record.info;
  return secrets.filter((one) => one.alias === alias && username === login.credential.username);
}

/** Finds the secrets that are saved on this machine. If the store fails to read one, it is recognized by its name. */
export async function savedAmong<One extends Listed>(login: Login, secrets: readonly One[]) {
  const saved = new Set<One>();
  for (const entry of await savedForServer(login))
    for (const one of await listedAs(login, entry, secrets).catch(() => [])) saved.add(one);
  return saved;
}

/** Returns what is saved of secrets that the server lists; the one saved last comes first. */
export async function savedAs(login: Login, secrets: readonly Listed[]): Promise<SavedSecret[]> {
  const saved = (await savedForServer(login)).sort((a, b) => newestFirst(a.record, b.record));
  const found = await Promise.all(saved.map((one) => listedAs(login, one, secrets)));
  return saved.filter((_, index) => found[index]?.length !== 0);
}

/** Deletes what is saved of a dropped secret, and the tokens minted from it. Of those that live on, it says until when. */
export async function forgetDropped(login: Login, listed: Listed): Promise<void> {
  const { run, store, version } = login;
  const { now, reporter } = run.ports;
  const { saved, hasMinted } = await heldOf(login, [listed]);
  const minted = (await listTokens(run, store)).filter(hasMinted);
  const living = minted.filter(({ record }) => record.expiresAtUnix > now() / 1000);
  if (version.tokensOutliveSecret && living.length > 0) {
    const until = isoSeconds(Math.max(...living.map(({ record }) => record.expiresAtUnix)));
    const count = pluralize(living.length, 'token');
    reporter.note([
      `${count} made from the secret "${listed.alias}" can still be used until ${until}`,
      'to revoke',
      { command: `token delete ${living.map(({ id }) => id).join(' ')}` },
    ]);
  }
  // The tokens are recognized by what is saved, so another run could not go on without it.
  for (const one of [...(version.tokensOutliveSecret ? [] : minted), ...saved])
    await one.store.delete(one.record.key);
}

/** Finds what is saved of secrets, and recognizes the tokens minted from that, or from the one that logs in. */
async function heldOf(login: Login, secrets: readonly Listed[]) {
  const { kind, principal, read } = login.credential;
  const saved = await savedAs(login, secrets);
  const ids = new Set(saved.map(({ record }) => record.info.id));
  if (kind === 'secret' && (await maskedLike(secrets, read)).length > 0) ids.add(principal);
  const hasMinted = ({ record }: TokenRow) => ids.has(record.info.principal) && isHere(login, record);
  return { saved, hasMinted };
}

/** Revokes the cached tokens minted from secrets which are about to be dropped. Throws when one could not be revoked. */
export async function revokeTokensOf(login: Login, secrets: readonly Listed[]): Promise<void> {
  const { run, store, credential } = login;
  const { hasMinted } = await heldOf(login, secrets);
  const all = await listTokens(run, store);
  const tokens = all.filter(hasMinted);
  // Of a secret that was given in a file or a variable, nothing says its alias. On 3.x its tokens end with it.
  const unknown = all.filter((row) => {
    const { principal } = row.record.info;
    const isOfSecret = isSecretId(principal) && principal !== credential.principal;
    return isOfSecret && !row.minter && !hasMinted(row) && isHere(login, row.record);
  });
  if (login.version.tokensOutliveSecret && unknown.length > 0)
    run.ports.reporter.note([
      `not revoked: ${pluralize(unknown.length, 'token')} stored here, perhaps of another secret; to revoke`,
      { command: `token delete ${unknown.map(({ id }) => id).join(' ')}` },
    ]);
  const failure = failureOf(run, await revokeTokens(run, tokens, all, credential));
  if (!failure) return;
  throw new GraphException(failure.code, `No secret was changed. ${failure.message}`, {
    ...failure,
    fix: [...failure.fix, 'to end the secret first, leave out --revoke'],
  });
}

/** Whether a record was made for this server and, on 3.x, for this graph or for none. */
function isHere({ run, version }: Login, { info }: StoreRecord): boolean {
  const anyGraph = !version.secretsNeedGraph || info.graph === null;
  return info.gsqlUrl === run.target.gsqlUrl && (anyGraph || info.graph === graphOf(run));
}
