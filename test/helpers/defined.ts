/** The value, which the test takes to be there; a test that is mistaken fails here, and not somewhere later. */
export function defined<T>(value: T): NonNullable<T> {
  if (value === undefined || value === null) throw new Error(`Expected a value, got ${value}.`);
  return value;
}
