import { findWithoutAsking } from '../../auth/choose.js';
import { GraphException, isLoginRefused } from '../../core/errors.js';
import type { Authorization } from '../../core/http/types.js';
import { SECRET_USER } from '../../core/protocol/refusals.js';
import { readClaims } from '../../core/protocol/reply.js';
import { secretLogin } from '../../core/protocol/session.js';
import { TokenProvider } from '../../core/provider.js';
import { type BoundCredential, bindTo } from '../../core/sensitive.js';
import { isoSeconds } from '../../core/time.js';
import type { Ports } from '../../run/ports.js';
import { Asked, type Run } from '../../run/run.js';
import { findVersion } from '../../run/server.js';
import { type TokenSource, tokenSource } from '../tokens/get-token.js';
import type { Token } from '../tokens/token-cache.js';

type TokenLogin = Authorization & { readonly token: Token };

/** Provides the token of the run, as `token get` does: from the store, or under its lock from the server. */
export function tokenProvider(run: Run, first: TokenSource) {
  const { reporter, now } = run.ports;
  let isFirst = true;
  let isRefused = false;
  let underWay: Promise<unknown> | undefined;
  const tokens = new TokenProvider<TokenLogin>({
    acquire: async (previous, isFresh) => {
      // A file or a program may give another credential by now; one that was typed is asked for once.
      const source = isFirst ? first : await sourceForRenewal(run).catch(() => first);
      isFirst = false;
      const longerLived = previous && { minTtl: previous.token.expiresAtUnix - now() / 1000 + 1 };
      // A refused token stays in the store until it ends: what refused it may be a gateway.
      const obtaining = source.obtain(isFresh ? { freshSince: now() } : longerLived);
      underWay = obtaining.catch(() => {});
      const token = await obtaining;
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
      const known = error instanceof GraphException ? error : undefined;
      isRefused = isLoginRefused(error);
      const why = known?.message.replace(/\.$/, '') ?? 'a bug in graphcred';
      const until = `the token could not be renewed: ${why}; the old one is used until it expires`;
      reporter.warn(isAlive ? until : [`there is no valid token: ${why}`, ...(known?.fix ?? [])]);
    },
  });
  // A login that was refused is tried again when a client asks: servers count wrong ones.
  const renew = () => isRefused || tokens.get().catch(() => {});
  return { tokens, renew, settle: () => underWay };
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

/** Returns the login for the GSQL server; undefined when the credential at hand is none. */
export async function findGsqlLogin(
  run: Run,
  source: TokenSource,
  { token, isCached }: Token,
  tokenLogin: () => Promise<Authorization>,
) {
  // A password that was typed for the token is at hand. Nobody is asked for another one.
  const own = isCached ? undefined : await source.credential();
  const found = own?.level === 'prompt' ? own : await findWithoutAsking(run, 'login', undefined);
  if (!found) return undefined;
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
}
