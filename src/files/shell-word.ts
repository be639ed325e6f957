/** Returns a path or name as one word of a command that is printed: quoted where a shell would read more into it. */
export function shellWord(text: string, platform = process.platform): string {
  if (platform === 'win32') return wordOnWindows(text);
  return /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Quotes for cmd and PowerShell alike, but where only one of them can hold the text: `$` and a backtick. */
function wordOnWindows(text: string): string {
  if (/^[\w:./\\~+-]+$/.test(text)) return text;
  if (/[$`"]/.test(text)) return `'${text.replaceAll("'", "''")}'`;
  return `"${text.replace(/\\+$/, '$&$&')}"`;
}
