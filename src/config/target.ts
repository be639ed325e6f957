import {
  CLOUD_PORT,
  type Endpoints,
  hostUrl,
  isCloud,
  isSamePair,
  knownServers,
  type Pair,
} from '../core/endpoints.js';
import { expected, GraphException, usageError } from '../core/errors.js';
import { refuseValue } from './errors.js';
import {
  ADDRESS_KEYS,
  type ConfigKey,
  CREDENTIAL_KEYS,
  isInFile,
  KEYS,
  type LeftOut,
  type Level,
  SETTINGS,
  type Settings,
  type SourcedValue,
  type Target,
} from './keys.js';

/** Where an address may come from as a whole, highest priority first; the last is the config file. */
const LAYERS: readonly Level[][] = [['flag'], ['variable'], ['tgVariable'], ['profile', 'fileDefaults']];

type Values = Settings['all'];
type Unresolved = Omit<Settings, 'database' | 'leftOut'>;
type Layer = ReturnType<typeof layerOf>;

const isCredential = ({ key }: SourcedValue) => CREDENTIAL_KEYS.includes(key);
const staysWithServer = (one: SourcedValue) => isCredential(one) || /^tls\.(?!ca$)/.test(one.key);
const isServerName = ({ key }: SourcedValue) => ['host', 'gsqlUrl', 'restUrl'].includes(key);
const isAddress = ({ key }: SourcedValue) => ADDRESS_KEYS.some((one) => one === key);

/**
 * Resolves the settings to one database and what counts there. The highest layer that names any part of an address gives
 * the whole address. A lower layer counts if it names no address or the same one; else it is left out.
 * @param needsProfile whether a profile that was typed must not be left out
 */
export function resolveTarget(unresolved: Unresolved, needsProfile: boolean): Settings {
  const set = Object.values(unresolved.all).flat();
  const layers = LAYERS.map((levels) => layerOf(set.filter(({ level }) => levels.includes(level))));
  const chosen = layers.find(({ named }) => named) ?? layerOf([]);
  const settings = { ...unresolved, all: withAddressOf(chosen, unresolved.all) };
  try {
    const target = readTarget(settings, chosen);
    // Without an address, a file is for this machine's own database, to which its credentials belong.
    const lower = layers.filter((layer) => layer !== chosen && (layer.named || layer === layers.at(-1)));
    requireHost(chosen, lower);
    // What stays with a server is, at a file's top level, for those named there, also where a profile names others.
    const { replaced = layerOf([]) } = layers.at(-1) ?? {};
    const leftOut = [...lower, { ...replaced, named: undefined }]
      .map((layer) => ({ ...layer, pair: pairOf(settings, layer) }))
      .filter(({ pair }) => !pair || !isSamePair(pair, target))
      .map(leaveOut)
      .filter((layer) => layer.set.length > 0);
    if (needsProfile) requireProfile(settings, chosen, leftOut, target);
    return { ...settings, all: countingAt(target, settings.all, leftOut), leftOut, database: target };
  } catch (error) {
    return { ...settings, leftOut: [], database: expected(error) };
  }
}

/** Returns the database in force. Throws USAGE or CONFIG_INVALID for an address that is malformed or of two places. */
export function targetOf({ database }: Settings): Target {
  if (database instanceof GraphException) throw database;
  return database;
}

/** Whether anything names a server. Otherwise the default is in force, which is this machine. */
export function namesServer({ all }: Settings): boolean {
  return all.gsqlUrl.length > 0 || all.host.some(({ level }) => level !== 'default');
}

/** Describes a pair by its GSQL server, and by its REST server where that is set; or by what tells it from the other pair. */
export function describePair(pair: Pair | undefined, other?: Pair): string {
  if (pair === undefined) return 'an address that cannot be used';
  const { gsqlUrl, restUrl } = pair;
  if (gsqlUrl === other?.gsqlUrl) return restUrl === undefined ? 'no REST server' : `REST server ${restUrl}`;
  return restUrl === undefined ? gsqlUrl : `${gsqlUrl} (REST ${restUrl})`;
}

