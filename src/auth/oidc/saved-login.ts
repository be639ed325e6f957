import * as openid from 'openid-client';
import { expected, GraphException } from '../../core/errors.js';
import { Sensitive } from '../../core/sensitive.js';
import type { Run } from '../../run/run.js';
import type { LoginRecord, Store } from '../../store/store.js';
import { badProvider, chooseToken, type OidcClient, tokenParameters, withProvider } from './provider.js';
import { notLoggedIn, type Oidc, oidcOf } from './settings.js';

/** Returns a new JWT of a person who has logged in. Throws AUTH_FAILED when the person has to log in again. */
export function renew(run: Run, oidc: Oidc, { key }: LoginRecord, store: Store): Promise<Sensitive> {
  return underLock(run, oidc, key, store, async (provider, refreshToken, record) => {
    const ask = provider[openid.customFetch] as openid.CustomFetch;
    // A new refresh token is stored before the library judges the answer: the old one may be of no use any more.
    provider[openid.customFetch] = async (address, options) => {
      const answer = await ask(address, options);
      const copy = answer.clone();
      const body = (await copy.json().catch(() => null)) as { refresh_token?: unknown } | null;
      const next = body?.refresh_token;
      if (!answer.ok || typeof next !== 'string' || next === '' || next === refreshToken) return answer;
      const renewed = { ...record, createdAtUnix: run.ports.now() / 1000 };
      await store.put(renewed, loginValue(next)).catch((error) => {
        run.ports.reporter.warn(
          `the new refresh token could not be saved (${expected(error).message}), so the next token needs a login`,
        );
      });
      return answer;
    };
    const parameters = tokenParameters({ ...oidc, scopes: '' });
    const tokens = await openid.refreshTokenGrant(provider, refreshToken, parameters);
    const { token, sub } = chooseToken(oidc, tokens);
    if (sub === record.info.username) return token;
    throw badProvider('gave a token of another user than the saved login', oidc);
  });
}

/** Lets one process at a time read and use a refresh token: a provider that gives new ones takes the old one once. */
async function underLock<T>(
  run: Run,
  oidc: OidcClient,
  key: string,
  store: Store,
  work: (provider: openid.Configuration, refreshToken: string, record: LoginRecord) => Promise<T>,
): Promise<T> {
  const { now } = run.ports;
  // What another process has stored meanwhile does not do: its JWT may be kept under another label.
  const options = { waitMs: run.time.limitMs + 5000, since: now(), now, accepts: () => false };
  const lock = await store.lock(key, options);
  try {
    const [record] = await store.list(key);
    const value = record && (await store.get(record));
    if (!lock || !value || record.kind !== 'login')
      throw notLoggedIn(run, `The login at ${oidc.issuer} is no longer saved here.`);
    const { refreshToken } = JSON.parse(value.reveal()) as { refreshToken: string | null };
    if (refreshToken === null)
      throw notLoggedIn(run, `The login at ${oidc.issuer} has ended: the provider gave no refresh token.`);
    return await withProvider(run, oidc, (provider) => work(provider, refreshToken, record));
  } catch (error) {
    if (error instanceof GraphException && error.code === 'AUTH_FAILED') await lock?.refuse(error);
    throw error;
  } finally {
    await lock?.release();
  }
}

export function loginValue(refreshToken: string | undefined): Sensitive {
  return new Sensitive(JSON.stringify({ refreshToken: refreshToken ?? null }));
}

/** Revokes a refresh token (RFC 7009). Returns whether the provider offers that. */
export async function revoke(provider: openid.Configuration, refreshToken: string): Promise<boolean> {
  if (provider.serverMetadata().revocation_endpoint === undefined) return false;
  await openid.tokenRevocation(provider, refreshToken, { token_type_hint: 'refresh_token' });
  return true;
}

/** Revokes the refresh token of a login, before it is deleted here. Warns when that fails, for it is deleted all the same. */
export async function endLogin(run: Run, { key, info }: LoginRecord, store: Store): Promise<void> {
  const { issuer, clientId, username } = info;
  const { note, warn } = run.ports.reporter;
  const set = oidcOf(run);
  const oidc = set?.issuer === issuer && set.clientId === clientId ? set : { issuer, clientId };
  try {
    await underLock(run, oidc, key, store, async (provider, refreshToken) => {
      if (!(await revoke(provider, refreshToken)))
        note(`${issuer} offers no way to revoke the login of "${username}"; it is deleted here only`);
    });
  } catch (error) {
    warn(
      `the login of "${username}" is deleted here, but not revoked at ${issuer}: ${expected(error).message}`,
    );
  }
}
