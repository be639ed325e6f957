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
    expect(redactServerText('got p@ss "word" and p%40ss%20%22word%22 and p@ss \\"word\\"', [password])).toBe(
      'got [redacted] and [redacted] and [redacted]',
    );
    // Half of a pair of UTF-16 units is no character that can be shown.
    expect(redactServerText('one\ud800two')).toBe('one two');
  });

  test('contains no part of a JWT that is known, nor what its payload says', () => {
    const claims = '{"sub":"ada","aud":"db"}';
    const parts = ['eyJhbGciOiJub25lIn0', Buffer.from(claims).toString('base64url'), 'a-b_c'];
    const shown = withoutCredentials([...parts, claims].join(' '), [new Sensitive(parts.join('.'))]);
    expect(shown).toBe('[redacted] [redacted] [redacted] [redacted]');
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

describe('a credential is hidden as it is and as it is usually written', () => {
  const hex = (value: string) => Buffer.from(value).toString('hex');
  const base64 = (value: string) => Buffer.from(value).toString('base64');
  const FORMS: Record<string, (value: string) => string> = {
    'as it is': (value) => value,
    hex,
    'upper-case hex': (value) => hex(value).toUpperCase(),
    base64,
    'base64 with a user name before it': (value) => base64(`ada:${value}`),
    'base64 in the middle of something': (value) => base64(`{"a":"${value}","b":1}`),
    base64url: (value) => Buffer.from(`?>${value}~`).toString('base64url'),
    'URL-encoded': (value) => encodeURIComponent(value),
    'a form field': (value) => encodeURIComponent(value).replaceAll('%20', '+'),
    entities: (value) => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;'),
    JSON: (value) => JSON.stringify(value).slice(1, -1),
    'JSON in JSON': (value) => JSON.stringify(JSON.stringify(value)).slice(3, -3),
    'in upper case': (value) => value.replace(/[a-z]/g, (letter) => letter.toUpperCase()),
    'in lower case': (value) => value.replace(/[A-Z]/g, (letter) => letter.toLowerCase()),
    'URL-encoded base64': (value) => encodeURIComponent(base64(value)),
    'a line break in the middle': (value) => value.replace(/^.{5}/su, '$&\n'),
    'invisible characters between the letters': (value) => [...value].join('\u200b'),
    'NUL between the letters': (value) => [...value].join('\0'),
    'soft hyphens between the letters': (value) => [...value].join('\u00ad'),
    'base64 in lines': (value) => base64(value).replace(/(.{6})(?=.)/g, '$1\r\n'),
    'hex in pairs': (value) => hex(value).replace(/(..)(?=.)/g, '$1 '),
  };
  const VALUES = [
    's3cret0000000000000000000000wxyz',
    'p<é"& s/w+o=rd',
    'correct-horse',
    'Tr0ub4dor&3',
    '🔑horse-é',
  ];

  test.each(Object.keys(FORMS))('%s', (form) => {
    for (const value of VALUES) {
      const written = defined(FORMS[form])(value);
      const shown = withoutCredentials(`before ${written} after`, [new Sensitive(value)]);
      // Of base64, the characters at both ends hold bits of the bytes beside the value too.
      expect(shown).toMatch(/^before [\w+/%-]{0,16}\[redacted\][\w=+/%-]{0,16} after$/);
    }
  });

  test('from four characters on, and from eight on where blanks were put between them', () => {
    const shown = (text: string, value: string) => withoutCredentials(`(${text})`, [new Sensitive(value)]);
    expect(shown('door', 'door')).toBe('([redacted])');
    expect(shown('cat', 'cat')).toBe('(cat)');
    expect(shown('door step', 'doorstep')).toBe('([redacted])');
    expect(shown('door way', 'doorway')).toBe('(door way)');
  });

  test('a value of blanks only does not make the search endless', () => {
    expect(withoutCredentials('a         b\n', [new Sensitive(' '.repeat(9))])).toBe('a[redacted]b\n');
  });

  test('a text that is only similar is not removed', () => {
    const text = 'Graph demo not found, 100% of &amp; and \\ words; base64 aGVsbG8gd29ybGQ= stays';
    expect(withoutCredentials(text, [new Sensitive('correct-horse')])).toBe(text);
  });
});
