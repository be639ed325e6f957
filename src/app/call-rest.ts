import type { GraphException } from '../core/errors.js';
import { isTokenEnded } from '../core/protocol/reply.js';
import type { Sensitive } from '../core/sensitive.js';
import { waitUntilUp } from '../run/open-connection.js';
import { refusedVariable, tokenFromVariable } from '../run/read.js';
import type { Run } from '../run/run.js';
import { findVersion } from '../run/server.js';
import { tokenSource } from './tokens/get-token.js';
import { deleteRefused } from './tokens/keep-token.js';
import { rowsHere } from './tokens/list-tokens.js';

/** Sends a request with the token in `TG_API_TOKEN`, else with that of the run, and once more if a cached one has ended. */
export async function callRest<Reply extends { readonly refusal?: GraphException | undefined }>(
  run: Run,
  send: (token: Sensitive) => Promise<Reply>,
): Promise<Reply> {
  const sendWhenUp = async (token: Sensitive) => {
    if (run.settings.waitMs > 0) await waitUntilUp(run, await findVersion(run));
    return send(token);
  };
  const given = tokenFromVariable(run);
  if (given) {
    await rowsHere(run, given);
    const reply = await sendWhenUp(given);
    if (reply.refusal?.code !== 'AUTH_FAILED') return reply;
    return { ...reply, refusal: refusedVariable(reply.refusal) };
  }
  const source = await tokenSource(run);
  const cached = await source.obtain();
  const reply = await sendWhenUp(cached.token);
  if (!cached.isCached || !isTokenEnded(reply.refusal)) return reply;
  // The server refused the token before it did anything, so the request may be sent again.
  run.ports.reporter.detail('the server no longer accepts the cached token, so it was deleted here');
  await deleteRefused(source.cache, cached.token);
  // Another cached one may have ended too, and this one may still be stored.
  const next = await source.obtain({ freshSince: run.ports.startedAt });
  return send(next.token);
}
