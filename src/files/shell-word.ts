/** Returns a path or name as one word of a command that is printed: quoted where a shell would read more into it. */
export function shellWord(text: string, platform = process.platform): string {
  if (platform !== 'win32')
    return /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
  if (/^[\w:./\\~+-]+$/.test(text)) return text;
  // Double quotes suit cmd and PowerShell alike, but PowerShell expands `$` and a backtick between them.
  if (/[$`"]/.test(text)) return `'${text.replaceAll("'", "''")}'`;
  return `"${text.replace(/\\+$/, '$&$&')}"`;
}
