import path from 'node:path';
import { ADDRESS_KEYS, SETTINGS, type Settings } from '../config/keys.js';
import { settingsOfFile } from '../config/settings.js';
import { namesServer } from '../config/target.js';
import { hostUrl, isSamePair, type Pair, type Servers, serversOf } from '../core/endpoints.js';
import { expected, type Fix, GraphException, usageError } from '../core/errors.js';
import { parseVersionOption, type ServerVersion } from '../core/protocol/version.js';
import { readJson, writePrivateFile } from '../files/private-files.js';
import { hashOf } from '../store/records.js';
import { Asked, graphOf, type Run } from './run.js';

/** Loaded when a request is sent, which is not so while the token is cached. */
const opening = () => import('./open-connection.js');

/**
 * Returns the run for another pair of base URLs, within the same time limit. Nothing that was set for the pair in force
 * counts there: not its version, its graph or its certificates. The certificates are those of a profile for that pair, but
 * an authority that was typed counts in the whole call.
 */
export function runFor(run: Run, servers: Servers): Run {
  const { settings } = run;
  const its = profileFor(settings, servers)?.all;
  const typed = settings.all['tls.ca'].filter(({ level }) => level === 'flag');
  const all = {
    ...settings.all,
    'tls.ca': [...typed, ...(its?.['tls.ca'] ?? [])],
    'tls.cert': its?.['tls.cert'] ?? [],
    'tls.key': its?.['tls.key'] ?? [],
  };
  return {
    ...run,
    settings: { ...settings, all, insecure: false, graph: undefined, serverVersion: 'auto' },
    target: { endpoints: servers, ...servers, host: hostUrl(servers.gsqlUrl) },
    asked: new Asked(),
  };
}

export function profileFor({ file, profileNames }: Settings, servers: Servers): Settings | undefined {
  const each = profileNames.map((name) => settingsOfFile(file, name));
  return each.find(({ database }) => 'gsqlUrl' in database && isSamePair(database, servers));
}

/** Returns the server's version: set, remembered for a day (unless `isAnew`), or told by the server, without a credential. */
export function findVersion(run: Run, isAnew = false): Promise<ServerVersion> {
  const { asked } = run;
  if (isAnew || !asked.version) asked.version = setOrAskedVersion(run, isAnew);
  return asked.version;
}

async function setOrAskedVersion(run: Run, isAnew: boolean): Promise<ServerVersion> {
  const { settings } = run;
  const { serverVersion, waitMs } = settings;
  // The server is asked whether it is up even if its version is known.
  if (waitMs > 0) await (await opening()).waitUntilUp(run);
  const recent = isAnew || serverVersion !== 'auto' ? undefined : recall(run, 'version');
  const known = parseVersionOption(recent ?? serverVersion);
  if (known) return known;
  const { openConnection, isAway } = await opening();
  try {
    return await (await openConnection(run, { onVersion: rememberVersion(run) })).findVersion();
  } catch (error) {
    // While the server cannot be reached, a cached token stays usable.
    const old = isAnew ? undefined : knownVersion(run);
    if (old && isAway(error)) return old;
    const { code, message, fix: own } = expected(error);
    if (code !== 'NETWORK') throw error;
    const giveVersion =
      'or, if a firewall lets only the REST server through, give the version of the database';
    const next = [...own, giveVersion, { setting: 'serverVersion' }];
    const fix = namesServer(settings) ? next : hintWithoutServer(run);
    throw new GraphException(code, message, { fix });
  }
}

function emptyAddresses({ ports: { env } }: Run): string[] {
  const variables = ADDRESS_KEYS.flatMap((key) => [SETTINGS[key].variable, SETTINGS[key].tgVariable]);
  return variables.flatMap((name = '') => (env[name] === '' ? name : []));
}

/** Tells a job of what is not configured there, and would change where its credential goes or what its token may do. */
export function tellEmpty(run: Run): void {
  const { settings, target, ports } = run;
  const { env, inCi, reporter } = ports;
  if (!inCi) return;
  const empty = namesServer(settings) ? [] : emptyAddresses(run);
  if (empty.length > 0) reporter.warn(`${setButEmpty(empty)}, so the server is ${target.gsqlUrl}`);
  const mayLackUrl = settings.all.gsqlUrl[0]?.level === 'variable' && !env.GRAPHCRED_REST_PORT;
  if (mayLackUrl && env.GRAPHCRED_REST_URL === '')
    reporter.warn('GRAPHCRED_REST_URL is set but empty, so the REST server is that of GRAPHCRED_GSQL_URL');
  if (env.GRAPHCRED_GRAPH === '' && settings.graph === undefined)
    reporter.note('GRAPHCRED_GRAPH is set but empty: on 4.x a token is for every graph then');
}

