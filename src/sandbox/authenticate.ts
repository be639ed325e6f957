import { type Call, percentDecode, type Reply } from './call.js';
import { readJwt } from './jwt.js';
import { refuse } from './say.js';
import { findHolder, type Secret, type User } from './state.js';
import type { CHECK_REASONS } from './texts.js';
import { nowSeconds, type Provider, type World } from './world.js';

/** Who calls the GSQL server. */
export type Caller =
  | { readonly user: User; readonly by: 'password' | 'default-account' }
  | { readonly user: User; readonly by: 'secret'; readonly secret: Secret }
  /** `graph` is what the token is for, '' for all graphs. */
  | { readonly user: User; readonly by: 'token'; readonly graph: string };

export type Login =
  | Caller
  | { readonly refused: 'none' | 'wrong' }
  | { readonly refused: 'throttled'; readonly seconds: number };

const INITIAL_THRESHOLD = 5;
const INITIAL_WAIT_SECONDS = 10;
const SECONDARY_THRESHOLD = 2;

export function readAuthorization(call: Call): { scheme: string; value: string } | undefined {
  const header = call.headers.authorization?.trim();
  if (!header) return undefined;
  const blank = header.search(/\s/);
  if (blank < 0) return { scheme: '', value: header };
  return { scheme: header.slice(0, blank).toLowerCase(), value: header.slice(blank + 1).trim() };
}

/** Logs in by the `Authorization` header, in every form that this version of the GSQL server accepts. */
export function login(world: World, call: Call): Login {
  const given = readAuthorization(call);
  if (!given) return defaultAccount(world) ?? { refused: 'none' };
  if (given.scheme === 'basic') return loginBasic(world, given.value);
  if (given.scheme === 'gsql-secret' && world.version.atLeast(3, 10, 1))
    return loginSecret(world, given.value);
  if (given.scheme === 'bearer' && world.version.atLeast(4, 1, 2)) {
    const token = checkJwt(world, given.value);
    return 'user' in token ? { ...token, by: 'token' } : { refused: 'wrong' };
  }
  return { refused: 'wrong' };
}

/** Returns who calls the GSQL server, or the refusal in the words of its version. */
export function requireLogin(world: World, call: Call): Caller | Reply {
  const caller = login(world, call);
  return 'user' in caller ? caller : notLoggedIn(world, caller);
}

export function notLoggedIn(world: World, refused: Exclude<Login, Caller>): Reply {
  if (world.version.generation !== '4') return refuse(world, 'unauthorized3');
  if (refused.refused === 'throttled') return refuse(world, 'tooManyLogins4', { seconds: refused.seconds });
  return refuse(world, refused.refused === 'none' ? 'noLogin4' : 'badLogin4');
}

/**
 * Returns the login of the default account. While that has its default password, a real GSQL server requires no login.
 */
function defaultAccount(world: World): Login | undefined {
  const user = findUser(world, 'tigergraph');
  const off = world.switches.defaultPassword === 'no-login' && user?.password === 'tigergraph';
  return off ? { user, by: 'default-account' } : undefined;
}

/** Logs in by base64 of `user:password`, as in Basic and in the body of the shell's login. */
export function loginBasic(world: World, encoded: string): Login {
  const plain = Buffer.from(encoded, 'base64').toString();
  const colon = plain.indexOf(':');
  if (colon < 0) return { refused: 'wrong' };
  const [name, password] = [plain.slice(0, colon), plain.slice(colon + 1)];
  if (name === '__GSQL__secret') {
    return world.version.atLeast(3, 6, 2) ? loginSecret(world, password) : { refused: 'wrong' };
  }
  // The Java client URL-encodes the name before it makes the header.
  const user = findUser(world, name) ?? findUser(world, percentDecode(name.replaceAll('+', ' ')));
  if (!user) return { refused: 'wrong' };

  const entry = world.throttle.get(user.name);
  if (entry && entry.until > world.now()) {
    return { refused: 'throttled', seconds: Math.ceil((entry.until - world.now()) / 1000) };
  }
  if (user.password !== password) {
    noteFailure(world, user.name);
    return { refused: 'wrong' };
  }
  world.throttle.delete(user.name);
  return { user, by: 'password' };
}

