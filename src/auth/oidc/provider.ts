import tls from 'node:tls';
import * as openid from 'openid-client';
import { isLoopbackHost, isSecureUrl } from '../../core/endpoints.js';
import { GraphException, type Hint } from '../../core/errors.js';
import { type HttpSettings, send } from '../../core/http/send.js';
import { rootReader } from '../../core/http/tls.js';
import { readClaims } from '../../core/protocol/reply.js';
import { redactServerText } from '../../core/redact.js';
import { Sensitive } from '../../core/sensitive.js';
import { requestSettings } from '../../run/open-connection.js';
import { fromFile } from '../../run/read.js';
import type { Run } from '../../run/run.js';
import { notLoggedIn, type Oidc } from './settings.js';

export type Tokens = openid.TokenEndpointResponse & openid.TokenEndpointResponseHelpers;

/** A client of an identity provider. Of a saved login that no profile names, nothing else is known. */
export type OidcClient = Pick<Oidc, 'issuer' | 'clientId'> & Partial<Oidc>;

/** Reads the provider's discovery document, and works with it. ID tokens count only with a signature of one of its keys. */
export async function withProvider<T>(
  run: Run,
  oidc: OidcClient,
  work: (provider: openid.Configuration) => Promise<T>,
): Promise<T> {
  const proof = await clientProof(run, oidc);
  const authentication = proof ? clientAuth(proof, oidc.clientAssertion !== undefined) : openid.None();
  const insecure = isLoopbackHost(new URL(oidc.issuer).hostname) ? [openid.allowInsecureRequests] : [];
  try {
    const provider = await openid.discovery(new URL(oidc.issuer), oidc.clientId, undefined, authentication, {
      [openid.customFetch]: fetchFor(run),
      execute: [...insecure, openid.enableNonRepudiationChecks],
      timeout: Math.ceil(run.time.limitMs / 1000),
    });
    return await work(provider);
  } catch (error) {
    throw providerError(run, oidc, error, proof);
  }
}

export function tokenParameters({ scopes, audience }: Oidc): Record<string, string> {
  return {
    ...(scopes !== '' && { scope: scopes }),
    ...(audience !== undefined && { audience }),
    // RFC 8707 names the database by a URL.
    ...(audience !== undefined && URL.canParse(audience) && { resource: audience }),
  };
}

function clientAuth(proof: Sensitive, isJwt: boolean): openid.ClientAuth {
  return (server, client, body, headers) => {
    if (isJwt) {
      body.set('client_id', client.client_id);
      body.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
      body.set('client_assertion', proof.reveal());
      return;
    }
    const { token_endpoint_auth_methods_supported: methods = [] } = server;
    const inBody = methods.includes('client_secret_post');
    const method = inBody ? openid.ClientSecretPost : openid.ClientSecretBasic;
    method(proof.reveal())(server, client, body, headers);
  };
}

/** Returns the client's secret, or the JWT that stands for it: of GitHub's runner, or of a file that the CI system renews. */
async function clientProof(run: Run, oidc: OidcClient): Promise<Sensitive | undefined> {
  const { env } = run.ports;
  const { issuer, clientSecret, clientSecretFile, clientAssertion } = oidc;
  if (clientAssertion === undefined)
    return clientSecret ? new Sensitive(clientSecret) : clientSecretFile && fromFile(run, clientSecretFile);
  if (clientAssertion.value !== 'github') return fromFile(run, clientAssertion);
  const { ACTIONS_ID_TOKEN_REQUEST_URL: url = '', ACTIONS_ID_TOKEN_REQUEST_TOKEN: token = '' } = env;
  const hint = 'give the job the permission "id-token: write"';
  const none = 'The token service of GitHub Actions is not available.';
  if (!isSecureUrl(url) || token === '') throw new GraphException('INPUT_REQUIRED', none, { hint });
  const asked = new URL(url);
  asked.searchParams.set('audience', issuer);
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
  const request = { method: 'GET', headers, body: undefined, redirect: 'manual' } as const;
  const answer = await fetchFor(run)(asked.href, request);
  const { value } = (await answer.json().catch(() => ({}))) as { value?: unknown };
  if (answer.ok && typeof value === 'string') return new Sensitive(value);
  const why = `GitHub's token service gave no JWT (HTTP ${answer.status}).`;
  throw new GraphException('BAD_RESPONSE', why, { hint: 'run the job again' });
}

