/** Returns a value that the test expects to be there. If it is not, the test fails here and not somewhere later. */
export function defined<T>(value: T): NonNullable<T> {
  if (value === undefined || value === null) throw new Error(`Expected a value, got ${value}.`);
  return value;
}
