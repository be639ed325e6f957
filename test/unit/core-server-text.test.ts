import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Sensitive } from '../../src/core/sensitive.js';
import { maskSecret, showable } from '../../src/core/server-text.js';

const ESC = String.fromCharCode(0x1b);

describe('showable', () => {
  test('is one line without control or direction characters, 500 at most, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2000, size: 'max' }), (text) => {
        const shown = showable(text);
        expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
        expect([...shown].length).toBeLessThanOrEqual(500);
      }),
    );
  });

  test('leaves no rest of a terminal escape', () => {
    expect(
      showable(`a${ESC}[1;31mb${ESC}[0mc${ESC}]8;;http://x${ESC}\\d${ESC}]0;t${String.fromCharCode(7)}e`),
    ).toBe('abcde');
  });

  test('hides credentials as they are, encoded, and by their look', () => {
    const password = new Sensitive('p@ss "word"');
    expect(showable('got p@ss "word" and p%40ss%20%22word%22 and p@ss \\"word\\"', [password])).toBe(
      'got [redacted] and [redacted] and [redacted]',
    );
    expect(showable('The token eyJhbGciOiJIUzI1NiJ9.e30.abc-_1 is bad')).toBe('The token [redacted] is bad');
    expect(showable(`secret ${'a1'.repeat(16)}.`)).toBe('secret [redacted].');
  });

  test('a credential is hidden before the text is cut', () => {
    const secret = new Sensitive('z'.repeat(40));
    expect(showable(`${'x '.repeat(240)}${'z'.repeat(40)} end`, [secret])).not.toContain('zzz');
  });

  test('is quick on large texts', () => {
    const started = performance.now();
    for (const piece of [`${ESC}]`, `${ESC}[`, 'eyJ', 'a1', ' ']) showable(piece.repeat(500_000));
    expect(performance.now() - started).toBeLessThan(2000);
  });
});

describe('maskSecret', () => {
  test.each([
    ['s0000000000000000000000000000001', 's00****001'],
    ['abcdefghijkl', 'abc****jkl'],
    ['abcdefghijk', '****'],
    ['', '****'],
  ])('%s is %s', (value, masked) => {
    expect(maskSecret(value)).toBe(masked);
  });
});
