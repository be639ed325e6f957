import { type Call, json, percentDecode, type Reply } from './call.js';
import { vertices } from './graph.js';
import { checkJwt, findUser, readAuthorization } from './login.js';
import { maskToken } from './state.js';
import { type AssumedText, fill, RESTPP } from './texts.js';
import { nowSeconds, type World } from './world.js';

const ENVELOPE = { version: { edition: 'enterprise', api: 'v2', schema: 0 } };

function restppError(text: AssumedText, values: Record<string, string> = {}, status = text.status): Reply {
  return json(status, { ...ENVELOPE, error: true, message: fill(text.message, values), code: text.code });
}

/** What RESTPP says to a path it does not have; `/requesttoken` is one while REST authentication is off. */
export function noEndpoint(world: World, path: string): Reply {
  return json(world.switches.restAuthOffStatus, {
    ...ENVELOPE,
    error: true,
    message: `Endpoint is not found from url = ${path}, please use GET /endpoints to list all valid endpoints.`,
    code: 'REST-1000',
  });
}

/** The data server, without its token endpoints. Undefined: a path the sandbox does not imitate. */
export function restpp(world: World, call: Call, fullPath: string): Reply | undefined {
  const path = fullPath.replace(/\/+$/, '') || '/';
  const known = route(world, call, path);
  if (!known) return undefined;
  if (!world.restAuth) return known(undefined);
  const token = readToken(world, call);
  return 'refusal' in token ? token.refusal : known(token.holder);
}

/** Whose token it is. `graph` is null for a token that opens every graph of its user. */
interface Holder {
  readonly graph: string | null;
  readonly shown: string;
}

type Handler = (holder: Holder | undefined) => Reply;

function route(world: World, call: Call, path: string): Handler | undefined {
  const { method } = call;
  if (path === '/echo' && (method === 'GET' || method === 'POST')) {
    return () => json(200, { error: false, message: 'Hello GSQL' });
  }
  if (path === '/version' && method === 'GET') return () => versionReply(world);
  const match = /^\/graph\/([^/]+)\/vertices\/([^/]+)$/.exec(path);
  if (match && method === 'GET') {
    const [graph, type] = [percentDecode(match[1]!), percentDecode(match[2]!)];
    return (holder) => verticesReply(world, call, graph, type, holder);
  }
  return undefined;
}

function readToken(world: World, call: Call): { holder: Holder } | { refusal: Reply } {
  const { badTokenStatus, expiredTokenStatus } = world.switches;
  const given = readAuthorization(call);
  if (given?.scheme === 'gsql-secret' && world.version.atLeast(3, 10, 1)) {
    const secret = world.state.secrets.find((s) => s.value === given.value);
    if (secret) return { holder: { graph: secret.graph, shown: maskToken(given.value) } };
    return { refusal: restppError(RESTPP.unknownToken, { token: maskToken(given.value) }, badTokenStatus) };
  }
  // User name and password count as no token at all.
  const token = given?.scheme === 'bearer' ? given.value : '';
  const shown = token === '' ? '' : maskToken(token);
  const refuse = (text: AssumedText, status: number) => ({
    refusal: restppError(text, { token: shown }, status),
  });

  if (token.length < 12) return { refusal: json(badTokenStatus, missingToken(world, shown)) };
  if (world.version.generation !== 'C') {
    const held = world.state.tokens.get(token);
    if (!held || !findUser(world, held.user)) return refuse(RESTPP.unknownToken, badTokenStatus);
    if (held.expiresAt <= nowSeconds(world)) return refuse(RESTPP.expired, expiredTokenStatus);
    return { holder: { graph: held.graph, shown } };
  }

  const checked = checkJwt(world, token);
  if ('claims' in checked) return { holder: { graph: checked.claims.graph ?? null, shown } };
  switch (checked.problem) {
    case 'malformed':
      return {
        refusal: json(badTokenStatus, {
          ...ENVELOPE,
          error: true,
          message: `Access Denied because the input token = '${shown}' is not in correct format`,
          code: 'REST-10016',
        }),
      };
    case 'expired':
      return refuse(RESTPP.expired, expiredTokenStatus);
    case 'signature':
      return refuse(RESTPP.badSignature, badTokenStatus);
    case 'issuer':
      return refuse(RESTPP.wrongIssuer, badTokenStatus);
    case 'blocked':
      return refuse(RESTPP.blocked, badTokenStatus);
    case 'user':
      return refuse(RESTPP.unknownUser, badTokenStatus);
    case 'graph':
      return refuse(RESTPP.graphGone, badTokenStatus);
  }
}

/** The two wordings seen: in 2020, and from late 2022 on. */
function missingToken(world: World, shown: string): unknown {
  const reason = world.version.atLeast(3, 8) ? 'is empty or too short' : 'is invalid.';
  return {
    ...ENVELOPE,
    error: true,
    message: `Access Denied because the input token = '${shown}' ${reason}`,
    code: 'REST-10016',
  };
}

function verticesReply(
  world: World,
  call: Call,
  graph: string,
  type: string,
  holder: Holder | undefined,
): Reply {
  if (!world.state.graphs.includes(graph)) return restppError(RESTPP.unknownGraph, { graph });
  if (holder && holder.graph !== null && holder.graph !== graph) {
    return restppError(RESTPP.noPrivilege, { token: holder.shown, graph }, world.switches.privilegeStatus);
  }
  const limit = call.query.get('limit');
  if (limit !== null && !/^\d+$/.test(limit)) return restppError(RESTPP.badLimit, { limit });
  const found = vertices(type);
  if (!found) return restppError(RESTPP.unknownType, { graph, type });
  const results = limit === null ? found : found.slice(0, Number(limit));
  return json(200, { ...ENVELOPE, error: false, message: '', results });
}

/** The line breaks in `message` are sent as they are, which strict JSON parsers refuse: so does the server. */
function versionReply(world: World): Reply {
  const version = world.version.text;
  const component = (name: string) =>
    `${name.padEnd(20)} release_${version}_10-04-2023  559b6532eaf39c8e8074d2fa4960bb5158424aaa  2023-09-28 19:58:18 -0700`;
  const lines = [
    'TigerGraph RESTPP: ',
    ' --- Version --- ',
    // Before 3.9 the line is empty: pyTigerGraph skips three lines whatever they say.
    world.version.atLeast(3, 9) ? `TigerGraph version: ${version}` : '',
    component('product'),
    component('gpe'),
    component('restpp'),
    component('gsql'),
  ];
  return {
    status: 200,
    headers: { 'Content-Type': 'application/json' },
    body: `{"error":"false", "message":"${lines.join('\n')}\n"}`,
  };
}