export function setButEmpty(names: readonly string[]): string[] {
  return names.length > 0 ? [`${names.join(', ')} ${names.length > 1 ? 'are' : 'is'} set but empty`] : [];
}

export function hintWithoutServer(run: Run): readonly Fix[] {
  const { settings, ports } = run;
  const empty = setButEmpty(emptyAddresses(run));
  const [other, command] = settings.profileNames.length
    ? ['a profile with -p', 'profile list']
    : ['log in on a terminal', 'login'];
  if (ports.inCi) return ['no server is named; give yours with GRAPHCRED_HOST'];
  return [...empty, `no server is named; give yours with --host, or ${other}`, { command: `${command}` }];
}

/** Returns the version that is set, else the one in the server cache, however old. Asks no server. */
export function knownVersion(run: Run) {
  const { serverVersion } = run.settings;
  return parseVersionOption(serverVersion === 'auto' ? readServerCache(run).version?.[0] : serverVersion);
}

/** Returns the pair of base URLs in force, as far as it is known without asking the server. */
export function knownPair(run: Run): Pair {
  const { endpoints, gsqlUrl, restUrl } = run.target;
  const version = restUrl === undefined ? knownVersion(run) : undefined;
  return version ? serversOf(endpoints, version) : { gsqlUrl, restUrl };
}

/** Returns the pair of base URLs in force. If the REST server's depends on an unknown version, the server is asked for it. */
export async function serversInForce(run: Run): Promise<Servers> {
  const { endpoints, gsqlUrl, restUrl } = run.target;
  return restUrl === undefined ? serversOf(endpoints, await findVersion(run)) : { gsqlUrl, restUrl };
}

/** Stores the version in the server cache. One that an answer does not fit is asked for by the next command. */
export function rememberVersion(run: Run) {
  return (version: ServerVersion | undefined): void => {
    learn(run, 'version', version?.version);
    if (version) run.asked.version = Promise.resolve(version);
    else run.ports.reporter.detail('the server may have another version now; the next command finds it out');
  };
}

/** Requires a graph: 3.x binds secrets, and tokens minted with a password, to one. */
export function requireGraph(run: Run): void {
  if (graphOf(run) !== undefined) return;
  throw usageError(
    'Which graph? A 3.x server needs one for this.',
    'give --graph NAME, GRAPHCRED_GRAPH, or graph in the profile',
  );
}

interface ServerFacts {
  version: string;
  lifetimeUnit: 's' | 'ms';
  /** The user who was told last that minting with a password makes secrets. */
  madeSecretTold: string;
}

/** Each fact, and when it was learned, in seconds since 1970. */
type ServerCache = { [F in keyof ServerFacts]?: readonly [value: ServerFacts[F], atUnix: number] };

/** Returns what was learned about the server in force, for a day: a server can be upgraded or replaced. */
export function recall<F extends keyof ServerFacts>(run: Run, fact: F) {
  const [value, atUnix = 0] = readServerCache(run)[fact] ?? [];
  return Math.abs(run.ports.now() / 1000 - atUnix) < 24 * 3600 ? value : undefined;
}

/** Adds to the server cache, if that can be written. @param value undefined when what is cached counts no more, except while the server is away */
export function learn<F extends keyof ServerFacts>(run: Run, fact: F, value?: ServerFacts[F]): void {
  const { stores, target, ports } = run;
  const { stateDir, remember } = stores;
  if (stateDir === undefined || !remember) return;
  const { gsqlUrl: url } = target;
  const all = readServerCache(run);
  const learned = {
    [fact]: value ? [value, Math.floor(ports.now() / 1000)] : all[fact] && [all[fact][0], 0],
  };
  try {
    writePrivateFile(memoryFile(stateDir, url), `${JSON.stringify({ v: 2, url, ...all, ...learned })}\n`);
  } catch {}
}

/** Reads the cache of a server; empty when nothing is cached. Never throws. */
function readServerCache({ stores: { stateDir }, target: { gsqlUrl } }: Run): ServerCache {
  const { v, url, ...facts } = stateDir === undefined ? {} : readJson(memoryFile(stateDir, gsqlUrl));
  return v === 2 && url === gsqlUrl && Object.values(facts).every(Array.isArray) ? facts : {};
}

function memoryFile(stateDir: string, gsqlUrl: string): string {
  return path.join(stateDir, `server-${hashOf(gsqlUrl)}.json`);
}
