import { LONGEST_LIFETIME, lifetimeField, listField, parseBody, stringField } from './body.js';
import { type Call, json, type Reply, text } from './call.js';
import { runGsql } from './gsql.js';
import { readJwt, signJwt } from './jwt.js';
import { checkJwt, findUser, login } from './login.js';
import { noEndpoint } from './restpp.js';
import { rolesOf } from './roles.js';
import { newSecret, type User } from './state.js';
import { CHECK_REASONS, GSQL, REST_4 } from './texts.js';
import { notLoggedIn, refusal4 } from './v4-refusal.js';
import { secrets4 } from './v4-secrets.js';
import { nowSeconds, type World } from './world.js';

const WEEK = 604_800;

/** Everything below `/gsql/v1` on 4.x. Undefined: a path the sandbox does not imitate. */
export function service4(world: World, call: Call, path: string): Reply | undefined {
  const { method } = call;
  // Assumed: a real 4.x server is not known to refuse these while REST authentication is off.
  if (!world.restAuth && /^\/tokens(\/check)?$/.test(path)) return noEndpoint(world, `/gsql/v1${path}`);
  if (path === '/tokens') {
    if (method === 'POST') return mint(world, call);
    if (method === 'DELETE') return dropTokens(world, call);
    return refusal4(REST_4.methodGone, { method, path: '/gsql/v1/tokens' });
  }
  if (path === '/tokens/check' && method === 'POST') return check(world, call);
  if (path === '/secrets' || path.startsWith('/secrets/')) return secrets4(world, call, path);
  if (path === '/statements' && method === 'POST') return statements(world, call);
  if (path === '/version' && method === 'GET') return versionText(world);
  if (path === '/auth/simple' && method === 'GET') return authSimple(world, call);
  if (path === '/drop-all') {
    return json(403, {
      error: true,
      message: 'The sandbox never drops everything. On a real server this call wipes the whole database.',
    });
  }
  return undefined;
}

/** A new JWT, or why not. */
function mintJwt(world: World, call: Call): { token: string; exp: number } | Reply {
  const body = parseBody(call.body);
  if (!body) return refusal4(REST_4.badBody);
  const user = tokenOwner(world, call, stringField(body, 'secret'));
  if ('status' in user) return user;
  const graph = stringField(body, 'graph');
  if (graph !== undefined && !world.state.graphs.includes(graph)) {
    return refusal4(REST_4.unknownGraph, { graph }, world.switches.unknownGraphStatus);
  }
  const lifetime = lifetimeField(body.lifetime);
  if (lifetime === null) return refusal4(REST_4.badLifetime);
  const seconds =
    lifetime === undefined ? WEEK : Math.floor(lifetime / (world.lifetimeUnit === 'ms' ? 1000 : 1));
  if (seconds > LONGEST_LIFETIME) return refusal4(REST_4.badLifetime);
  const limit = world.switches.maxLifetime;
  if (limit > 0 && seconds > limit) return refusal4(REST_4.lifetimeTooLong, { limit });

  const now = nowSeconds(world);
  const exp = now + seconds;
  // The samples of real tokens begin five seconds before they were made.
  const claims = {
    sub: user.name,
    iat: now - 5,
    exp,
    iss: 'TigerGraph',
    ...(graph === undefined ? {} : { graph }),
  };
  return { token: signJwt(claims, world.state.jwtKey), exp };
}

function tokenOwner(world: World, call: Call, secret: string | undefined): User | Reply {
  if (secret !== undefined) {
    const found = world.state.secrets.find((s) => s.value === secret);
    return (found && findUser(world, found.user)) ?? refusal4(REST_4.badSecret);
  }
  const caller = login(world, call);
  if (!('user' in caller)) return notLoggedIn(caller);
  if (caller.by === 'password') ensureGeneratedSecret(world, caller.user);
  return caller.user;
}

/**
 * The docs say that a login by password makes a secret of its own accord. Whether each login makes another
 * one is not known; here one is enough. A reader may have none.
 */
function ensureGeneratedSecret(world: World, user: User): void {
  if (user.role === 'reader') return;
  const has = world.state.secrets.some(
    (s) => s.user === user.name && s.alias.startsWith('AUTO_GENERATED_ALIAS_'),
  );
  if (has) return;
  newSecret(world.state, user.name, null);
  world.changed();
}

function mint(world: World, call: Call): Reply {
  const made = mintJwt(world, call);
  if ('status' in made) return made;
  return json(200, {
    expiration: javaDate(made.exp, world.switches.zone),
    error: false,
    message: 'Generate new JWT token successfully.',
    token: made.token,
  });
}

