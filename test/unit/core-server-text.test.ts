import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maskLogin, maskSecret, redactServerText, withoutCredentials } from '../../src/core/redact.js';
import { Sensitive } from '../../src/core/sensitive.js';
import { defined } from '../helpers/defined.js';

const ESC = String.fromCharCode(0x1b);

describe('text of a server that is shown', () => {
  test('is one line without control or direction characters, 300 at most, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2000, size: 'max' }), (text) => {
        const shown = redactServerText(text);
        expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
        expect([...shown].length).toBeLessThanOrEqual(300);
      }),
    );
  });

  test('contains no part of a terminal escape', () => {
    expect(
      redactServerText(
        `a${ESC}[1;31mb${ESC}[0mc${ESC}]8;;http://x${ESC}\\d${ESC}]0;t${String.fromCharCode(7)}e`,
      ),
    ).toBe('abcde');
  });

  test('contains no credential that is known, however it is escaped', () => {
    const password = new Sensitive('p@ss "word"');
    expect(redactServerText('we got p@ss\n \t"word" today', [password])).toBe('we got [redacted] today');
    const odd = new Sensitive('p@"s  w');
    expect(redactServerText('got {"p":"p@\\"s  w"} today', [odd, new Sensitive('\t\t\t\t')])).toBe(
      'got {"p":"[redacted]"} today',
    );
    expect(redactServerText('got p@ss "word" and p%40ss%20%22word%22 and p@ss \\"word\\"', [password])).toBe(
      'got [redacted] and [redacted] and [redacted]',
    );
    // Half of a pair of UTF-16 units is no character that can be shown.
    expect(redactServerText('one\ud800two')).toBe('one two');
  });

  test.each([
    'eyJhbGciOiJIUzI1NiJ9.e30.abc-_1',
    "'s0000000000000000000000000000001'",
    'a'.repeat(16),
    'hunter2horse,',
    'YWRhOmNvcnJlY3QtaG9yc2U=',
    'p%61ss',
    'p&aacute;ss',
    '&#112;ass',
    'p\\u0061ss',
    'p\\x61ss',
  ])('contains no word that may be a credential: %s', (word) => {
    expect(redactServerText(`The token ${word} is bad.`)).toBe('The token [redacted] is bad.');
  });

  test('keeps ordinary words, and the names that the request is about', () => {
    const text =
      'Endpoint /restpp/requesttoken of 4.2.0: REST-10016, 100% of Authentication & more (12:43:07).';
    expect(redactServerText(text)).toBe(text);
    const names = ['Transaction_Account_2024', 'e'];
    expect(redactServerText("graph 'Transaction_Account_2024'", [], names)).toBe(
      "graph 'Transaction_Account_2024'",
    );
    expect(redactServerText('s0e0000000000e0000000000000e0001', [], names)).toBe('[redacted]');
  });

  test('hides a credential that has terminal escapes between its letters', () => {
    const shown = redactServerText(`got corr${ESC}[1mect${ESC}[2 q-horse`, [new Sensitive('correct-horse')]);
    expect(shown).toBe('got [redacted]');
  });

  test('is shown whole when it has 300 characters, else up to a word, and also behind many escapes', () => {
    const words = 'words '.repeat(50);
    expect(redactServerText(`${words}!`)).toBe(`${words}…`.replace(' words …', '…'));
    expect(redactServerText(`${words.slice(0, -1)}!`)).toBe(`${words.slice(0, -1)}!`);
    expect(redactServerText(`${`${ESC}[0;1m`.repeat(1000)}words`)).toBe('words');
  });

  test('is cut only after credentials are removed', () => {
    const secret = new Sensitive('correct horse');
    expect(redactServerText(`${'x '.repeat(144)}correct horse end`, [secret])).not.toContain('correct');
  });

  // Time that grew with the square of the length would be hours.
  test('is processed within the time limit of a test, even if it is large', () => {
    for (const piece of [`${ESC}]`, `${ESC}[`, 'eyJ', 'a1', ' '])
      expect(redactServerText(piece.repeat(500_000)).length).toBeLessThanOrEqual(300);
  });
});

test('an address is shown without its login, whatever characters that has', () => {
  expect(maskLogin('redis://ada:p@ss\nword@redis.example:6379')).toBe('redis://****@redis.example:6379');
  expect(maskLogin('https://graph.example.com/a@b')).toBe('https://****@b');
  expect(maskLogin('ada:p//ss@graph.example.com')).toBe('****@graph.example.com');
  expect(maskLogin('https://graph.example.com')).toBe('https://graph.example.com');
  expect(maskLogin('https://graph.example.com/?token=abc#d')).toBe('https://graph.example.com/?****');
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

describe('a credential is hidden', () => {
  const base64 = (value: string) => Buffer.from(value).toString('base64').replace(/=+$/, '');
  const FORMS: Record<string, (value: string) => string> = {
    'as it is': (value) => value,
    'percent-encoded': (value) => encodeURIComponent(value),
    'as in JSON': (value) => JSON.stringify(value).slice(1, -1),
    'in base64': base64,
    'in lower case': (value) => value.replace(/[A-Z]/g, (letter) => letter.toLowerCase()),
  };

  test.each(Object.keys(FORMS))('%s', (form) => {
    for (const value of [
      's3cret0000000000000000000000wxyz',
      'p<é"& s/w+o=rd\\',
      'Tr0ub4dor&3',
      '🔑horse-é',
    ]) {
      const written = defined(FORMS[form])(value);
      const shown = withoutCredentials(`before ${written} after`, [new Sensitive(value)]);
      expect(shown).toBe('before [redacted] after');
    }
  });

  test('from four characters on, and a text that is only similar stays', () => {
    const shown = (text: string, value: string) => withoutCredentials(`(${text})`, [new Sensitive(value)]);
    expect(shown('door', 'door')).toBe('([redacted])');
    expect(shown('cat', 'cat')).toBe('(cat)');
    expect(shown('xY/1'.repeat(16_384), 'xY/1'.repeat(16_384))).toBe('([redacted])');
    const text = 'Graph demo not found, 100% of &amp; and \\ words; base64 aGVsbG8gd29ybGQ= stays';
    expect(shown(text, 'correct-horse')).toBe(`(${text})`);
  });
});
