import type { Call } from '../auth/call.js';
import { tokenFromVariable, tokenFromVariableOr } from '../auth/read-token.js';
import type { GraphException } from '../core/errors.js';
import { isTokenEnded } from '../core/raw.js';
import { BoundCredential, type Sensitive } from '../core/sensitive.js';
import { tokenSource } from './tokens/get-token.js';

export type Token = Sensitive | BoundCredential;

/** Sends a request with the token in `TG_API_TOKEN`, else with that of the call, and once more if a cached one has ended. */
export async function callRest<Reply extends { readonly refusal?: GraphException | undefined }>(
  call: Call,
  send: (token: Token) => Promise<Reply>,
): Promise<Reply> {
  const given = await tokenFromVariable(call);
  if (given) return send(given);
  const source = await tokenFromVariableOr(call, () => tokenSource(call));
  const held = await tokenFromVariableOr(call, () => source.obtain());
  const reply = await send(new BoundCredential(held.token, held.servers));
  if (!held.isCached || !isTokenEnded(reply.refusal)) return reply;
  // The server refused the token before it did anything, so the request may be sent again.
  call.ports.reporter.detail('the server no longer accepts the cached token; it is forgotten here');
  const failure = await source.delete(held.token);
  // If the token could not be removed from the store, it must not be used again.
  const next = await source.obtain({ freshSince: failure && call.ports.startedAt });
  return send(new BoundCredential(next.token, next.servers));
}
