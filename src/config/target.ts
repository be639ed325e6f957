import { type Endpoints, serversOf } from '../core/endpoints.js';
import { expected, GraphException, usageError } from '../core/errors.js';
import { refuseValue } from './errors.js';
import {
  ADDRESS_KEYS,
  type ConfigKey,
  isCredentialKey,
  isInFile,
  type LeftOut,
  type Level,
  labelOf,
  type Pair,
  SETTINGS,
  type Settings,
  type SourcedValue,
  type Target,
} from './keys.js';

const FILE: readonly Level[] = ['profile', 'fileDefaults'];
/** Where an address may come from as a whole, highest priority first. */
const LAYERS: readonly (readonly Level[])[] = [['flag'], ['variable'], ['tgVariable'], FILE];
const NAMES = ['gsqlUrl', 'host', 'restUrl'] as const;
/** Settings that concern this machine: they count whichever database is in force. */
const OF_MACHINE = /^(?:store$|redis\.|timeout$|wait$|output$|noInput$|lifetime$|minTtl$)/;

/**
 * Resolves the settings to one database and what counts there. The highest layer that names any part of an address gives
 * the whole address. A lower layer counts if it names no address or the same one; else it is left out.
 * @param isNewProfile whether a new address replaces that of the chosen profile
 */
export function resolveTarget(
  unresolved: Omit<Settings, 'database' | 'leftOut'>,
  isNewProfile: boolean,
): Settings {
  const named = LAYERS.filter((layer) => ADDRESS_KEYS.some((key) => valueAt(unresolved, key, layer)));
  const [chosen = [], ...lower] = named;
  const settings = { ...unresolved, all: withAddressOf(chosen, unresolved) };
  try {
    const target = readTarget(settings, chosen);
    requireHost(settings, chosen, lower);
    const leftOut = foreignLayers(settings, target, lower);
    if (!isNewProfile) requireProfile(settings, chosen, leftOut);
    return { ...settings, all: whatCounts(settings.all, leftOut), leftOut, database: target };
  } catch (error) {
    return { ...settings, leftOut: [], database: expected(error) };
  }
}

/**
 * Returns the database in force.
 * @throws GraphException USAGE, CONFIG_INVALID for an address that is malformed or comes from two places
 */
export function targetOf({ database }: Settings): Target {
  if (database instanceof GraphException) throw database;
  return database;
}

/** Returns the address of the GSQL server in force; undefined where the address is malformed. */
export function gsqlUrlOf({ database }: Settings): string | undefined {
  return database instanceof GraphException ? undefined : database.gsqlUrl;
}

/**
 * Whether two pairs are the same. That is decided without asking a server: a REST server that is not set may be either
 * of the two that follow from the GSQL server.
 */
export function isSamePair(a: Pair, b: Pair): boolean {
  if (a.gsqlUrl !== b.gsqlUrl) return false;
  if (a.restUrl === b.restUrl) return true;
  if (a.restUrl !== undefined && b.restUrl !== undefined) return false;
  const { gsqlUrl } = a;
  const restUrl = a.restUrl ?? b.restUrl;
  return [true, false].some(
    (restBehindGsql) => serversOf({ gsqlUrl }, { restBehindGsql }).restUrl === restUrl,
  );
}

/** Describes a pair by its GSQL server, and by its REST server where that is set. */
export function describePair(pair: Pair | undefined): string {
  if (pair === undefined) return 'servers whose addresses are malformed';
  return pair.restUrl === undefined ? pair.gsqlUrl : `${pair.gsqlUrl} (REST ${pair.restUrl})`;
}

type Unresolved = Pick<Settings, 'all' | 'file' | 'profile'>;

function valueAt({ all }: Unresolved, key: ConfigKey, levels: readonly Level[]): SourcedValue | undefined {
  return all[key].find(({ level }) => levels.includes(level));
}

/** Puts the address of the chosen layer first, and its defaults before what other layers say. */
function withAddressOf(chosen: readonly Level[], { all }: Unresolved): Settings['all'] {
  const rank = ({ level }: SourcedValue) => (chosen.includes(level) ? 0 : level === 'default' ? 1 : 2);
  const ordered = ADDRESS_KEYS.map((key) => [key, [...all[key]].sort((a, b) => rank(a) - rank(b))]);
  return { ...all, ...Object.fromEntries(ordered) };
}

