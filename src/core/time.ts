/** Formats a time in seconds since 1970 as `2023-11-21T22:13:20Z`. */
export function isoSeconds(unix: number): string {
  // Years beyond 9999 would need another form; a later date is written as the last possible one.
  return `${new Date(Math.min(unix, 253_402_300_799) * 1000).toISOString().slice(0, 19)}Z`;
}
