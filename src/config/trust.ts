import type fs from 'node:fs';
import { isApproved } from './approval.js';
import type { ConfigLocation } from './find.js';
import type { ConfigKey } from './schema.js';

/** Taken from any file: none of them moves a credential or runs anything. */
const FREE_KEYS: ReadonlySet<string> = new Set<ConfigKey>(['graph', 'lifetime', 'minTtl', 'output']);
/** Never taken from a file that is not trusted: they run a program, read a file, or weaken the transport. */
const NEVER_KEYS: ReadonlySet<string> = new Set<ConfigKey>([
  'passwordCommand',
  'passwordFile',
  'secretCommand',
  'secretFile',
  'store',
  'tls.ca',
  'tls.cert',
  'tls.key',
  'tls.insecure',
]);

/** How far a key from an untrusted file is believed. */
export function trustOfKey(key: ConfigKey): 'free' | 'with-own-literal' | 'never' {
  if (FREE_KEYS.has(key)) return 'free';
  return NEVER_KEYS.has(key) ? 'never' : 'with-own-literal';
}

export interface TrustFacts {
  location: ConfigLocation;
  /** The very text that was parsed. */
  text: string;
  stat: fs.Stats;
  uid: number | undefined;
  configDir: string;
}

/** Whether every key of this file counts. */
export function isTrusted(facts: TrustFacts): boolean {
  const { place } = facts.location;
  if (place === 'named' || place === 'user') return true;
  if (place === 'home' && ownedAndClosed(facts.stat, facts.uid)) return true;
  return isApproved(facts.location.path, facts.text, facts.configDir);
}

function ownedAndClosed(stat: fs.Stats, uid: number | undefined): boolean {
  // Windows has neither owner nor mode bits to look at; a home directory is the user's there.
  if (uid === undefined) return true;
  return stat.uid === uid && (stat.mode & 0o022) === 0;
}
