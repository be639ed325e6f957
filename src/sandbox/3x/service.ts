import { loginBasic, loginBy, requireLogin, seesGraph } from '../authenticate.js';
import { type Call, decodeForm, parseBody, percentDecode, type Reply, reply } from '../call.js';
import { rolesOf, schemaReply } from '../gsql/answers.js';
import { runGsql } from '../gsql/statements.js';
import { GSQL } from '../gsql/texts.js';
import { ok, page, refuse } from '../say.js';
import { randomString } from '../state.js';
import { type Handler, nowSeconds, type World } from '../world.js';
import { V3 } from './texts.js';
import { DEFAULT_LIFETIME_3, newToken, requestToken3 } from './tokens.js';

const text = (body: string) => () => reply(200, 'text', body);

/** The paths below `/gsqlserver` on 3.x. */
export const SERVICE_3: Readonly<Record<string, Handler>> = {
  '\\S+ /requesttoken': requestToken3,
  'POST /gsql/(?:file|command)': file,
  'POST /gsql/login': shellLogin,
  'POST /gsql/version': (world) => page(GSQL.version, { version: world.version.text }),
  'GET /gsql/simpleauth': simpleAuth,
  'GET /gsql/schema': (world, call) => schemaReply(world, call, call.query.get('graph') ?? ''),
  '(?:GET|POST) /gsql/authtoken': authtoken,
  'POST /gsql/help': text(
    'USE GRAPH <graph>, CREATE SECRET [alias], SHOW SECRET, DROP SECRET <alias>, SHOW USER\n',
  ),
  // Java turns a GET with a body into a POST.
  '(?:GET|POST) /gsql/getinfo': text('USE,CREATE,SHOW,DROP\n'),
  'POST /gsql/abort(?:clientsession|loadingprogress)': text(''),
};

/** Returns the name of the header in which the shell of this version looks for its session. */
function setCookieName(world: World): string {
  if (world.version.atLeast(3, 6, 2)) return 'Set-GSQL-Cookie';
  return world.version.atLeast(3, 2) ? 'Set-Cookie' : 'Set-cookie';
}

/** Returns the session a client sends along, as JSON, under the old or the new header name; most send none. */
function readCookie({ headers }: Call): Record<string, unknown> {
  return parseBody(String(headers['gsql-cookie'] ?? headers.cookie ?? '')) ?? {};
}

function sessionCookie(sent: Record<string, unknown>, auth: string, graph: string | null): string {
  return JSON.stringify({
    sessionId: typeof sent.sessionId === 'string' ? sent.sessionId : `00000000${randomString(3)}`,
    serverId: '1_1600000000000',
    ...(graph === null ? {} : { graph }),
    fromGsqlClient: sent.fromGsqlClient === true,
    gShellTest: false,
    terminalWidth: typeof sent.terminalWidth === 'number' ? sent.terminalWidth : 80,
    compileThread: 0,
    fromGraphStudio: false,
    fromGsqlServer: false,
    sessionAborted: false,
    loadingProgressAborted: false,
    // On a real server too, this cookie is enough to log in.
    auth,
    metadataUpdateSeqId: 0,
  });
}

/** Answers at the old endpoint of the JDBC driver: `/gsqlserver/gsql/authtoken?graph=`, Basic login, no body. */
function authtoken(world: World, call: Call): Reply {
  const caller = loginBy(world, call, { wrong: V3.authtokenBadLogin });
  if (world.options.restAuth === 'off') refuse(V3.authtokenRestAuthOff);
  const graph = call.query.get('graph') ?? '';
  if (!seesGraph(world, caller, graph)) refuse(V3.authtokenUnknownGraph, { graph });
  const token = newToken(world, caller, graph);
  token.expiresAt = nowSeconds(world) + DEFAULT_LIFETIME_3;
  return ok({ results: { token: token.value } });
}

/** Runs GSQL that is sent as text, URL-encoded or not. The status is always 200. */
function file(world: World, call: Call): Reply {
  const caller = requireLogin(world, call);
  const sent = readCookie(call);
  const isSeen = typeof sent.graph === 'string' && seesGraph(world, caller, sent.graph);
  const graph = isSeen ? String(sent.graph) : (caller.secret?.graph ?? null);
  const answer = runGsql(world, caller, graph, decodeForm(call.body));
  const cookie = `__GSQL__COOKIES__,${sessionCookie(sent, call.headers.authorization ?? '', answer.graph)}\n`;
  // The shell stops reading after the code, so nothing may follow.
  return { ...reply(200, 'text', answer.text), trailer: `${cookie}__GSQL__RETURN__CODE__,${answer.code}\n` };
}

/**
 * Logs the GSQL shell in: the body is bare base64, which pyTigerDriver URL-encodes too. Failures are in the body; the
 * status is always 200.
 */
function shellLogin(world: World, call: Call): Reply {
  const sent = readCookie(call);
  const encoded = percentDecode(call.body.trim());
  const texts = world.version.atLeast(3, 8)
    ? { wrong: GSQL.loginWrong, throttled: GSQL.loginThrottled }
    : { wrong: GSQL.loginWrongOld };
  const caller = loginBasic(world, encoded, texts);
  const graph =
    typeof sent.graph === 'string' && sent.graph !== '' ? sent.graph : (caller.secret?.graph ?? null);
  if (graph !== null && !seesGraph(world, caller, graph)) refuse(GSQL.loginUnknownGraph, { graph });
  const defaultPassword = caller.user.name === 'tigergraph' && caller.user.password === 'tigergraph';
  const accepted = ok({
    isClientCompatible: true,
    welcomeMessage: 'Welcome to TigerGraph.',
    shellPrompt: 'GSQL > ',
    // Clients since 3.9.2 require this number. Bit 0: the default password is still set.
    securityRecommendations: defaultPassword ? 1 : 0,
  });
  const cookie = sessionCookie(sent, `Basic ${encoded}`, graph);
  return { ...accepted, headers: { ...accepted.headers, [setCookieName(world)]: cookie } };
}

function simpleAuth(world: World, call: Call): Reply {
  const { user } = requireLogin(world, call);
  return ok({ isSuperUser: user.role === 'superuser', ...rolesOf(world, user) });
}
