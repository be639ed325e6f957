import type { Sensitive } from './sensitive.js';

const MAX_SHOWN = 500;
/** Shorter values would blot out half of an innocent sentence. */
const SHORTEST_HIDDEN = 4;
const ESC = String.fromCharCode(0x1b);
const BEL = String.fromCharCode(0x07);
// Colours and cursor movements, then titles and links.
const TERMINAL = new RegExp(
  `${ESC}\\[[0-?]*[ -/]*[@-~]|${ESC}\\][^${BEL}${ESC}]*(?:${BEL}|${ESC}\\\\)?`,
  'gu',
);
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\s]+/gu;
const JWT = /\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/gu;
const RAW_CREDENTIAL = /\b(?=[a-z]*\d)[a-z0-9]{32}\b/gu;

/**
 * Words of a server in a form that may be shown: one line, 500 characters at most, without terminal escapes,
 * control and direction characters, and without credentials (those named, and all that look like one).
 */
export function showable(text: string, hide: readonly (Sensitive | undefined)[] = []): string {
  // Before the cut, which might halve one, and again when nothing stands between its letters any more.
  let shown = withoutCredentials(text, hide).slice(0, 20 * MAX_SHOWN);
  shown = shown.replace(TERMINAL, '').replace(INVISIBLE, ' ').trim();
  shown = withoutCredentials(shown, hide);
  shown = shown.replace(JWT, '[redacted]').replace(RAW_CREDENTIAL, '[redacted]');
  return shown.length > MAX_SHOWN ? `${[...shown].slice(0, MAX_SHOWN - 1).join('')}…` : shown;
}

/** The text without these credentials, however the server wrote them. */
export function withoutCredentials(text: string, hide: readonly (Sensitive | undefined)[]): string {
  let rest = text;
  for (const credential of hide) {
    const value = credential?.reveal() ?? '';
    if (value.length < SHORTEST_HIDDEN) continue;
    for (const written of [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)]) {
      rest = rest.replaceAll(written, '[redacted]');
    }
  }
  return rest;
}

/** First three characters, `****`, last three; nothing but `****` of a value under 12 characters. */
export function maskSecret(value: string): string {
  return value.length < 12 ? '****' : `${value.slice(0, 3)}****${value.slice(-3)}`;
}
