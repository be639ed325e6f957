import { refuseValue } from '../config/errors.js';
import {
  ADDRESS_KEYS,
  type ConfigKey,
  isInFile,
  KEYS_OF_ADDRESS,
  type Level,
  PRECEDENCE,
  SETTINGS_OF_ADDRESS,
  type Settings,
} from '../config/keys.js';
import { type Endpoints, type Servers, serversOf } from '../core/endpoints.js';
import { GraphException } from '../core/errors.js';
import type { ServerVersion } from '../core/protocol/types.js';
import type { StoreRecord } from '../store/store.js';
import type { Call, Target } from './call.js';
import { findVersion } from './connect.js';
import type { BoundTo, CredentialSource } from './credential.js';

type AddressKey = (typeof ADDRESS_KEYS)[number];
/** A pair of base URLs. `restUrl` is undefined while it depends on the server's version. */
type Addresses = Pick<Target, 'gsqlUrl' | 'restUrl'>;

/**
 * Derives the addresses of the database from the settings.
 * @throws GraphException USAGE, CONFIG_INVALID for an address that is malformed or contradicts another
 */
export function targetOf(settings: Settings): Target {
  return orRefuse(settings, () => {
    const endpoints = endpointsSetAt(settings, PRECEDENCE);
    const { gsqlUrl, restUrl } = serversOf(endpoints);
    const { protocol, hostname } = new URL(gsqlUrl);
    return { endpoints, gsqlUrl, restUrl, host: `${protocol}//${hostname}` };
  });
}

/** Whether an address is set at one of these levels. */
function isAddressSetAt(settings: Settings, levels: readonly Level[]): boolean {
  return ADDRESS_KEYS.some((key) => settings.all[key].some(({ level }) => levels.includes(level)));
}

/**
 * Returns the base URLs that the addresses set at these levels alone lead to; undefined when they are malformed.
 * @param version without it `restUrl` is undefined where it depends on the version
 */
function addressesSetAt(
  settings: Settings,
  levels: readonly Level[],
  version?: ServerVersion,
): Addresses | undefined {
  try {
    const endpoints = endpointsSetAt(settings, levels);
    return version === undefined ? serversOf(endpoints) : serversOf(endpoints, version);
  } catch (error) {
    if (error instanceof GraphException && error.code !== 'INTERNAL') return undefined;
    throw error;
  }
}

/** Returns the keys that a flag, a variable or an answer sets to another value than the config file. */
function replacedKeys<K extends AddressKey>(keys: readonly K[], { all }: Settings): K[] {
  return keys.filter((key) => {
    const [set] = all[key];
    if (set === undefined || set.level === 'default') return false;
    const isPort = key === 'gsqlPort' || key === 'restPort';
    const before = all[key].find(({ level }) => isInFile(level) || (isPort && level === 'default'));
    return set.value !== before?.value;
  });
}

/**
 * Returns the settings without the config file's address, and the settings of that database, when a flag or variable
 * replaces the address. `foreign` then also names those of the profile.
 */
export function withoutReplacedAddress(settings: Settings): Settings {
  const ports = replacedKeys(['gsqlPort', 'restPort'], settings);
  const hasNewHost = replacedKeys(['host', 'gsqlUrl', 'restUrl'], settings).length > 0;
  if (!hasNewHost && ports.length === 0) return settings;
  // Another port means another database, but the file's host and a URL of the other server still count.
  const isReplaced = (key: AddressKey) => ports.some((port) => port.replace('Port', 'Url') === key);
  const kept: readonly ConfigKey[] = hasNewHost ? [] : ADDRESS_KEYS.filter((key) => !isReplaced(key));
  const dropped = KEYS_OF_ADDRESS.filter((key) => !kept.includes(key));
  const own = dropped.filter((key) => settings.all[key].some(({ level }) => level === 'profile'));
  return {
    ...settings,
    all: without(settings, dropped, FILE),
    foreign: [...own, ...(settings.foreign ?? [])],
  };
}

