import type { Answer, Failure } from './target.js';
import { isLearned, type Values } from './values.js';

/** An answer that may be published: every value that belongs to a person or a server is replaced by a name in braces. */
export interface Recorded {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The content of a JWT in the answer: its algorithm, the names of its claims in order, and `exp - iat`. */
  readonly jwt?: { readonly alg: string; readonly claims: readonly string[]; readonly life: number };
  /** Set if the answer held secrets that this run did not create. They were removed. */
  readonly others?: true;
}

export type Outcome = Recorded | Failure;

const WORD = '[A-Za-z0-9_]';
const MASK = String.raw`[\w.-]{2,6}\*{2,}[\w.-]{0,6}`;

/** Replaces the values that the run knows, and then everything that looks like a credential, an address or a time. */
export function redact(
  answer: Answer | Failure,
  values: Values,
  hosts: readonly string[],
  version: string,
): Outcome {
  if ('failure' in answer) return answer;
  const own = withoutOthers(answer.body, values);
  const known = (text: string) => withoutKnown(text, values, hosts, version);
  const jwt = jwtIn(answer.body);
  const headers = Object.fromEntries(
    Object.entries(answer.headers).map(([name, value]) => [name, shapes(known(value))]),
  );
  return {
    status: answer.status,
    headers,
    body: shapes(times(known(cookies(own.body)), answer.time)),
    ...(jwt && { jwt }),
    ...(own.others && { others: true as const }),
  };
}

function withoutKnown(text: string, values: Values, hosts: readonly string[], version: string): string {
  let redacted = text;
  // Longer values are replaced first, because a credential may contain a shorter value, such as the user's name.
  const byLength = [...values].sort((a, b) => b[1].length - a[1].length);
  for (const [name, value] of byLength) {
    // On 4.x two tokens minted within one second are equal, so the name of a token does not tell them apart.
    const shown = isLearned(name) ? (name.startsWith('secret') ? '{secret}' : '{token}') : `{${name}}`;
    const isName = name === 'user' || name === 'graph';
    for (const form of new Set([value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)])) {
      if (form === '') continue;
      // A name may be a common word, so only whole words are replaced. It may also equal the end of a mask, so
      // masks are skipped here and replaced whole later.
      redacted = isName
        ? redacted.replace(new RegExp(`${MASK}|(?<!${WORD})${literal(form)}(?!${WORD})`, 'g'), (found) =>
            found === form ? shown : found,
          )
        : redacted.replaceAll(form, () => shown);
    }
  }
  for (const host of hosts) if (host !== '') redacted = redacted.replaceAll(host, () => '{host}');
  return redacted.replace(new RegExp(`(?<![\\w.])${literal(version)}(?![\\w])`, 'g'), '{version}');
}

/** Replaces epoch seconds by their distance to the server's clock, rounded to five seconds. */
function times(text: string, now: number): string {
  return text
    .replace(/"expiration":(\d{10,})/g, (_, epoch: string) => {
      const away = Number(epoch) - now;
      return `"expiration":"{now+${Math.round(away / 5) * 5}}"`;
    })
    .replace(/\b[A-Z][a-z]{2} [A-Z][a-z]{2} \d{1,2} [\d:]{8} [A-Z+\-:\d]{1,9} \d{4}\b/g, '{date}')
    .replace(/\b\d{4}-\d\d-\d\d[ T][\d:]{5,8}(?:\.\d+)?(?:Z| ?[+-]\d{4})?/g, '{date}');
}

/** Replaces texts that look like a private value. */
function shapes(text: string): string {
  return text
    .replace(/eyJ[\w-]+\.[\w-]+\.?[\w-]*/g, '{jwt}')
    .replace(new RegExp(MASK, 'g'), '{masked}')
    .replace(/^.*\brelease_.*$(?:\n.*\brelease_.*$)*/gm, '{components}')
    .replace(/\b(Alias|GraphName): (?!\{)\S+/g, '$1: {other}')
    .replace(/\b[0-9a-f]{40}\b/g, '{commit}')
    .replace(/AUTO_GENERATED_ALIAS_\w+/g, '{generated}')
    .replace(/^This is the graphcred sandbox, an imitation\.\n?/gm, '')
    .replace(/\b(?:https?|ftp):\/\/[^\s"'<>\\]+/gi, '{url}')
    .replace(/\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b/g, '{email}')
    .replace(/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g, '{host}')
    .replace(/\b(?:[\w-]+\.)+(?:com|net|org|io|dev|cloud|local|internal|lan|corp)\b/gi, '{host}')
    .replace(/(?=[A-Za-z_+/=-]*\d)(?=[\d_+/=-]*[A-Za-z])[A-Za-z0-9+/=_-]{24,}/g, '{random}');
}

/** Replaces the cookie of a GSQL session, which holds the login. Only its keys remain. */
function cookies(text: string): string {
  return text.replace(/^(__GSQL__COOKIES__,)(.*)$/gm, (_, start: string, cookie: string) => {
    const keys = [...cookie.matchAll(/"(\w+)":/g)].map((match) => match[1]);
    return `${start}{cookie: ${keys.join(' ')}}`;
  });
}

/** Removes secrets that the run did not create, with their aliases. */
function withoutOthers(body: string, values: Values): { body: string; others: boolean } {
  const aliases = ['alias1', 'alias2', 'alias3'].map((name) => values.get(name));
  let others = false;
  const isOwn = (alias: unknown) => {
    const own = aliases.includes(String(alias));
    others ||= !own;
    return own;
  };
  const text = body.replace(/^ *- Secret: .*\n(?:(?! *- Secret: ) *- .*\n)*/gm, (block) =>
    isOwn(/- Alias: (.*)$/m.exec(block)?.[1]) ? block : '',
  );
  const listed = secretsIn(body);
  if (listed === undefined) return { body: text, others };
  const { fields, results } = listed;
  const kept = Array.isArray(results)
    ? results.filter((one) => isOwn((one as { alias?: unknown } | null)?.alias))
    : isOwn((results as { alias: unknown }).alias)
      ? results
      : {};
  return others ? { body: JSON.stringify({ ...fields, results: kept }), others } : { body: text, others };
}

/** Reads a REST answer that lists secrets, as a list or as one object. */
function secretsIn(body: string): { fields: object; results: unknown } | undefined {
  const fields = parse(body);
  if (typeof fields !== 'object' || fields === null || !('results' in fields)) return undefined;
  const { results } = fields;
  const isList = Array.isArray(results) && results.some((one) => typeof one === 'object');
  const isSecret = typeof results === 'object' && results !== null && 'alias' in results;
  return isList || isSecret ? { fields, results } : undefined;
}

function jwtIn(body: string): Recorded['jwt'] {
  const [, head, payload] = /"token" *: *"(eyJ[\w-]+)\.([\w-]+)\.[\w-]*"/.exec(body) ?? [];
  const decode = (part: string | undefined) => parse(Buffer.from(part ?? '', 'base64url').toString());
  const header = decode(head) as { alg?: unknown } | undefined;
  const claims = decode(payload) as Record<string, unknown> | undefined;
  if (!header || !claims) return undefined;
  const shown = Object.entries(claims).map(([name, value]) =>
    name === 'graph' ? `graph ${value === '' ? 'empty' : 'named'}` : name.slice(0, 20),
  );
  return {
    alg: String(header.alg).slice(0, 20),
    claims: shown,
    life: Number(claims.exp) - Number(claims.iat),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
