/** A length of time for people: the largest unit that says something. */
export function inWords(seconds: number): string {
  const units = [
    ['d', 86_400],
    ['h', 3600],
    ['m', 60],
  ] as const;
  for (const [name, size] of units) if (seconds >= 2 * size) return `${Math.floor(seconds / size)}${name}`;
  return `${Math.max(0, Math.floor(seconds))}s`;
}

/** `1 token`, `2 tokens` */
export function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}