/**
 * Returns the settings without those of the config file that belong to its address, when a flag or variable leads to
 * another one. Credentials stay: they are bound to their pair, and the error names it.
 */
export function withoutForeignSettings(settings: Settings): Settings {
  const [own, inForce] = [addressesSetAt(settings, FILE), addressesSetAt(settings, PRECEDENCE)];
  if (!own || !inForce || (own.gsqlUrl === inForce.gsqlUrl && own.restUrl === inForce.restUrl))
    return settings;
  // A profile without an address is one of this machine. Its store may be for any server, as what stands beside the profiles.
  const hasAddress = isAddressSetAt(settings, FILE);
  const levels: readonly Level[] = hasAddress ? FILE : ['profile'];
  const foreign = SETTINGS_OF_ADDRESS.filter(
    (key) =>
      (hasAddress || !/^(store|redis)/.test(key)) &&
      settings.all[key].some(({ level }) => levels.includes(level)),
  );
  if (foreign.length === 0) return settings;
  return { ...settings, all: without(settings, foreign, levels), foreign };
}

/** Returns all values but those of these keys that were set at these levels. */
function without({ all }: Settings, keys: readonly ConfigKey[], levels: readonly Level[]): Settings['all'] {
  const left = keys.map((key) => [key, all[key].filter(({ level }) => !levels.includes(level))]);
  return { ...all, ...Object.fromEntries(left) };
}

/**
 * Returns the addresses set at these levels. Between a URL and the host and port that it replaces, the higher priority
 * decides.
 */
function endpointsSetAt(settings: Settings, levels: readonly Level[]): Endpoints {
  const pick = (key: AddressKey) => {
    const set = settings.all[key].find(({ level }) => level !== 'default' && levels.includes(level));
    return set && { text: set.value as string, priority: PRECEDENCE.indexOf(set.level) };
  };
  const lowest = PRECEDENCE.length;
  const [host, gsqlUrl, restUrl] = [pick('host'), pick('gsqlUrl'), pick('restUrl')];
  const [gsqlPort, restPort] = [pick('gsqlPort'), pick('restPort')];
  const urlCounts =
    gsqlUrl && gsqlUrl.priority <= Math.min(host?.priority ?? lowest, gsqlPort?.priority ?? lowest);
  const hostCounts = host && !(urlCounts && gsqlUrl.priority < host.priority);
  const restCounts =
    restUrl && restUrl.priority <= Math.min(host?.priority ?? lowest, restPort?.priority ?? lowest);
  return {
    ...(hostCounts && { host: host.text }),
    ...(urlCounts && { gsqlUrl: gsqlUrl.text }),
    ...(restCounts && { restUrl: restUrl.text }),
    ...(gsqlPort && { gsqlPort: portNumber(settings, 'gsqlPort', gsqlPort.text) }),
    ...(restPort && { restPort: portNumber(settings, 'restPort', restPort.text) }),
  };
}

function portNumber(settings: Settings, key: ConfigKey, text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535) {
    refuseValue(settings, key, 'is not a port number', 'give a whole number from 1 to 65535');
  }
  return port;
}

/** Adds to an error in a setting which file, variable or flag set it. */
export function orRefuse<T>(settings: Settings, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof GraphException) || error.setting === undefined) throw error;
    const key = error.setting as ConfigKey;
    const { problem = 'is not valid', hint = '', option, remedies } = error;
    const written = withScheme(settings, key);
    if (written !== undefined) return refuseValue(settings, key, problem, written);
    return refuseValue(settings, key, problem, hint, { remedies, ...(option && { option }) });
  }
}

