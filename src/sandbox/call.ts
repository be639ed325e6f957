import type { IncomingHttpHeaders } from 'node:http';

/** One request, read to its end. */
export interface Call {
  readonly server: 'rest' | 'gsql';
  readonly method: string;
  /** As sent, not percent-decoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Set for an answer that is streamed: what follows the body after a pause, '' for nothing. */
  readonly trailer?: string;
}

export function json(status: number, value: unknown): Reply {
  return { status, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(value) };
}

export function text(status: number, body: string): Reply {
  return { status, headers: { 'Content-Type': 'text/plain;charset=UTF-8' }, body };
}

export function html(status: number, body: string): Reply {
  return { status, headers: { 'Content-Type': 'text/html' }, body };
}

/** Undoes percent-encoding; text that is not properly encoded stays as it is. */
export function percentDecode(given: string): string {
  try {
    return decodeURIComponent(given);
  } catch {
    return given;
  }
}

/** Decodes what Java's URLEncoder encoded. Plain text stays as it is, as on the real server. */
export function decodeForm(body: string): string {
  return percentDecode(body.replaceAll('+', ' '));
}
