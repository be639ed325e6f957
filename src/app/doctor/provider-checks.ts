import type { Call } from '../../auth/call.js';
import { type Oidc, providerPrincipal } from '../../auth/oidc/settings.js';
import { GraphException } from '../../core/errors.js';
import { readClaims } from '../../core/protocol/reply.js';
import { shellWord } from '../../files/shell-word.js';
import type { Store } from '../../store/store.js';
import { lastCached, readCached } from '../token-cache.js';
import { type Found, failed, judgeClock, ok, skipped, warn } from './check.js';

/** Checks the identity provider, the port of a login, and what the database would see of the token at hand. */
export async function lookAtProvider(
  call: Call,
  oidc: Oidc,
  store: Store | undefined,
  found: Found,
): Promise<void> {
  try {
    const { openProvider } = await import('../../auth/oidc/provider.js');
    const { revocation_endpoint, device_authorization_endpoint } = (
      await openProvider(call, oidc)
    ).serverMetadata();
    const missing = [
      ...(revocation_endpoint === undefined ? ['no revocation'] : []),
      ...(device_authorization_endpoint === undefined ? ['no --device'] : []),
    ].join(', ');
    found.provider = ok(`${oidc.issuer} answers${missing && ` (${missing})`}`);
  } catch (error) {
    found.provider = failed(error);
  }
  found['login-port'] = oidc.isJob ? skipped('a job needs no browser') : await lookAtPort(oidc.port);
  await lookAtClaims(call, oidc, store, found);
}

async function lookAtPort(port: number) {
  try {
    const { awaitCallback } = await import('../login/callback.js');
    await (await awaitCallback(port, '', 1000)).close();
    return ok(port === 0 ? 'a browser can come back to any port' : `a browser can come back to port ${port}`);
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    return warn(error.message, error.hint ?? '');
  }
}

/** Names the claims that the database compares, with what its operator would type, and compares the clocks. */
async function lookAtClaims(call: Call, oidc: Oidc, store: Store | undefined, found: Found): Promise<void> {
  const principal = call.principal ?? providerPrincipal(oidc, oidc.isJob ? undefined : call.username);
  const record = store && (await lastCached(call, store, principal));
  const token = record && (await readCached(store, record));
  const claims = token && readClaims(token.value);
  if (record === undefined || claims === undefined) {
    found['provider-clock'] = found.identity = skipped('no token is cached: graphcred token get');
    return;
  }
  const { sub, iss = '', aud, iat } = claims;
  const [asked, issued] = [Number(record.info.requestedAtMs), iat];
  found['provider-clock'] =
    issued === undefined
      ? skipped('the token does not say when it was made')
      : judgeClock(issued, asked, 'provider');
  const [audience] = aud;
  const settings = { Issuer: iss, ...(audience !== undefined && { Audience: audience }) };
  const lines = Object.entries(settings).map(
    ([name, value]) => `gadmin config set Security.JWT.${name} ${shellWord(value)}`,
  );
  found.identity = ok(`the database needs the user ${sub}, and where it compares more: ${lines.join('; ')}`);
}
