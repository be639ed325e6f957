import type { Sensitive } from '../core/sensitive.js';
import type { Store, StoreRecord } from '../store/store.js';

/** How many replaced tokens of an identity are kept. */
const MOST_REPLACED = 8;

/**
 * Stores the token that is about to be replaced under a key of its own, if it is still valid: the server accepts it
 * until it ends or is deleted. When there are too many, the oldest one makes room.
 */
export async function keepReplaced(
  store: Store,
  { key }: StoreRecord,
  next: Sensitive,
  now: number,
): Promise<void> {
  const hasEnded = ({ expiresAtUnix = 0 }: StoreRecord) => expiresAtUnix <= now / 1000;
  const old = await store.find(key);
  if (old === undefined || hasEnded(old)) return;
  const value = await store.read(old);
  // A refreshed token is the same token.
  if (value === undefined || value.reveal() === next.reveal()) return;
  let free: string | undefined;
  let oldest: StoreRecord | undefined;
  for (let number = 1; number <= MOST_REPLACED; number++) {
    const place = `${key}, replaced ${number}`;
    const there = await store.find(place);
    if (there && !hasEnded(there)) {
      if (oldest === undefined || there.createdAtUnix < oldest.createdAtUnix) oldest = there;
      continue;
    }
    if (there) await store.remove(place);
    free ??= place;
  }
  const place = free ?? oldest?.key;
  if (place !== undefined)
    await store.write({ ...old, key: place, info: { ...old.info, replaced: 1 } }, value);
}
