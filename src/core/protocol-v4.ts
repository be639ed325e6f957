import { badResponse, expectFields, isRecord, notAnEnvelope, readEnvelope } from './envelope.js';
import type { GraphException } from './errors.js';
import { credentialsOf } from './failures.js';
import { gsqlSecrets, isListed } from './gsql-secrets.js';
import { masked, SHOW_SECRET, withoutControls } from './gsql-text.js';
import type { HttpReply, HttpRequest } from './http.js';
import { basicLogin, headerLogin, hidden, noLogin } from './login.js';
import type { IssuedToken, Protocol, Secret, Session } from './protocol.js';
import { refusal } from './refusal.js';
import { Sensitive } from './sensitive.js';
import { showable } from './server-text.js';
import { readClaims, readToken } from './token-reply.js';

const SECRETS = '/gsql/v1/secrets';
const TOKENS = '/gsql/v1/tokens';
/** These servers date a token five seconds back. */
const BACKDATED_SECONDS = 5;

/** 4.x: everything at the service server, under `/gsql/v1`. */
export function protocolV4(session: Session): Protocol {
  /** Password first, then secret. The connection's token is left to `serviceLogin`. */
  const login = (secret = session.secret): Sensitive | undefined =>
    basicLogin(session) ?? (secret && headerLogin('GSQL-Secret', secret));

  const serviceLogin = (): Sensitive => {
    const authorization = login() ?? tokenLogin(session, session.token());
    if (authorization === undefined) throw noLogin('a login: user name and password, or a secret');
    return authorization;
  };

  const call = async (
    request: Partial<HttpRequest> & Pick<HttpRequest, 'method' | 'path'>,
    ...hide: Sensitive[]
  ) => {
    const whole: HttpRequest = {
      server: 'service',
      base: session.serviceUrl,
      hide: hidden(session, ...hide),
      ...request,
    };
    return { request: whole, reply: await session.send(whole) };
  };

  const callSecrets = (method: string, path: string, body?: string) =>
    call({
      method,
      path,
      body,
      headers: { 'content-type': 'application/json' },
      authorization: serviceLogin(),
    });

  // Early 4.x has no REST calls for secrets: it answers 404, and nothing has happened.
  const byStatement = () =>
    gsqlSecrets((statement) =>
      call({
        method: 'POST',
        path: '/gsql/v1/statements',
        contentType: 'text/plain',
        authorization: serviceLogin(),
        body: statement,
        readOnly: statement === SHOW_SECRET,
      }),
    );

  const listSecrets = async (): Promise<Secret[]> => {
    const { request, reply } = await callSecrets('GET', SECRETS);
    if (isNoSuchPath(reply)) return byStatement().listSecrets();
    return readSecrets(request, reply).map(({ alias, value }) => ({ alias, masked: masked(value.reveal()) }));
  };

  const checkToken: Protocol['checkToken'] = async (token) => {
    const { request, reply } = await call(
      {
        method: 'POST',
        path: `${TOKENS}/check`,
        readOnly: true,
        authorization: login(),
        body: JSON.stringify({ token: token.reveal() }),
      },
      token,
    );
    const envelope = readEnvelope(reply);
    if (envelope === undefined) throw notAnEnvelope(request, reply);
    if (!envelope.refused) return { accepted: true };
    const { code, message } = envelope;
    // A refused login says nothing about the token.
    const ofLogin = (reply.status === 401 || reply.status === 403) && !/\btoken\b/i.test(message);
    const ofServer = reply.status >= 500 || /re-?login after|license expired/i.test(message);
    const refused = refusal(request, { status: reply.status, code, message });
    if (ofLogin || ofServer || refused.code === 'REST_AUTH_DISABLED') throw refused;
    return { accepted: false, reason: showable(message, credentialsOf(request)) };
  };

  return {
    restUrl: session.restUrl,
    serviceLogin,
    listSecrets,
    checkToken,

    async createSecret(alias, wantAlias) {
      const query = alias === '' ? '' : `?alias=${encodeURIComponent(alias)}`;
      const { request, reply } = await callSecrets('POST', SECRETS + query);
      if (isNoSuchPath(reply)) return byStatement().createSecret(alias, wantAlias);
      const [made] = readSecrets(request, reply);
      if (made === undefined) throw badResponse(request, reply, 'there is no secret in the answer');
      return made;
    },

    async dropSecret(alias) {
      const { request, reply } = await callSecrets('DELETE', SECRETS, JSON.stringify({ secrets: [alias] }));
      if (isNoSuchPath(reply)) return byStatement().dropSecret(alias);
      const refused = refusalOf(request, reply);
      if (refused === undefined) return 'dropped';
      // The words for an unknown alias are nowhere documented; the list is.
      const mayBeMissing =
        reply.status < 500 && (refused.code === 'SERVER_ERROR' || refused.code === 'NOT_FOUND');
      if (!mayBeMissing || isListed(await listSecrets(), alias)) throw refused;
      return 'missing';
    },

    async mintToken({ secret, lifetime, lifetimeUnit }) {
      const authorization = secret === undefined ? basicLogin(session) : undefined;
      if (secret === undefined && authorization === undefined)
        throw noLogin('a secret, or a user name and password');
      const body = JSON.stringify({
        secret: secret?.reveal(),
        graph: session.graph,
        lifetime: String(lifetimeUnit === 'ms' ? lifetime * 1000 : lifetime),
      });
      const sent = secret === undefined ? [] : [secret];
      const { request, reply } = await call({ method: 'POST', path: TOKENS, authorization, body }, ...sent);
      return issued(request, reply, lifetime);
    },

    async deleteToken(token, secret) {
      if (!(await checkToken(token)).accepted) return 'missing';
      const authorization = login(secret ?? session.secret) ?? tokenLogin(session, token);
      if (authorization === undefined) throw noLogin('a login: user name and password, or a secret');
      const body = JSON.stringify({ tokens: token.reveal() });
      const { request, reply } = await call({ method: 'DELETE', path: TOKENS, authorization, body }, token);
      expectFields(request, reply);
      return 'deleted';
    },

    tokenTuple: ({ token, serverText }) => [token.reveal(), serverText],
  };
}

