import { describe, expect, it } from 'vitest';
import { Sensitive } from '../../src/core/sensitive.js';
import { createSeal } from '../../src/store/redis/seal.js';
import type { Turn } from '../../src/store/store.js';
import { redisSkipReason, startRedis, startSentinels } from '../helpers/redis.js';
import {
  failureOf,
  type Opened,
  openRedis,
  storeKey,
  tokenRecord,
  turnOptions,
  valueIn,
} from '../helpers/redis-store.js';

const seal = createSeal(storeKey);
const lockOf = (key: string) => seal.keyOf('l', seal.nameOf('token', key));

const take = ({ store }: Opened, key = 'one', accepts = true, waitMs = 30_000) =>
  store.takeTurn(key, turnOptions(waitMs, accepts));

const publish = (turn: Turn | undefined, value: string) =>
  turn?.write(tokenRecord('one'), new Sensitive(value));

describe.skipIf(redisSkipReason())('the turn of a fleet', () => {
  it('stays with its owner for longer than the lease while the owner is alive', async () => {
    const redis = await startRedis();
    const turn = await take(openRedis(redis.url));
    const waiting = failureOf(take(openRedis(redis.url), 'one', true, 5000));
    expect(await waiting).toMatchObject({ code: 'LOCK_TIMEOUT' });
    await turn?.release();
    expect(await redis.cli('EXISTS', lockOf('one'))).toBe('0');
  });

  it.each([-3_600_000, 3_600_000])(
    'computes the remaining life of a token by the engine’s clock, if this machine’s clock is off by %d ms',
    async (offMs) => {
      const { url } = await startRedis();
      await openRedis(url).store.write(tokenRecord('one', 600), new Sensitive('token'));
      const now = () => Date.now() + offMs;
      const record = await openRedis(url, { now }).store.find('one');
      expect(record?.expiresAtUnix).toBeGreaterThan(now() / 1000 + 500);
      expect(record?.expiresAtUnix).toBeLessThan(now() / 1000 + 601);
      expect(record?.createdAtUnix).toBe((record?.expiresAtUnix ?? 0) - 600);
    },
  );

  it('survives an engine that is suspended for a while', async () => {
    const redis = await startRedis();
    const [holder, waiter] = [openRedis(redis.url), openRedis(redis.url)];
    const turn = await take(holder);
    await waiter.store.check();
    const waiting = take(waiter);
    redis.suspend();
    setTimeout(() => redis.resume(), 4000);
    await publish(turn, 'minted meanwhile');
    await turn?.release();
    expect(await waiting).toBeUndefined();
    expect(await valueIn(waiter, 'one')).toBe('minted meanwhile');
  });

  it('survives an engine that starts again empty', async () => {
    const redis = await startRedis();
    const [holder, waiter] = [openRedis(redis.url), openRedis(redis.url)];
    const turn = await take(holder);
    await waiter.store.check();
    const waiting = take(waiter);
    await redis.kill();
    await redis.restart();
    await publish(turn, 'minted meanwhile');
    await turn?.release();
    const theirs = await waiting;
    await theirs?.release();
    expect(await valueIn(waiter, 'one')).toBe('minted meanwhile');
  });

  it('follows the master that Sentinels choose', async () => {
    const { master, replica, url } = await startSentinels();
    const opened = openRedis(url, { sentinelMaster: 'tokens' });
    const turn = await take(opened);
    await master.kill();
    await publish(turn, 'minted meanwhile');
    await turn?.release();
    expect(await valueIn(openRedis(url, { sentinelMaster: 'tokens' }), 'one')).toBe('minted meanwhile');
    expect(await replica.cli('ROLE')).toMatch(/^master/);
  });
});
