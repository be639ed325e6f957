import dns from 'node:dns';
import { describe, expect, it, type Mock, onTestFinished, vi } from 'vitest';
import { Sensitive } from '../../src/core/sensitive.js';
import {
  MINTER,
  privateCa,
  redisSkipReason,
  startCluster,
  startRedis,
  startSentinels,
} from '../helpers/redis.js';
import { freshToken, openRedis, turnOptions, valueIn } from '../helpers/redis-store.js';

describe.skipIf(redisSkipReason())('the store of a fleet', () => {
  describe.each([
    ['one server', async () => ({ url: (await startRedis()).url, options: {} })],
    [
      'one server with TLS and a private CA',
      async () => {
        const { ca, cert, key } = await privateCa();
        return { url: (await startRedis({ tls: { ca, cert, key } })).url, options: { ca } };
      },
    ],
    [
      'a name with TLS of whose addresses the first does not answer',
      async () => {
        const { ca, cert, key } = await privateCa();
        const { port } = await startRedis({ tls: { ca, cert, key } });
        const addresses = [
          { address: '::1', family: 6 },
          { address: '127.0.0.1', family: 4 },
        ];
        const lookup = vi.spyOn(dns, 'lookup') as unknown as Mock<(...all: unknown[]) => void>;
        lookup.mockImplementation((_host, _options, done) =>
          process.nextTick(done as () => void, null, addresses),
        );
        onTestFinished(() => lookup.mockRestore());
        return { url: `rediss://localhost:${port}`, options: { ca } };
      },
    ],
    ['Sentinels', async () => ({ url: (await startSentinels()).url, options: { sentinelMaster: 'tokens' } })],
    ['a cluster', async () => ({ url: (await startCluster()).url, options: {} })],
    [
      'a cluster where it has only the rights of a minter there',
      async () => {
        const { nodes, url } = await startCluster();
        const [, , ...rights] = MINTER.split(' ');
        for (const { cli } of nodes) await cli('ACL', 'SETUSER', 'minter', ...rights, '+cluster|slots');
        return { url, options: { username: 'minter', password: new Sensitive('minting') } };
      },
    ],
    [
      'a server where it has only the rights of a minter',
      async () => ({
        url: (await startRedis({ users: ['user default off', MINTER] })).url,
        options: { username: 'minter', password: new Sensitive('minting') },
      }),
    ],
  ])('behind %s', (_what, start) => {
    it('stores, lists, replaces and removes tokens, and gives one turn at a time', async () => {
      const { url, options } = await start();
      const writer = openRedis(url, options);
      const reader = openRedis(url, options);
      const record = freshToken('one');
      await writer.store.check();
      expect(await reader.store.list('one').then(([one]) => one)).toBeUndefined();
      await writer.store.put(record, new Sensitive('first'));
      await writer.store.put(freshToken('two'), new Sensitive('second'));
      expect(await reader.store.list('one')).toMatchObject([record]);
      expect(await valueIn(reader, 'one')).toBe('first');
      expect((await reader.store.list()).map(({ key }) => key).sort()).toEqual(['one', 'two']);
      await writer.store.put(record, new Sensitive('third'));
      expect(await valueIn(reader, 'one')).toBe('third');
      expect(await writer.store.delete('one')).toBe(true);
      expect(await writer.store.delete('one')).toBe(false);
      expect(await valueIn(reader, 'one')).toBeUndefined();
      expect((await reader.store.list()).map(({ key }) => key)).toEqual(['two']);

      const turn = await writer.store.lock('one', turnOptions(5000, true));
      const waiting = reader.store.lock('one', turnOptions(20_000, true));
      await writer.store.put(freshToken('one'), new Sensitive('minted'), turn);
      await turn?.release();
      expect(await waiting).toBeUndefined();
      expect(await valueIn(reader, 'one')).toBe('minted');
      expect([...writer.warnings, ...reader.warnings]).toEqual([]);
    });
  });
});
