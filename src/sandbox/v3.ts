import { LONGEST_LIFETIME, lifetimeField, parseBody, stringField } from './body.js';
import { type Call, json, type Reply } from './call.js';
import { login } from './login.js';
import { randomString, type Secret, type Token } from './state.js';
import { type AssumedText, fill, TOKENS_3 } from './texts.js';
import { nowSeconds, type World } from './world.js';

const DEFAULT_LIFETIME_3 = 2_592_000;
const DAY = 86_400;
const MAX_TOKENS = 50_000;
const GENERATED = 'Generate new token successfully.';
const KEEP_SAFE =
  'Warning: Tigergraph Support cannot restore access to secrets/tokens for security reasons. Please save your secret/token and keep it safe and accessible.';

/** `/requesttoken` of 3.x, once routed to the GSQL server (that is, while REST authentication is on). */
export function requestToken3(world: World, call: Call): Reply {
  const reply = world.version.generation === 'A' ? byQuery(world, call) : byBody(world, call);
  if (world.version.atLeast(3, 6, 3)) return reply;
  // Before 3.6.3 these answers had no content type.
  const { 'Content-Type': _, ...headers } = reply.headers;
  return { ...reply, headers };
}

interface Input {
  readonly secret: string | undefined;
  readonly graph: string | undefined;
  readonly token: string | undefined;
  readonly lifetime: unknown;
  readonly allowExisting: boolean;
}

function byQuery(world: World, call: Call): Reply {
  const from = (name: string) => call.query.get(name) || undefined;
  const input: Input = {
    secret: from('secret'),
    graph: from('graph'),
    token: from('token'),
    lifetime: from('lifetime'),
    allowExisting: false,
  };
  switch (call.method) {
    case 'GET':
      return mint(world, call, input);
    case 'POST':
      // The bare secret is the whole body.
      return mint(world, call, { ...input, secret: call.body.trim() || undefined });
    case 'PUT':
      return refresh(world, call, input);
    case 'DELETE':
      return drop(world, call, input);
    default:
      return methodGone(call);
  }
}

function byBody(world: World, call: Call): Reply {
  if (call.method !== 'POST' && call.method !== 'PUT' && call.method !== 'DELETE') return methodGone(call);
  const body = parseBody(call.body);
  if (!body) return refusal(TOKENS_3.badBody);
  const allowed = body.allowExisting ?? call.query.get('allowExisting');
  const input: Input = {
    secret: stringField(body, 'secret'),
    graph: stringField(body, 'graph'),
    token: stringField(body, 'token'),
    lifetime: body.lifetime,
    allowExisting: world.version.atLeast(3, 9, 3) && String(allowed) === 'true',
  };
  if (call.method === 'POST') return mint(world, call, input);
  return call.method === 'PUT' ? refresh(world, call, input) : drop(world, call, input);
}

/** Who may act on tokens: the holder of a secret, or a user who logs in. */
type Actor =
  | { readonly secret: Secret; readonly user: string }
  | { readonly secret: null; readonly user: string };

function actor(world: World, call: Call, secret: string | undefined): Actor | Reply {
  if (secret !== undefined) {
    const found = world.state.secrets.find((s) => s.value === secret);
    return found ? { secret: found, user: found.user } : refusal(TOKENS_3.badSecret);
  }
  const caller = login(world, call);
  if ('user' in caller) return { secret: null, user: caller.user.name };
  if (caller.refused === 'throttled')
    return refusal(TOKENS_3.tooManyLogins, { seconds: String(caller.seconds) });
  return refusal(caller.refused === 'none' ? TOKENS_3.missingInput : TOKENS_3.badLogin);
}

function mint(world: World, call: Call, input: Input): Reply {
  const by = actor(world, call, input.secret);
  if ('status' in by) return by;
  const graph = by.secret?.graph ?? input.graph;
  if (graph === undefined) return refusal(TOKENS_3.missingInput);
  if (!world.state.graphs.includes(graph)) return refusal(TOKENS_3.unknownGraph, { graph });
  const lifetime = readLifetime(world, input.lifetime);
  if (typeof lifetime !== 'number') return lifetime;

  const expiresAt = nowSeconds(world) + lifetime;
  const token = (input.allowExisting && reusable(world, by, graph)) || newToken(world, by, graph);
  token.expiresAt = expiresAt;
  world.changed();

  const message = world.version.generation === 'A' ? GENERATED : `${GENERATED}\n${KEEP_SAFE}`;
  const head = { code: 'REST-0000', expiration: expiresAt, error: false, message };
  return json(
    200,
    by.secret ? { ...head, token: token.value } : { ...head, results: { token: token.value } },
  );
}

function newToken(world: World, by: Actor, graph: string): Token {
  const token = {
    value: randomString(32),
    user: by.user,
    graph,
    secret: by.secret?.value ?? null,
    expiresAt: 0,
  };
  const { tokens } = world.state;
  tokens.set(token.value, token);
  // The servers clear out now and then, too; here the oldest goes.
  if (tokens.size > MAX_TOKENS) tokens.delete(tokens.keys().next().value!);
  return token;
}