/** A token logs in here from 4.1.2 on, and only if it is a JWT. */
function tokenLogin(session: Session, token: Sensitive | undefined): Sensitive | undefined {
  if (token === undefined || readClaims(token) === undefined) return undefined;
  const [, minor = 9, patch = 9] = session.version.version.split('.').map(Number);
  return minor > 1 || (minor === 1 && patch >= 2) ? headerLogin('Bearer', token) : undefined;
}

/** 404 from a program that does not know the path; an answer to the call itself is an envelope. */
function isNoSuchPath(reply: HttpReply): boolean {
  return reply.status === 404 && readEnvelope(reply) === undefined;
}

function refusalOf(request: HttpRequest, reply: HttpReply): GraphException | undefined {
  const envelope = readEnvelope(reply);
  if (envelope === undefined) throw notAnEnvelope(request, reply);
  const { refused, code, message } = envelope;
  return refused ? refusal(request, { status: reply.status, code, message }) : undefined;
}

/** Lists come as a list, or (by the documentation) as one object. The values are whole, so they stay wrapped. */
function readSecrets(request: HttpRequest, reply: HttpReply): { alias: string; value: Sensitive }[] {
  const { results } = expectFields(request, reply);
  const isNothing = results === undefined || (isRecord(results) && Object.keys(results).length === 0);
  const entries: unknown[] = Array.isArray(results) ? results : isNothing ? [] : [results];
  return entries.map((entry) => {
    const { alias, value } = isRecord(entry) ? entry : {};
    if (typeof alias !== 'string' || typeof value !== 'string' || !/^[\x21-\x7e]{1,1024}$/.test(value)) {
      throw badResponse(request, reply, 'this is no list of secrets');
    }
    return { alias: withoutControls(alias), value: new Sensitive(value) };
  });
}

function issued(request: HttpRequest, reply: HttpReply, lifetime: number): IssuedToken {
  const fields = expectFields(request, reply);
  const token = readToken(request, reply, fields);
  const serverTimeUnix = reply.timeUnix;
  const serverText = typeof fields.expiration === 'string' ? showable(fields.expiration) : '';
  const claims = readClaims(token);
  if (claims === undefined) {
    const expiresAtUnix = serverTimeUnix + lifetime;
    return { token, expiresAtUnix, grantedSeconds: lifetime, serverTimeUnix, serverText };
  }
  const { exp, iat } = claims;
  const issuedAt = iat === undefined ? serverTimeUnix : iat + BACKDATED_SECONDS;
  return {
    token,
    expiresAtUnix: exp,
    grantedSeconds: Math.max(0, exp - issuedAt),
    serverTimeUnix,
    serverText,
  };
}
