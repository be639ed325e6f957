import type { IncomingMessage } from 'node:http';
import { isTokenRefused, LONGEST_REFUSAL, readRefusal } from '../../core/protocol/reply.js';

/** For how long what may be a refusal is waited for: it comes with its headers, or soon. */
const REFUSAL_MS = 200;

const { getBuiltinModule } = process;

/** Reads an answer as far as it may refuse the token. Returns what was read, one character a byte. */
export async function readStart(reply: IncomingMessage): Promise<string> {
  const { headers } = reply;
  const length = Number(headers['content-length']);
  const byStatus = refusesByStatus(reply);
  // Servers before 3.6.3 do not name the type of their answers.
  const mayRefuse = byStatus || /json/.test(headers['content-type'] ?? 'json');
  if (!mayRefuse || length > LONGEST_REFUSAL) return '';
  const soon = AbortSignal.timeout(REFUSAL_MS);
  let start = '';
  for (;;) {
    start += (reply.read() as Buffer | null)?.toString('latin1') ?? '';
    // What says that there is no error is a result, of any length.
    const isResult = !byStatus && /"error"\s*:\s*"?f/.test(start);
    // The rest of a short answer that has begun is waited for.
    const signal = byStatus || (start !== '' && length <= LONGEST_REFUSAL) ? undefined : soon;
    if (isResult || start.length > LONGEST_REFUSAL || signal?.aborted) return start;
    // An answer that breaks off has been destroyed.
    if (isRead(reply) || reply.destroyed) return start;
    await getBuiltinModule('node:events')
      .once(reply, 'readable', { signal })
      .catch(() => {});
  }
}

export function isRead(reply: IncomingMessage): boolean {
  return reply.complete && reply.readableLength === 0;
}

/** Whether the server refuses the token, rather than what was asked for with it. @param start what was read of the answer */
export function refusesToken({ origin }: URL, reply: IncomingMessage, start: string): boolean {
  const { statusCode: status = 0, headers } = reply;
  if (!refusesByStatus(reply) && !start.includes('REST-100')) return false;
  let body = Buffer.from(start, 'latin1');
  try {
    const limits = { maxOutputLength: LONGEST_REFUSAL };
    if (headers['content-encoding'] === 'gzip') body = getBuiltinModule('node:zlib').gunzipSync(body, limits);
  } catch {
    // An answer that is cut off or too long refuses nothing.
  }
  const request = { server: 'rest', base: origin, method: 'GET', path: '/' } as const;
  return isTokenRefused(readRefusal({ request, reply: { status, headers: {}, body: body.toString() } }));
}

function refusesByStatus({ statusCode }: IncomingMessage): boolean {
  return statusCode === 401 || statusCode === 403;
}
