import { shownText } from '../http/errors.js';
import type { Authorization, Exchange, HttpReply, Operation } from '../http/types.js';
import { type BoundCredential, Sensitive } from '../sensitive.js';
import { gsqlSecrets, hasAlias, masked, withoutControls } from './gsql.js';
import { loginWithoutSecret, noLogin, secretLogin } from './login.js';
import { type Meaning, meaningOf, onlyOwnSecrets, refusal, withoutNames } from './meanings.js';
import {
  badResponse,
  expectFields,
  isRecord,
  readClaims,
  readDeletion,
  readEnvelope,
  readIssued,
  readRefusal,
} from './reply.js';
import type {
  Call,
  IssuedToken,
  MintRequest,
  NewSecret,
  Protocol,
  Secret,
  Session,
  TokenCheck,
} from './types.js';

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
  return {
    serviceLogin: () => serviceLogin(session),
    listSecrets: () => listSecrets(session),
    createSecret: (alias, wantAlias) => createSecret(session, alias, wantAlias),
    dropSecret: (alias) => dropSecret(session, alias),
    mintToken: (wanted) => mintToken(session, wanted),
    deleteToken: (token, secret) => deleteToken(session, token, secret),
    checkToken: (token) => checkToken(session, token, login(session)),
    tokenTuple: ({ token, serverText }) => [token.reveal(), serverText()],
  };
}

async function mintToken(
  session: Session,
  { secret, lifetime, lifetimeUnit }: MintRequest,
): Promise<IssuedToken> {
  const answered = await session.ask({
    server: 'service',
    operation: 'mint',
    method: 'POST',
    path: TOKENS,
    authorization: loginWithoutSecret(session, secret),
    json: {
      secret,
      graph: session.graph,
      lifetime: String(lifetimeUnit === 'ms' ? lifetime * 1000 : lifetime),
    },
  });
  return issued(answered, lifetime);
}

async function deleteToken(
  session: Session,
  token: BoundCredential,
  secret: BoundCredential | undefined,
): Promise<'deleted' | 'missing'> {
  const own = secret === undefined ? login(session) : secretLogin(session.version, secret);
  if (!(await checkToken(session, token, own)).accepted) return 'missing';
  const answered = await session.ask({
    server: 'service',
    operation: 'delete',
    method: 'DELETE',
    path: TOKENS,
    authorization: own ?? tokenLogin(session, token),
    json: { tokens: token },
  });
  return readDeletion(answered);
}

async function checkToken(
  session: Session,
  token: BoundCredential,
  authorization: Authorization | undefined,
): Promise<TokenCheck> {
  const exchange = await session.ask({
    server: 'service',
    operation: 'check',
    method: 'POST',
    path: `${TOKENS}/check`,
    readOnly: true,
    authorization,
    json: { token },
  });
  const { request, reply } = exchange;
  const refused = readRefusal(exchange);
  if (refused === undefined) return { accepted: true };
  const { message } = refused;
  const means = meaningOf(request, refused);
  // If the login was refused, the answer says nothing about the token.
  const ofLogin =
    means !== undefined && OF_LOGIN.has(means) && !/\btoken\b/i.test(withoutNames(message, request));
  const ofServer = reply.status >= 500 || (means !== undefined && OF_SERVER.has(means));
  if (ofLogin || ofServer) throw refusal(request, refused);
  const told = means === undefined || OF_LOGIN.has(means) ? {} : { refusal: refusal(request, refused) };
  return { accepted: false, reason: shownText(request, message), ...told };
}

async function listSecrets(session: Session): Promise<Secret[]> {
  const exchange = await askForSecrets(session, 'list-secrets', '', { method: 'GET' });
  if (isNoSuchPath(exchange.reply)) return secretsByStatement(session).listSecrets();
  return readSecrets(exchange, 'this is no list of secrets').map(({ alias, value }) => ({
    alias,
    masked: masked(value.reveal()),
  }));
}

async function createSecret(session: Session, alias: string, wantAlias: boolean): Promise<NewSecret> {
  const query = alias === '' ? {} : { alias };
  const exchange = await askForSecrets(session, 'create-secret', alias, { method: 'POST', query });
  if (isNoSuchPath(exchange.reply)) return secretsByStatement(session).createSecret(alias, wantAlias);
  const problem = 'there is no secret in the answer';
  const [made] = readSecrets(exchange, problem);
  if (made) return made;
  throw badResponse(exchange, problem);
}

