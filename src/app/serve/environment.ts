import { ADDRESS_KEYS, SETTINGS } from '../../config/keys.js';
import { settingText } from '../../config/settings.js';
import { isInVariables, serverVariables } from '../../core/endpoints.js';
import { BoundCredential, Sensitive } from '../../core/sensitive.js';
import { graphOf, type Run } from '../../run/run.js';
import type { LocalProxy } from './proxy.js';

type Environment = Record<string, string | undefined>;

/** Returns the environment of a command that `exec` runs: the token and its servers, and no other credential. */
export function tokenEnvironment(run: Run, token: BoundCredential): Environment {
  const { servers } = token;
  const urls = { GRAPHCRED_GSQL_URL: servers.gsqlUrl, GRAPHCRED_REST_URL: servers.restUrl };
  return {
    ...run.ports.childEnvironment(),
    TG_API_TOKEN: token.reveal(),
    ...serverVariables(servers),
    // With these, ports that are the usual ones would count as not set.
    TG_TGCLOUD: undefined,
    TG_SSL_PORT: undefined,
    ...(!isInVariables(servers) && urls),
    // Set even if undefined: with --profile typed, a graph in the environment belongs to another database.
    TG_GRAPHNAME: graphOf(run) ?? settingText(run.settings, 'graph'),
    // With these a job of GitHub Actions gets a JWT from the runner, and with it a token from graphcred.
    ACTIONS_ID_TOKEN_REQUEST_URL: undefined,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: undefined,
  };
}

/** Returns that of a command that `proxy` runs: the addresses of the proxy, and its key in place of credentials. */
export function proxyEnvironment(run: Run, proxy: Omit<LocalProxy, 'close'>): Environment {
  const { restUrl, gsqlUrl, key, username, serverVersion } = proxy;
  const { NO_PROXY, no_proxy } = run.ports.env;
  // An HTTP proxy cannot reach the loopback. Programs that read both names prefer one of them, so both get the same.
  const hosts = new Set([NO_PROXY, no_proxy, '127.0.0.1'].filter(Boolean));
  const noProxy = hosts.has('*') ? '*' : [...hosts].join();
  return {
    ...tokenEnvironment(run, new BoundCredential(new Sensitive(key), { restUrl, gsqlUrl })),
    // The version below counts for this pair alone.
    ...Object.fromEntries(ADDRESS_KEYS.map((name) => [SETTINGS[name].variable, undefined])),
    ...{ GRAPHCRED_GSQL_URL: gsqlUrl, GRAPHCRED_REST_URL: restUrl },
    // What is stored for an address that ends with the proxy would be sent to whoever listens there next.
    GRAPHCRED_STORE: 'none',
    // The proxy answers nobody without the key, so its version cannot be asked for.
    GRAPHCRED_SERVER_VERSION: serverVersion,
    TG_USERNAME: username,
    TG_PASSWORD: username && key,
    NO_PROXY: noProxy,
    no_proxy: noProxy,
  };
}
