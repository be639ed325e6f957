/** One line, without anything a terminal would obey: server text and file names are not ours. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
}

/** What a terminal would obey, and what turns a line around, as JSON spells it: in JSON that means the same. */
export function speltOut(text: string): string {
  const spell = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(/[^\P{Cc}\n\t]|[\p{Cf}\u2028\u2029]/gu, (character) =>
    character.split('').map(spell).join(''),
  );
}
