import { GraphException } from '../errors.js';
import { shownText } from '../http/errors.js';
import type { Authorization, Fields, HttpReply, HttpRequest } from '../http/types.js';
import type { BoundCredential } from '../sensitive.js';
import { checkGraphInUse, gsqlSecrets, type Run, useGraph } from './gsql.js';
import type { Operation } from './refusal-table.js';
import {
  badResponse,
  expectFields,
  isoSeconds,
  notAnEnvelope,
  readEnvelope,
  readExpiration,
  readToken,
  serverClock,
} from './reply.js';
import { secretLogin } from './secret-login.js';
import { meaningOf, noLogin, onlyOwnSecrets, refusal } from './server-error.js';
import type { IssuedToken, Protocol, Session } from './types.js';

/**
 * Implements the protocol of 3.0 to 3.11: secrets are managed by GSQL statements at the GSQL server, tokens at
 * `/requesttoken` of the REST server.
 */
export function protocolV3(session: Session): Protocol {
  const { generation } = session.version;

  const serviceLogin = (): Authorization => {
    const { secret, version } = session;
    const login = session.basicLogin() ?? (secret && version.secretLogsIn && secretLogin(version, secret));
    if (login) return login;
    throw noLogin(`a user name and password${version.secretLogsIn ? ', or a secret' : ''}`);
  };

  const graphFor = (purpose: string): string => {
    if (session.graph !== undefined) return session.graph;
    throw new GraphException('USAGE', `On a 3.x server ${purpose} needs a graph.`, {
      hint: 'Name one.',
      option: 'graph',
    });
  };

  const sendStatements = async (text: string, operation: Operation, alias?: string) => {
    const request = session.request({
      server: 'service',
      method: 'POST',
      path: '/gsqlserver/gsql/file',
      operation,
      names: alias === undefined ? [] : [alias],
      contentType: 'application/x-www-form-urlencoded',
      authorization: serviceLogin(),
      body: encodeURIComponent(text).replaceAll('%20', '+'),
      readOnly: operation === 'list-secrets',
    });
    const reply = await session.send(request);
    // Every statement chooses a graph, which the server confirms in its first line, so an empty answer is not from this
    // server.
    if (reply.status === 200 && reply.body.trim() === '')
      throw badResponse(request, reply, 'the answer is empty');
    return { request, reply };
  };

  // After a failed USE GRAPH, servers run the next statement on whatever graph is in use. So USE GRAPH is tried alone
  // before the first write.
  const run: Run = async (statement, operation, alias) => {
    if (session.secretsOf !== undefined) throw onlyOwnSecrets();
    const choose = useGraph(graphFor('every secret command'));
    if (operation !== 'list-secrets' && !session.graphsSeen.has(choose)) {
      const { request, reply } = await sendStatements(choose, 'list-secrets');
      checkGraphInUse(request, reply);
    }
    const answered = await sendStatements(`${choose}\n${statement}`, operation, alias);
    if (answered.reply.body.trimStart().startsWith("Using graph '")) session.graphsSeen.add(choose);
    return answered;
  };

  /** A token request with a secret needs no other login; without a secret, user name and password log in. */
  const tokenRequest = (
    operation: Operation,
    method: string,
    input: Fields,
    secret: BoundCredential | undefined,
    token?: BoundCredential,
  ): HttpRequest => {
    const authorization = secret === undefined ? session.basicLogin() : undefined;
    if (secret === undefined && authorization === undefined)
      throw noLogin('a secret, or a user name and password');
    const fields = { ...input, token, secret };
    // 3.0 to 3.4 expect the fields in the query, later versions as JSON. A secret to mint from may be the body there,
    // which keeps it out of the URL.
    const old =
      secret !== undefined && token === undefined
        ? { query: input, body: secret, contentType: 'application/x-www-form-urlencoded' }
        : { query: fields };
    return session.request({
      server: 'rest',
      method,
      path: '/requesttoken',
      operation,
      ...(generation === '3.0' ? old : { json: fields }),
      authorization,
      // On 3.0 to 3.4 a GET mints a token, so the method does not mean that nothing changes.
      readOnly: false,
    });
  };

  /** Before 3.5 a token travels in the URL, so the server itself has to say that it is one of those. */
  const seenForQuery = async () => {
    if (generation === '3.0') await session.confirmVersion();
  };

  const issued = (request: HttpRequest, reply: HttpReply, lifetime: number): IssuedToken => {
    const fields = expectFields(request, reply);
    const token = readToken(request, reply, fields);
    const end = readExpiration(fields.expiration);
    const serverTimeUnix = serverClock(reply, lifetime, end?.isRelative ? undefined : end?.seconds);
    const expiresAtUnix =
      end === undefined
        ? serverTimeUnix + lifetime
        : end.isRelative
          ? serverTimeUnix + end.seconds
          : end.seconds;
    const grantedSeconds = Math.max(0, expiresAtUnix - serverTimeUnix);
    const serverText = () => shownText(request, String(fields.expiration ?? ''));
    return { token, expiresAtUnix, grantedSeconds, serverTimeUnix, serverText };
  };

  return {
    serviceLogin,
    ...gsqlSecrets(run),

    async mintToken({ secret, lifetime }) {
      const graph = secret === undefined ? graphFor('a token by user name and password') : undefined;
      const request = tokenRequest(
        'mint',
        generation === '3.0' && secret === undefined ? 'GET' : 'POST',
        { graph, lifetime: String(lifetime) },
        secret,
      );
      return issued(request, await session.send(request), lifetime);
    },

    async refreshToken({ token, secret, lifetime }) {
      await seenForQuery();
      const request = tokenRequest('refresh', 'PUT', { lifetime: String(lifetime) }, secret, token);
      return issued(request, await session.send(request), lifetime);
    },

    async deleteToken(token, secret) {
      await seenForQuery();
      const request = tokenRequest('delete', 'DELETE', {}, secret, token);
      const reply = await session.send(request);
      if (meansUnknownToken(request, reply)) return 'missing';
      expectFields(request, reply);
      return 'deleted';
    },

    async checkToken(token) {
      const request = session.request({
        server: 'rest',
        method: 'GET',
        path: '/echo',
        authorization: { scheme: 'Bearer', credential: token },
      });
      const reply = await session.send(request);
      const envelope = readEnvelope(reply);
      if (envelope === undefined) throw notAnEnvelope(request, reply);
      if (!envelope.refused) return { accepted: true };
      const { code, message } = envelope;
      const refusedWith = { status: reply.status, code, message };
      const means = meaningOf(request, refusedWith);
      // A token without the privilege for this request, or for another graph, is still valid.
      if (means === 'token-without-privilege' || means === 'token-of-other-graph') return { accepted: true };
      const refused = refusal(request, refusedWith);
      if (refused.code !== 'AUTH_FAILED' && refused.code !== 'PERMISSION_DENIED') throw refused;
      return { accepted: false, reason: shownText(request, message) || refused.message, refusal: refused };
    },

    tokenTuple: ({ token, expiresAtUnix }) => [token.reveal(), expiresAtUnix, isoSeconds(expiresAtUnix)],
  };
}

function meansUnknownToken(request: HttpRequest, reply: HttpReply): boolean {
  const envelope = readEnvelope(reply);
  if (envelope?.refused !== true) return false;
  const { code, message } = envelope;
  return meaningOf(request, { status: reply.status, code, message }) === 'unknown-token';
}