/** Describes a pair that is not in force, the one that is, and what names that. */
export function describeOther(pair: Pair | undefined, settings: Unresolved, inForce: Pair): string {
  return `${describePair(pair, inForce)}, but ${namedBy(settings)?.label} names ${describePair(inForce, pair)}`;
}

/** Names the database of a layer that does not count, with `settings` also what names the one in force, and what is not used. */
export function describeLeftOut({ source, named, pair, set }: LeftOut, settings?: Settings): string {
  const others = set.filter((one) => !isAddress(one));
  const unused = others.length > 0 ? others : set;
  const names = new Set(unused.map(({ key, label, level }) => (isInFile(level) ? key : label)));
  const inForce = settings ? describeOther(pair, settings, targetOf(settings)) : describePair(pair);
  const place = source.replace(/^config/, 'the config');
  return `${place} ${named ? 'names' : 'is for'} ${inForce}; not used: ${[...names].join(', ')}`;
}

/** Returns what names the servers in force: a URL or host, else a port of the default host. */
export function namedBy({ all }: Pick<Settings, 'all'>): SourcedValue | undefined {
  const named = (['gsqlUrl', ...ADDRESS_KEYS] as const).flatMap((key) => all[key][0] ?? []);
  return named.find(({ level }) => level !== 'default') ?? all.host[0];
}

/** Returns what a place sets, and its address. In a file, a profile that names servers replaces those of the top level. */
function layerOf(set: readonly SourcedValue[]) {
  const isReplaced = set.some((one) => one.level === 'profile' && isServerName(one));
  const top = set.filter(({ level }) => level === 'fileDefaults');
  const counting = set.filter((one) => !(isReplaced && top.includes(one) && isServerName(one)));
  const isOverlaid = top.some(isServerName) && set.some((one) => one.level === 'profile' && isAddress(one));
  const ofTop = isOverlaid ? top.filter(staysWithServer) : [];
  const own = set.filter((one) => !ofTop.includes(one));
  const address = addressIn(counting);
  const [named] = Object.values(address);
  const replaced = { set: ofTop, address: addressIn(top) };
  // Of a place without an address, only the credentials belong to a database.
  return { set: named ? own : own.filter(isCredential), address, named, replaced };
}

function addressIn(set: readonly SourcedValue[]): Partial<Record<ConfigKey, SourcedValue>> {
  const named = ADDRESS_KEYS.flatMap((key) => set.find((one) => one.key === key) ?? []);
  return Object.fromEntries(named.map((one) => [one.key, one]));
}

/** Puts the address of the chosen layer first, and its defaults before what other layers say. */
function withAddressOf({ set }: Layer, all: Values): Values {
  const rank = (one: SourcedValue) => (set.includes(one) ? 0 : one.level === 'default' ? 1 : 2);
  const ordered = ADDRESS_KEYS.map((key) => [key, [...all[key]].sort((a, b) => rank(a) - rank(b))]);
  return { ...all, ...Object.fromEntries(ordered) };
}

/** Returns what counts at a database: nothing that is left out, no address that another one replaces, and its usual ports. */
function countingAt({ endpoints, gsqlUrl }: Target, all: Values, leftOut: readonly LeftOut[]): Values {
  const out = leftOut.flatMap((layer) => layer.set);
  const replaced: ConfigKey[] = endpoints.gsqlUrl === undefined ? ['gsqlUrl'] : ['host', 'gsqlPort'];
  replaced.push(endpoints.restUrl === undefined ? 'restUrl' : 'restPort');
  const isCloudPort = ({ key, level }: SourcedValue) =>
    level === 'default' && SETTINGS[key].type === 'port' && isCloud(gsqlUrl);
  const counting = KEYS.map((key) => {
    const set = replaced.includes(key) ? [] : all[key].filter((one) => !out.includes(one));
    return [key, set.map((one) => (isCloudPort(one) ? { ...one, value: `${CLOUD_PORT}` } : one))];
  });
  return Object.fromEntries(counting);
}

