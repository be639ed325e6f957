import type { Output } from '../context.js';

/** What the runner of a CI job obeys: `::` at the start of a line, `##[` and `##vso[` anywhere. */
const RUNNER_COMMAND = /^[^\S\n]*(?=::)|#(?=#(?:vso)?\[)/gim;
const PRINTABLE_ASCII = /^[ -~\n\t]*$/;

/**
 * Returns what writes a text to a stream or a prompt: without control and direction characters, and without a command
 * to the runner of a CI job. All text passes it, since a server's words and a file's name may hold them; bytes do not.
 */
export function plainly(write: Output['write']): Output['write'] {
  return (content) => write(typeof content === 'string' ? plainText(content) : content);
}

export function plainText(text: string): string {
  return replaceControls(text, () => ' ').replace(RUNNER_COMMAND, '$&\\');
}

/** Turns a text into one plain line, for a place where another one would be taken for our own words. */
export function singleLine(text: string): string {
  return plainText(text.replace(/[\r\n\t]+/g, ' ')).trim();
}

/** Replaces control characters other than line ends and tabs, format characters, and line ends that only Unicode knows. */
function replaceControls(text: string, replace: (character: string) => string): string {
  // Most texts are plain ASCII. For them the Unicode tables, which V8 loads slowly, are not needed.
  if (PRINTABLE_ASCII.test(text)) return text;
  return text.replace(/[^\P{Cc}\n\t]|[\p{Cf}\u2028\u2029]/gu, replace);
}

/** Replaces what `plainText` does by its JSON escapes, which mean the same in JSON. */
export function escapeControls(text: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const safe = text.replace(/#(?=#(?:vso)?\[)/gi, escaped);
  return replaceControls(safe, (character) => character.split('').map(escaped).join(''));
}
