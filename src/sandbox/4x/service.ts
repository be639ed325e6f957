import { checkJwt, requireLogin, requireLoginFor } from '../authenticate.js';
import { type Call, lifetimeField, listField, parseBody, type Reply, reply, stringField } from '../call.js';
import { rolesOf, schemaReply } from '../gsql/graph.js';
import { runGsql } from '../gsql/statements.js';
import { readJwt, signJwt } from '../jwt.js';
import { JWT_PROBLEMS, RESTPP } from '../restpp/texts.js';
import { ok, page, refuse, succeed } from '../say.js';
import { findHolder, newSecret, secretsOf, type User } from '../state.js';
import { type Handler, nowSeconds, type World } from '../world.js';
import { SECRET_ANSWERS } from './secrets.js';
import { V4 } from './texts.js';

const WEEK = 604_800;

/** The paths below `/gsql/v1` on 4.x. */
export const SERVICE_4: Readonly<Record<string, Handler>> = {
  'POST /tokens': mint,
  'DELETE /tokens': dropTokens,
  '(\\S+) /tokens': (_world, _call, method) => refuse(V4.methodGone, { method, path: '/gsql/v1/tokens' }),
  'POST /tokens/check': check,
  'POST /statements': statement,
  'GET /version': (world) => page(V4.version, { version: world.version.text }),
  'GET /auth/simple': (world, call) => ok({ results: rolesOf(world, requireLogin(world, call).user) }),
  'GET /schema/graphs': (world, call) => {
    requireLoginFor(world, call, undefined);
    return ok({ graphs: world.state.graphs.map((GraphName) => ({ GraphName })) });
  },
  'GET /schema/graphs/(.*)': schemaReply,
  // pyTigerGraph reads the user-defined tuples with the schema; there are none.
  'GET /udt/tuples': (world, call) => {
    requireLogin(world, call);
    return ok({ results: [] });
  },
  ...SECRET_ANSWERS,
  // graflo asks here first, and goes on when the path is not there.
  '\\S+ /auth/token': () => page(RESTPP.noSuchPage),
  '\\S+ /drop-all': () => refuse(V4.dropAll),
};

function mintJwt(world: World, call: Call): { token: string; exp: number } {
  const body = parseBody(call.body) ?? refuse(V4.badBody);
  const graph = stringField(body.graph);
  const user = tokenOwner(world, call, stringField(body.secret), graph);
  if (graph !== undefined && !world.state.graphs.includes(graph)) refuse(V4.unknownGraph, { graph });
  const seconds = lifetimeField(body.lifetime, world.options.lifetimeUnit === 'ms' ? 1000 : 1);
  if (seconds === null) return refuse(V4.lifetimeInvalid);

  const now = nowSeconds(world);
  const exp = now + Math.min(seconds ?? WEEK, world.switches.grantedAtMost);
  // Real tokens are valid from 5 s before they are made. For all graphs: an empty graph (a user of 4.2) or none (docs).
  const claims = { sub: user.name, iat: now - 5, exp, iss: 'TigerGraph', graph: graph ?? '' };
  return { token: signJwt(claims, world.state.jwtKey), exp };
}

function tokenOwner(world: World, call: Call, secret: string | undefined, graph: string | undefined): User {
  if (secret !== undefined) return findHolder(world.state, secret)?.user ?? refuse(V4.badLogin);
  const { user, byPassword } = requireLoginFor(world, call, graph);
  if (byPassword) ensureGeneratedSecret(world, user);
  return user;
}

/** Minting by password creates a secret (documented; whether each mint does is not known). A reader may have none. */
function ensureGeneratedSecret(world: World, user: User): void {
  if (user.role === 'reader' || world.switches.passwordMintOn4 === 'makes-none') return;
  const own = secretsOf(world.state, user.name, null);
  if (own.some(({ alias }) => alias.startsWith('AUTO_GENERATED_ALIAS_'))) return;
  newSecret(world.state, user.name, null);
}

function mint(world: World, call: Call): Reply {
  const { token, exp } = mintJwt(world, call);
  const expiration = javaDate(exp, world.switches.zone);
  return succeed(V4.generated, {}, { token }, { expiration });
}

/** Answers the old path on 4.x, which the JDBC driver uses. */
export function requestToken4(world: World, call: Call): Reply {
  if (call.method !== 'POST') refuse(RESTPP.noEndpoint, { path: '/requesttoken' });
  return succeed(V4.generatedOld, {}, { token: mintJwt(world, call).token });
}

/** `Fri Dec 20 09:07:39 UTC 2024`: Java's `Date.toString()`, in the server's time zone. */
function javaDate(epochSeconds: number, zone: { name: string; offsetMinutes: number }): string {
  const local = new Date((epochSeconds + zone.offsetMinutes * 60) * 1000).toUTCString();
  const [weekday, day, month, year, time] = local.replace(',', '').split(' ');
  return `${weekday} ${month} ${day} ${time} ${zone.name} ${year}`;
}

/** Puts tokens on the block list of their owner, because a JWT cannot be deleted. */
function dropTokens(world: World, call: Call): Reply {
  if (call.query.has('clear')) refuse(V4.clearBlockList);
  const { user } = requireLogin(world, call);
  const body = parseBody(call.body) ?? refuse(V4.badBody);
  const tokens = listField(body.tokens);
  if (tokens.length === 0) refuse(V4.noTokensNamed);
  const claimsOf = (token: string) => {
    const claims = readJwt(token, world.state.jwtKey);
    return typeof claims === 'string' ? { sub: undefined, exp: 0 } : claims;
  };
  if (tokens.some((token) => claimsOf(token).sub !== user.name)) refuse(V4.foreignToken, { user: user.name });

  const all = new Set([...(world.state.blocked.get(user.name) ?? []), ...tokens]);
  const list = [...all].filter((token) => claimsOf(token).exp > nowSeconds(world));
  const limit = world.switches.blockListLimit;
  if (list.length > limit && world.switches.fullBlockList === 'refuse') refuse(V4.blockListFull, { limit });
  world.state.blocked.set(user.name, list.slice(Math.max(0, list.length - limit)));
  return succeed(V4.tokensDropped);
}

/** Checks a token without a login. The full token is in the answer, as on the real server. */
function check(world: World, call: Call): Reply {
  // pyTigerGraph 2.0 sends the field form-encoded.
  const form = call.body.startsWith('token=') ? new URLSearchParams(call.body) : undefined;
  const given = form ? form.get('token') : parseBody(call.body)?.token;
  const token = stringField(given) ?? refuse(V4.badBody);
  const checked = checkJwt(world, token);
  if ('problem' in checked) refuse(V4.checkFailed, { token, reason: JWT_PROBLEMS[checked.problem][1] });
  return succeed(V4.checkPassed, { token });
}

/** Runs GSQL that is sent as plain text, not URL-encoded. Failures are in the text; the status is 200. */
function statement(world: World, call: Call): Reply {
  const answer = runGsql(world, requireLogin(world, call), null, call.body);
  return { ...reply(200, 'text', answer.text), trailer: '' };
}
