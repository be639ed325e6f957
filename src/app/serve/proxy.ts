import { findCredential, findWithoutAsking } from '../../auth/choose.js';
import { expected, GraphException, usageError } from '../../core/errors.js';
import type { Authorization } from '../../core/http/types.js';
import { SECRET_USER } from '../../core/protocol/refusals.js';
import { readClaims } from '../../core/protocol/reply.js';
import { secretLogin } from '../../core/protocol/session.js';
import { TokenProvider } from '../../core/provider.js';
import { type BoundCredential, bindTo } from '../../core/sensitive.js';
import { isoSeconds } from '../../core/time.js';
import { requestSettings } from '../../run/open-connection.js';
import type { Ports } from '../../run/ports.js';
import { Asked, type Run } from '../../run/run.js';
import { findVersion } from '../../run/server.js';
import { type TokenSource, tokenSource } from '../tokens/get-token.js';
import type { Token } from '../tokens/token-cache.js';
import type { Door } from './door.js';
import { listenLocally } from './listen-locally.js';
import { OTHER_PORT, openListener } from './listener.js';

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
  const { tokens, renew } = tokenProvider(run, source);
  const { token } = await tokens.get();
  const login = await gsqlLogin(run, source, token, () => tokens.get());
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
    },
  };
}

type TokenLogin = Authorization & { readonly token: Token };

/** Provides the token of the run, as `token get` does: from the store, or under its lock from the server. */
function tokenProvider(run: Run, first: TokenSource) {
  const { reporter, now } = run.ports;
  let isFirst = true;
  let isRefused = false;
  const tokens = new TokenProvider<TokenLogin>({
    acquire: async (previous, isFresh) => {
      // A file or a program may give another credential by now; one that was typed is asked for once.
      const source = isFirst ? first : await sourceForRenewal(run).catch(() => first);
      isFirst = false;
      const longerLived = previous && { minTtl: previous.token.expiresAtUnix - now() / 1000 + 1 };
      // A refused token stays in the store until it ends: what refused it may be a gateway.
      const token = await source.obtain(isFresh ? { freshSince: now() } : longerLived);
      // The credential is bound to the token's own servers: after an upgrade these may not be those that the listener stands for.
      return { scheme: 'Bearer', token, credential: token.token };
    },
    now,
    textOf: ({ token }) => token.token.reveal(),
    lifeOf: ({ token: { expiresAtUnix, life } }) => {
      const endMs = expiresAtUnix * 1000;
      // When another machine has asked for it, its clock does not tell.
      return { fromMs: life.requestedAtMs ?? endMs - life.lifetime * 1000, endMs };
    },
    onToken: ({ token }) => {
      isRefused = false;
      const [since, ends] = [Math.floor(now() / 1000), token.expiresAtUnix].map(isoSeconds);
      reporter.detail(`token in use since ${since}, ends at ${ends}`);
    },
    onFailure: (error, isAlive) => {
      isRefused = error instanceof GraphException && error.code === 'AUTH_FAILED';
      const why = error instanceof GraphException ? error.message.replace(/\.$/, '') : 'a bug in graphcred';
      if (isAlive)
        reporter.warn(`the token could not be renewed: ${why}; the old one is used until it expires`);
      else reporter.warn(`there is no valid token: ${why}`);
    },
  });
  // A login that was refused is tried again when a client asks: servers count wrong ones.
  return { tokens, renew: () => isRefused || tokens.get().catch(() => {}) };
}

/** Returns a source for use in the background: it asks nobody, draws nothing, and leaves signals to the command. */
function sourceForRenewal(run: Run): Promise<TokenSource> {
  // Each renewal has the whole time limit, and stores that may work again.
  run.time.restart();
  run.stores.restart();
  const { reporter } = run.ports;
  const nothing = () => {};
  const silent = { start: nothing, stop: nothing, onStart: nothing, onRequest: nothing };
  const { signal } = new AbortController();
  const ports: Ports = {
    ...run.ports,
    canPrompt: false,
    interruption: { during: (work) => work(), begin: nothing, signal, status: undefined },
    reporter: { ...reporter, note: nothing, spinner: async () => silent, requests: async () => silent },
  };
  const { graph, tls } = run.asked;
  // A file that was named for a certificate may be a pipe.
  const asked = Object.assign(new Asked(), { graph, tls });
  return tokenSource({ ...run, ports, asked });
}

type LocalPorts = Readonly<Record<'rest' | 'service', number>>;

/** Opens one listener where one address leads to both servers, as on 4.x, else one for each. */
async function openListeners(settings: Omit<Door, 'base' | 'restPath'>, { rest, service }: LocalPorts) {
  const { restUrl, gsqlUrl } = settings.servers;
  const prefix = restUrl.startsWith(`${gsqlUrl}/`) ? restUrl.slice(gsqlUrl.length) : '';
  if (prefix && rest && service && rest !== service)
    throw usageError(
      'This database has both servers on one port.',
      'give --port alone, or the same port twice',
    );
  const gsql = { ...settings, base: gsqlUrl };
  if (prefix) {
    const both = await openListener({ ...gsql, restPath: `${prefix}/` }, rest || service);
    return { listeners: [both], restUrl: both.url + prefix, gsqlUrl: both.url };
  }
  const first = await openListener({ ...settings, base: restUrl, restPath: '/' }, rest);
  const second = await openListener(gsql, service).catch(async (error) => {
    await first.close();
    throw error;
  });
  return { listeners: [first, second], restUrl: first.url, gsqlUrl: second.url };
}

/** Returns the login for the GSQL server; undefined when the credential at hand is none. */
async function gsqlLogin(
  run: Run,
  source: TokenSource,
  { token, isCached }: Token,
  tokenLogin: () => Promise<Authorization>,
) {
  try {
    const own = await source.credential();
    const isTyped = own.level === 'prompt';
    const found = isTyped ? own : await findCredential(run, 'login', { mayAsk: false });
    // With a cached token nobody was asked for the password.
    if (found.level === 'prompt' && (isCached || !isTyped)) return undefined;
    const username = found.kind === 'secret' ? SECRET_USER : (found.username ?? readClaims(token)?.sub ?? '');
    if (found.kind === 'jwt') return { username, authorization: tokenLogin };
    let used = found;
    const authorization = async (): Promise<Authorization> => {
      // A rotation replaces the saved secret, and a login the password.
      const saved = found.record && (await findWithoutAsking(run, 'login', undefined));
      if (saved?.record && saved.record.createdAtUnix !== used.record?.createdAtUnix) used = saved;
      // Reading the credential may start a program, so it waits for the first request.
      const credential = bindTo(token.servers, await used.read()) as BoundCredential;
      if (used.kind === 'secret') return secretLogin(await findVersion(run), credential);
      return { scheme: 'Basic', username, credential };
    };
    return { username, authorization };
  } catch (error) {
    run.ports.reporter.detail(`there is no login for the GSQL server: ${expected(error).message}`);
    return undefined;
  }
}
