import { type Call, html, json, type Reply } from './call.js';
import { noEndpoint, restpp } from './restpp.js';
import { requestToken3 } from './v3.js';
import { service3 } from './v3-service.js';
import { requestToken4, service4 } from './v4.js';
import type { World } from './world.js';

const NGINX_404 =
  '<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not Found</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n';

/** The answer to one call; undefined for a path the sandbox does not imitate. */
export function answer(world: World, call: Call): Reply | undefined {
  const { path } = call;
  const major4 = world.version.generation === 'C';
  if (call.server === 'rest') return restServer(world, call, path, path === '/requesttoken');
  if (path.startsWith('/restpp/')) {
    const inner = path.slice('/restpp'.length);
    return restServer(world, call, inner, inner.startsWith('/requesttoken'));
  }
  if (path === '/api/ping' && call.method === 'GET') {
    // The text "false" is what the server says.
    return json(200, { error: 'false', message: 'pong', results: {} });
  }
  if (path.startsWith('/gsql/v1/')) {
    return major4 ? service4(world, call, path.slice('/gsql/v1'.length)) : html(404, NGINX_404);
  }
  if (path.startsWith('/gsqlserver/')) {
    return major4 ? html(404, NGINX_404) : service3(world, call, path.slice('/gsqlserver'.length));
  }
  return undefined;
}

/** nginx sends `/requesttoken` to the GSQL server while REST authentication is on, the rest to RESTPP. */
function restServer(world: World, call: Call, path: string, isTokenPath: boolean): Reply | undefined {
  if (isTokenPath && world.restAuth) {
    return world.version.generation === 'C' ? requestToken4(world, call) : requestToken3(world, call);
  }
  if (path.startsWith('/requesttoken') || path.startsWith('/gsql/v1/') || path.startsWith('/v1/')) {
    return noEndpoint(world, path);
  }
  return restpp(world, call, path);
}
