import { pickCredential } from '../../auth/choose.js';
import { connect } from '../../auth/connect.js';
import { expected, GraphException, type Hint, whyFailed } from '../../core/errors.js';
import { tokenFromStdin } from '../../run/read.js';
import type { Run } from '../../run/run.js';
import { findVersion } from '../../run/server.js';
import { unfinished } from '../../store/machine-store.js';
import { noStoredToken } from './check-token.js';
import { deleteRefused, forget, keepToken } from './keep-token.js';
import { listTokens, rowsHere, type TokenRow } from './list-tokens.js';
import { renewToken } from './mint-token.js';
import { whileLocked } from './new-token.js';
import { hasEnded } from './revoker.js';
import { cacheOf, firstReadable, isOfToken, ownTokens, type Token, tokenCache } from './token-cache.js';

/** Extends the token on standard input, else the cached one that ends last, and caches it with its new lifetime. */
export async function refreshToken(run: Run): Promise<Token> {
  const { reporter } = run.ports;
  const store = await run.stores.chosen({ needed: true });
  const fresh: Hint = ['get a new one', { command: 'token get --fresh' }];
  const refuse = (why: string, hint: Hint = fresh) => new GraphException('UNSUPPORTED', why, { hint });
  // Before anything else is asked or read: 4.x cannot refresh, whether a token is cached or not.
  if (!(await findVersion(run)).canRefresh)
    throw refuse('This server cannot refresh tokens: 4.x has no such call.');
  const picked = await pickCredential(run, store);
  const credential = await picked.credential();
  const given = await tokenFromStdin(run);
  const [held] = given ? await rowsHere(run, given) : [];
  if (!given && credential.kind === 'jwt')
    throw refuse('The server cannot refresh a JWT.', 'get a new one from the identity provider');
  const own = await tokenCache(run, store, picked.owner);
  const cache = held ? cacheOf(own, held.record) : own;
  const newest = async () => given ?? (await firstReadable(await ownTokens(cache)))?.token;
  const found = await newest();
  if (!found) throw (await whyFailed(run.stores.requireReadable(store))) ?? noStoredToken();
  const connected = await connect(run, credential);
  // Those who refresh tokens of the pair take turns, whoever they are, and none that is found ends the wait.
  const turns = { ...cache, identity: { ...cache.identity, principal: '', graph: undefined, lifetime: 0 } };
  const wanted = { minTtl: Number.POSITIVE_INFINITY, freshSince: undefined, askedAt: run.ports.now() };
  return whileLocked(turns, wanted, async () => {
    const token = (await newest()) ?? found;
    run.ports.interruption.begin();
    const old = (await ownTokens(cache)).filter(({ record }) => isOfToken(record, token));
    // If no answer comes, its end is the old one or the new one: until the earlier one it is given out, and its record stays.
    const newEnd = run.ports.now() / 1000 + run.settings.lifetime;
    for (const { record } of old) {
      const expiresAtUnix = Math.min(record.expiresAtUnix, newEnd);
      await store.put({ ...unfinished(record, 'refresh'), expiresAtUnix }, token);
    }
    const renewed = await renewToken(run, connected, token, run.settings.lifetime).catch(async (error) => {
      const { code, ambiguous } = expected(error);
      for (const { record } of ambiguous ? [] : old) await store.put(record, token).catch(expected);
      // Another thing may be missing.
      if (code === 'NOT_FOUND' && (await hasEnded(connected.connection, token)))
        await deleteRefused(cache, token);
      throw error;
    });
    const kept = await keepToken(cache, renewed);
    // Whoever it was minted for, what is stored of the same token has its old end.
    const isOld = ({ record }: TokenRow) => record.key !== kept?.key || record.store !== kept.store;
    const forgetOld = (all: TokenRow[]) => forget(all.filter(isOld), renewed.token);
    const failure = kept && (await listTokens(run, store).then(forgetOld, expected));
    if (failure)
      reporter.warn(`${failure.message}; token list may still show an old expiry time of this token`);
    return renewed;
  });
}
