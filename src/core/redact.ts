import type { Sensitive } from './sensitive.js';

const MAX_READ = 65_536;
const MAX_SHOWN = 300;
/** Hiding shorter values would remove ordinary words. */
const SHORTEST_HIDDEN = 4;
const ESC = String.fromCharCode(0x1b);
const BEL = String.fromCharCode(0x07);
const TERMINAL = new RegExp(
  `${ESC}\\[[0-?]*[ -/]*[@-~]|${ESC}\\][^${BEL}${ESC}]*(?:${BEL}|${ESC}\\\\)?`,
  'gu',
);
const GAPS = /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\s]+/gu;
/** A long run of these characters, or an escape, behind which anything may stand. */
const CREDENTIAL = /[\w+=~-]{16}|%[0-9a-f]{2}|&#?\w+;|\\[ux]/i;

export const withoutEscapes = (text: string) => text.replace(TERMINAL, '');
const onOneLine = (text: string) => text.replace(GAPS, ' ');

/**
 * Makes a text that somebody else wrote fit to be shown: one line, 300 characters at most, without terminal escapes,
 * control and direction characters, without the credentials that the writer knows, and without any word that may be one.
 * @param names words to keep, which the user chose: of graphs, for example
 */
export function redactServerText(
  text: string,
  hide: readonly (Sensitive | undefined)[] = [],
  names: readonly string[] = [],
): string {
  const line = onOneLine(withoutEscapes(upTo(text, MAX_READ)));
  // Credentials are hidden before the text is cut, which might leave half of one.
  const words = withoutCredentials(line, hide).trim();
  const shown = words.replace(/\S+/g, (word) => (mayBeCredential(word, names) ? '[redacted]' : word));
  // What is left of a text that is mostly hidden tells nothing.
  if (shown.split('[redacted]').length > 1 + shown.split(' ').length / 2) return '[redacted]';
  return shown.length > MAX_SHOWN ? `${upTo(shown, MAX_SHOWN - 1).trimEnd()}…` : shown;
}

function mayBeCredential(word: string, names: readonly string[]): boolean {
  if (names.includes(word.replace(/^\W+|\W+$/g, ''))) return false;
  const runs = word.match(/[a-z0-9]{8,}/gi) ?? [];
  return CREDENTIAL.test(word) || runs.some((run) => /\d/.test(run) && /[a-z]/i.test(run));
}

/** Removes credentials from a text: as they are, in URLs, JSON and base64, also in upper or lower case alone. */
export function withoutCredentials(text: string, hide: readonly (Sensitive | undefined)[]): string {
  const values = new Set(hide.flatMap((one) => one?.reveal() ?? []));
  const forms = [...values].flatMap(formsOf).filter(({ length }) => length >= SHORTEST_HIDDEN);
  // The longest comes first, because one may be a part of another.
  forms.sort((a, b) => b.length - a.length);
  return forms.reduce((rest, form) => rest.replaceAll(form, '[redacted]'), text);
}

function formsOf(value: string): string[] {
  const url = encodeURIComponent(value.replace(/\p{Cs}/gu, '\ufffd'));
  const base64 = Buffer.from(value).toString('base64').replace(/=+$/, '');
  const forms = [
    value,
    url,
    url.replace(/%../g, (code) => code.toLowerCase()),
    JSON.stringify(value).slice(1, -1),
    base64,
    base64.replace(/\+/g, '-').replace(/\//g, '_'),
  ];
  const all = [...forms, ...forms.map(onOneLine)];
  return all.flatMap((form) => [form, form.toLowerCase(), form.toUpperCase()]);
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

/** Removes user name, password and what follows the path from an address, also from one that is refused and shown. */
export function maskLogin(address: string): string {
  return address
    .replace(/^(?![a-z][\w.+-]*:\/\/)[^@\s]*:.*@|(\/\/).*@/is, '$1****@')
    .replace(/([?#]).+/s, '$1****');
}
