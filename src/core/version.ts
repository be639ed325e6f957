import type { HttpReply, HttpRequest } from './http.js';
import type { ServerVersion } from './protocol.js';

/** Stub. */
export function parseVersionOption(_text: string): ServerVersion | undefined {
  return undefined;
}

export async function detectVersion(
  _serviceUrl: string,
  _send: (request: HttpRequest) => Promise<HttpReply>,
): Promise<ServerVersion> {
  throw new Error('not written yet');
}
