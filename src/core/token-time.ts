/** Unix seconds as `2023-11-21T22:13:20Z`. */
export function isoSeconds(unix: number): string {
  return new Date(unix * 1000).toISOString().replace(/\.\d+Z$/, 'Z');
}
