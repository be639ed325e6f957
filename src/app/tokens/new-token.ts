import type { Credential } from '../../auth/credential.js';
import { isOfProvider, minTtlFor } from '../../auth/oidc/settings.js';
import { GraphException } from '../../core/errors.js';
import { readClaims } from '../../core/protocol/reply.js';
import type { ServerVersion } from '../../core/protocol/version.js';
import { BoundCredential } from '../../core/sensitive.js';
import { isoSeconds } from '../../core/time.js';
import type { Run } from '../../run/run.js';
import { findVersion, serversInForce } from '../../run/server.js';
import { type Lock, STORES, type TokenRecord } from '../../store/store.js';
import { keepToken } from './keep-token.js';
import { mintToken } from './mint-token.js';
import { findToken, identityKey, isUsable, type Token, type TokenCache, type Wanted } from './token-cache.js';

/** Mints a token and caches it, or returns what another process has minted meanwhile. No lock is held for a prompt. */
export async function mintAndKeep(cache: TokenCache, credential: Credential, wanted: Wanted): Promise<Token> {
  const { run, store } = cache;
  // Nobody is asked for a JWT that the server would not take: a provider's answer may be good only once.
  if (credential.kind === 'jwt') await requireJwtServer(run);
  if (!isOfProvider(credential.reference)) await credential.read();
  // What was refused while a person typed was another credential.
  const askedAt = credential.level === 'prompt' ? run.ports.now() : wanted.askedAt;
  return mintUnderLock(cache, { ...wanted, askedAt }, () => {
    if (credential.kind === 'jwt') return jwtAsToken(run, credential);
    // Which store keeps it, if one does, is known under the lock.
    const unique = wanted.freshSince !== undefined && !STORES[store.name].keeps.tokens;
    return mintToken(run, credential, unique);
  });
}

/** The codes of errors that the processes which wait for the lock would meet too. */
const REFUSED_LOGIN: readonly string[] = ['AUTH_FAILED', 'PERMISSION_DENIED'];

/** Mints one token, however many processes ask, and caches it. A signal cuts a mint, but no request to a provider. */
export async function mintUnderLock(cache: TokenCache, wanted: Wanted, mint: () => Promise<Token>) {
  const { interruption } = cache.run.ports;
  return interruption.during(() =>
    whileLocked(cache, wanted, async (lock) => {
      interruption.begin();
      const minted = await mint().catch(async (error) => {
        if (error instanceof GraphException && REFUSED_LOGIN.includes(error.code)) await lock.refuse(error);
        throw error;
      });
      await keepToken(cache, minted, lock);
      return minted;
    }),
  );
}

/** Does work while no other process mints this token, unless one has minted it meanwhile, or was refused. */
export async function whileLocked(cache: TokenCache, wanted: Wanted, work: (lock: Lock) => Promise<Token>) {
  const { run, store, identity } = cache;
  const { now } = run.ports;
  const options = { waitMs: run.time.limitMs + run.settings.waitMs + 5000, since: wanted.askedAt, now };
  let accepts = (record: TokenRecord) => isUsable(record, wanted, now());
  // With an unusable store there is nothing to wait for.
  await store.check();
  for (;;) {
    const lock = await store.lock(identityKey(identity), { ...options, accepts });
    try {
      // The process that had the lock before may have minted the token.
      const theirs = await findToken(cache, wanted);
      if (theirs) return theirs;
      if (lock) return await work(lock);
    } finally {
      await lock?.release();
    }
    // A record whose value cannot be read does not count: this process still takes the lock.
    accepts = () => false;
  }
}

/** Returns an identity provider's JWT as the token that it is. Its signature is the server's to check. */
export async function jwtAsToken(
  run: Run,
  { read, label, reference }: Pick<Credential, 'read' | 'label' | 'reference'>,
): Promise<Token> {
  const minTtl = minTtlFor(run, reference) ?? 0;
  const requestedAtMs = run.ports.now();
  const token = await read();
  const claims = readClaims(token);
  const now = run.ports.now() / 1000;
  const inFile = run.settings.all.jwtFile[0]?.label === label ? [{ setting: 'jwtFile' }] : [];
  const hint = ['get a new one from the identity provider', ...inFile];
  const refuse = (what: string) =>
    new GraphException('AUTH_FAILED', `The JWT from ${label} ${what}.`, { hint });
  if (claims === undefined) throw refuse('is not a JWT with an expiry time (exp)');
  const end = isoSeconds(claims.exp);
  if (claims.exp <= now) throw refuse(`expired at ${end}`);
  if (claims.exp <= now + minTtl) throw refuse(`expires at ${end}, in less than ${minTtl} s (--min-ttl)`);
  const version = await requireJwtServer(run);
  return {
    token: new BoundCredential(token, await serversInForce(run)),
    expiresAtUnix: claims.exp,
    life: {
      lifetime: Math.round(claims.exp - now),
      serverVersion: version.version,
      requestedAtMs,
      clockAheadSeconds: 0,
      issuedBy: 'provider',
    },
  };
}

/** @throws GraphException UNSUPPORTED when the server takes no JWT */
export async function requireJwtServer(run: Run): Promise<ServerVersion> {
  const version = await findVersion(run);
  if (version.takesJwt) return version;
  const why = `A ${version.version} server does not accept a JWT; 3.10 and later do.`;
  const hint = 'use a secret: --secret-stdin, --secret-file, GRAPHCRED_SECRET';
  throw new GraphException('UNSUPPORTED', why, { hint });
}
