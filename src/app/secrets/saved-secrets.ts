import { maskSecret } from '../../core/redact.js';
import type { Sensitive } from '../../core/sensitive.js';
import { graphOf } from '../../run/run.js';
import { entriesOf, type StoreEntry } from '../../run/stores.js';
import { isSecret } from '../../store/ownership.js';
import { newestFirst } from '../../store/records.js';
import type { SecretRecord, StoreRecord } from '../../store/store.js';
import type { Login } from '../gsql-login.js';
import { otherStores } from '../tokens/list-tokens.js';

type SavedSecret = StoreEntry<SecretRecord>;

/** Returns the secrets saved on this machine for the server and graph of this run, of any user; that saved last comes first. */
export async function savedForServer(login: Login): Promise<SavedSecret[]> {
  const { run, store } = login;
  const stores = run.settings.secretsOf === undefined ? [store, ...(await otherStores(run, store))] : [];
  const secrets = (await entriesOf(stores)).filter(isSecret).filter(({ record }) => isHere(login, record));
  return secrets.sort((a, b) => newestFirst(a.record, b.record));
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

/** Finds those of the server's list that are saved here. What a store fails to read counts as another one. */
export async function savedAmong<One extends Listed>(login: Login, secrets: readonly One[]) {
  const saved = await savedForServer(login);
  const found = saved.map((one) => listedAs(login, one, secrets).catch(() => []));
  return new Set((await Promise.all(found)).flat());
}

/** Returns what is saved of secrets that the server lists; that saved last comes first. */
export async function savedAs(login: Login, secrets: readonly Listed[]): Promise<SavedSecret[]> {
  const saved = await savedForServer(login);
  const found = await Promise.all(saved.map((one) => listedAs(login, one, secrets)));
  return saved.filter((_, index) => found[index]?.length !== 0);
}

/** Whether a record was made for this server and, on 3.x, for this graph or for none. */
export function isHere({ run, version }: Login, { info }: StoreRecord): boolean {
  const anyGraph = !version.secretsNeedGraph || info.graph === null;
  return info.gsqlUrl === run.target.gsqlUrl && (anyGraph || info.graph === graphOf(run));
}
