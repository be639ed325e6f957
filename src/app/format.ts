import type { Fix } from '../core/errors.js';
import { isoSeconds, LAST_SECOND } from '../core/time.js';
import { STORES, type StoreName } from '../store/store.js';

/** Returns a time in the two forms that programs read: `2023-11-21T22:13:20Z` and seconds since 1970. */
export function times<N extends string>(name: N, unix: number): Record<string, string | number> {
  return { [`${name}At`]: isoSeconds(unix), [`${name}AtUnix`]: Math.floor(unix) };
}

const UNITS = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Formats a duration for people, in the largest unit of which there are at least two, rounded. */
export function formatDuration(seconds: number): string {
  const isLarge = ([, size]: [string, number]) => Math.round(seconds / size) >= 2;
  const [unit, size] = Object.entries(UNITS).findLast(isLarge) ?? ['s', 1];
  return `${Math.max(0, Math.round(seconds / size))}${unit}`;
}

export function localTime(unix: number): string {
  const at = Math.min(unix, LAST_SECOND);
  const behind = new Date(at * 1000).getTimezoneOffset() * 60;
  return isoSeconds(at - behind)
    .slice(0, 16)
    .replace('T', ' ');
}

export function pluralize(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}

export function stored(tokens: number, credentials: number, token = 'token'): string {
  const named = [
    tokens > 0 && pluralize(tokens, token),
    credentials > 0 && pluralize(credentials, 'saved credential'),
  ];
  return named.filter(Boolean).join(' and ');
}

export function shortPath(file: string, home: string | undefined): string {
  return home !== undefined && file.startsWith(`${home}/`) ? `~${file.slice(home.length)}` : file;
}

/** Returns the command that makes a secret to use instead of a password, as this store can keep one or not. */
export function secretInstead(store: StoreName): readonly Fix[] {
  return STORES[store].keeps.credentials
    ? [{ command: 'secret create NAME --save' }]
    : [{ command: 'secret create NAME' }, ', and set GRAPHCRED_SECRET to its value'];
}
