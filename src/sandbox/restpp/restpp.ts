import { checkJwt, findUser } from '../authenticate.js';
import { type Call, findRoute, json, type Reply, readAuthorization } from '../call.js';
import { ENDPOINTS, vertices } from '../graph.js';
import { isJwt } from '../jwt.js';
import { ENVELOPE, page, refuse, succeed, type Text } from '../say.js';
import { maskToken } from '../state.js';
import { type Handler, nowSeconds, type World } from '../world.js';
import { JWT_PROBLEMS, RESTPP } from './texts.js';

/**
 * Answers for the REST server, without its token endpoints; undefined for a path that the sandbox does not imitate.
 */
export function restpp(world: World, call: Call, fullPath: string): Reply | undefined {
  const path = fullPath.replace(/\/+$/, '') || '/';
  const found = findRoute(ANSWERS, call.method, path);
  if (!found) return undefined;
  const holder = world.options.restAuth === 'off' ? undefined : readToken(world, call);
  const [graph] = found.parts;
  if (graph !== undefined) requireGraph(world, graph, holder);
  return found.handler(world, call, ...found.parts);
}

/** The owner of a token. `graph` is null for a token that is valid for every graph of its user. */
interface Holder {
  readonly graph: string | null;
  readonly shown: string;
}

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

function readSecret(world: World, value: string): Holder {
  const shown = maskToken(value);
  const secret = world.state.secrets.find((s) => s.value === value);
  const { graph } = secret ?? refuse(RESTPP.unknownGsqlSecret, { token: shown });
  return { graph: world.version.generation === '4' ? null : graph, shown };
}

function readToken(world: World, call: Call): Holder {
  const given = readAuthorization(call);
  if (given?.scheme === 'gsql-secret' && world.version.atLeast(3, 10, 1))
    return readSecret(world, given.value);
  // A user name and password are treated like a missing token.
  const token = given?.scheme === 'bearer' ? given.value : '';
  const shown = token === '' ? '' : maskToken(token);
  const malformed = judgeForm(world, token);
  if (malformed) return refuse(malformed, { token: shown });
  const held = world.state.tokens.get(token);
  const major4 = world.version.generation === '4';
  const isOfProvider =
    !major4 && held === undefined && world.options.provider !== undefined && world.version.atLeast(3, 10);
  // After an upgrade, tokens of 3.x are valid to their end.
  if (held || (!major4 && !isOfProvider)) {
    if (!held || !findUser(world, held.user)) return refuse(RESTPP.unknownToken, { token: shown });
    if (held.expiresAt <= nowSeconds(world)) return refuse(RESTPP.expiredToken, { token: shown });
    return { graph: held.graph, shown };
  }
  const checked = checkJwt(world, token);
  if ('problem' in checked) {
    const { problem, audience = '' } = checked;
    const values = { token: shown, audience, own: world.options.provider?.audience ?? '' };
    return refuse(JWT_PROBLEMS[problem][0], values);
  }
  return { graph: checked.graph || null, shown };
}

/** Returns why a text cannot be a token, without looking it up. */
function judgeForm({ version }: World, token: string): Text | undefined {
  // Two wordings were recorded: one in 2020, one from late 2022 on.
  if (token.length < 12) return version.atLeast(3, 8) ? RESTPP.missingToken : RESTPP.unknownToken;
  return isJwt(token) && !version.atLeast(3, 10) ? RESTPP.malformedToken : undefined;
}

/** Refuses a graph that is unknown, or that this token may not use. */
function requireGraph(world: World, graph: string, holder: Holder | undefined): void {
  if (!world.state.graphs.includes(graph)) refuse(RESTPP.unknownGraph, { graph });
  const { graph: own = null, shown: token = '' } = holder ?? {};
  if (own !== null && own !== graph) refuse(RESTPP.noPrivilege, { token, graph, own });
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
    component('product'),
    component('gpe'),
    component('restpp'),
    component('gsql'),
  ];
  return page(RESTPP.version, {
    lines: lines.map((line) => `${line}\n`).join(''),
  });
}
