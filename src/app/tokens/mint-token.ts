import { type Connected, connect } from '../../auth/connect.js';
import type { Credential } from '../../auth/credential.js';
import { expected, type Fix, GraphException } from '../../core/errors.js';
import type { MintedToken } from '../../core/options.js';
import { BoundCredential, MADE_HERE, Sensitive } from '../../core/sensitive.js';
import { jitterLifetime, judgeLifetime } from '../../core/tokens.js';
import { waitUntilUp } from '../../run/open-connection.js';
import type { Run } from '../../run/run.js';
import { learn, recall, requireGraph } from '../../run/server.js';
import { secretInstead } from '../format.js';
import type { Token } from './token-cache.js';

/** Returns a new token. @param unique no other process may get the same: it will be revoked, or a fresh one was asked for */
export async function mintToken(run: Run, credential: Credential, unique: boolean): Promise<Token> {
  const { ports, settings, stores } = run;
  const connected = await connect(run, credential);
  const { connection, version } = connected;
  // The REST server, which makes the tokens of 3.x, starts last.
  if (settings.waitMs > 0 && !version.restBehindGsql) await waitUntilUp(run, version);
  if (version.restBehindGsql && run.target.restUrl === run.target.gsqlUrl)
    ports.reporter.warn('the REST and the GSQL URL are the same; on 4.x add /restpp to the REST URL');
  const byPassword = credential.kind === 'password';
  if (version.secretsNeedGraph && byPassword) requireGraph(run);
  const createsSecret = version.mintByPasswordCreatesSecret && byPassword;
  const lifetime =
    unique && version.sameTokenWithinOneSecond ? jitterLifetime(settings.lifetime) : settings.lifetime;
  const request = {
    lifetime,
    lifetimeUnit: recall(run, 'lifetimeUnit'),
    onLifetimeUnit: stores.remember ? (unit: 's' | 'ms') => learn(run, 'lifetimeUnit', unit) : undefined,
    onWarning: ports.reporter.warn,
  };
  const seeSecret = ['a secret may have been made too; to see it', { command: 'secret prune --dry-run' }];
  const token = await requestToken(run, connected, lifetime, () => connection.mintToken(request), [
    'A token may have been made; it stays valid until it expires.',
    ...(createsSecret ? seeSecret : []),
  ]);
  if (createsSecret && recall(run, 'madeSecretTold') !== credential.username) {
    ports.reporter.note([
      'a 4.x server makes a secret (AUTO_GENERATED_ALIAS_…) for each token made with a password',
      'to avoid that, use one of your own',
      ...secretInstead(stores.inForce.name),
    ]);
    learn(run, 'madeSecretTold', credential.username);
  }
  return token;
}

/** Sends a request for a token. @param inDoubt what a request that is broken off may have done, and what to do about it */
async function requestToken(
  { ports: { now, reporter } }: Run,
  { connection, version }: Connected,
  lifetime: number,
  send: () => Promise<MintedToken>,
  [inDoubt, ...fix]: readonly [string, ...Fix[]],
): Promise<Token> {
  const requestedAtMs = now();
  const answer = await send().catch((error) => {
    const { code, message, ambiguous } = expected(error);
    throw code === 'CANCELLED' && ambiguous
      ? new GraphException(code, `${message} ${inDoubt}`, { fix, ambiguous })
      : error;
  });
  const { grantedSeconds } = answer;
  const requestedAt = Math.floor(requestedAtMs / 1000);
  const untilEnd = answer.expiresAtUnix - requestedAt;
  const isAsAsked = judgeLifetime(lifetime, grantedSeconds) === 'as-asked';
  // Another life than the one asked for may come from a wrong `Date` header: then the end that the server named counts too.
  const isDoubtful = !isAsAsked && untilEnd > 0;
  const expiresAtUnix = requestedAt + (isDoubtful ? Math.min(grantedSeconds, untilEnd) : grantedSeconds);
  if (!isAsAsked)
    reporter.warn(`the server gave the token a life of ${grantedSeconds} s, not the ${lifetime} s asked for`);
  return {
    token: new BoundCredential(new Sensitive(answer.token, MADE_HERE), await connection.baseUrls()),
    expiresAtUnix,
    life: {
      lifetime: isAsAsked ? lifetime : expiresAtUnix - requestedAt,
      serverVersion: version.version,
      requestedAtMs,
      clockAheadSeconds: answer.expiresAtUnix - expiresAtUnix,
    },
  };
}

/** Extends a token, counted from now (3.x). */
export function renewToken(run: Run, connected: Connected, token: Sensitive, lifetime: number) {
  const send = () => connected.connection.renewToken({ token, lifetime });
  const inDoubt = 'The token may have another end now.';
  return requestToken(run, connected, lifetime, send, [inDoubt, 'to see it', { command: 'token check' }]);
}
