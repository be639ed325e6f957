/** Makes a function that does its work once for each first argument, and then gives the same result. */
export function once<A extends readonly unknown[], V>(work: (...args: A) => V): (...args: A) => V {
  const results = new Map<unknown, V>();
  return (...args) => {
    const result = results.has(args[0]) ? (results.get(args[0]) as V) : work(...args);
    results.set(args[0], result);
    return result;
  };
}
