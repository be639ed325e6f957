import { type Caller, loginBy, seesGraph } from '../authenticate.js';
import { type Call, lifetimeField, parseBody, type Reply, stringField } from '../call.js';
import { refuse, replyOf, succeed, type Text } from '../say.js';
import { findHolder, randomString, type Token } from '../state.js';
import { nowSeconds, type World } from '../world.js';
import { V3 } from './texts.js';

export const DEFAULT_LIFETIME_3 = 2_592_000;
const MAX_TOKENS = 50_000;

const LOGIN_TEXTS = { wrong: V3.badLogin, throttled: V3.tooManyLogins };

const METHODS = new Map([
  ['POST', mint],
  ['PUT', refresh],
  ['DELETE', drop],
]);

/** `/requesttoken` of 3.x, once routed to the GSQL server (that is, while REST authentication is on). */
export function requestToken3(world: World, call: Call): Reply {
  const act = METHODS.get(isOld(world) && call.method === 'GET' ? 'POST' : call.method);
  const reply = replyOf(() =>
    act ? act(world, readInput(world, call)) : refuse(V3.methodGone, { method: call.method }),
  );
  if (world.version.atLeast(3, 6, 3)) return reply;
  // Before 3.6.3 these answers had no content type.
  const { 'Content-Type': _, ...headers } = reply.headers;
  return { ...reply, headers };
}

/** Before 3.5 requests are query strings, and a GET mints too; from then on they are JSON. */
const isOld = ({ version }: World) => version.generation === '3.0';

type Input = ReturnType<typeof readInput>;

function readInput(world: World, call: Call) {
  const body = isOld(world) ? {} : (parseBody(call.body) ?? refuse(V3.badBody));
  const from = (name: string) => (isOld(world) ? call.query.get(name) : body[name]);
  // Before 3.5 the bare secret is the whole body of a POST.
  const secret = stringField(isOld(world) && call.method === 'POST' ? call.body.trim() : from('secret'));
  return {
    /** The holder of the secret that the request names, or else who logs in. */
    by: secret === undefined ? loginBy(world, call, LOGIN_TEXTS) : holderOf(world, secret),
    hasLogin: secret === undefined,
    graph: stringField(from('graph')),
    token: stringField(from('token')),
    lifetime: from('lifetime'),
  };
}

const holderOf = ({ state }: World, secret: string): Caller =>
  findHolder(state, secret) ?? refuse(V3.badSecret, { secret });

function mint(world: World, input: Input): Reply {
  const { by, hasLogin } = input;
  // A graph beside a secret in the body does not matter.
  const graph = (hasLogin ? input.graph : undefined) ?? by.secret?.graph ?? input.graph;
  if (graph === undefined) return refuse(V3.missingGraph);
  if (!seesGraph(world, by, graph)) refuse(V3.unknownGraph, { graph });
  const token = newToken(world, by, graph, readLifetime(world, input.lifetime));
  const done = isOld(world) ? V3.generatedOld : V3.generated;
  const given = hasLogin ? { results: { token: token.value } } : { token: token.value };
  return succeed(done, {}, given, { expiration: token.expiresAt });
}

export function newToken(world: World, by: Caller, graph: string, lifetime: number): Token {
  const token = {
    value: randomString(32),
    user: by.user.name,
    graph,
    secret: by.secret?.value ?? null,
    expiresAt: nowSeconds(world) + lifetime,
  };
  // Real servers delete old tokens from time to time. Here the oldest one is deleted.
  const { tokens } = world.state;
  const [oldest] = tokens.keys();
  if (tokens.size >= MAX_TOKENS && oldest !== undefined) tokens.delete(oldest);
  tokens.set(token.value, token);
  return token;
}

/** Returns the token to change: any for a superuser, else one's own, and with a secret those of its graph. */
function tokenToChange(world: World, { by, token: value }: Input, denied: Text): Token {
  if (value === undefined) return refuse(V3.missingToken);
  const token = world.state.tokens.get(value);
  if (!token) return refuse(V3.unknownToken, { token: value });
  const isOwn = token.user === by.user.name && (!by.secret || token.graph === by.secret.graph);
  return isOwn || by.user.role === 'superuser' ? token : refuse(denied);
}

function refresh(world: World, input: Input): Reply {
  const token = tokenToChange(world, input, V3.refreshDenied);
  const lifetime = readLifetime(world, input.lifetime);
  token.expiresAt = nowSeconds(world) + lifetime;
  const expiration = isOld(world) ? lifetime : token.expiresAt;
  return succeed(V3.refreshed, {}, { token: token.value }, { expiration });
}

function drop(world: World, input: Input): Reply {
  const token = tokenToChange(world, input, V3.dropDenied);
  world.state.tokens.delete(token.value);
  return succeed(V3.dropped, {}, { token: token.value }, { expiration: -1 });
}

function readLifetime(world: World, given: unknown): number {
  const { maxLifetime: limit, grantedAtMost } = world.switches;
  const lifetime = lifetimeField(given);
  if (lifetime === null) {
    const isNumber = typeof given !== 'object' && /^-?\d+$/.test(String(given).trim());
    return refuse(isNumber ? V3.lifetimeNotPositive : V3.lifetimeNotNumber);
  }
  if (lifetime !== undefined && lifetime > limit) refuse(V3.lifetimeTooLong, { lifetime, limit });
  return Math.min(lifetime ?? DEFAULT_LIFETIME_3, grantedAtMost);
}
