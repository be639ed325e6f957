import { V4 } from './4x/texts.js';
import { type Call, decodeForm, readAuthorization } from './call.js';
import { GSQL } from './gsql/texts.js';
import { readJwt } from './jwt.js';
import type { JWT_PROBLEMS } from './restpp/texts.js';
import { refuse, type Text } from './say.js';
import { findHolder, type Secret, type User } from './state.js';
import { nowSeconds, type Provider, type World } from './world.js';

export interface Caller {
  readonly user: User;
  readonly byPassword?: boolean;
  /** On 3.x its graph is the only one that the login may use. */
  readonly secret?: Secret;
  /** The graph of the token that logged in, '' for all graphs. */
  readonly graph?: string;
}

/** How an endpoint refuses a wrong login; and none, and one after too many failures, where that is another text. */
type LoginTexts = Readonly<{ wrong: Text; none?: Text; throttled?: Text }>;

const INITIAL_THRESHOLD = 5;
const INITIAL_WAIT_SECONDS = 10;
const SECONDARY_THRESHOLD = 2;

/** Returns who calls the GSQL server; its refusals are those of most endpoints. */
export function requireLogin(world: World, call: Call): Caller {
  if (world.version.generation !== '4') return loginBy(world, call, { wrong: GSQL.unauthorized });
  return loginBy(world, call, { none: V4.noLogin, wrong: V4.badLogin, throttled: V4.tooManyLogins });
}

/** Logs in by the `Authorization` header in every form that this version of the GSQL server accepts. */
export function loginBy(world: World, call: Call, texts: LoginTexts): Caller {
  const { scheme, value } = readAuthorization(call);
  if (scheme === '') {
    // While the default account has its default password, a real GSQL server requires no login.
    const user = findUser(world, 'tigergraph');
    const isOpen = world.switches.defaultPassword === 'no-login' && user?.password === 'tigergraph';
    return isOpen ? { user } : refuse(texts.none ?? texts.wrong);
  }
  if (scheme === 'basic') return loginBasic(world, value, texts);
  if (scheme === 'gsql-secret' && world.version.atLeast(3, 10, 1))
    return findHolder(world.state, value) ?? refuse(texts.wrong);
  const token = scheme === 'bearer' && world.version.atLeast(4, 1, 2) && checkJwt(world, value);
  return token && 'user' in token ? token : refuse(texts.wrong);
}

function loginBasic(world: World, encoded: string, texts: LoginTexts): Caller {
  const plain = Buffer.from(encoded, 'base64').toString();
  const colon = plain.indexOf(':');
  const [name, password] = [plain.slice(0, colon), plain.slice(colon + 1)];
  if (name === '__GSQL__secret' && world.version.atLeast(3, 6, 2))
    return findHolder(world.state, password) ?? refuse(texts.wrong);
  // The Java client URL-encodes the name before it makes the header.
  const user = findUser(world, name) ?? findUser(world, decodeForm(name));
  if (colon < 0 || !user) return refuse(texts.wrong);

  const entry = world.throttle.get(user.name);
  const seconds = entry ? Math.ceil((entry.until - world.now()) / 1000) : 0;
  if (seconds > 0) refuse(texts.throttled ?? texts.wrong, { seconds });
  if (user.password !== password) {
    noteFailure(world, user.name);
    refuse(texts.wrong);
  }
  world.throttle.delete(user.name);
  return { user, byPassword: true };
}

/** Whether there is this graph and the login may use it. A graph that it may not use is hidden from it. */
export function seesGraph(world: World, caller: Caller, graph: string): boolean {
  return world.state.graphs.includes(graph) && graph === (caller.secret?.graph ?? graph);
}

/** Returns who calls. Refuses a token for another graph than the wanted one; for all graphs when none is named. */
export function requireLoginFor(world: World, call: Call, wanted: string | undefined): Caller {
  const caller = requireLogin(world, call);
  const { graph = '' } = caller;
  const target = wanted === undefined ? 'global' : `graph ${wanted}`;
  if (graph !== '' && graph !== wanted) refuse(V4.wrongScope, { graph, target });
  return caller;
}

/** Counts a failed login. Servers throttle since 3.8. */
function noteFailure(world: World, name: string): void {
  if (!world.version.atLeast(3, 8)) return;
  const entry = world.throttle.get(name) ?? { failures: 0, waitSeconds: 0, until: 0 };
  world.throttle.set(name, entry);
  entry.failures++;
  if (entry.failures < (entry.waitSeconds === 0 ? INITIAL_THRESHOLD : SECONDARY_THRESHOLD)) return;
  entry.failures = 0;
  entry.waitSeconds = entry.waitSeconds * 2 || INITIAL_WAIT_SECONDS;
  entry.until = world.now() + entry.waitSeconds * 1000;
}

export function findUser(world: World, name: string): User | undefined {
  return world.state.users.find((user) => user.name === name);
}

/**
 * Whether the server would accept a token, of its own or of the identity provider; if not, the first documented reason
 * that fits. Issuer and audience of a provider count when they are configured.
 */
export function checkJwt(
  world: World,
  token: string,
): { graph: string; user: User } | { problem: keyof typeof JWT_PROBLEMS; audience?: string; own?: string } {
  const own: Provider = { key: world.state.jwtKey, issuer: 'TigerGraph' };
  const isOwn = typeof readJwt(token, own.key) === 'object';
  const maker = isOwn ? own : (world.options.provider ?? own);
  const claims = readJwt(token, maker.key);
  if (typeof claims === 'string') return { problem: claims };
  const { sub, exp, iss, aud } = claims;
  if (maker.issuer !== undefined && iss !== maker.issuer) return { problem: 'issuer' };
  const audience = [aud ?? []].flat().map(String);
  if (maker.audience !== undefined && !audience.includes(maker.audience))
    return { problem: 'audience', audience: audience.join(','), own: maker.audience };
  if (exp <= nowSeconds(world)) return { problem: 'expired' };
  const user = findUser(world, sub);
  if (!user) return { problem: 'user' };
  const graph = typeof claims.graph === 'string' ? claims.graph : '';
  if (graph !== '' && !world.state.graphs.includes(graph)) return { problem: 'graph' };
  if (graph !== '' && graph === world.switches.closedGraph) return { problem: 'access' };
  if (world.state.blocked.get(user.name)?.includes(token)) return { problem: 'blocked' };
  return { graph, user };
}
