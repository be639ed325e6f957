import { describe, expect, it } from 'vitest';
import { GraphException } from '../../src/core/errors.js';
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
  it('goes to one of many processes that ask at once, and the others get its token', async () => {
    const { url } = await startRedis();
    let minted = 0;
    const values = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const opened = openRedis(url);
        const turn = await take(opened);
        if (!turn) return valueIn(opened, 'one');
        minted++;
        await publish(turn, 'the token');
        await turn.release();
        return 'the token';
      }),
    );
    expect(minted).toBe(1);
    expect(new Set(values)).toEqual(new Set(['the token']));
  });

  it('stays with its owner for longer than the lease while the owner is alive', async () => {
    const redis = await startRedis();
    const turn = await take(openRedis(redis.url));
    const waiting = failureOf(take(openRedis(redis.url), 'one', true, 5000));
    expect(await waiting).toMatchObject({ code: 'LOCK_TIMEOUT' });
    await turn?.release();
    expect(await redis.cli('EXISTS', lockOf('one'))).toBe('0');
  });

  it('goes to another process when its owner died', async () => {
    const redis = await startRedis();
    const sender = openRedis(redis.url);
    await sender.store.check();
    // This is what a killed process leaves behind.
    await redis.cli('SET', lockOf('one'), 'a dead process', 'PX', '3000');
    expect(await take(sender)).toBeDefined();
  });

  it('that was lost neither replaces the token of the new owner nor frees its lock', async () => {
    const redis = await startRedis();
    const [slow, quick] = [openRedis(redis.url), openRedis(redis.url)];
    const lost = await take(slow);
    await redis.cli('SET', lockOf('one'), 'somebody else', 'PX', '60000');
    await quick.store.write(tokenRecord('one'), new Sensitive('theirs'));
    await publish(lost, 'mine');
    await lost?.release();
    expect(await valueIn(quick, 'one')).toBe('theirs');
    expect(await redis.cli('GET', lockOf('one'))).toBe('somebody else');
  });

  it('that was lost stores its token if the new owner has stored none yet', async () => {
    const redis = await startRedis();
    const opened = openRedis(redis.url);
    const lost = await take(opened);
    await redis.cli('SET', lockOf('one'), 'somebody else', 'PX', '60000');
    await publish(lost, 'mine');
    expect(await valueIn(opened, 'one')).toBe('mine');
  });

  it('shares a refusal with processes that waited, and not with later ones', async () => {
    const redis = await startRedis();
    const turn = await take(openRedis(redis.url));
    const waiters = Array.from({ length: 20 }, () => openRedis(redis.url));
    await Promise.all(waiters.map(({ store }) => store.find('one')));
    const waiting = waiters.map((waiter) => failureOf(take(waiter)));
    await turn?.refuse(
      new GraphException('AUTH_FAILED', 'wrong secret', { hint: 'check it', status: 401, serverCode: 'X-1' }),
    );
    await turn?.release();
    const failures = await Promise.all(waiting);
    expect(new Set(failures.map((failure) => failure?.message))).toEqual(new Set(['wrong secret']));
    expect(failures[0]).toMatchObject({ code: 'AUTH_FAILED', hint: 'check it', status: 401 });
    const late = await take(openRedis(redis.url));
    expect(late).toBeDefined();
    await late?.release();
  });

  it('tells a token minted after the first look from one minted before, whatever the clocks say', async () => {
    const { url } = await startRedis();
    const minter = openRedis(url);
    const first = await take(minter);
    await first?.write(tokenRecord('one', 3600, { requestedAtMs: Date.now() }), new Sensitive('old'));
    await first?.release();
    // The clock of this reader is an hour behind, and it accepts only tokens minted from now on.
    const now = () => Date.now() - 3_600_000;
    const reader = openRedis(url, { now });
    const startedAt = now();
    expect((await reader.store.find('one'))?.info.requestedAtMs).toBeLessThan(startedAt);
    const second = await take(minter, 'one', false);
    await second?.write(tokenRecord('one', 3600, { requestedAtMs: Date.now() }), new Sensitive('new'));
    await second?.release();
    const fresh = await reader.store.find('one');
    expect(fresh?.info.requestedAtMs).toBeGreaterThanOrEqual(startedAt);
    expect(fresh?.info.requestedAtMs).toBeLessThanOrEqual(now());
    expect((await openRedis(url).store.find('one'))?.info.requestedAtMs).toBe(0);
  });

  it('tells a new token from an old one even if the engine lost its counter', async () => {
    const redis = await startRedis();
    const minter = openRedis(redis.url);
    const mint = async (value: string) => {
      const turn = await take(minter, 'one', false);
      await turn?.write(tokenRecord('one', 3600, { requestedAtMs: Date.now() }), new Sensitive(value));
      await turn?.release();
    };
    await mint('old');
    await redis.cli('DEL', seal.keyOf('g', seal.nameOf('token', 'one')));
    const reader = openRedis(redis.url);
    expect((await reader.store.find('one'))?.info.requestedAtMs).toBe(0);
    await mint('new');
    expect((await reader.store.find('one'))?.info.requestedAtMs).toBeGreaterThan(0);
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
