/** Returns a path or name as one word of a command that is printed: quoted where a shell would read more into it. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
