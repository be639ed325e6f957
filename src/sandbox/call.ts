import type { IncomingHttpHeaders } from 'node:http';
import { parseDocument } from 'yaml';

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

const TYPES = { json: 'application/json', text: 'text/plain;charset=UTF-8', html: 'text/html' } as const;

export function reply(status: number, type: keyof typeof TYPES, body: string): Reply {
  return { status, headers: { 'Content-Type': TYPES[type] }, body };
}

export function json(status: number, value: unknown): Reply {
  return reply(status, 'json', JSON.stringify(value));
}

export function failure(status: number, message: string): Reply {
  return json(status, { error: true, message });
}

/** Reads the `Authorization` header; the scheme is in lower case, and '' without a header. */
export function readAuthorization(call: Call) {
  const [, scheme = '', value = ''] = /^(\S+)\s*(.*)$/s.exec(call.headers.authorization?.trim() ?? '') ?? [];
  return { scheme: scheme.toLowerCase(), value };
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

/** Python's None arrives through str(dict). */
const NONE = { tag: 'none', default: true as const, test: /^None$/, resolve: () => null };

/**
 * Parses a body as the servers do, whatever the content type says: their JSON parser also takes what Python's str(dict)
 * makes, `{'graph': 'g', 'lifetime': None}`. Returns undefined for anything that is not an object; an empty body is an
 * empty object.
 */
export function parseBody(body: string): Record<string, unknown> | undefined {
  if (body.trim() === '') return {};
  if (!/^\s*\{/.test(body)) return undefined;
  try {
    return JSON.parse(body);
  } catch {
    // YAML's flow style holds both kinds of quotes, and trailing commas.
    const document = parseDocument(body, { customTags: [NONE], logLevel: 'silent' });
    return document.errors.length === 0 ? document.toJS({ maxAliasCount: 0 }) : undefined;
  }
}

/** Reads a text, a number or a boolean as a text; undefined when it is empty or something else. */
export function stringField(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Three thousand years, in seconds: a later date cannot be formatted. */
const LONGEST_LIFETIME = 1e11;

/** Reads `lifetime` as seconds; undefined if it is absent, and null if it is no whole number above 0 or too long. */
export function lifetimeField(value: unknown, perSecond = 1): number | null | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const given = typeof value === 'number' ? String(value) : value;
  if (typeof given !== 'string' || !/^\d{1,13}$/.test(given.trim())) return null;
  const seconds = Math.floor(Number(given) / perSecond);
  return Number(given) > 0 && seconds <= LONGEST_LIFETIME ? seconds : null;
}

/** Reads several credentials from one field: a string, a comma-separated string, or a list of them. */
export function listField(value: unknown): string[] {
  return [value]
    .flat()
    .flatMap((item) => (typeof item === 'string' ? item.split(',') : []))
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** Finds the first handler whose pattern fits `METHOD path`. The parts are what its groups match, decoded. */
export function findRoute<T>(table: Readonly<Record<string, T>>, method: string, path: string) {
  for (const [pattern, handler] of Object.entries(table)) {
    const match = new RegExp(`^${pattern}$`).exec(`${method} ${path}`);
    if (match) return { handler, parts: match.slice(1).map(percentDecode) };
  }
  return undefined;
}
