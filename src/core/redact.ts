import type { Sensitive } from './sensitive.js';

const MAX_READ = 65_536;
const MAX_SHOWN = 300;
/** Hiding shorter values would remove ordinary words. */
const SHORTEST_HIDDEN = 4;
/** A shorter value is not looked for in a text without its blanks, because it also occurs there by chance. */
const SHORTEST_SPLIT = 8;
const ESC = String.fromCharCode(0x1b);
const BEL = String.fromCharCode(0x07);
// The alternatives match colours and cursor movements, then titles and links.
const TERMINAL = new RegExp(
  `${ESC}\\[[0-?]*[ -/]*[@-~]|${ESC}\\][^${BEL}${ESC}]*(?:${BEL}|${ESC}\\\\)?`,
  'gu',
);
const GAPS = /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\s]+/gu;
/** A long run of these characters, or an escape, behind which anything may stand. */
const CREDENTIAL = /[\w+=~-]{16}|%[0-9a-f]{2}|&#?\w+;|\\[ux]/i;

/** Removes colours, cursor movements, titles and links. */
export const withoutEscapes = (text: string) => text.replace(TERMINAL, '');

/**
 * Makes a text that somebody else wrote fit to be shown: one line, 300 characters at most, without terminal escapes,
 * control and direction characters, without these credentials, and without any word that may be one.
 * @param hide credentials that the writer knows
 * @param names words to keep, which the user chose: of graphs, for example
 */
export function redactServerText(
  text: string,
  hide: readonly (Sensitive | undefined)[] = [],
  names: readonly string[] = [],
): string {
  // Credentials are hidden before the text is cut, which might leave half of one.
  const known = withoutCredentials(withoutEscapes(upTo(text, MAX_READ)), hide);
  const words = known.replace(GAPS, ' ').trim();
  const shown = words.replace(/\S+/g, (word) => (mayBeCredential(word, names) ? '[redacted]' : word));
  return shown.length > MAX_SHOWN ? `${upTo(shown, MAX_SHOWN - 1).trimEnd()}…` : shown;
}

function mayBeCredential(word: string, names: readonly string[]): boolean {
  if (names.includes(word.replace(/^\W+|\W+$/g, ''))) return false;
  const runs = word.match(/[a-z0-9]{8,}/gi) ?? [];
  return CREDENTIAL.test(word) || runs.some((run) => /\d/.test(run) && /[a-z]/i.test(run));
}

/**
 * Removes these credentials from a text: as they are, in base64 and hex, and escaped as in URLs, forms, JSON and HTML,
 * in upper or lower case, with blanks, line breaks or invisible characters in between.
 */
export function withoutCredentials(text: string, hide: readonly (Sensitive | undefined)[]): string {
  const values = new Set(hide.flatMap((one) => one?.reveal() ?? []));
  const parts = [...values].flatMap((value) => [value, ...partsOfJwt(value)]);
  const forms = parts.filter((value) => value.length >= SHORTEST_HIDDEN).flatMap(formsOf);
  if (forms.length === 0) return text;
  const split = forms.map((form) => form.replace(GAPS, '')).filter(({ length }) => length >= SHORTEST_SPLIT);
  const kept = withoutGaps(text);
  const spans = [
    ...find(text, forms),
    ...find(kept.text, split).map(
      ([from, to]): Span => [kept.positions[from] as number, (kept.positions[to - 1] as number) + 1],
    ),
  ];
  return cut(text, spans);
}

/** Returns the three parts of a JWT and what its payload says; nothing for any other value. */
function partsOfJwt(value: string): string[] {
  const [whole, ...parts] = /^([\w-]+)\.([\w-]+)\.([\w-]*)$/.exec(value) ?? [];
  return whole === undefined ? [] : [...parts, Buffer.from(parts[1] as string, 'base64url').toString()];
}

type Span = readonly [from: number, to: number];

function find(text: string, forms: readonly string[]): Span[] {
  const haystack = lowerCase(text);
  return forms.map(lowerCase).flatMap((form) => {
    const spans: Span[] = [];
    for (let at = haystack.indexOf(form); at !== -1; at = haystack.indexOf(form, at + form.length))
      spans.push([at, at + form.length]);
    return spans;
  });
}

/** Changes ASCII letters alone, so that every character keeps its place. */
function lowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function withoutGaps(text: string): { text: string; positions: number[] } {
  const positions: number[] = [];
  const rest = text.replace(GAPS, (gap) => '\0'.repeat(gap.length));
  for (let at = 0; at < rest.length; at++) if (rest[at] !== '\0') positions.push(at);
  return { text: rest.replaceAll('\0', ''), positions };
}

/** A base64 form with fewer characters is not looked for, because it also occurs by chance. */
const SHORTEST_BASE64 = 7;

function formsOf(value: string): string[] {
  const bytes = Buffer.from(value);
  const json = JSON.stringify(value).slice(1, -1);
  const html = value.replace(/[&<>"]/g, (character) => HTML[character] as string);
  const url = encodeURIComponent(value.replace(/\p{Cs}/gu, '\ufffd'));
  const form = url.replaceAll('%20', '+');
  // Inside a longer base64 text, the position of the bytes counts, and the first and last characters also encode others.
  const base64 = [0, 1, 2].flatMap((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const core = whole.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    if (core.length < SHORTEST_BASE64) return [];
    return [core, core.replaceAll('+', '-').replaceAll('/', '_'), encodeURIComponent(core)];
  });
  const texts = [
    value,
    json,
    JSON.stringify(json).slice(1, -1),
    html,
    html.replaceAll("'", '&#39;'),
    url,
    form,
  ];
  return [...new Set([...texts, bytes.toString('hex'), bytes.toString('base64'), ...base64])];
}

const HTML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function cut(text: string, spans: Span[]): string {
  spans.sort(([a], [b]) => a - b);
  let rest = '';
  let done = 0;
  for (const [from, to] of spans) {
    if (from >= done) rest += `${text.slice(done, from)}[redacted]`;
    done = Math.max(done, to);
  }
  return rest + text.slice(done);
}

/** Cuts a text without leaving a part of a word, which may be the beginning of a credential. */
export function upTo(text: string, length: number): string {
  if (text.length <= length) return text;
  let end = length;
  while (end > 0 && /\S/.test(text[end - 1] as string)) end--;
  return text.slice(0, end);
}

/** Masks a secret as its first and last three characters, with `****` between; a short one as `****` alone. */
export function maskSecret(value: string): string {
  return value.length < 12 ? '****' : `${value.slice(0, 3)}****${value.slice(-3)}`;
}

/**
 * Removes user name and password from an address. Only a Redis URL may have them, but refused addresses are shown too,
 * also one without a scheme.
 */
export function maskLogin(address: string): string {
  return address.replace(/^(?![a-z][\w.+-]*:\/\/)[^@\s]*:.*@|(\/\/).*@/is, '$1****@');
}
