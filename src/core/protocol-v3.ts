import { badResponse, expectFields, notAnEnvelope, readEnvelope } from './envelope.js';
import { GraphException } from './errors.js';
import { credentialsOf } from './failures.js';
import { gsqlSecrets } from './gsql-secrets.js';
import { inGraph, SHOW_SECRET } from './gsql-text.js';
import type { HttpReply, HttpRequest } from './http.js';
import { basicLogin, headerLogin, hidden, noLogin } from './login.js';
import type { IssuedToken, Protocol, Session } from './protocol.js';
import { refusal } from './refusal.js';
import type { Sensitive } from './sensitive.js';
import { showable } from './server-text.js';
import { isoSeconds, readExpiration, readToken } from './token-reply.js';

/** What a token request holds; 3.0 to 3.4 want it in the query, later ones as JSON. */
type Input = Readonly<Record<string, string | undefined>>;

const MINT = { A: 'GET', B: 'POST', C: 'POST' } as const;

/** 3.0 to 3.11: secrets by GSQL text at the service server, tokens at `/requesttoken` of the REST server. */
export function protocolV3(session: Session): Protocol {
  const { generation } = session.version;

  const serviceLogin = (): Sensitive => {
    const login = basicLogin(session);
    if (login === undefined) throw noLogin('a user name and password: 3.x servers take nothing else here');
    return login;
  };

  const graphFor = (purpose: string): string => {
    if (session.graph !== undefined) return session.graph;
    throw new GraphException('USAGE', `On a 3.x server ${purpose} needs a graph.`, {
      hint: 'Give it with --graph (graph).',
    });
  };

  const run = async (statement: string) => {
    const text = inGraph(graphFor('every secret command'), statement);
    const request: HttpRequest = {
      server: 'service',
      base: session.serviceUrl,
      method: 'POST',
      path: '/gsqlserver/gsql/file',
      contentType: 'application/x-www-form-urlencoded',
      authorization: serviceLogin(),
      body: encodeURIComponent(text).replaceAll('%20', '+'),
      readOnly: statement === SHOW_SECRET,
      hide: hidden(session),
    };
    const reply = await session.send(request);
    // The statement chooses a graph, and the server repeats that before all else.
    if (reply.status === 200 && reply.body.trim() === '')
      throw badResponse(request, reply, 'the answer is empty');
    return { request, reply };
  };

  /** A secret is its own login; without one it is user name and password. */
  const tokenRequest = (
    method: string,
    input: Input,
    secret: Sensitive | undefined,
    token?: Sensitive,
  ): HttpRequest => {
    const authorization = secret === undefined ? basicLogin(session) : undefined;
    if (secret === undefined && authorization === undefined)
      throw noLogin('a secret, or a user name and password');
    const fields = { ...input, token: token?.reveal(), secret: secret?.reveal() };
    const given = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined);
    const inQuery = generation === 'A';
    return {
      server: 'rest',
      base: session.restUrl,
      method,
      path: inQuery ? `/requesttoken?${new URLSearchParams(given)}` : '/requesttoken',
      body: inQuery ? undefined : JSON.stringify(Object.fromEntries(given)),
      authorization,
      // On 3.0 to 3.4 a GET makes a token.
      readOnly: false,
      hide: hidden(session, secret, token),
    };
  };

  const issued = (request: HttpRequest, reply: HttpReply, lifetime: number): IssuedToken => {
    const fields = expectFields(request, reply);
    const token = readToken(request, reply, fields);
    const serverTimeUnix = reply.timeUnix;
    const expiresAtUnix = readExpiration(fields.expiration, serverTimeUnix) ?? serverTimeUnix + lifetime;
    const grantedSeconds = Math.max(0, expiresAtUnix - serverTimeUnix);
    const serverText = fields.expiration === undefined ? '' : showable(String(fields.expiration));
    return { token, expiresAtUnix, grantedSeconds, serverTimeUnix, serverText };
  };

  return {
    restUrl: session.restUrl,
    serviceLogin,
    ...gsqlSecrets(run),

    async mintToken({ secret, lifetime }) {
      const graph = secret === undefined ? graphFor('a token by user name and password') : undefined;
      const request = tokenRequest(MINT[generation], { graph, lifetime: String(lifetime) }, secret);
      return issued(request, await session.send(request), lifetime);
    },

    async refreshToken({ token, secret, lifetime }) {
      const request = tokenRequest('PUT', { lifetime: String(lifetime) }, secret, token);
      const reply = await session.send(request);
      if (isUnknownToken(reply)) {
        throw new GraphException('NOT_FOUND', 'The server does not know this token.', {
          hint: 'Get a new one with: graphcred token get --fresh',
        });
      }
      return issued(request, reply, lifetime);
    },

    async deleteToken(token, secret) {
      const request = tokenRequest('DELETE', {}, secret, token);
      const reply = await session.send(request);
      if (isUnknownToken(reply)) return 'missing';
      expectFields(request, reply);
      return 'deleted';
    },

    async checkToken(token) {
      const request: HttpRequest = {
        server: 'rest',
        base: session.restUrl,
        method: 'GET',
        path: '/echo',
        authorization: headerLogin('Bearer', token),
        hide: hidden(session, token),
      };
      const reply = await session.send(request);
      const envelope = readEnvelope(reply);
      if (envelope === undefined) throw notAnEnvelope(request, reply);
      // Without privilege for this call it is a good token all the same.
      if (!envelope.refused || envelope.code === 'REST-10018') return { accepted: true };
      const { code, message } = envelope;
      const refused = refusal(request, { status: reply.status, code, message });
      if (refused.code !== 'AUTH_FAILED' && refused.code !== 'PERMISSION_DENIED') throw refused;
      return { accepted: false, reason: showable(message, credentialsOf(request)) || refused.message };
    },

    tokenTuple: ({ token, expiresAtUnix }) => [token.reveal(), expiresAtUnix, isoSeconds(expiresAtUnix)],
  };
}

/** REST-3300. The same code may be used of a bad secret, which then is named. */
function isUnknownToken(reply: HttpReply): boolean {
  const envelope = readEnvelope(reply);
  if (envelope?.refused !== true || envelope.code !== 'REST-3300') return false;
  return !/\bsecret\b|authentication|password/i.test(envelope.message);
}
