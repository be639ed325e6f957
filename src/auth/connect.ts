import path from 'node:path';
import type { Pair } from '../config/keys.js';
import { namesServer } from '../config/target.js';
import type { GraphConnection } from '../core/connection.js';
import { type Servers, serversOf } from '../core/endpoints.js';
import { expected, GraphException, type Hint } from '../core/errors.js';
import { parseVersionOption, type ServerVersion } from '../core/protocol/version.js';
import { BoundCredential } from '../core/sensitive.js';
import { readJson, writePrivateFile } from '../files/private-files.js';
import { hashOf } from '../store/records.js';
import type { Credential } from './credential.js';
import type { OwnOptions } from './open-connection.js';
import { Asked, graphOf, type LocalRun, type Run } from './run.js';
import type { Stores } from './stores.js';

const DAY_SECONDS = 86_400;

/** Loaded when a request is sent, which is not so while the token is cached. */
const opening = () => import('./open-connection.js');

export interface Connected {
  readonly connection: GraphConnection;
  readonly version: ServerVersion;
}

/**
 * Opens a connection for this run, and finds out the server's version.
 * @param credential logs in; without one, requests that need a login fail
 * @param ownTimeoutMs the time limit of its requests, which neither that of the run nor a signal ends
 * @throws GraphException
 */
export async function connect(
  run: Run,
  credential: Credential | undefined,
  ownTimeoutMs?: number,
): Promise<Connected> {
  const bound = credential && (await bind(credential));
  const login: OwnOptions =
    credential?.kind === 'password'
      ? { username: credential.username, password: bound }
      : { [credential?.kind === 'jwt' ? 'apiToken' : 'secret']: bound };
  const version = await findVersion(run);
  const own = { ...login, knownVersion: version.version, onVersion: rememberVersion(run) };
  return { connection: await (await opening()).openConnection(run, own, ownTimeoutMs), version };
}

/**
 * Returns the run for another pair of base URLs, within the same time limit. Nothing that was set for the pair in force
 * counts there: not its version, its graph or its certificates.
 */
export function runFor(run: Run, servers: Servers): Run {
  const { protocol, hostname } = new URL(servers.gsqlUrl);
  const asked = new Asked();
  asked.tls = Promise.resolve({});
  return {
    ...run,
    settings: { ...run.settings, graph: undefined, serverVersion: 'auto' },
    target: { endpoints: servers, ...servers, host: `${protocol}//${hostname}` },
    asked,
  };
}

/**
 * Returns the server's version: the one set, the one remembered for at most a day, or the one the server reports. It is
 * asked without a credential. With `--wait` it is asked until it is up.
 */
export function findVersion(run: Run): Promise<ServerVersion> {
  const { stores, target, asked } = run;
  asked.version ??= knownOrAskedVersion(run, readServerCache(stores.stateDir, target.gsqlUrl));
  return asked.version;
}

/** Asks the server for its version anew, unless that is set. */
export function findVersionAnew(run: Run): Promise<ServerVersion> {
  run.asked.version = knownOrAskedVersion(run, {});
  return run.asked.version;
}

async function knownOrAskedVersion(run: Run, cache: ServerCache): Promise<ServerVersion> {
  const { serverVersion, waitMs } = run.settings;
  const { version, versionAtUnix } = serverVersion === 'auto' ? cache : {};
  const recent = isRecent(versionAtUnix, run.ports.now()) ? version : undefined;
  // The server is asked whether it is up even if its version is known.
  if (waitMs > 0) await (await opening()).waitUntilUp(run);
  const known = parseVersionOption(recent ?? serverVersion);
  return known ?? askVersion(run, version);
}

/** Returns the version that is set, else the one in the server cache, however old. Asks no server. */
export function knownVersion({ stores }: LocalRun, gsqlUrl: string, set: string) {
  return parseVersionOption(set === 'auto' ? readServerCache(stores.stateDir, gsqlUrl).version : set);
}

/** Returns the pair of base URLs in force, as far as it is known without asking the server. */
export function knownPair(run: Run): Pair {
  const { endpoints, gsqlUrl, restUrl } = run.target;
  const version = restUrl === undefined ? knownVersion(run, gsqlUrl, run.settings.serverVersion) : undefined;
  return version ? serversOf(endpoints, version) : { gsqlUrl, restUrl };
}

/**
 * Returns the pair of base URLs in force. If the REST server's depends on an unknown version, the server is asked for
 * it without a credential.
 */