/** Returns a `fetch` with the run's time limit, proxy and certificates. It follows no redirect, and sends nothing that others can read. */
function fetchFor(run: Run): openid.CustomFetch {
  return async (address, { method, headers, body, signal }) => {
    const url = new URL(address);
    const { origin } = url;
    if (!isSecureUrl(address)) throw badProvider(`names an address that is not https: ${origin}`);
    const settings = await requestSettings(run, url.host);
    const { ca } = settings.tls;
    const ofProvider: HttpSettings = {
      ...settings,
      // The provider is none of the database's servers: no certificate of a client, and no exception for its own.
      tls: ca === undefined ? {} : { ca: [...(rootReader()?.() ?? tls.rootCertificates), ca].join('\n') },
      // A signal of the terminal does not end it: a refresh token may work only once.
      signal: signal ?? undefined,
      onRequest: (event) => settings.onRequest?.({ ...event, path: origin + event.path }),
    };
    const path = url.pathname + url.search;
    const text = body ? String(body) : undefined;
    const request = { server: 'service', base: origin, path, method, headers, body: text } as const;
    const reply = await send(ofProvider, request, run.time.deadline).catch((error) => {
      const { code, status } = error;
      if (code !== 'SERVER_UNAVAILABLE') throw error;
      const message = `The provider at ${origin} is not available (HTTP ${status}).`;
      throw new GraphException(code, message, { hint: 'try again in a minute', status });
    });
    const type = String(reply.headers['content-type'] ?? '');
    return new Response(reply.body || null, { status: reply.status, headers: { 'content-type': type } });
  };
}

/** Tells a failure of the library in our words: of the provider's own only its error. */
function providerError(run: Run, oidc: OidcClient, error: unknown, proof?: Sensitive): GraphException {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof GraphException) return cause;
  if (error instanceof openid.ResponseBodyError || error instanceof openid.AuthorizationResponseError) {
    const code = /^[a-z_]{1,40}$/.test(error.error) ? error.error : '';
    // The library passes on whatever JSON the provider sent.
    const text: unknown = error.error_description;
    const why = typeof text === 'string' ? redactServerText(text, [proof]).replace(/[.\s]+$/, '') : '';
    const said = code && why ? `${code} (${why})` : code || why || 'no reason is given';
    const refused = `The provider ${oidc.issuer} refused: ${said}.`;
    const hint = PROVIDER_HINTS[code] ?? (oidc.isJob ? CLIENT_HINT : undefined);
    return hint ? new GraphException('AUTH_FAILED', refused, { hint }) : notLoggedIn(run, refused);
  }
  const code = String((error as { code?: unknown }).code);
  const why = PROVIDER_REASONS[code] ?? 'gave an answer that is not valid';
  const said = /^[A-Z_]+$/.test(code) ? `${why} (${code})` : why;
  return badProvider(said, oidc, PROVIDER_HINTS[code]);
}

const CLIENT_HINT: Hint = [
  'check the secret and the permissions of the client at the provider; what is set here',
  { command: 'config show' },
];

const PROVIDER_HINTS: Readonly<Record<string, Hint>> = {
  invalid_client: CLIENT_HINT,
  unauthorized_client: CLIENT_HINT,
  invalid_scope: 'set oidc.scopes to scopes that the provider offers',
  not_allowed:
    'allow offline tokens for the client and the user at the provider, or take offline_access out of oidc.scopes',
  invalid_target: 'set oidc.audience to an audience that the provider knows',
  OAUTH_MISSING_SERVER_METADATA: 'leave --device out if it was typed, else add it',
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: 'synchronize the clocks of this machine and the provider with NTP',
};

const PROVIDER_REASONS: Readonly<Record<string, string>> = {
  OAUTH_JWT_CLAIM_COMPARISON_FAILED: 'gave a token of another issuer, client or login',
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: 'gave a token that has expired, or the clocks differ',
  OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED: 'names another issuer than the one that is set',
  OAUTH_KEY_SELECTION_FAILED: 'gave a token that none of its keys has signed',
  OAUTH_MISSING_SERVER_METADATA: 'offers no login of this kind (--device or in a browser)',
  OAUTH_UNSUPPORTED_OPERATION: 'requires something that graphcred does not support',
};

const CHECK_ISSUER: Hint =
  'check oidc.issuer and oidc.clientId (or --oidc-issuer, --oidc-client-id), or ask the administrator of the provider';

export function badProvider(what: string, oidc?: OidcClient, hint = CHECK_ISSUER): GraphException {
  const provider = oidc ? `The provider ${oidc.issuer}` : 'The provider';
  return new GraphException('BAD_RESPONSE', `${provider} ${what}.`, { hint });
}

export function jobToken(run: Run, oidc: Oidc): Promise<Sensitive> {
  return withProvider(run, oidc, async (provider) => {
    const tokens = await openid.clientCredentialsGrant(provider, tokenParameters(oidc));
    return chooseToken(oidc, tokens).token;
  });
}

/** Picks the token that the database takes, and tells whom it names. Only an ID token has been checked. */
export function chooseToken(oidc: Oidc, tokens: Tokens): { token: Sensitive; sub: string } {
  const text = oidc.use === 'id_token' ? tokens.id_token : tokens.access_token;
  if (text === undefined)
    throw new GraphException('AUTH_FAILED', `The provider ${oidc.issuer} gave no ID token.`, {
      hint: 'add openid to oidc.scopes, or use the access token: oidc.use: access_token',
    });
  const token = new Sensitive(text, `from ${oidc.issuer}`);
  const sub = readClaims(token)?.sub;
  if (sub !== undefined) return { token, sub };
  const hint =
    oidc.use === 'access_token' ? "ask the provider's operator which oidc.audience gives JWTs" : undefined;
  throw badProvider(`gave an ${oidc.use.replace('_', ' ')} that is not a JWT with sub and exp`, oidc, hint);
}