/** For a host typed without http:// or https://, returns both URLs, so that the right one can be copied. */
function withScheme({ all }: Settings, key: ConfigKey): string | undefined {
  const typed = all.host[0]?.value;
  if (key !== 'host' || typeof typed !== 'string' || /^https?:\/\//i.test(typed)) return undefined;
  const name = /^[A-Za-z0-9.-]+(:\d+)?$/.test(typed) ? typed.replace(/:\d+$/, '') : 'graph.example.com';
  return `write https://${name} or http://${name}`;
}

const FILE: readonly Level[] = ['profile', 'fileDefaults'];
/** The levels whose own addresses decide. A credential of any other level belongs to the pair in force. */
const LEVELS_OF_ADDRESSES: Partial<Record<Origin['level'], readonly Level[]>> = {
  tgVariable: ['tgVariable'],
  profile: FILE,
  fileDefaults: FILE,
};

/** Where a credential was set. A saved one belongs to the pair that its record names. */
type Origin = Pick<CredentialSource, 'level' | 'servers'>;

/**
 * Returns the pair of base URLs that a credential belongs to, if it may be used in this call: if that is the pair in
 * force. No other function decides it. Asks the server only if the settings alone do not decide.
 */
export async function usablePair(call: Call, origin: Origin): Promise<BoundTo | undefined> {
  const { settings, target } = call;
  const own = addressesOf(call, origin);
  if (own === undefined || own === 'in force') return own;
  // Another GSQL server is not asked for its version: its pair cannot be the one in force.
  if (own.gsqlUrl !== target.gsqlUrl) return undefined;
  // No REST server or port is set, so both pairs are the same in every version.
  if (own.restUrl === undefined && target.restUrl === undefined) return 'in force';
  const inForce = await serversInForce(call);
  const levels = LEVELS_OF_ADDRESSES[origin.level] ?? [];
  const pair = own.restUrl ? own : addressesSetAt(settings, levels, await findVersion(call));
  return isSamePair(pair, inForce) ? inForce : undefined;
}

/**
 * Returns the addresses that a credential is for. One of the config file is for those that the file alone yields; one of
 * the `TG_*` variables for the `TG_*` addresses if there are any; and one that is typed, piped or named by a flag or a
 * `GRAPHCRED_*` variable for the pair in force.
 * @returns undefined when the addresses of that level are malformed, or a record does not name them
 */
function addressesOf({ settings }: Call, { level, servers }: Origin): Addresses | 'in force' | undefined {
  if (level === 'store') return servers;
  const levels = LEVELS_OF_ADDRESSES[level];
  if (levels === undefined || (level === 'tgVariable' && !isAddressSetAt(settings, levels)))
    return 'in force';
  return addressesSetAt(settings, levels);
}

/** Returns the GSQL server that the config file alone leads to, if there is a file. */
export function gsqlUrlOfFile(settings: Settings): string | undefined {
  return settings.file && addressesSetAt(settings, FILE)?.gsqlUrl;
}

/** Returns the pair that a stored credential or token was made for; undefined if the record does not name both. */
export function serversOfRecord({ info }: StoreRecord): Servers | undefined {
  const { restUrl, gsqlUrl } = info;
  return typeof restUrl === 'string' && typeof gsqlUrl === 'string' ? { restUrl, gsqlUrl } : undefined;
}

/** Returns whose record it is: a user's name, or the id of a secret whose user is not known. */
export function ownerOf({ info }: StoreRecord): string {
  return String(info.username ?? info.owner ?? info.id ?? info.principal);
}

/** Returns the saved secrets that a profile names: by alias, or by the id, which a secret keeps when it is rotated. */
export function secretsNamed<E extends { readonly record: StoreRecord }>(
  entries: readonly E[],
  { username, secretAlias }: Pick<ProfileOwner, 'username' | 'secretAlias'>,
): E[] {
  if (secretAlias === undefined) return [];
  const isId = ({ record: { info } }: E) => [info.id, info.origin].includes(secretAlias);
  const named = entries.filter(
    (entry) =>
      entry.record.kind === 'secret' &&
      (isId(entry) || (entry.record.info.rotationOf ?? entry.record.info.alias) === secretAlias),
  );
  // The same secret may be saved for a user too. The id in a profile without a user means the one saved without.
  const own = named.filter((entry) => isId(entry) && entry.record.info.username === username);
  return own.length > 0 ? own : named;
}

/** Whom a profile acts as at a GSQL server. */
export interface ProfileOwner {
  readonly gsqlUrl: string;
  readonly username: string | undefined;
  /** The saved secret that the profile names. */
  readonly secretAlias: string | undefined;
  /** The owner of tokens minted with a credential that is not saved. */
  readonly principal?: string | undefined;
}

/**
 * Returns the entries that belong to a profile: what is saved for its user, the secret that it names, and the tokens
 * minted with any of them; for a profile that names nobody, all of the server, if they have one owner. `logout` and
 * `profile remove` delete these, and nothing of anybody else.
 */
export function recordsOf<E extends { readonly record: StoreRecord }>(
  entries: readonly E[],
  profile: ProfileOwner,
): E[] {
  const { gsqlUrl, username, secretAlias, principal } = profile;
  const here = entries.filter(({ record }) => record.info.gsqlUrl === gsqlUrl);
  if (username === undefined && secretAlias === undefined && principal === undefined)
    return new Set(here.map(({ record }) => ownerOf(record))).size === 1 ? here : [];
  const isOfUser = ({ info }: StoreRecord) => username !== undefined && info.username === username;
  const named = username === undefined ? secretsNamed(here, { username, secretAlias }) : [];
  const saved = here.filter(
    (entry) => entry.record.kind !== 'token' && (isOfUser(entry.record) || named.includes(entry)),
  );
  const owners: unknown[] = [principal, username && `user:${username}`];
  for (const { record } of saved) owners.push(record.info.id, record.info.owner);
  // Of a secret that was rotated, the tokens of its old values have the same owner.
  const isOwned = ({ info }: StoreRecord) =>
    [info.principal, info.owner].some((one) => one !== undefined && owners.includes(one));
  const tokens = here.filter(
    ({ record }) => record.kind === 'token' && (isOfUser(record) || isOwned(record)),
  );
  return [...saved, ...tokens];
}

/**
 * Whether these addresses lead to this pair. That is decided without asking a server: a REST server that is not set may
 * be either of those that follow from the GSQL server.
 */
export function mayBePair({ gsqlUrl, restUrl }: Addresses, pair: Servers | undefined): boolean {
  if (pair === undefined || gsqlUrl !== pair.gsqlUrl) return false;
  const both = [true, false].map((restBehindGsql) => serversOf({ gsqlUrl }, { restBehindGsql }).restUrl);
  return (restUrl === undefined ? both : [restUrl]).includes(pair.restUrl);
}

export function isSamePair(a: Addresses | undefined, b: Servers | undefined): boolean {
  return a !== undefined && b !== undefined && a.restUrl === b.restUrl && a.gsqlUrl === b.gsqlUrl;
}

/**
 * Creates the error for a credential of other servers than those in force. Sends no request.
 * @param what names the credential
 */
export function mismatch(call: Call, origin: Origin, what: string, hint: string): GraphException {
  const message = `${what} belongs to ${describeServersOf(call, origin)}; it is not sent to ${describePair(call.target)}.`;
  return new GraphException('HOST_MISMATCH', message, { hint });
}

function describeServersOf(call: Call, origin: Origin): string {
  const addresses = addressesOf(call, origin);
  if (addresses === undefined)
    return origin.level === 'store' ? 'unknown servers' : 'servers whose addresses are malformed';
  return describePair(addresses === 'in force' ? call.target : addresses);
}

/** Describes a pair. If the REST server depends on the version, both addresses are named. */
function describePair({ gsqlUrl, restUrl }: Addresses): string {
  const rest = restUrl ?? `port 9000 (3.x) or ${gsqlUrl}/restpp (4.x)`;
  return `${gsqlUrl} (GSQL) with ${rest} (REST)`;
}

/**
 * Returns the pair of base URLs in force. If the REST server's depends on an unknown version, the server is asked for
 * it without a credential.
 */
export async function serversInForce(call: Call): Promise<Servers> {
  const { endpoints, gsqlUrl, restUrl } = call.target;
  return restUrl === undefined ? serversOf(endpoints, await findVersion(call)) : { gsqlUrl, restUrl };
}