/** `allowExisting`: a token that still has a day to live. */
function reusable(world: World, by: Actor, graph: string): Token | undefined {
  const secret = by.secret?.value ?? null;
  for (const token of world.state.tokens.values()) {
    const same = token.user === by.user && token.graph === graph && token.secret === secret;
    if (same && token.expiresAt - nowSeconds(world) >= DAY) return token;
  }
  return undefined;
}

/** The actor's own token: made from the same secret, or belonging to the user who logged in. */
function ownToken(world: World, by: Actor, value: string): Token | undefined {
  const token = world.state.tokens.get(value);
  const own = token && token.user === by.user && (by.secret === null || token.graph === by.secret.graph);
  return own ? token : undefined;
}

function refresh(world: World, call: Call, input: Input): Reply {
  if (input.token === undefined) return refusal(TOKENS_3.missingToken);
  const by = actor(world, call, input.secret);
  if ('status' in by) return by;
  const token = ownToken(world, by, input.token);
  if (!token) return refusal(TOKENS_3.unknownToken);
  const lifetime = readLifetime(world, input.lifetime);
  if (typeof lifetime !== 'number') return lifetime;

  token.expiresAt = nowSeconds(world) + lifetime;
  world.changed();
  const echoes = world.version.generation === 'A' && world.switches.refreshExpirationOnA === 'lifetime';
  return json(200, {
    code: 'REST-0000',
    expiration: echoes ? lifetime : token.expiresAt,
    error: false,
    message: 'Refresh token successfully.',
    token: token.value,
  });
}

function drop(world: World, call: Call, input: Input): Reply {
  if (input.token === undefined) return refusal(TOKENS_3.missingToken);
  const by = actor(world, call, input.secret);
  if ('status' in by) return by;
  const token = ownToken(world, by, input.token);
  if (!token) return refusal(TOKENS_3.unknownToken);
  world.state.tokens.delete(token.value);
  world.changed();
  return json(200, {
    code: 'REST-0000',
    expiration: -1,
    error: false,
    message: 'Drop token successfully.',
    token: token.value,
  });
}

/** The old way of JDBC: `/gsqlserver/gsql/authtoken?graph=`, Basic login, no body. */
export function authtoken(world: World, call: Call): Reply {
  const caller = login(world, call);
  if (!('user' in caller)) {
    const { status, message } = TOKENS_3.authtokenBadLogin;
    return json(status, { error: true, message, results: {} });
  }
  if (!world.restAuth) return json(200, { error: true, message: TOKENS_3.authtokenRestAuthOff.message });
  const graph = call.query.get('graph') ?? '';
  if (!world.state.graphs.includes(graph)) {
    return json(200, { error: true, message: fill(TOKENS_3.unknownGraph.message, { graph }) });
  }
  const token = newToken(world, { secret: null, user: caller.user.name }, graph);
  token.expiresAt = nowSeconds(world) + DEFAULT_LIFETIME_3;
  world.changed();
  return json(200, { error: false, message: '', results: { token: token.value } });
}

/** `DELETE /gsqlserver/expiredtoken`: all users' for a superuser, else one's own; all or nothing. */
export function dropExpired(world: World, call: Call): Reply {
  const caller = login(world, call);
  if (!('user' in caller)) return json(401, { error: true, message: TOKENS_3.badLogin.message });
  const body = parseBody(call.body);
  if (!body) return json(200, { error: true, message: TOKENS_3.badBody.message });
  const strings = (name: string) => (Array.isArray(body[name]) ? body[name].map(String) : []);
  const [users, secrets] = [strings('user'), strings('secret')];
  const unknown = [
    ...users.filter((name) => !world.state.users.some((u) => u.name === name)),
    ...secrets.filter((value) => !world.state.secrets.some((s) => s.value === value)),
  ];
  if (unknown.length > 0) {
    return json(200, {
      error: true,
      message: fill(TOKENS_3.expiredTokensUnknown.message, { names: unknown.length }),
    });
  }
  const everyone = caller.user.role === 'superuser';
  const named = users.length + secrets.length > 0;
  for (const token of world.state.tokens.values()) {
    const meant =
      !named || users.includes(token.user) || (token.secret !== null && secrets.includes(token.secret));
    const allowed = everyone || token.user === caller.user.name;
    if (meant && allowed && token.expiresAt <= nowSeconds(world)) world.state.tokens.delete(token.value);
  }
  world.changed();
  return json(200, { error: false, message: TOKENS_3.expiredTokensDropped.message });
}

function readLifetime(world: World, given: unknown): number | Reply {
  const lifetime = lifetimeField(given);
  if (lifetime === undefined) return DEFAULT_LIFETIME_3;
  if (lifetime === null || lifetime > LONGEST_LIFETIME) return refusal(TOKENS_3.badLifetime);
  const limit = world.switches.maxLifetime;
  if (limit > 0 && lifetime > limit) return refusal(TOKENS_3.lifetimeTooLong, { limit: String(limit) });
  return lifetime;
}

function refusal(text: AssumedText, values: Record<string, string> = {}): Reply {
  const code = text.code === undefined ? {} : { code: text.code };
  return json(text.status, { ...code, error: true, message: fill(text.message, values) });
}

function methodGone(call: Call): Reply {
  return refusal(TOKENS_3.methodGone, { method: call.method });
}