function loginSecret(world: World, value: string): Login {
  const holder = findHolder(world.state, value);
  return holder ? { ...holder, by: 'secret' } : { refused: 'wrong' };
}

/** Returns the secret that logs in, if one does; on 3.x its graph is the only one that the login may use. */
export function secretOf(caller: Login): Secret | null {
  return 'by' in caller && caller.by === 'secret' ? caller.secret : null;
}

/** Whether there is this graph and the login may use it. A graph that it may not use is hidden from it. */
export function seesGraph(world: World, caller: Login, graph: string): boolean {
  const only = secretOf(caller)?.graph ?? null;
  return world.state.graphs.includes(graph) && (only === null || only === graph);
}

/**
 * Returns the refusal for a token that is used outside its graph: for another graph, or for requests about all graphs.
 */
export function beyondGraph(world: World, caller: Caller, wanted: string | undefined): Reply | undefined {
  if (caller.by !== 'token' || caller.graph === '' || caller.graph === wanted) {
    return undefined;
  }
  const target = wanted === undefined ? 'global' : `graph ${wanted}`;
  return refuse(world, 'wrongScope4', { graph: caller.graph, target });
}

/**
 * Counts a failed login. Only known users are counted, so that invented names cannot fill the memory. Servers throttle
 * since 3.8.
 */
function noteFailure(world: World, name: string): void {
  if (!world.version.atLeast(3, 8)) return;
  const entry = world.throttle.get(name) ?? { failures: 0, waitSeconds: 0, until: 0 };
  entry.failures++;
  const threshold = entry.waitSeconds === 0 ? INITIAL_THRESHOLD : SECONDARY_THRESHOLD;
  if (entry.failures >= threshold) {
    entry.failures = 0;
    entry.waitSeconds = entry.waitSeconds === 0 ? INITIAL_WAIT_SECONDS : entry.waitSeconds * 2;
    entry.until = world.now() + entry.waitSeconds * 1000;
  }
  world.throttle.set(name, entry);
}

export function findUser(world: World, name: string): User | undefined {
  return world.state.users.find((user) => user.name === name);
}

export type JwtProblem = keyof typeof CHECK_REASONS;

/**
 * Whether the server would accept a token, of its own or of the identity provider; if not, the first documented reason
 * that fits. Issuer and audience of a provider count when they are configured.
 */
export function checkJwt(
  world: World,
  token: string,
): { graph: string; user: User } | { problem: JwtProblem; audience?: string } {
  const own: Provider = { key: world.state.jwtKey, issuer: 'TigerGraph' };
  const isOwn = typeof readJwt(token, own.key) === 'object';
  const maker = isOwn ? own : (world.provider ?? own);
  const isEncoded = !isOwn && world.switches.jwtSecret === 'base64' && !maker.key.includes('-----BEGIN ');
  const claims = readJwt(token, isEncoded ? Buffer.from(maker.key, 'base64') : maker.key);
  if (typeof claims === 'string') return { problem: claims };
  const { sub, exp, iss, aud } = claims;
  if (maker.issuer !== undefined && iss !== maker.issuer) return { problem: 'issuer' };
  const audience = [aud ?? []].flat().map(String);
  if (maker.audience !== undefined && !audience.includes(maker.audience))
    return { problem: 'audience', audience: audience.join(',') };
  if (exp <= nowSeconds(world)) return { problem: 'expired' };
  const user = findUser(world, sub);
  if (!user) return { problem: 'user' };
  const graph = typeof claims.graph === 'string' ? claims.graph : '';
  if (graph !== '' && !world.state.graphs.includes(graph)) return { problem: 'graph' };
  if (graph !== '' && graph === world.switches.closedGraph) return { problem: 'access' };
  if (world.state.blocked.get(user.name)?.includes(token)) return { problem: 'blocked' };
  return { graph, user };
}
