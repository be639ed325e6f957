import { pickCredential } from '../../auth/choose.js';
import { connect } from '../../auth/connect.js';
import { isTokenItself, type TokenOwner } from '../../auth/credential.js';
import { GraphException } from '../../core/errors.js';
import { readClaims } from '../../core/protocol/reply.js';
import type { Sensitive } from '../../core/sensitive.js';
import { refusedVariable, tokenFromStdin, tokenFromVariable } from '../../run/read.js';
import type { Run } from '../../run/run.js';
import type { Store } from '../../store/store.js';
import { deleteRefused } from './keep-token.js';
import { rowsHere } from './list-tokens.js';
import { requireJwtServer } from './new-token.js';
import { firstReadable, lifetimeOf, ownTokens, tokenCache } from './token-cache.js';

/** Returns the token that a run has without asking for one: its JWT, else the owner's cached token that ends last. */
export async function tokenAtHand(run: Run, store: Store, owner: TokenOwner) {
  if (isTokenItself(owner)) {
    const token = await owner.read();
    const expiresAtUnix = readClaims(token)?.exp;
    // A server that takes no JWT is not sent one.
    const read = () => requireJwtServer(run).then(() => ({ token, expiresAtUnix }));
    return { expiresAtUnix, otherLifetime: undefined, read };
  }
  const cache = await tokenCache(run, store, owner);
  const own = await ownTokens(cache);
  const [first] = own;
  const lifetime = first && lifetimeOf(first.record);
  return {
    expiresAtUnix: first?.record.expiresAtUnix,
    /** Where it is another one than the run asks for, in seconds. */
    otherLifetime: lifetime === cache.identity.lifetime ? undefined : lifetime,
    read: () => firstReadable(own),
    forget: (token: Sensitive) => deleteRefused(cache, token),
  };
}

export type TokenAtHand = Awaited<ReturnType<typeof tokenAtHand>>;

/** Asks the server about the token on stdin, else in `TG_API_TOKEN`, else at hand. Returns why it does not accept it. */
export async function checkTokenInUse(run: Run): Promise<GraphException | undefined> {
  const store = await run.stores.chosen();
  const typed = await tokenFromStdin(run);
  const given = typed ?? tokenFromVariable(run);
  const own = given ? undefined : await tokenAtHand(run, store, (await pickCredential(run, store)).owner);
  const token = given ?? (await own?.read())?.token;
  if (!token) throw noStoredToken();
  const [held] = given ? await rowsHere(run, given) : [];
  if (held) run.ports.reporter.note(`this is the stored token ${held.id} of ${held.from}`);
  const { connection, version } = await connect(run, undefined);
  const { refusal } = await connection.checkToken(token);
  const saysNothing = refusal === undefined && version.checksTokensAtRest;
  if (saysNothing && (await connection.restAuthentication()) === 'off')
    throw new GraphException(
      'REST_AUTH_DISABLED',
      'The server accepts any token: REST authentication is not enabled there.',
      { hint: ['see how to turn it on', { command: 'doctor' }] },
    );
  const user = typed && !held && !refusal && readClaims(typed)?.sub;
  if (user) run.ports.reporter.note(`this token is of the user "${user}"`);
  if (refusal) await own?.forget?.(token);
  return refusal && given && !typed ? refusedVariable(refusal) : refusal;
}

export function noStoredToken(): GraphException {
  return new GraphException('NOT_FOUND', 'No stored token is for this server, user and graph.', {
    hint: ['get one', { command: 'token get' }, ', or give one with --token-stdin'],
  });
}
