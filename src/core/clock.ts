/** A clock that nobody sets, in ms. Not performance.now(): Node loads a module of its own for that, which costs a millisecond. */
export function uptimeMs(): number {
  return process.uptime() * 1000;
}
