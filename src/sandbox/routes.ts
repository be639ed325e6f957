import { service3 } from './3x/service.js';
import { requestToken3 } from './3x/tokens.js';
import { requestToken4, service4 } from './4x/service.js';
import type { Call, Reply } from './call.js';
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
  if (path.startsWith('/gsql/v1/')) {
    return major4 ? service4(world, call, path.slice('/gsql/v1'.length)) : page(RESTPP.noSuchPage);
  }
  if (path.startsWith('/gsqlserver/')) {
    return major4 ? page(RESTPP.noSuchPage) : service3(world, call, path.slice('/gsqlserver'.length));
  }
  return undefined;
}

/**
 * Answers for the REST server. nginx sends `/requesttoken` to the GSQL server while REST authentication is on, and the
 * rest to RESTPP.
 */
function restServer(world: World, call: Call, path: string, isTokenPath: boolean): Reply | undefined {
  const major4 = world.version.generation === '4';
  if (isTokenPath && world.options.restAuth !== 'off') {
    return major4 ? requestToken4(world, call) : requestToken3(world, call);
  }
  if (path.startsWith('/requesttoken') || path.startsWith('/gsql/v1/') || path.startsWith('/v1/')) {
    refuse(RESTPP.noEndpoint, { path });
  }
  return restpp(world, call, path);
}