/** @throws GraphException USAGE, CONFIG_INVALID for an address that is malformed or contradicts another */
function readTarget(settings: Unresolved, { address }: Pick<Layer, 'address'>): Target {
  const { host, gsqlUrl: service, restUrl: rest } = address;
  if (rest && !service && !host) {
    const [gsql, both] = [nameOf('gsqlUrl', rest.level), nameOf('host', rest.level)];
    throw needs(rest.label, gsql, `add ${gsql}; or give ${both} in place of both`);
  }
  const hostOf = ({ value }: SourcedValue) => URL.canParse(`${value}`) && new URL(`${value}`).hostname;
  if (host && service && hostOf(host) && hostOf(service) && hostOf(host) !== hostOf(service))
    throw usageError(`${host.label} and ${service.label} name different servers.`, 'set only one of the two');
  const endpoints: Endpoints = Object.fromEntries(
    Object.entries(address).map(([key, { value }]) => [
      key,
      key.endsWith('Port') ? Number(/^\d+$/.test(`${value}`) ? value : Number.NaN) : value,
    ]),
  );
  const { gsqlUrl, restUrl } = knownServers(endpoints, (...why) => refuseValue(settings, ...why));
  return { endpoints, gsqlUrl, restUrl, host: hostUrl(gsqlUrl) };
}

/** @throws GraphException USAGE where the layer in force names a port, and a lower one names the host */
function requireHost({ named: port }: Layer, lower: readonly Layer[]): void {
  const other = lower.flatMap(({ named }) => named ?? []).find(isServerName);
  if (port === undefined || isServerName(port) || other === undefined) return;
  const { source, level } = port;
  const host = nameOf('host', level);
  const give = `add ${host}, and the other port if that is not the usual one`;
  throw needs(source, host, `${give}; or leave the ports out, to use the servers of ${other.source}`);
}

function needs(part: string, beside: string, hint: string): GraphException {
  return usageError(`${part} needs ${beside} beside it: an address comes from one place.`, hint);
}

function nameOf(key: ConfigKey, level: Level): string {
  const { flag, variable, tgVariable } = SETTINGS[key];
  const names: Partial<Record<Level, string | undefined>> = { flag: `--${flag}`, variable, tgVariable };
  return names[level] ?? key;
}

function pairOf(settings: Unresolved, layer: Pick<Layer, 'address'>): Pair | undefined {
  try {
    return readTarget(settings, layer);
  } catch (error) {
    expected(error);
    return undefined;
  }
}

/** @throws GraphException USAGE where the profile that was typed is left out */
function requireProfile(
  settings: Unresolved,
  { named, address }: Layer,
  leftOut: readonly LeftOut[],
  inForce: Pair,
): void {
  const { profile } = settings;
  const file = leftOut.find((layer) => isInFile(layer.named?.level));
  if (profile.source !== '--profile' || file === undefined || named === undefined) return;
  const sources = Object.values(address).map(({ source }) => source);
  const isRestMissing = file.pair?.gsqlUrl === inForce.gsqlUrl && inForce.restUrl === undefined;
  const add = isRestMissing ? `add the REST server (${nameOf('restUrl', named.level)}), or ` : '';
  const other = `${add}${named.level === 'flag' ? 'leave out' : 'unset'} ${sources.join(' and ')}`;
  throw usageError(
    `Profile "${profile.name}" is for ${describeOther(file.pair, settings, inForce)}.`,
    `${file.pair ? other : 'correct the profile'}, or leave out --profile`,
  );
}

/** Returns what a layer for another database sets. What concerns this machine counts, unless a profile sets it. */
function leaveOut({ set: all, named, pair }: Pick<LeftOut, 'set' | 'named' | 'pair'>): LeftOut {
  const set = all.filter(({ key, level }) => level === 'profile' || SETTINGS[key].of !== 'machine');
  return { pair, set, named, source: (named ?? set[0])?.source ?? '', credential: set.find(isCredential) };
}
