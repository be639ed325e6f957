/** 3.0–3.4: query strings, 3.5–3.11: JSON at /requesttoken, 4.x: /gsql/v1. No page describes 4.0: taken for a 4.1. */
export type Generation = '3.0' | '3.5' | '4';

export interface ServerVersion {
  readonly text: string;
  readonly generation: Generation;
  atLeast(major: number, minor: number, patch?: number): boolean;
}

/** Reads `X.Y` or `X.Y.Z`. Throws when the sandbox imitates no such server. */
export function parseServerVersion(text: string): ServerVersion {
  if (!/^[34]\.\d{1,3}(\.\d{1,3})?$/.test(text))
    throw new Error(
      `The sandbox imitates servers 3.x and 4.x; give a version such as 3.10.1, not ${JSON.stringify(text)}.`,
    );
  const [major = 0, minor = 0, patch = 0] = text.split('.').map(Number);
  const rank = (...parts: number[]) => parts.reduce((sum, part) => sum * 1000 + part);
  return {
    text: `${major}.${minor}.${patch}`,
    generation: major === 4 ? '4' : minor >= 5 ? '3.5' : '3.0',
    atLeast: (...[first, second, third = 0]) => rank(major, minor, patch) >= rank(first, second, third),
  };
}
