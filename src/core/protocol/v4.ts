import type { GraphException } from '../errors.js';
import { shownText } from '../http/errors.js';
import type { Authorization, Fields, HttpReply, HttpRequest } from '../http/types.js';
import { type BoundCredential, Sensitive } from '../sensitive.js';
import { gsqlSecrets, isListed, masked, withoutControls } from './gsql.js';
import type { Meaning, Operation } from './refusal-table.js';
import {
  badResponse,
  expectFields,
  isRecord,
  notAnEnvelope,
  readClaims,
  readEnvelope,
  readToken,
  serverClock,
} from './reply.js';
import { secretLogin } from './secret-login.js';
import { meaningOf, noLogin, onlyOwnSecrets, refusal, withoutNames } from './server-error.js';
import type { Call, IssuedToken, Protocol, Secret, Session } from './types.js';

const SECRETS = '/gsql/v1/secrets';
const TOKENS = '/gsql/v1/tokens';
/** 4.x servers set a token's time of issue five seconds into the past. */
const BACKDATED_SECONDS = 5;
const OF_LOGIN: ReadonlySet<Meaning> = new Set(['bad-login', 'bad-secret', 'no-permission']);
const OF_SERVER: ReadonlySet<Meaning> = new Set([
  'throttled',
  'licence-expired',
  'rest-auth-off',
  'client-certificate',
]);

/** Implements the protocol of 4.x: every request goes to the GSQL server, under `/gsql/v1`. */
export function protocolV4(session: Session): Protocol {
  /** Logs in with the password, else with the secret. Only `serviceLogin` also uses the connection's token. */
  const login = (): Authorization | undefined =>
    session.basicLogin() ?? (session.secret && secretLogin(session.version, session.secret));

  const serviceLogin = (): Authorization => {
    const authorization = login() ?? tokenLogin(session, session.token());
    if (authorization === undefined) throw noLogin('a login: user name and password, or a secret');
    return authorization;
  };

  const call = async (described: Omit<Call, 'server'>) => {
    const request = session.request({ server: 'service', ...described });
    return { request, reply: await session.send(request) };
  };

  const callSecrets = (
    operation: Operation,
    alias: string,
    method: 'GET' | 'POST' | 'DELETE',
    { query, body }: { query?: Fields; body?: string } = {},
  ) =>
    call({
      operation,
      names: [alias],
      method,
      path: SECRETS,
      query: { ...query, userName: session.secretsOf },
      body,
      headers: { 'content-type': 'application/json' },
      authorization: serviceLogin(),
    });

  // Early 4.x has no REST endpoints for secrets. It answers 404 and has done nothing, so a GSQL statement is sent
  // instead.
  const byStatement = () => {
    if (session.secretsOf !== undefined) throw onlyOwnSecrets();
    return gsqlSecrets((statement, operation, alias = '') =>
      call({
        operation,
        names: [alias],
        method: 'POST',
        path: '/gsql/v1/statements',
        contentType: 'text/plain',
        authorization: serviceLogin(),
        body: statement,
        readOnly: operation === 'list-secrets',
      }),
    );
  };

  const listSecrets = async (): Promise<Secret[]> => {
    const { request, reply } = await callSecrets('list-secrets', '', 'GET');
    if (isNoSuchPath(reply)) return byStatement().listSecrets();
    return readSecrets(request, reply, 'this is no list of secrets').map(({ alias, value }) => ({
      alias,
      masked: masked(value.reveal()),
    }));
  };

  const checkToken = async (token: BoundCredential, authorization: Authorization | undefined) => {
    const { request, reply } = await call({
      operation: 'check',
      method: 'POST',
      path: `${TOKENS}/check`,
      readOnly: true,
      authorization,
      json: { token },
    });
    const envelope = readEnvelope(reply);
    if (envelope === undefined) throw notAnEnvelope(request, reply);
    if (!envelope.refused) return { accepted: true };
    const { code, message } = envelope;
    const refused = { status: reply.status, code, message };
    const means = meaningOf(request, refused);
    // If the login was refused, the answer says nothing about the token.
    const ofLogin =
      means !== undefined && OF_LOGIN.has(means) && !/\btoken\b/i.test(withoutNames(message, request));
    const ofServer = reply.status >= 500 || (means !== undefined && OF_SERVER.has(means));
    if (ofLogin || ofServer) throw refusal(request, refused);
    const told = means === undefined || OF_LOGIN.has(means) ? {} : { refusal: refusal(request, refused) };
    return { accepted: false, reason: shownText(request, message), ...told };
  };

  return {
    serviceLogin,
    listSecrets,
    checkToken: (token) => checkToken(token, login()),

    async createSecret(alias, wantAlias) {
      const query = alias === '' ? {} : { alias };
      const { request, reply } = await callSecrets('create-secret', alias, 'POST', { query });
      if (isNoSuchPath(reply)) return byStatement().createSecret(alias, wantAlias);
      const problem = 'there is no secret in the answer';
      const [made] = readSecrets(request, reply, problem);
      if (made === undefined) throw badResponse(request, reply, problem);
      return made;
    },

    async dropSecret(alias) {
      const body = JSON.stringify({ secrets: [alias] });
      const { request, reply } = await callSecrets('drop-secret', alias, 'DELETE', { body });
      if (isNoSuchPath(reply)) return byStatement().dropSecret(alias);
      const refused = refusalOf(request, reply);
      if (refused === undefined) return 'dropped';
      // The error for an unknown alias is not documented, so the list of secrets shows whether the alias exists.
      const mayBeMissing = reply.status < 500 && refused.code === 'SERVER_ERROR';
      if (!mayBeMissing || isListed(await listSecrets(), alias)) throw refused;
      return 'missing';
    },

    async mintToken({ secret, lifetime, lifetimeUnit }) {
      const authorization = secret === undefined ? session.basicLogin() : undefined;
      if (secret === undefined && authorization === undefined)
        throw noLogin('a secret, or a user name and password');
      const json = {
        secret,
        graph: session.graph,
        lifetime: String(lifetimeUnit === 'ms' ? lifetime * 1000 : lifetime),
      };
      const { request, reply } = await call({
        operation: 'mint',
        method: 'POST',
        path: TOKENS,
        authorization,
        json,
      });
      return issued(request, reply, lifetime);
    },

    async deleteToken(token, secret) {
      const own = secret === undefined ? login() : secretLogin(session.version, secret);
      if (!(await checkToken(token, own)).accepted) return 'missing';
      const authorization = own ?? tokenLogin(session, token);
      if (authorization === undefined) throw noLogin('a login: user name and password, or a secret');
      const { request, reply } = await call({
        operation: 'delete',
        method: 'DELETE',
        path: TOKENS,
        authorization,
        json: { tokens: token },
      });
      const envelope = readEnvelope(reply);
      if (envelope?.refused && meaningOf(request, { status: reply.status, ...envelope }) === 'unknown-token')
        return 'missing';
      expectFields(request, reply);
      return 'deleted';
    },

    tokenTuple: ({ token, serverText }) => [token.reveal(), serverText()],
  };
}

