import { SERVICE_3 } from './3x/service.js';
import { requestToken3 } from './3x/tokens.js';
import { requestToken4, SERVICE_4 } from './4x/service.js';
import { type Call, findRoute, type Reply } from './call.js';
import { restpp } from './restpp/restpp.js';
import { RESTPP } from './restpp/texts.js';
import { page, refuse } from './say.js';
import type { World } from './world.js';

/** Returns the answer to one call; undefined for a path the sandbox does not imitate. */
export function answer(world: World, call: Call): Reply | undefined {
  const { path } = call;
  const major4 = world.version.generation === '4';
  if (call.server === 'rest') return restServer(world, call, path, path === '/requesttoken');
  if (path.startsWith('/restpp/')) {
    const inner = path.slice('/restpp'.length);
    return restServer(world, call, inner, inner.startsWith('/requesttoken'));
  }
  if (path === '/api/ping' && call.method === 'GET') return page(RESTPP.ping);
  const [, folder, rest = ''] = /^\/(gsql\/v1|gsqlserver)(\/.*)$/.exec(path) ?? [];
  if (folder === undefined) return undefined;
  if (major4 !== (folder === 'gsql/v1')) return page(RESTPP.noSuchPage);
  const isRefused = world.options.restAuth === 'off' && world.switches.restAuthOffOn4 === 'refuse';
  if (major4 && isRefused && /^\/tokens(\/check)?$/.test(rest)) refuse(RESTPP.noEndpoint, { path });
  const found = findRoute(major4 ? SERVICE_4 : SERVICE_3, call.method, rest);
  return found?.handler(world, call, ...found.parts);
}

/** Answers for the REST server. nginx sends `/requesttoken` to the GSQL server while REST authentication is on. */
function restServer(world: World, call: Call, path: string, isTokenPath: boolean): Reply | undefined {
  if (isTokenPath && world.options.restAuth !== 'off')
    return world.version.generation === '4' ? requestToken4(world, call) : requestToken3(world, call);
  if (/^\/(?:requesttoken|v1\/|gsql\/v1\/)/.test(path)) refuse(RESTPP.noEndpoint, { path });
  return restpp(world, call, path);
}
