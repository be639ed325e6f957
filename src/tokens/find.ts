import type { Sensitive } from '../core/sensitive.js';
import type { Store, StoreRecord } from '../store/store.js';
import { hasEnoughLife } from './expiry.js';

/** Seconds by which clocks are put right every day without anybody noticing. */
const CLOCK_SLACK = 10;

/** A token with all that is known of it. */
export interface HeldToken {
  readonly token: Sensitive;
  /** In this machine's time. */
  readonly expiresAtUnix: number;
  readonly lifetimeSeconds: number;
  readonly serverVersion: string;
  readonly restUrl: string;
  readonly source: 'store' | 'server';
}

/** Which held token will do. */
export interface Wanted {
  /** Seconds of life a held token must have left. */
  readonly minTtl: number;
  /** Only a token minted at or after this moment will do, ms since 1970. */
  readonly freshSince: number | undefined;
}

interface FindDeps {
  readonly store: Store;
  now(): number;
}

/** The record of a token that will do. */
export function findHeld(key: string, wanted: Wanted, deps: FindDeps): StoreRecord | undefined {
  const record = deps.store.find(key);
  if (record?.kind !== 'token' || record.expiresAtUnix === undefined) return undefined;
  const now = deps.now();
  if (!hasEnoughLife(record.expiresAtUnix, wanted.minTtl, now)) return undefined;
  // From the future: the clock was set back since, and the end of its life is as far off as the clock was.
  if (record.createdAtUnix > now / 1000 + CLOCK_SLACK) return undefined;
  const { freshSince } = wanted;
  const mintedAt = Number(record.info.mintedAtMs);
  return freshSince === undefined || (mintedAt >= freshSince && mintedAt <= now) ? record : undefined;
}

export async function readHeld(key: string, wanted: Wanted, deps: FindDeps): Promise<HeldToken | undefined> {
  const record = findHeld(key, wanted, deps);
  const token = record && (await deps.store.read(record));
  return token && fromRecord(record, token);
}

function fromRecord(record: StoreRecord, token: Sensitive): HeldToken {
  return {
    token,
    expiresAtUnix: record.expiresAtUnix ?? 0,
    lifetimeSeconds: Number(record.info.lifetime),
    serverVersion: String(record.info.serverVersion),
    restUrl: String(record.info.restUrl),
    source: 'store',
  };
}
