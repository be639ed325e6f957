import { checkJwt, findUser } from '../authenticate.js';
import { type Call, findRoute, json, type Reply, readAuthorization } from '../call.js';
import { ENDPOINTS, vertices } from '../gsql/graph.js';
import { ENVELOPE, page, refuse, succeed } from '../say.js';
import { type Handler, nowSeconds, type World } from '../world.js';
import { JWT_PROBLEMS, RESTPP } from './texts.js';

/** Answers for the REST server, without its token endpoints; undefined for a path that is not imitated. */
export function restpp(world: World, call: Call, fullPath: string): Reply | undefined {
  const path = fullPath.replace(/\/+$/, '') || '/';
  const found = findRoute(ANSWERS, call.method, path);
  if (!found) return undefined;
  const own = world.options.restAuth === 'off' ? null : readToken(world, call);
  const [graph] = found.parts;
  if (graph !== undefined) {
    if (!world.state.graphs.includes(graph)) refuse(RESTPP.unknownGraph, { graph });
    const token = mask(readAuthorization(call).value);
    if (own !== null && own !== graph) refuse(RESTPP.noPrivilege, { token, graph });
  }
  return found.handler(world, call, ...found.parts);
}

/** Three parts, the first of which begins a JSON object. */
const JWT = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/;

const echo = () => succeed(RESTPP.echo);

/** The first part of a path is a graph. */
const ANSWERS: Readonly<Record<string, Handler>> = {
  '(?:GET|POST) /echo': echo,
  'GET /echo/([^/]+)': echo,
  'GET /version': versionReply,
  'GET /version/([^/]+)': versionReply,
  'GET /endpoints(?:/[^/]+)?': (_world, { query }) =>
    json(200, query.size === 0 || query.get('builtin') === 'true' ? ENDPOINTS : {}),
  'GET /graph/([^/]+)/vertices/([^/]+)': verticesReply,
};

const mask = (token: string) => (token.length < 12 ? '****' : `${token.slice(0, 4)}****${token.slice(-4)}`);

function readSecret({ state, version }: World, value: string): string | null {
  const secret = state.secrets.find((s) => s.value === value);
  const { graph } = secret ?? refuse(RESTPP.unknownGsqlSecret, { token: mask(value) });
  return version.generation === '4' ? null : graph;
}

/** Returns the graph that the call's token or secret is for; null when it is valid for every graph of its user. */
function readToken(world: World, call: Call): string | null {
  const { version, state, options } = world;
  const { scheme, value } = readAuthorization(call);
  if (scheme === 'gsql-secret' && version.atLeast(3, 10, 1)) return readSecret(world, value);
  // A user name and password are treated like a missing token.
  const token = scheme === 'bearer' ? value : '';
  const shown = { token: token && mask(token) };
  // Two wordings were recorded: one in 2020, one from late 2022 on.
  if (token.length < 12) refuse(version.atLeast(3, 8) ? RESTPP.missingToken : RESTPP.unknownToken, shown);
  if (JWT.test(token) && !version.atLeast(3, 10)) refuse(RESTPP.malformedToken, shown);
  const held = state.tokens.get(token);
  const takesJwt = version.generation === '4' || (options.provider && version.atLeast(3, 10));
  // After an upgrade, tokens of 3.x are valid to their end.
  if (!held && takesJwt) {
    const checked = checkJwt(world, token);
    if ('problem' in checked) return refuse(JWT_PROBLEMS[checked.problem][0], { ...checked, ...shown });
    return checked.graph || null;
  }
  if (!held || !findUser(world, held.user)) return refuse(RESTPP.unknownToken, shown);
  if (held.expiresAt <= nowSeconds(world)) refuse(RESTPP.expiredToken, shown);
  return held.graph;
}

function verticesReply(_world: World, { query }: Call, graph: string, type: string): Reply {
  const limit = query.get('limit');
  if (limit !== null && !/^\d+$/.test(limit)) refuse(RESTPP.badLimit, { limit });
  const found = vertices(type) ?? refuse(RESTPP.unknownType, { graph, type });
  const results = limit === null ? found : found.slice(0, Number(limit));
  return json(200, { ...ENVELOPE, error: false, message: '', results });
}

function versionReply(world: World): Reply {
  const version = world.version.text;
  const component = (name: string) =>
    `${name.padEnd(20)} release_${version}_10-04-2023  559b6532eaf39c8e8074d2fa4960bb5158424aaa  2023-09-28 19:58:18 -0700`;
  const lines = [
    'TigerGraph RESTPP: ',
    ' --- Version --- ',
    // Before 3.9 the line is empty: pyTigerGraph skips three lines in any case.
    world.version.atLeast(3, 9) ? `TigerGraph version: ${version}` : '',
    ...['product', 'gpe', 'restpp', 'gsql'].map(component),
  ];
  return page(RESTPP.version, { lines: lines.map((line) => `${line}\n`).join('') });
}