/** Returns the login with a token. It is accepted from 4.1.2 on, and only if the token is a JWT. */
function tokenLogin(session: Session, token: BoundCredential | undefined): Authorization | undefined {
  if (!session.version.jwtLogsIn || token === undefined || readClaims(token.value) === undefined)
    return undefined;
  return { scheme: 'Bearer', credential: token };
}

/** Whether the server does not have this path. A 404 that answers the request itself comes as a JSON envelope. */
function isNoSuchPath(reply: HttpReply): boolean {
  return reply.status === 404 && readEnvelope(reply) === undefined;
}

function refusalOf(request: HttpRequest, reply: HttpReply): GraphException | undefined {
  const envelope = readEnvelope(reply);
  if (envelope === undefined) throw notAnEnvelope(request, reply);
  const { refused, code, message } = envelope;
  return refused ? refusal(request, { status: reply.status, code, message }) : undefined;
}

/**
 * Reads a list of secrets, which is a JSON list or (by the documentation) one object. The values are not masked, so
 * they are wrapped in Sensitive.
 * @param problem what is wrong when there is another thing in the answer
 */
function readSecrets(
  request: HttpRequest,
  reply: HttpReply,
  problem: string,
): { alias: string; value: Sensitive }[] {
  const { results } = expectFields(request, reply);
  const isNothing = results === undefined || (isRecord(results) && Object.keys(results).length === 0);
  const entries: unknown[] = Array.isArray(results) ? results : isNothing ? [] : [results];
  return entries.map((entry) => {
    const { alias, value } = isRecord(entry) ? entry : {};
    if (typeof alias !== 'string' || typeof value !== 'string' || !/^[\x21-\x7e]{1,1024}$/.test(value)) {
      throw badResponse(request, reply, problem);
    }
    return { alias: withoutControls(alias), value: new Sensitive(value) };
  });
}

function issued(request: HttpRequest, reply: HttpReply, lifetime: number): IssuedToken {
  const fields = expectFields(request, reply);
  const token = readToken(request, reply, fields);
  const { expiration } = fields;
  const serverText = () => (typeof expiration === 'string' ? shownText(request, expiration) : '');
  const claims = readClaims(token);
  const serverTimeUnix = serverClock(reply, lifetime, claims?.exp);
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
