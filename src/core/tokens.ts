import { GraphException, usageError } from './errors.js';
import type { DeleteTokenOptions, MintedToken, MintOptions, RenewOptions } from './options.js';
import type { Session } from './protocol/session.js';
import type { Protocol } from './protocol/types.js';
import { BoundCredential, type GivenCredential, Sensitive } from './sensitive.js';

const DEFAULT_LIFETIME = 2_592_000;
/** A hundred years. A longer lifetime is a mistake. */
const MAX_LIFETIME = 3_153_600_000;

/** Mints a token. If the server evidently counted the lifetime in another unit, mints a second one in that unit. */
export async function mintToken(
  session: Session,
  protocol: Protocol,
  options: MintOptions,
): Promise<MintedToken> {
  const { servers, version } = session;
  const lifetime = lifetimeOr(options.lifetime);
  const secret = session.secretOr(options.secret);
  const mint = (unit: 's' | 'ms') => protocol.mintToken(session, secret, lifetime, unit);
  const { lifetimeUnit } = options;
  const first = await mint(lifetimeUnit ?? 's');
  if (lifetimeUnit !== undefined || !version.lifetimeUnitVaries) return first;
  if (!isThousandth(first.grantedSeconds, lifetime)) return first;
  const second = await mint('ms').catch((error) => {
    // The first token is valid for a while, unless the clock, which counts whole seconds, has passed its end already.
    if (first.grantedSeconds <= 1) throw error;
  });
  if (second === undefined) return first;
  if (second.grantedSeconds <= 2 * lifetime) return second;
  // The server counts seconds after all, so the second token lives a thousand times too long and must be deleted.
  await protocol
    .deleteToken(session, new BoundCredential(new Sensitive(second.token), servers), secret)
    .catch(() => undefined);
  return first;
}

/** A 4.x server gives one token to all mints of one lifetime within one second, so this call gets its own lifetime. */
export function jitterLifetime(lifetime: number): number {
  if (lifetime < 2) return lifetime;
  const spread = Math.min(600, Math.ceil(lifetime / 10));
  return lifetime - 1 - Math.floor(Math.random() * spread);
}

/** Extends a token (3.x). Throws UNSUPPORTED on 4.x, before anything is sent. */
export async function renewToken(
  session: Session,
  { refreshToken }: Protocol,
  { token, secret, lifetime }: RenewOptions,
): Promise<MintedToken> {
  if (refreshToken)
    return refreshToken(
      session,
      session.tokenOr(token, 'refresh'),
      session.secretOr(secret),
      lifetimeOr(lifetime),
    );
  throw new GraphException('UNSUPPORTED', 'This server cannot refresh tokens: 4.x has no such call.', {
    hint: 'ask for a new one',
    remedies: ['new-token'],
  });
}

/** Deletes a token and returns it. Throws NOT_FOUND when the server does not know it, unless `skipNA` is set. */
export async function deleteToken(
  session: Session,
  protocol: Protocol,
  { secret, skipNA, ...options }: DeleteTokenOptions & { readonly secret: GivenCredential | undefined },
): Promise<BoundCredential> {
  const token = session.tokenOr(options.token, 'delete');
  const outcome = await protocol.deleteToken(session, token, session.secretOr(secret));
  if (outcome === 'missing' && skipNA !== true) {
    const { restUrl, gsqlUrl } = session.servers;
    const asked = session.version.generation === '4' ? gsqlUrl : restUrl;
    throw new GraphException('NOT_FOUND', `${asked} does not know this token.`, {
      hint: 'ignore this if it may have expired or been deleted before',
      option: 'skipNA',
    });
  }
  return token;
}

/** Whether a server that was asked for seconds has counted milliseconds. The clock cannot tell that of a short life. */
function isThousandth(granted: number, asked: number): boolean {
  return granted <= asked / 4 && Math.abs(granted - asked / 1000) <= Math.max(2, asked / 10_000);
}

function lifetimeOr(lifetime: number | undefined): number {
  const seconds = lifetime ?? DEFAULT_LIFETIME;
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > MAX_LIFETIME) {
    throw usageError(
      `The lifetime must be a whole number of seconds, from 1 to ${MAX_LIFETIME}.`,
      'give 3600 for an hour or 2592000 for 30 days, for example',
      { option: 'lifetime' },
    );
  }
  return seconds;
}