async function dropSecret(session: Session, alias: string): Promise<'dropped' | 'missing'> {
  const body = JSON.stringify({ secrets: [alias] });
  const exchange = await askForSecrets(session, 'drop-secret', alias, { method: 'DELETE', body });
  if (isNoSuchPath(exchange.reply)) return secretsByStatement(session).dropSecret(alias);
  const refused = readRefusal(exchange);
  if (refused === undefined) return 'dropped';
  const error = refusal(exchange.request, refused);
  // The error for an unknown alias is not documented, so the list of secrets shows whether the alias exists.
  const mayBeMissing = refused.status < 500 && error.code === 'SERVER_ERROR';
  if (!mayBeMissing || hasAlias(await listSecrets(session), alias)) throw error;
  return 'missing';
}

function askForSecrets(
  session: Session,
  operation: Operation,
  alias: string,
  { method, query, body }: Pick<Call, 'method' | 'query' | 'body'>,
): Promise<Exchange> {
  return session.ask({
    server: 'service',
    operation,
    names: [alias],
    method,
    path: SECRETS,
    query: { ...query, userName: session.secretsOf },
    body,
    headers: { 'content-type': 'application/json' },
    authorization: serviceLogin(session),
  });
}

/**
 * Early 4.x has no REST endpoints for secrets. It answers 404 and has done nothing, so a GSQL statement is sent instead.
 */
function secretsByStatement(session: Session): ReturnType<typeof gsqlSecrets> {
  if (session.secretsOf !== undefined) throw onlyOwnSecrets();
  return gsqlSecrets((statement, operation, alias = '') =>
    session.ask({
      server: 'service',
      operation,
      names: [alias],
      method: 'POST',
      path: '/gsql/v1/statements',
      contentType: 'text/plain',
      authorization: serviceLogin(session),
      body: statement,
      readOnly: operation === 'list-secrets',
    }),
  );
}

/** Logs in with the password, else with the secret. Only `serviceLogin` also uses the connection's token. */
function login(session: Session): Authorization | undefined {
  return session.basicLogin() ?? (session.secret && secretLogin(session.version, session.secret));
}

function serviceLogin(session: Session): Authorization {
  return login(session) ?? tokenLogin(session, session.token());
}

/** Returns the login with a token. It is accepted from 4.1.2 on, and only if the token is a JWT. */
function tokenLogin({ version }: Session, token: BoundCredential | undefined): Authorization {
  if (version.jwtLogsIn && token !== undefined && readClaims(token.value) !== undefined)
    return { scheme: 'Bearer', credential: token };
  throw noLogin('a login: user name and password, or a secret');
}

/** Whether the server does not have this path. A 404 that answers the request itself comes as a JSON envelope. */
function isNoSuchPath(reply: HttpReply): boolean {
  return reply.status === 404 && readEnvelope(reply) === undefined;
}

/**
 * Reads a list of secrets, which is a JSON list or (by the documentation) one object. The values are not masked, so
 * they are wrapped in Sensitive.
 * @param problem what is wrong when there is another thing in the answer
 */
function readSecrets(exchange: Exchange, problem: string): NewSecret[] {
  const { results } = expectFields(exchange);
  const isNothing = results === undefined || (isRecord(results) && Object.keys(results).length === 0);
  const entries: unknown[] = Array.isArray(results) ? results : isNothing ? [] : [results];
  return entries.map((entry) => {
    const { alias, value } = isRecord(entry) ? entry : {};
    if (typeof alias !== 'string' || typeof value !== 'string' || !/^[\x21-\x7e]{1,1024}$/.test(value)) {
      throw badResponse(exchange, problem);
    }
    return { alias: withoutControls(alias), value: new Sensitive(value) };
  });
}

function issued(exchange: Exchange, lifetime: number): IssuedToken {
  const lifeOf = (token: Sensitive) => {
    const { exp, iat } = readClaims(token) ?? {};
    return { expiresAt: exp, issuedAt: iat === undefined ? undefined : iat + BACKDATED_SECONDS };
  };
  const textOf = (text: unknown) => (typeof text === 'string' ? shownText(exchange.request, text) : '');
  return readIssued(exchange, lifetime, lifeOf, textOf);
}