/** @throws GraphException USAGE, CONFIG_INVALID for an address that is malformed or contradicts another */
function readTarget(settings: Unresolved, layer: readonly Level[]): Target {
  return orRefuse(settings, () => {
    const endpoints = endpointsOf(settings, layer);
    const { host, gsqlUrl: service, restUrl: rest } = endpoints;
    if (rest !== undefined && service === undefined && host === undefined) {
      const [label, level] = labelAt(settings, 'restUrl', layer);
      const [gsql, both] = [nameOf('gsqlUrl', level), nameOf('host', level)];
      throw usageError(
        `${label} needs ${gsql} beside it: an address comes from one place.`,
        `give ${gsql} too, or ${both} in its place`,
      );
    }
    refuseTwoHosts(settings, layer, endpoints);
    const { gsqlUrl, restUrl } = serversOf(endpoints);
    const { protocol, hostname } = new URL(gsqlUrl);
    return { endpoints, gsqlUrl, restUrl, host: `${protocol}//${hostname}` };
  });
}

/** @throws GraphException USAGE */
function refuseTwoHosts(settings: Unresolved, layer: readonly Level[], { host, gsqlUrl }: Endpoints): void {
  if (host === undefined || gsqlUrl === undefined || !URL.canParse(host) || !URL.canParse(gsqlUrl)) return;
  if (new URL(host).hostname === new URL(gsqlUrl).hostname) return;
  const [one, other] = [labelAt(settings, 'host', layer)[0], labelAt(settings, 'gsqlUrl', layer)[0]];
  throw usageError(`${one} and ${other} name different hosts.`, 'leave one of them out');
}

function labelAt(settings: Unresolved, key: ConfigKey, layer: readonly Level[]): [string, Level] {
  const set = valueAt(settings, key, layer);
  return set ? [labelOf(key, set), set.level] : [key, 'flag'];
}

/** Returns what a layer sets of an address. In a file, a profile that names servers replaces those of the top level. */
function endpointsOf(settings: Unresolved, layer: readonly Level[]): Endpoints {
  const isOwn = layer === FILE && NAMES.some((key) => valueAt(settings, key, ['profile']));
  const name = (key: (typeof NAMES)[number]) => {
    const set = valueAt(settings, key, isOwn ? ['profile'] : layer);
    return set && { [key]: set.value as string };
  };
  const port = (key: 'gsqlPort' | 'restPort') => {
    const set = valueAt(settings, key, layer);
    return set && { [key]: portNumber(settings, key, set.value as string) };
  };
  return {
    ...name('host'),
    ...name('gsqlUrl'),
    ...name('restUrl'),
    ...port('gsqlPort'),
    ...port('restPort'),
  };
}

function portNumber(settings: Unresolved, key: ConfigKey, text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535) {
    refuseValue(settings, key, 'is not a port number', 'give a whole number from 1 to 65535');
  }
  return port;
}

/** @throws GraphException USAGE where the layer in force names a port, and a lower one names the host */
function requireHost(
  settings: Unresolved,
  chosen: readonly Level[],
  lower: readonly (readonly Level[])[],
): void {
  if (NAMES.some((key) => valueAt(settings, key, chosen))) return;
  const port = (['restPort', 'gsqlPort'] as const).flatMap((key) => valueAt(settings, key, chosen) ?? [])[0];
  const other = lower.flatMap((layer) => NAMES.flatMap((key) => valueAt(settings, key, layer) ?? []))[0];
  if (port === undefined || other === undefined) return;
  const host = nameOf('host', port.level);
  throw usageError(
    `${port.source} needs ${host} beside it: an address comes from one place.`,
    `give both, ${host} and ${port.source}; or leave ${port.source} out, and ${other.source} names the servers`,
  );
}

