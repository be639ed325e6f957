import { decodings, GAPS, withoutGaps } from './decode.js';
import type { Sensitive } from './sensitive.js';

const MAX_SHOWN = 500;
/** Hiding shorter values would remove ordinary words. */
const SHORTEST_HIDDEN = 4;
const ESC = String.fromCharCode(0x1b);
const BEL = String.fromCharCode(0x07);
// The alternatives match colours and cursor movements, then titles and links.
const TERMINAL = new RegExp(
  `${ESC}\\[[0-?]*[ -/]*[@-~]|${ESC}\\][^${BEL}${ESC}]*(?:${BEL}|${ESC}\\\\)?`,
  'gu',
);
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\s]+/gu;
const JWT = /\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/gu;
const RAW_CREDENTIAL = /\b(?=[a-z]*\d)[a-z0-9]{32}\b/gu;

/**
 * Makes a server's text fit to be shown: one line, 500 characters at most, without terminal escapes, control and
 * direction characters, and without credentials (those named, and everything that looks like one).
 */
export function redactServerText(text: string, hide: readonly (Sensitive | undefined)[] = []): string {
  // Credentials are removed before the text is cut, which might leave half of one, and again after the control
  // characters between their letters are gone.
  let shown = withoutCredentials(text, hide).slice(0, 20 * MAX_SHOWN);
  shown = shown.replace(TERMINAL, '').replace(INVISIBLE, ' ').trim();
  shown = withoutCredentials(shown, hide);
  shown = shown.replace(JWT, '[redacted]').replace(RAW_CREDENTIAL, '[redacted]');
  return shown.length > MAX_SHOWN ? `${[...shown].slice(0, MAX_SHOWN - 1).join('')}…` : shown;
}

/**
 * Removes these credentials from a text, however the server wrote them: plain, in upper or lower case, in any mix of
 * percent, HTML and backslash escapes, in hex, or inside base64 of either alphabet, and with blanks, line breaks or
 * invisible characters in between.
 */
export function withoutCredentials(text: string, hide: readonly (Sensitive | undefined)[]): string {
  const values = new Set(hide.flatMap((one) => one?.reveal() ?? []));
  const hidden = [...values].filter((value) => value.length >= SHORTEST_HIDDEN).map(encodings);
  if (hidden.length === 0 || text === '') return text;
  const split = [...values].flatMap(encodingsWithoutGaps);
  const spans: [from: number, to: number][] = [];
  const whole = decodings(text).map((decoded) => ({ decoded, needles: hidden.flat() }));
  const joined = whole.flatMap(({ decoded }) => {
    const rest = withoutGaps(decoded);
    return rest === undefined ? [] : [{ decoded: rest, needles: split }];
  });
  for (const { decoded, needles } of [...whole, ...joined]) {
    const { bytes, starts, ends } = decoded;
    // Case is ignored, because servers change the case of names, and may take a credential for a name.
    const lower = bytes.toLowerCase();
    const base64 = bytes.replace(/-/g, '+').replace(/_/g, '/');
    for (const { view, text: needle, run } of needles) {
      const haystack = view === 'base64' ? base64 : lower;
      for (let at = haystack.indexOf(needle); at !== -1; at = haystack.indexOf(needle, at + needle.length)) {
        let [from, to] = [at, at + needle.length];
        if (run) {
          while (from > 0 && BASE64.test(haystack[from - 1] as string)) from--;
          while (to < haystack.length && BASE64.test(haystack[to] as string)) to++;
        }
        spans.push([starts[from] as number, ends[to - 1] as number]);
        at = to - needle.length;
      }
    }
  }
  return cut(text, spans);
}

const BASE64 = /[A-Za-z0-9+/=]/;
/** A shorter value is not looked for in a text without its blanks, because it also occurs there by chance. */
const SHORTEST_SPLIT = 8;

/**
 * Returns the forms of a value to look for in a text without blanks and line breaks: base64 and hex are often wrapped
 * into lines.
 */
function encodingsWithoutGaps(value: string): EncodedValue[] {
  const all = encodings(value).map(({ view, text }) => ({
    view,
    text: view === 'plain' ? text.replace(GAPS, '') : text,
  }));
  return all.filter(({ text }) => text.length >= SHORTEST_SPLIT);
}
/** A base64 form with fewer characters is not looked for, because it also occurs by chance. */
const SHORTEST_BASE64 = 7;

interface EncodedValue {
  readonly view: 'plain' | 'hex' | 'base64';
  readonly text: string;
  /** Whether the base64 text around the match is removed as well. */
  readonly run?: true;
}

function encodings(value: string): EncodedValue[] {
  const bytes = Buffer.from(value);
  const plain = bytes.toString('latin1').toLowerCase();
  const found: EncodedValue[] = [
    { view: 'plain', text: plain },
    { view: 'hex', text: bytes.toString('hex') },
  ];
  // HTML forms encode a blank as +.
  if (plain.includes(' ')) found.push({ view: 'plain', text: plain.replaceAll(' ', '+') });
  // Inside a longer base64 text, the form of a value depends on the position of its bytes, and its first and last
  // characters also encode the bytes beside it.
  for (const before of [0, 1, 2]) {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const core = whole.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    if (core.length >= SHORTEST_BASE64) found.push({ view: 'base64', text: core, run: true });
  }
  const alone = bytes.toString('base64');
  if (alone.endsWith('=')) found.push({ view: 'base64', text: alone });
  return found;
}

function cut(text: string, spans: [from: number, to: number][]): string {
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

/**
 * Masks a secret as its first three characters, `****` and its last three; a value under 12 characters as `****` alone.
 */
export function maskSecret(value: string): string {
  return value.length < 12 ? '****' : `${value.slice(0, 3)}****${value.slice(-3)}`;
}

/**
 * Removes user name and password from an address before it is shown. Only a Redis URL may have them, but addresses that
 * are refused are shown too.
 */
export function maskLogin(address: string): string {
  return address.replace(/\/\/.*@/s, '//****@');
}
