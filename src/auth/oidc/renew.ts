import {
  type Configuration,
  type CustomFetch,
  clientCredentialsGrant,
  customFetch,
  refreshTokenGrant,
  type TokenEndpointResponse,
  type TokenEndpointResponseHelpers,
  tokenRevocation,
} from 'openid-client';
import { GraphException } from '../../core/errors.js';
import { readClaims } from '../../core/protocol/reply.js';
import { Sensitive } from '../../core/sensitive.js';
import type { Lock, Store, StoreRecord } from '../../store/store.js';
import type { Call } from '../call.js';
import { badProvider, tokenParameters, withProvider } from './provider.js';
import { type Oidc, type OidcClient, oidcOf } from './settings.js';

export type Tokens = TokenEndpointResponse & TokenEndpointResponseHelpers;

/** The JWT for the database, and whom it names. */
export interface Chosen {
  readonly token: Sensitive;
  readonly sub: string;
}

/**
 * Returns a new JWT of a person who has logged in.
 * @throws GraphException AUTH_FAILED when the person has to log in again
 */
export function renew(call: Call, oidc: Oidc, { key }: StoreRecord, home: Store): Promise<Sensitive> {
  return underLock(call, oidc, key, home, async (provider, refreshToken, lock, record) => {
    onRotation(provider, refreshToken, (next) =>
      lock.write({ ...record, createdAtUnix: call.ports.now() / 1000 }, loginValue(next)).catch((error) => {
        if (!(error instanceof GraphException)) throw error;
        call.ports.reporter.warn(
          `the new refresh token could not be saved, so the next token needs a login: ${error.message}`,
        );
      }),
    );
    const tokens = await refreshTokenGrant(provider, refreshToken, tokenParameters({ ...oidc, scopes: '' }));
    const { token, sub } = chooseToken(oidc, tokens);
    if (sub === record.info.username) return token;
    throw badProvider('gave a token of another user', oidc);
  });
}

/**
 * Stores a new refresh token as soon as it arrives, before the library judges the answer: whatever is wrong with it, the
 * old one may be of no use any more.
 */
function onRotation(provider: Configuration, old: string, store: (next: string) => Promise<void>): void {
  const ask = provider[customFetch] as CustomFetch;
  provider[customFetch] = async (address, options) => {
    const answer = await ask(address, options);
    const body = await answer
      .clone()
      .json()
      .catch(() => undefined);
    const next: unknown = (body as { refresh_token?: unknown } | null | undefined)?.refresh_token;
    if (answer.ok && typeof next === 'string' && next !== '' && next !== old) await store(next);
    return answer;
  };
}

/**
 * Runs work with a login's refresh token, which one process at a time uses, and reads under its lock: a provider
 * that gives a new one each time takes the old one once.
 */
async function underLock<T>(
  call: Call,
  oidc: OidcClient,
  key: string,
  home: Store,
  work: (provider: Configuration, refreshToken: string, lock: Lock, record: StoreRecord) => Promise<T>,
): Promise<T> {
  const { now } = call.ports;
  // What another process has stored meanwhile does not do: its JWT may be kept under another label.
  const options = { waitMs: call.timeoutMs + 5000, since: now(), now, accepts: () => false };
  const lock = await home.lock(key, options);
  try {
    const record = await home.find(key);
    const value = record && (await home.read(record));
    if (!lock || !value) throw loginAgain(call, `The login at ${oidc.issuer} is no longer saved here.`);
    const { refreshToken } = JSON.parse(value.reveal()) as { refreshToken: string | null };
    if (refreshToken === null)
      throw loginAgain(call, `The login at ${oidc.issuer} has ended: the provider gave no refresh token.`);
    return await withProvider(call, oidc, (provider) => work(provider, refreshToken, lock, record));
  } catch (error) {
    if (error instanceof GraphException && error.code === 'AUTH_FAILED') await lock?.refuse(error);
    throw error;
  } finally {
    await lock?.release();
  }
}

/** Returns a new JWT of a job, which needs no person. */
export function jobToken(call: Call, oidc: Oidc): Promise<Sensitive> {
  return withProvider(call, oidc, async (provider) => {
    const tokens = await clientCredentialsGrant(provider, tokenParameters(oidc));
    return chooseToken(oidc, tokens).token;
  });
}

/**
 * Picks the token that the database takes. The library has checked an ID token; an access token is the server's to
 * check.
 * @throws GraphException AUTH_FAILED, BAD_RESPONSE
 */
export function chooseToken(oidc: Oidc, tokens: Tokens): Chosen {
  const text = oidc.use === 'id_token' ? tokens.id_token : tokens.access_token;
  if (text === undefined)
    throw new GraphException('AUTH_FAILED', `The provider ${oidc.issuer} gave no ID token.`, {
      hint: 'ask for one with openid in oidc.scopes, or use the other token: oidc.use: access_token',
    });
  const token = new Sensitive(text, `from ${oidc.issuer}`);
  const sub = readClaims(token)?.sub;
  if (sub !== undefined) return { token, sub };
  throw badProvider(`gave an ${oidc.use.replace('_', ' ')} that is no JWT with sub and exp`, oidc);
}

/** Returns what is stored of a login: never more than the refresh token. */
export function loginValue(refreshToken: string | undefined): Sensitive {
  return new Sensitive(JSON.stringify({ refreshToken: refreshToken ?? null }));
}

/** Revokes a refresh token (RFC 7009). Returns whether the provider offers that. */
export async function revoke(provider: Configuration, refreshToken: string): Promise<boolean> {
  if (provider.serverMetadata().revocation_endpoint === undefined) return false;
  await tokenRevocation(provider, refreshToken, { token_type_hint: 'refresh_token' });
  return true;
}

/**
 * Revokes the refresh token of a login at its provider (RFC 7009), before it is deleted here. Warns when that fails, for
 * it is deleted all the same.
 */
export async function endLogin(call: Call, { key, info }: StoreRecord, home: Store): Promise<void> {
  const { issuer, clientId, username } = info;
  const { note, warn } = call.ports.reporter;
  const set = oidcOf(call);
  const own = set?.issuer === issuer && set?.clientId === clientId ? set : undefined;
  const oidc = own ?? { issuer: String(issuer), clientId: String(clientId) };
  try {
    await underLock(call, oidc, key, home, async (provider, refreshToken) => {
      if (!(await revoke(provider, refreshToken)))
        note(`${issuer} offers no way to revoke the login of ${username}; it is deleted here only`);
    });
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    warn(`the login of ${username} is not revoked at ${issuer}: ${error.message}`);
  }
}

function loginAgain(call: Call, message: string): GraphException {
  return new GraphException('AUTH_FAILED', message, {
    hint: `log in again: graphcred login -p ${call.settings.profile.name}`,
  });
}