/** The old path on 4.x: no `expiration`, because pyTigerGraph cannot read the date text there. */
export function requestToken4(world: World, call: Call): Reply {
  if (call.method !== 'POST' || world.switches.requestTokenOn4 === 'gone')
    return noEndpoint(world, '/requesttoken');
  const made = mintJwt(world, call);
  if ('status' in made) return made;
  return json(200, { error: false, message: 'Generate new token successfully.', token: made.token });
}

/** `Fri Dec 20 09:07:39 UTC 2024`: Java's `Date.toString()`, in the server's own zone. */
function javaDate(epochSeconds: number, zone: { name: string; offsetMinutes: number }): string {
  const local = new Date((epochSeconds + zone.offsetMinutes * 60) * 1000).toUTCString();
  const [weekday, day, month, year, time] = local.replace(',', '').split(' ');
  return `${weekday} ${month} ${day} ${time} ${zone.name} ${year}`;
}

/** A JWT cannot be unmade: it goes on its owner's block list. */
function dropTokens(world: World, call: Call): Reply {
  if (call.query.has('clear')) {
    return json(403, {
      error: true,
      message:
        'The sandbox never clears a block list: on a real server that brings dropped tokens back to life.',
    });
  }
  const user = dropper(world, call);
  if ('status' in user) return user;
  const body = parseBody(call.body);
  if (!body) return refusal4(REST_4.badBody);
  const tokens = listField(body.tokens);
  if (tokens.length === 0) return refusal4(REST_4.noTokensNamed);
  const claims = tokens.map((token) => readJwt(token, world.state.jwtKey));
  if (claims.some((c) => typeof c === 'string' || c.sub !== user.name)) {
    return refusal4(REST_4.badTokenToDrop, { user: user.name });
  }

  const now = nowSeconds(world);
  const alive = (token: string) => {
    const c = readJwt(token, world.state.jwtKey);
    return typeof c !== 'string' && c.exp > now;
  };
  const held = (world.state.blocked.get(user.name) ?? []).filter(alive);
  const list = [...new Set([...held, ...tokens.filter(alive)])];
  const limit = world.switches.blockListLimit;
  if (list.length > limit && world.switches.fullBlockList === 'refuse')
    return refusal4(REST_4.blockListFull, { limit });
  world.state.blocked.set(user.name, list.slice(-limit));
  world.changed();
  return json(200, { error: false, message: 'Successfully dropped the specified JWT tokens' });
}

/** pyTigerGraph 1.7 sends no login here, and its tests pass on servers with the default account. */
function dropper(world: World, call: Call): User | Reply {
  const caller = login(world, call);
  if ('user' in caller) return caller.user;
  const fallback = findUser(world, 'tigergraph');
  const lax = world.switches.deleteWithoutLogin === 'default-password' && fallback?.password === 'tigergraph';
  return caller.refused === 'none' && lax ? fallback : notLoggedIn(caller);
}

/** Needs no login. The full token is echoed, as on the real server. */
function check(world: World, call: Call): Reply {
  // pyTigerGraph 2.0 sends the field form-encoded.
  const form = call.body.startsWith('token=') ? new URLSearchParams(call.body) : undefined;
  const body = form ? Object.fromEntries(form) : parseBody(call.body);
  const token = body && stringField(body, 'token');
  if (token === undefined) return refusal4(REST_4.badBody);
  const checked = checkJwt(world, token);
  if ('problem' in checked)
    return refusal4(REST_4.checkFailed, { token, reason: CHECK_REASONS[checked.problem] });
  return json(200, { error: false, message: `The token ${token} verification succeed.` });
}

/** GSQL as plain text, not URL-encoded. Failed statements are told in the text; the status is 200. */
function statements(world: World, call: Call): Reply {
  const caller = login(world, call);
  if (!('user' in caller)) {
    return { status: 401, headers: { 'Content-Type': 'application/json' }, body: GSQL.unauthorized };
  }
  const answer = runGsql(world, { user: caller.user, graph: null }, call.body);
  const trailer = world.switches.trailersOn4 ? [`__GSQL__RETURN__CODE__,${answer.code}`] : [];
  return text(200, [...answer.lines, ...trailer].map((line) => `${line}\n`).join(''));
}

function versionText(world: World): Reply {
  return text(
    200,
    [
      `GSQL version: ${world.version.text}`,
      'GSQL commit number: 0000000000000000000000000000000000000000',
      'GSQL commit date: 2024-10-01 00:00:00 +0000',
      'This is the graphcred sandbox, an imitation.',
      '',
    ].join('\n'),
  );
}

function authSimple(world: World, call: Call): Reply {
  const caller = login(world, call);
  if (!('user' in caller)) return notLoggedIn(caller);
  return json(200, { error: false, message: '', results: rolesOf(world, caller.user) });
}
