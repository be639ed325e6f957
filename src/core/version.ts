import { GraphException } from './errors.js';
import { isHtml } from './failures.js';
import type { HttpReply, HttpRequest } from './http.js';
import type { ServerVersion } from './protocol.js';
import { showable } from './server-text.js';

const SAY_IT = 'Say which it is with --server-version (serverVersion), for example 3.10.1, 3 or 4.';

/**
 * `auto` is undefined; `3` is 3.5 or later, `4` is 4.x, and `X.Y` or `X.Y.Z` is itself.
 * Throws USAGE on anything else, UNSUPPORTED on versions other than 3.x and 4.x.
 */
export function parseVersionOption(text: string): ServerVersion | undefined {
  if (text === 'auto') return undefined;
  if (text === '3') return { generation: 'B', version: '3' };
  if (text === '4') return { generation: 'C', version: '4' };
  if (!/^\d{1,3}\.\d{1,3}(?:\.\d{1,5})?$/.test(text)) {
    throw new GraphException('USAGE', 'The server version must be auto, 3, 4, or a number like 3.10.1.', {
      hint: SAY_IT,
    });
  }
  return generationOf(text);
}

function generationOf(version: string): ServerVersion {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major === 4) return { generation: 'C', version };
  if (major === 3) return { generation: minor < 5 ? 'A' : 'B', version };
  throw new GraphException(
    'UNSUPPORTED',
    `Servers of version ${version} are not supported, only 3.x and 4.x.`,
    {
      hint: SAY_IT,
    },
  );
}

/**
 * Asks the service server what it is, without a credential: first where 4.x tells, then where 3.x does.
 * UNSUPPORTED when neither answer tells; errors of the network are passed on.
 */
export async function detectVersion(
  serviceUrl: string,
  ask: (request: HttpRequest) => Promise<HttpReply>,
): Promise<ServerVersion> {
  const send = (request: HttpRequest) => ask(request).catch(sayIt);
  const there = { server: 'service', base: serviceUrl } as const;
  const newer = await send({ ...there, method: 'GET', path: '/gsql/v1/version' });
  if (newer.status === 200) {
    const version = versionIn(newer.body);
    if (version !== undefined) return generationOf(version);
    // Builds between releases have a name instead of a number, but 3.x has no such path at all.
    if (/^\s*GSQL version:/im.test(newer.body)) return { generation: 'C', version: '4' };
  }
  const older = await send({
    ...there,
    method: 'POST',
    path: '/gsqlserver/gsql/version',
    contentType: 'application/x-www-form-urlencoded',
    body: 'v',
    readOnly: true,
  });
  if (older.status === 200) {
    const version = versionIn(older.body);
    if (version !== undefined) return generationOf(version);
  }
  throw new GraphException(
    'UNSUPPORTED',
    `${serviceUrl} does not tell its version (HTTP ${newer.status}, then HTTP ${older.status}).`,
    { hint: SAY_IT, status: older.status, serverText: isHtml(older) ? '' : showable(older.body) },
  );
}

/** A server that answers elsewhere only may be used all the same by who knows what it is. */
function sayIt(error: unknown): never {
  if (!(error instanceof GraphException) || error.code === 'CANCELLED' || error.code === 'TLS') throw error;
  const { code, message, hint = '', serverCode, serverText, status, ambiguous } = error;
  throw new GraphException(code, message, {
    hint: `${hint} If you know its version, give it: --server-version (serverVersion).`.trim(),
    ...(serverCode !== undefined && { serverCode }),
    ...(serverText !== undefined && { serverText }),
    ...(status !== undefined && { status }),
    ambiguous,
  });
}

function versionIn(text: string): string | undefined {
  return /^\s*GSQL version:\s*v?(\d{1,3}\.\d{1,3}(?:\.\d{1,5})?)\b/im.exec(text)?.[1];
}
