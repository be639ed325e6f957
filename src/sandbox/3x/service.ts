import { loginBy, requireLogin, seesGraph } from '../authenticate.js';
import { type Call, decodeForm, type Reply, reply } from '../call.js';
import { rolesOf, schemaReply } from '../gsql/graph.js';
import { runGsql } from '../gsql/statements.js';
import { GSQL } from '../gsql/texts.js';
import { ok, page, refuse } from '../say.js';
import { randomString } from '../state.js';
import type { Handler, World } from '../world.js';
import { V3 } from './texts.js';
import { DEFAULT_LIFETIME_3, newToken, requestToken3 } from './tokens.js';

/** The paths below `/gsqlserver` on 3.x. */
export const SERVICE_3: Readonly<Record<string, Handler>> = {
  '\\S+ /requesttoken': requestToken3,
  'POST /gsql/(?:file|command)': file,
  'POST /gsql/version': (world) => page(GSQL.version, { version: world.version.text }),
  'GET /gsql/simpleauth': simpleAuth,
  'GET /gsql/schema': (world, call) => schemaReply(world, call, call.query.get('graph') ?? ''),
  '(?:GET|POST) /gsql/authtoken': authtoken,
};

/** Answers at the old endpoint of the JDBC driver: `/gsqlserver/gsql/authtoken?graph=`, Basic login, no body. */
function authtoken(world: World, call: Call): Reply {
  const caller = loginBy(world, call, { wrong: V3.authtokenBadLogin });
  if (world.options.restAuth === 'off') refuse(V3.authtokenRestAuthOff);
  const graph = call.query.get('graph') ?? '';
  if (!seesGraph(world, caller, graph)) refuse(V3.authtokenUnknownGraph, { graph });
  const token = newToken(world, caller, graph, DEFAULT_LIFETIME_3);
  return ok({ results: { token: token.value } });
}

/** Runs GSQL that is sent as text, URL-encoded or not. The status is always 200. */
function file(world: World, call: Call): Reply {
  const caller = requireLogin(world, call);
  const answer = runGsql(world, caller, caller.secret?.graph ?? null, decodeForm(call.body));
  // On a real server the session's cookie is enough to log in.
  const session = { sessionId: `00000000${randomString(3)}`, auth: call.headers.authorization };
  const cookie = `__GSQL__COOKIES__,${JSON.stringify(session)}\n`;
  // Clients stop reading after the code, so nothing may follow.
  return { ...reply(200, 'text', answer.text), trailer: `${cookie}__GSQL__RETURN__CODE__,${answer.code}\n` };
}

function simpleAuth(world: World, call: Call): Reply {
  const { user } = requireLogin(world, call);
  return ok({ isSuperUser: user.role === 'superuser', ...rolesOf(world, user) });
}