export async function serversInForce(run: Run): Promise<Servers> {
  const { endpoints, gsqlUrl, restUrl } = run.target;
  return restUrl === undefined ? serversOf(endpoints, await findVersion(run)) : { gsqlUrl, restUrl };
}

/**
 * Asks the server for its version, without a credential.
 * @param old the version in the server cache, however old it is: it counts while the server cannot be reached, so that a
 * cached token stays usable
 */
export async function askVersion(run: Run, old: string | undefined): Promise<ServerVersion> {
  const { openConnection, isAway } = await opening();
  try {
    return await (await openConnection(run, { onVersion: rememberVersion(run) })).findVersion();
  } catch (error) {
    const known = parseVersionOption(old);
    if (known !== undefined && isAway(error)) return known;
    if (namesServer(run.settings) || expected(error).code !== 'NETWORK') throw error;
    const hint: Hint =
      run.settings.profileNames.length > 0
        ? ['no profile is the default one; choose one with -p', { command: 'profile list' }]
        : ['no server is named; name yours with --host, or log in on a terminal', { command: 'login' }];
    throw new GraphException('NETWORK', expected(error).message, { hint });
  }
}

/** Stores the version in the server cache. One that an answer does not fit is asked for by the next command. */
function rememberVersion({ stores, target, ports, asked }: Run) {
  return (version: ServerVersion | undefined): void => {
    if (version) asked.version = Promise.resolve(version);
    if (version === undefined) {
      updateServerCache(stores, target.gsqlUrl, { versionAtUnix: 0 });
      ports.reporter.detail('the answer fits another version of the server; the next command asks for it');
      return;
    }
    const versionAtUnix = Math.floor(ports.now() / 1000);
    updateServerCache(stores, target.gsqlUrl, { version: version.version, versionAtUnix });
  };
}

/**
 * Binds the value of a saved credential to its pair of base URLs. Any other is bound by the connection itself, since the
 * REST server depends on the version.
 */
export async function bind(credential: Pick<Credential, 'read' | 'servers'>) {
  const { servers } = credential;
  const value = await credential.read();
  return servers ? new BoundCredential(value, servers) : value;
}

/** Requires a graph: 3.x binds secrets, and tokens minted with a password, to one. */
export function requireGraph(run: Run): void {
  if (graphOf(run) !== undefined) return;
  throw new GraphException('USAGE', 'Which graph? A 3.x server needs one for this.', {
    hint: 'give --graph NAME, GRAPHCRED_GRAPH, or graph in the profile',
  });
}

/** What an earlier run has learned about a server. */
interface ServerCache {
  version?: string | undefined;
  /** When the version was asked, in seconds since 1970. */
  versionAtUnix?: number | undefined;
  /** The unit in which the server counts lifetimes. */
  lifetimeUnit?: 's' | 'ms';
  /** When that unit was observed, in seconds since 1970. */
  lifetimeUnitAtUnix?: number;
  /** When a user was last told that minting with a password makes secrets, in seconds since 1970. */
  madeSecretToldAtUnix?: number;
}

/** Whether what was learned at this time still counts. A server can be upgraded or replaced, so that is a day. */
export function isRecent(atUnix: number | undefined, nowMs: number): boolean {
  return atUnix !== undefined && Math.abs(nowMs / 1000 - atUnix) < DAY_SECONDS;
}

/** Reads the cache of a server; empty when nothing is cached. Never throws. */
export function readServerCache(stateDir: string | undefined, serviceUrl: string): ServerCache {
  const { v, url, ...facts } = stateDir === undefined ? {} : readJson(fileOf(stateDir, serviceUrl));
  return v === 1 && url === serviceUrl ? facts : {};
}

/** Adds to the cache, where tokens are kept too. A failure to write is ignored, since the server can be asked again. */
export function updateServerCache(
  { stateDir, remember }: Pick<Stores, 'stateDir' | 'remember'>,
  serviceUrl: string,
  facts: ServerCache,
): void {
  if (stateDir === undefined || !remember) return;
  const all = { v: 1, url: serviceUrl, ...readServerCache(stateDir, serviceUrl), ...facts };
  try {
    writePrivateFile(fileOf(stateDir, serviceUrl), `${JSON.stringify(all)}\n`);
  } catch {
    // The server can be asked again.
  }
}

function fileOf(stateDir: string, serviceUrl: string): string {
  return path.join(stateDir, `server-${hashOf(serviceUrl)}.json`);
}
