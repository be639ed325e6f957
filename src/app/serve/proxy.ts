import { listenLocally } from '../../run/listen-locally.js';
import { requestSettings } from '../../run/open-connection.js';
import type { Run } from '../../run/run.js';
import { tokenSource } from '../tokens/get-token.js';
import type { Door } from './door.js';
import { OTHER_PORT, openListener } from './listener.js';
import { findGsqlLogin, tokenProvider } from './logins.js';

export type LocalProxy = Awaited<ReturnType<typeof openProxy>>;

/** How often the token's life is checked. One long timer would miss that the machine slept or its clock was set. */
const LOOK_MS = 500;

/** Listens in place of the servers of this run, and keeps the token fresh. Returns URLs and key to use instead of theirs. */
export async function openProxy(run: Run, ports: LocalPorts) {
  // A port that is taken is found before a token is made.
  for (const port of [ports.rest, ports.service].filter(Boolean)) {
    const server = process.getBuiltinModule('node:net').createServer();
    await listenLocally(server, port, OTHER_PORT);
    server.close();
  }
  const source = await tokenSource(run);
  const { tokens, renew, settle } = tokenProvider(run, source);
  const { token } = await tokens.get();
  const login = await findGsqlLogin(run, source, token, () => tokens.get());
  const { randomInt } = process.getBuiltinModule('node:crypto');
  const key = Array.from({ length: 32 }, () => randomInt(36).toString(36)).join('');
  const { servers } = token.token;
  const { tls, proxy, timeoutMs } = await requestSettings(run, run.target.host);
  const settings = { key, servers, tokens, gsqlLogin: login?.authorization, tls, proxy, timeoutMs };
  const { listeners, ...urls } = await openListeners(settings, ports);
  // The provider's `onFailure` has told the user of a failed renewal.
  const renewal = setInterval(renew, LOOK_MS).unref();
  return {
    ...urls,
    key,
    /** The name to log in with at the GSQL server; undefined when the credential does not log in there. */
    username: login?.username,
    serverVersion: token.life.serverVersion,
    close: async () => {
      clearInterval(renewal);
      await Promise.all(listeners.map((listener) => listener.close()));
      // A token that is being made would live on unseen.
      await settle();
    },
  };
}

type LocalPorts = Readonly<Record<'rest' | 'service', number>>;

/** Opens one listener where one address leads to both servers, as on 4.x, and no two ports are given; else one for each. */
async function openListeners(settings: Omit<Door, 'base' | 'restPath'>, { rest, service }: LocalPorts) {
  const { restUrl, gsqlUrl } = settings.servers;
  const prefix = restUrl.startsWith(`${gsqlUrl}/`) ? restUrl.slice(gsqlUrl.length) : '';
  const isOne = prefix !== '' && (rest === service || rest === 0 || service === 0);
  const gsql = { ...settings, base: gsqlUrl };
  const forRest = prefix ? gsql : { ...settings, base: restUrl };
  const first = await openListener({ ...forRest, restPath: `${prefix}/` }, rest || (prefix ? service : 0));
  if (isOne) return { listeners: [first], restUrl: first.url + prefix, gsqlUrl: first.url };
  const second = await openListener(gsql, service).catch(async (error) => {
    await first.close();
    throw error;
  });
  return { listeners: [first, second], restUrl: first.url + prefix, gsqlUrl: second.url };
}
