import type { Authorization, Exchange } from '../http/types.js';
import { type BoundCredential, Sensitive } from '../sensitive.js';
import { masked, withoutControls } from './gsql.js';
import { isAboutToken, type Meaning, withoutNames } from './meanings.js';
import { refusal } from './refusals.js';
import { badResponse, expectEnvelope, expectFields, isJsonTable, readDeletion, readMinted } from './reply.js';
import {
  gsqlLogin,
  loginWithoutSecret,
  type NewSecret,
  ownLogin,
  type Protocol,
  type ServerCall,
  type ServerSession,
} from './session.js';

const ROUTES = {
  'list-secrets': 'GET /gsql/v1/secrets',
  'create-secret': 'POST /gsql/v1/secrets',
  'drop-secret': 'DELETE /gsql/v1/secrets',
  mint: 'POST /gsql/v1/tokens',
  delete: 'DELETE /gsql/v1/tokens',
  check: 'POST /gsql/v1/tokens/check',
} as const;
type RouteName = keyof typeof ROUTES;
const OF_SERVER: readonly (Meaning | undefined)[] = [
  'throttled',
  'licence-expired',
  'rest-auth-off',
  'client-certificate',
  'no-permission',
  'token-without-privilege',
];

/** 4.x: every request goes to the GSQL server, under `/gsql/v1`. */
export const V4: Protocol = {
  async listSecrets(session) {
    const secrets = readSecrets(await askForSecrets(session, 'list-secrets'));
    return secrets.map(({ alias, value }) => ({ alias, masked: masked(value.reveal()) }));
  },

  async createSecret(session, alias) {
    const query = { alias: alias || undefined };
    const exchange = await askForSecrets(session, 'create-secret', { names: [alias], query });
    const [made] = readSecrets(exchange);
    if (made) return made;
    throw badResponse(exchange, 'there is no secret in the answer');
  },

  async dropSecret(session, alias) {
    const body = JSON.stringify({ secrets: [alias] });
    const exchange = await askForSecrets(session, 'drop-secret', { names: [alias], body });
    const { error } = expectEnvelope(exchange);
    if (error === undefined) return undefined;
    // The error for an unknown alias is not documented, so the list of secrets shows whether the alias exists.
    if (exchange.reply.status >= 500 || error.code !== 'SERVER_ERROR') throw error;
    if ((await V4.listSecrets(session)).some((listed) => listed.alias === alias)) throw error;
    return error;
  },

  async mint(session, secret, seconds, unit) {
    const lifetime = String(unit === 'ms' ? seconds * 1000 : seconds);
    const authorization = loginWithoutSecret(session, secret);
    const json = { secret, graph: session.graph, lifetime };
    return readMinted(await askRoute(session, 'mint', { authorization, json }), seconds, 'token');
  },

  async deleteToken(session, token, secret) {
    const own = ownLogin(session, secret);
    const { refusal } = await checkToken(session, token, own);
    if (refusal) return refusal;
    const authorization = own ?? gsqlLogin(session, token);
    return readDeletion(await askRoute(session, 'delete', { authorization, json: { tokens: token } }));
  },

  checkToken: (session, token) => checkToken(session, token, ownLogin(session)),
};

/** What a server may say of a token that it does not accept; of its own troubles it says other things. */
const SAYS_NO = /\b(?:not|no|invalid|unknown|expired|revoked|dropped|malformed|bad|wrong)\b/i;

async function checkToken(session: ServerSession, token: BoundCredential, authorization?: Authorization) {
  const exchange = await askRoute(session, 'check', { authorization, json: { token } });
  const { request, reply } = exchange;
  const { refused, error, means, isSure } = expectEnvelope(exchange);
  if (error === undefined) return { accepted: true };
  // What is refused may be the login or the whole request, and then the answer says nothing about the token.
  const isKnown = isAboutToken(means);
  const words = withoutNames(refused.message, request);
  const ofToken = isKnown || (/\b(?:token|JWT)\b/i.test(words) && SAYS_NO.test(words));
  if (!isSure || !ofToken || reply.status >= 500 || OF_SERVER.includes(means)) throw error;
  return { accepted: false, refusal: refusal(exchange, refused, isKnown ? means : 'token-refused') };
}

function askRoute(session: ServerSession, operation: RouteName, call: Partial<ServerCall>) {
  const [method = '', path = ''] = ROUTES[operation].split(' ');
  return session.ask({ server: 'service', operation, method, path, ...call });
}

function askForSecrets(session: ServerSession, operation: RouteName, call: Partial<ServerCall> = {}) {
  const query = { ...call.query, userName: session.secretsOf };
  const headers = { 'content-type': 'application/json' };
  const authorization = gsqlLogin(session);
  return askRoute(session, operation, { ...call, query, headers, authorization });
}

/** Reads a list of secrets, which is a JSON list or (by the documentation) one object. The values are not masked. */
function readSecrets(exchange: Exchange): NewSecret[] {
  const { results } = expectFields(exchange);
  const isNothing = results === undefined || (isJsonTable(results) && Object.keys(results).length === 0);
  const entries: unknown[] = Array.isArray(results) ? results : isNothing ? [] : [results];
  return entries.map((entry) => {
    const { alias, value } = isJsonTable(entry) ? entry : {};
    if (typeof alias !== 'string' || typeof value !== 'string' || !/^[\x21-\x7e]{1,1024}$/.test(value))
      throw badResponse(exchange, 'a secret in the answer cannot be read');
    return { alias: withoutControls(alias), value: new Sensitive(value) };
  });
}
