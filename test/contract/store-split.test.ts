// Tests the splitting of long values for keychains that store at most 2,560 bytes an entry, with an imitation of such a keychain.
// test/e2e/store-contract-processes.test.ts does the same with the real keychain of Linux.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splittingVault, type Vault } from '../../src/store/keychain/split.js';
import { hashOf } from '../../src/store/records.js';
import { defined } from '../helpers/defined.js';

const MOST_BYTES = 2_560;

/** Creates a keychain like that of Windows. After `failAfter` operations that change something, every operation fails. */
function smallVault(entries = new Map<string, string>(), failAfter = Number.POSITIVE_INFINITY) {
  let changes = 0;
  const change = () => {
    if (++changes > failAfter) throw new Error('the keychain stopped working');
  };
  const vault: Vault = {
    check: async () => {},
    get: async (account) => entries.get(account),
    async set(account, value) {
      change();
      if (Buffer.byteLength(value) > MOST_BYTES) throw new Error('The stub received bad data.');
      // No piece ends inside a character.
      expect(Buffer.from(value).toString()).toBe(value);
      entries.set(account, value);
    },
    async delete(account) {
      change();
      return entries.delete(account);
    },
  };
  return { vault: splittingVault(vault), entries, changes: () => changes };
}

const LONG = 'x'.repeat(6_472);

describe('a vault that splits long values', () => {
  it.each([0, 1, 2_399, 2_400, 2_401, 4_800, 4_801, 10_240])('stores %d bytes', async (length) => {
    const { vault, entries } = smallVault();
    const value = 'v'.repeat(length);
    await vault.set('a', value);
    expect(await vault.get('a')).toBe(value);
    expect(entries.size).toBe(length <= 2_400 ? 1 : 1 + Math.ceil(length / 2_400));
    expect(await vault.delete('a')).toBe(true);
    expect(await vault.delete('a')).toBe(false);
    expect(entries.size).toBe(0);
  });

  it('stores any text, and leaves nothing of the value it replaced', async () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 3_000, size: 'max' });
    const long = text.map((part) => part.repeat(1 + Math.floor(9_000 / (1 + Buffer.byteLength(part)))));
    const tricky = fc.constantFrom(
      'graphcred-split:1:',
      'graphcred-split:1:abc:2:00',
      '\u{1f511}'.repeat(3_000),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(text, long, tricky), { minLength: 1, maxLength: 4 }),
        async (values) => {
          const { vault, entries } = smallVault();
          for (const value of values) {
            await vault.set('a', value);
            expect(await vault.get('a')).toBe(value);
          }
          await vault.delete('a');
          expect([...entries]).toEqual([]);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('reads a value of many pieces', async () => {
    const { vault, entries } = smallVault();
    for (let piece = 0; piece < 1000; piece++) entries.set(`a#g:${piece}`, 'x');
    entries.set('a', `graphcred-split:1:g:1000:${hashOf('x'.repeat(1000))}`);
    expect(await vault.get('a')).toHaveLength(1000);
  });

  it('counts a value with a missing or changed piece as missing', async () => {
    const { vault, entries } = smallVault();
    await vault.set('a', LONG);
    const piece = defined([...entries.keys()].find((name) => name.endsWith(':1')));
    const content = defined(entries.get(piece));
    entries.set(piece, content.replace('x', 'y'));
    expect(await vault.get('a')).toBeUndefined();
    entries.delete(piece);
    expect(await vault.get('a')).toBeUndefined();
    entries.set(piece, content);
    expect(await vault.get('a')).toBe(LONG);
    entries.set('a', 'graphcred-split:1:what is this');
    expect(await vault.get('a')).toBeUndefined();
  });

  it.each([
    ['a long value by a long one', LONG, 'y'.repeat(5_000)],
    ['a long value by a short one', LONG, 'y'],
    ['a short value by a long one', 'x', 'y'.repeat(5_000)],
  ])(
    'replaces %s: after an interruption at any point, it has the old or the new value',
    async (_what, before, after) => {
      const whole = smallVault();
      await whole.vault.set('a', before);
      const base = whole.changes();
      await whole.vault.set('a', after);
      const steps = whole.changes() - base;
      expect(steps).toBeGreaterThan(2);
      for (let done = 0; done < steps; done++) {
        const entries = new Map<string, string>();
        await smallVault(entries).vault.set('a', before);
        await expect(smallVault(entries, done).vault.set('a', after)).rejects.toThrow('stopped working');
        expect([before, after]).toContain(await smallVault(entries).vault.get('a'));
      }
    },
  );

  it('deletes a value: after an interruption at any point, the next call knows what is left', async () => {
    for (let done = 0; done < 4; done++) {
      const entries = new Map<string, string>();
      await smallVault(entries).vault.set('a', LONG);
      await expect(smallVault(entries, done).vault.delete('a')).rejects.toThrow('stopped working');
      expect([undefined, LONG]).toContain(await smallVault(entries).vault.get('a'));
      expect(await smallVault(entries).vault.delete('a')).toBe(true);
      expect(entries.size).toBe(0);
    }
  });

  it('removes its pieces if the keychain refuses one of them', async () => {
    const entries = new Map<string, string>();
    const refusing: Vault = {
      ...smallVault(entries).vault,
      async set(account, value) {
        if (account.endsWith(':1')) throw new Error('no room');
        entries.set(account, value);
      },
      delete: async (account) => entries.delete(account),
      get: async (account) => entries.get(account),
    };
    await expect(splittingVault(refusing).set('a', LONG)).rejects.toThrow('no room');
    expect(entries.size).toBe(0);
  });
});
