import type { Fields, Operation } from '../http/types.js';
import type { BoundCredential } from '../sensitive.js';
import { BY_STATEMENT, graphFor } from './gsql.js';
import { isAboutToken } from './meanings.js';
import { expectEnvelope, FORM, readDeletion, readMinted } from './reply.js';
import { loginWithoutSecret, type Protocol, type ServerSession } from './session.js';

/** 3.0 to 3.11: secrets are managed by GSQL statements at the GSQL server, tokens at `/requesttoken` of the REST server. */
export const V3: Protocol = {
  ...BY_STATEMENT,

  async mint(session, secret, lifetime) {
    const graph = secret === undefined ? graphFor(session) : undefined;
    const method = session.version.generation === '3.0' && secret === undefined ? 'GET' : 'POST';
    const fields = { graph, lifetime: String(lifetime), secret };
    return readMinted(await askForToken(session, 'mint', method, fields), lifetime, 'answer');
  },

  async refreshToken(session, token, secret, lifetime) {
    const fields = { lifetime: String(lifetime), token, secret };
    return readMinted(await askForToken(session, 'refresh', 'PUT', fields), lifetime, 'answer');
  },

  async deleteToken(session, token, secret) {
    return readDeletion(await askForToken(session, 'delete', 'DELETE', { token, secret }));
  },

  async checkToken(session, credential) {
    const authorization = { scheme: 'Bearer', credential } as const;
    const exchange = await session.ask({ server: 'rest', method: 'GET', path: '/echo', authorization });
    const { error, means, isSure } = expectEnvelope(exchange);
    // A token without the privilege for this request, or for another graph, is still valid.
    if (!error || means === 'token-without-privilege' || means === 'token-of-other-graph')
      return { accepted: true };
    // If another thing is refused, or the token did not arrive, the answer says nothing about it.
    if (!isSure || !isAboutToken(means) || means === 'token-missing') throw error;
    return { accepted: false, refusal: error };
  },
};

async function askForToken(
  session: ServerSession,
  operation: Operation,
  method: string,
  fields: Fields & { readonly secret: BoundCredential | undefined },
) {
  const { secret, ...others } = fields;
  const isOld = session.version.generation === '3.0';
  // Before 3.5 a token travels in the URL, so the server itself has to say that it is one of those.
  if (isOld && operation !== 'mint') await session.confirmVersion();
  const authorization = loginWithoutSecret(session, secret);
  // 3.0 to 3.4 expect the fields in the query, later versions as JSON. A secret to mint from may be the body there,
  // which keeps it out of the URL.
  const old =
    secret !== undefined && operation === 'mint'
      ? { query: others, body: secret, headers: FORM }
      : { query: fields };
  const call = { server: 'rest', method, path: '/requesttoken', operation, authorization } as const;
  return session.ask({ ...call, ...(isOld ? old : { json: fields }) });
}
