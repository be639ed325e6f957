import { parseDocument } from 'yaml';

/** Python's None arrives through str(dict). */
const NONE = { tag: 'none', default: true as const, test: /^None$/, resolve: () => null };

/**
 * Parses a body as the servers do, whatever the content type says: their JSON parser also takes what Python's str(dict)
 * makes, `{'graph': 'g', 'lifetime': None}`. Returns undefined for anything that is not an object; an empty body is an
 * empty object.
 */
export function parseBody(body: string): Record<string, unknown> | undefined {
  if (body.trim() === '') return {};
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // YAML's flow style holds both kinds of quotes, and trailing commas.
    const document = parseDocument(body, { customTags: [NONE], logLevel: 'silent' });
    value =
      /^\s*\{/.test(body) && document.errors.length === 0 ? document.toJS({ maxAliasCount: 0 }) : undefined;
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

/** Returns a string field; undefined when it is absent, null or empty. Numbers and booleans count as their text. */
export function stringField(body: Record<string, unknown>, name: string): string | undefined {
  const value = body[name];
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Three thousand years, in seconds: a later date cannot be formatted. */
export const LONGEST_LIFETIME = 1e11;

/**
 * Reads `lifetime` as an integer or a numeric string, in whatever unit the server counts. Returns undefined if it is
 * absent, and null for anything that is not a whole number above 0.
 */
export function lifetimeField(value: unknown): number | null | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const given = typeof value === 'number' ? String(value) : value;
  if (typeof given !== 'string' || !/^\d{1,13}$/.test(given.trim())) return null;
  return Number(given) || null;
}

/** Reads several credentials from one field: a string, a comma-separated string, or a list of them. */
export function listField(value: unknown): string[] {
  const items = Array.isArray(value) ? value : [value];
  return items
    .filter((item) => typeof item === 'string')
    .flatMap((item) => item.split(','))
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
