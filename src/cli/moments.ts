/** A moment, both ways programs like it: `2023-11-21T22:13:20Z` and seconds since 1970. */
export function times<N extends string>(name: N, unix: number): Record<string, string | number> {
  return { [`${name}At`]: isoSeconds(unix), [`${name}AtUnix`]: unix };
}

export function isoSeconds(unix: number): string {
  // Years beyond 9999 would need another form; a date that far is written as the last one there is.
  return `${new Date(Math.min(unix, 253_402_300_799) * 1000).toISOString().slice(0, 19)}Z`;
}
