import type { IncomingMessage } from 'node:http';

const HOP_BY_HOP = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'http2-settings'],
]);
/** `host` and `authorization` are those of the server. */
const OF_REQUEST = new Set([...HOP_BY_HOP, 'host', 'authorization']);

export function headersToServer(request: IncomingMessage): string[] {
  const { method = '', headers } = request;
  const passed = passedOn(request, OF_REQUEST);
  // Without these headers Node would drop the body, or announce a body in chunks for a POST that has none.
  if (headers['transfer-encoding'] !== undefined) passed.push('Transfer-Encoding', 'chunked');
  else if (headers['content-length'] === undefined && /^P/.test(method)) passed.push('Content-Length', '0');
  return passed;
}

export function headersToClient(reply: IncomingMessage): string[] {
  return passedOn(reply, HOP_BY_HOP);
}

/** Returns the headers to pass on, as they were sent: without those of this hop, which `connection` may name more of. */
function passedOn({ rawHeaders: raw, headers }: IncomingMessage, dropped: Set<string>): string[] {
  const named = headers.connection?.toLowerCase().split(/\s*,\s*/) ?? [];
  const passed: string[] = [];
  for (let at = 0; at < raw.length; at += 2) {
    const [name, value] = [raw[at] as string, raw[at + 1] as string];
    const key = name.toLowerCase();
    // Without its length the server would read a body as the next request.
    const isNamed = named.includes(key) && key !== 'content-length';
    if (!dropped.has(key) && !isNamed) passed.push(name, value);
  }
  return passed;
}