/** Returns the name of a setting at a level: of the flag, of the variable, or in a file. */
function nameOf(key: ConfigKey, level: Level): string {
  const { flag, variable, tgVariable } = SETTINGS[key];
  if (level === 'flag') return `--${flag}`;
  return (level === 'variable' ? variable : level === 'tgVariable' ? tgVariable : undefined) ?? key;
}

function foreignLayers(
  settings: Unresolved,
  target: Target,
  lower: readonly (readonly Level[])[],
): LeftOut[] {
  const foreign = lower.flatMap((layer) => {
    const pair = pairOf(settings, layer);
    if (pair && isSamePair(pair, target)) return [];
    return [leaveOut(settings, layer, pair, (key, level) => level === 'profile' || !OF_MACHINE.test(key))];
  });
  // Without an address, a file is for this machine's own database, to which its credentials belong.
  const namesNone = !ADDRESS_KEYS.some((key) => valueAt(settings, key, FILE));
  const own = serversOf({});
  if (!namesNone || isSamePair(own, target)) return foreign;
  const credentials = leaveOut(settings, FILE, own, isCredentialKey);
  return credentials.set.length === 0 ? foreign : [...foreign, credentials];
}

function pairOf(settings: Unresolved, layer: readonly Level[]): Pair | undefined {
  try {
    return readTarget(settings, layer);
  } catch (error) {
    expected(error);
    return undefined;
  }
}

function leaveOut(
  settings: Unresolved,
  levels: readonly Level[],
  pair: Pair | undefined,
  isOut: (key: ConfigKey, level: Level) => boolean,
): LeftOut {
  const set = (Object.keys(settings.all) as ConfigKey[]).flatMap((key) =>
    settings.all[key]
      .filter(({ level }) => levels.includes(level) && isOut(key, level))
      .map((value) => ({ key, value })),
  );
  const named = ADDRESS_KEYS.flatMap((key) => valueAt(settings, key, levels) ?? [])[0];
  return { levels, pair, set, source: (named ?? set[0]?.value)?.source ?? '' };
}

/** @throws GraphException USAGE where the profile that was typed would be left out */
function requireProfile(settings: Unresolved, chosen: readonly Level[], leftOut: readonly LeftOut[]): void {
  const { name, source } = settings.profile;
  const file = leftOut.find(
    ({ levels, set }) => levels === FILE && set.some(({ key }) => ADDRESS_KEYS.some((one) => one === key)),
  );
  const named = ADDRESS_KEYS.flatMap((key) => valueAt(settings, key, chosen) ?? [])[0];
  if (source !== '--profile' || file === undefined || named === undefined) return;
  throw usageError(
    `Profile ${name} is for ${describePair(file.pair)}, but ${named.source} names another address.`,
    named.level === 'flag'
      ? `leave out ${named.source}, or --profile`
      : `unset ${named.source}, or leave --profile out`,
  );
}

/** Returns what counts at the database in force, of each setting. */
function whatCounts(all: Settings['all'], leftOut: readonly LeftOut[]): Settings['all'] {
  const out = new Set(leftOut.flatMap(({ set }) => set.map(({ value }) => value)));
  const counting = Object.entries(all).map(([key, set]) => [key, set.filter((one) => !out.has(one))]);
  const left: Record<ConfigKey, readonly SourcedValue[]> = Object.fromEntries(counting);
  // A file names the saved secret of its own user.
  const [user] = left.username;
  const own = left.username.find(({ level }) => isInFile(level));
  const isForeign = own !== undefined && user?.value !== own.value;
  const secretAlias = left.secretAlias.filter(({ level }) => !(isForeign && isInFile(level)));
  return { ...left, secretAlias };
}

/** Adds to an error in a setting which file, variable or flag set it. */
export function orRefuse<T>(settings: Unresolved, work: () => T): T {
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
function withScheme({ all }: Unresolved, key: ConfigKey): string | undefined {
  const typed = all.host[0]?.value;
  if (key !== 'host' || typeof typed !== 'string' || /^https?:\/\//i.test(typed)) return undefined;
  const name = /^[A-Za-z0-9.-]+(:\d+)?$/.test(typed) ? typed.replace(/:\d+$/, '') : 'graph.example.com';
  return `write https://${name} or http://${name}`;
}
