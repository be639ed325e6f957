import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maskLogin, maskSecret, redactServerText, withoutCredentials } from '../../src/core/redact.js';
import { Sensitive } from '../../src/core/sensitive.js';
import { defined } from '../helpers/defined.js';

const ESC = String.fromCharCode(0x1b);

describe('text of a server that is shown', () => {
  test('is one line without control or direction characters, 500 at most, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2000, size: 'max' }), (text) => {
        const shown = redactServerText(text);
        expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
        expect([...shown].length).toBeLessThanOrEqual(500);
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

  test('contains no credential, whether plain, encoded, or recognized by its form', () => {
    const password = new Sensitive('p@ss "word"');
    expect(redactServerText('got p@ss "word" and p%40ss%20%22word%22 and p@ss \\"word\\"', [password])).toBe(
      'got [redacted] and [redacted] and [redacted]',
    );
    expect(redactServerText('The token eyJhbGciOiJIUzI1NiJ9.e30.abc-_1 is bad')).toBe(
      'The token [redacted] is bad',
    );
    expect(redactServerText(`secret ${'a1'.repeat(16)}.`)).toBe('secret [redacted].');
    // Half of a pair of UTF-16 units is no character that can be shown.
    expect(redactServerText('one\ud800two')).toBe('one two');
  });

  test('that looks like a token or a secret is hidden only when it has its form', () => {
    const [letters, digits] = ['a'.repeat(32), 'a1'.repeat(16)];
    const text = `${letters} ${digits}b _${digits} eyJhbGciOi end`;
    expect(redactServerText(text)).toBe(text);
    expect(redactServerText(`eyJhbGciOiJ.e30, eyJhbGciOiJ.e30. ${digits}`)).toBe(
      '[redacted], [redacted] [redacted]',
    );
  });

  test('hides a credential that has terminal escapes between its letters', () => {
    const shown = redactServerText(`got corr${ESC}[1mect${ESC}[2 q-horse`, [new Sensitive('correct-horse')]);
    expect(shown).toBe('got [redacted]');
  });

  test('is shown whole when it has 500 characters, and also behind many escapes', () => {
    expect(redactServerText('x'.repeat(500))).toBe('x'.repeat(500));
    expect(redactServerText('x'.repeat(501))).toBe(`${'x'.repeat(499)}…`);
    expect(redactServerText(`${`${ESC}[0;1m`.repeat(1000)}words`)).toBe('words');
  });

  test('is cut only after credentials are removed', () => {
    const secret = new Sensitive('z'.repeat(40));
    expect(redactServerText(`${'x '.repeat(240)}${'z'.repeat(40)} end`, [secret])).not.toContain('zzz');
  });

  // Time that grew with the square of the length would be hours.
  test('is processed within the time limit of a test, even if it is large', () => {
    for (const piece of [`${ESC}]`, `${ESC}[`, 'eyJ', 'a1', ' '])
      expect(redactServerText(piece.repeat(500_000)).length).toBeLessThanOrEqual(500);
  });
});

test('an address is shown without its login, whatever characters that has', () => {
  expect(maskLogin('redis://ada:p@ss\nword@redis.example:6379')).toBe('redis://****@redis.example:6379');
  expect(maskLogin('https://graph.example.com/a@b')).toBe('https://****@b');
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

describe('a credential is hidden in every form a server may repeat it in', () => {
  const hex = (value: string) => Buffer.from(value).toString('hex');
  const base64 = (value: string) => Buffer.from(value).toString('base64');
  const percent = (value: string) =>
    [...Buffer.from(value)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  const each = (value: string, write: (code: number) => string) =>
    [...value].map((character) => write(character.codePointAt(0) as number)).join('');
  const decimal = (value: string) => each(value, (code) => `&#${code};`);
  const FORMS: Record<string, (value: string) => string> = {
    'as it is': (value) => value,
    hex,
    'upper-case hex': (value) => hex(value).toUpperCase(),
    base64,
    'base64 with a user name before it': (value) => base64(`ada:${value}`),
    'base64 in the middle of something': (value) => base64(`{"a":"${value}","b":1}`),
    base64url: (value) => Buffer.from(`?>${value}~`).toString('base64url'),
    'URL-encoded as far as needed': (value) => encodeURIComponent(value),
    'URL-encoded altogether': percent,
    'URL-encoded in upper case': (value) => percent(value).toUpperCase(),
    'URL-encoded twice': (value) => percent(percent(value)),
    'a form field': (value) => new URLSearchParams({ v: value }).toString().slice(2),
    'decimal entities': decimal,
    'hex entities': (value) => each(value, (code) => `&#x${code.toString(16)};`),
    'hex entities in upper case': (value) => each(value, (code) => `&#X${code.toString(16).toUpperCase()};`),
    'named entities': (value) =>
      value
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('"', '&quot;')
        .replaceAll('é', '&eacute;'),
    JSON: (value) => JSON.stringify(value).slice(1, -1),
    'JSON in JSON': (value) => JSON.stringify(JSON.stringify(value)).slice(3, -3),
    '\\u escapes': (value) =>
      Array.from(
        { length: value.length },
        (_, at) => `\\u${value.charCodeAt(at).toString(16).padStart(4, '0')}`,
      ).join(''),
    '\\x escapes': (value) => percent(value).replaceAll('%', '\\x'),
    'a mix': (value) =>
      [...value].map((character, at) => [character, percent(character), decimal(character)][at % 3]).join(''),
    'in upper case': (value) => value.replace(/[a-z]/g, (letter) => letter.toUpperCase()),
    'in lower case': (value) => value.replace(/[A-Z]/g, (letter) => letter.toLowerCase()),
    'URL-encoded base64': (value) => encodeURIComponent(base64(value)),
    'entities of a URL-encoded value': (value) => decimal(percent(value)),
  };
  /** Forms that add only invisible characters to a value. If the value is mostly blanks, too little of it is left to find. */
  const SPLIT: typeof FORMS = {
    'a line break in the middle': (value) => `${value.slice(0, 5)}\n${value.slice(5)}`,
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
  /** Each character with the name that HTML 4 has for it, and the ASCII characters with those of HTML 5. */
  const NAMED =
    '&amp \'apos *ast *midast \\bsol :colon ,comma @commat $dollar =equals !excl `grave >gt >GT ^Hat {lbrace [lbrack {lcub _lowbar _UnderBar (lpar [lsqb <lt <LT #num %percnt .period +plus ?quest "quot "QUOT }rbrace ]rbrack }rcub )rpar ]rsqb ;semi /sol |verbar |vert ' +
    '¡iexcl ¢cent £pound ¤curren ¥yen ¦brvbar §sect ¨uml ©copy ªordf «laquo ¬not ®reg ¯macr °deg ±plusmn ²sup2 ³sup3 ´acute µmicro ¶para ·middot ¸cedil ¹sup1 ºordm »raquo ¼frac14 ½frac12 ¾frac34 ¿iquest ' +
    'ÀAgrave ÁAacute ÂAcirc ÃAtilde ÄAuml ÅAring ÆAElig ÇCcedil ÈEgrave ÉEacute ÊEcirc ËEuml ÌIgrave ÍIacute ÎIcirc ÏIuml ÐETH ÑNtilde ÒOgrave ÓOacute ÔOcirc ÕOtilde ÖOuml ×times ØOslash ÙUgrave ÚUacute ÛUcirc ÜUuml ÝYacute ÞTHORN ßszlig ' +
    'àagrave áaacute âacirc ãatilde äauml åaring æaelig çccedil èegrave éeacute êecirc ëeuml ìigrave íiacute îicirc ïiuml ðeth ñntilde òograve óoacute ôocirc õotilde öouml ÷divide øoslash ùugrave úuacute ûucirc üuuml ýyacute þthorn ÿyuml';

  test.each(Object.keys({ ...FORMS, ...SPLIT }))('in the form %s', (form) => {
    for (const value of VALUES) {
      const written = defined(FORMS[form] ?? SPLIT[form])(value);
      const shown = withoutCredentials(`before ${written} after`, [new Sensitive(value)]);
      expect(shown).toMatch(/^before (?:v=)?\[redacted\](?:&quot;|[\w=+/.~]{0,2}) after$/);
    }
  });

  test('with the name of a character in place of the character', () => {
    const shown = [...NAMED.split(' '), '\tTab', '\nNewLine', '\u00a0nbsp', '\u00adshy'].filter((pair) => {
      const [character, name] = [pair.slice(0, 1), pair.slice(1)];
      const value = new Sensitive(`${character}correct${character}horse${character}`);
      const written = `&${name};correct&${name};horse&${name}`;
      return withoutCredentials(`(${written};) (${written})`, [value]) !== '([redacted]) ([redacted])';
    });
    expect(shown).toEqual([]);
  });

  test.each([
    ['\\x escapes with upper-case digits', '\\xC3\\xA9orse', 'éorse'],
    ['\\u{} escapes', '\\u{e9}orse\\u{10FFFF}', 'éorse\u{10ffff}'],
    ['backslash escapes', '\\"a\\\'b\\\\c\\/d\\be\\ff\\ng\\rh\\t', '"a\'b\\c/d\be\ff\ng\rh\t'],
    ['upper-case backslash escapes', 'HORSE\\NBATTERY', 'horse\nbattery'],
    ['pairs of \\u escapes', '\\ud83d\\udd11orse\\uDBFF\\uDFFF', '🔑orse\u{10ffff}'],
    ['entities with leading zeros', '&#0000104;&#x00006F;rse', 'horse'],
    ['entities without a semicolon', '&#104o&#114s&#x65', 'horse'],
  ])('in %s', (_form, written, value) => {
    expect(withoutCredentials(`<${written}>`, [new Sensitive(value)])).toBe('<[redacted]>');
  });

  test.each(['&#1114112;', '&#x110000;', '\\u{110000}', '&nosuch;', '&a;', '&', '\\q', '\\u12', '%4'])(
    'and %s, which is no character, stays with the words around it',
    (odd) => {
      const text = `${odd}one${odd} two`;
      expect(withoutCredentials(text, [new Sensitive('horse')])).toBe(text);
      expect(withoutCredentials(`${odd}horse${odd}`, [new Sensitive('horse')])).toBe(
        `${odd}[redacted]${odd}`,
      );
    },
  );

  test.each(['\x7f', '\u0080', '\u07ff', '\u0800', '\uffff', '\u{10000}'])(
    'and nothing else is, beside the character %j',
    (character) => {
      const value = `horse${character}`;
      expect(withoutCredentials(`${character}(${value})${character}`, [new Sensitive(value)])).toBe(
        `${character}([redacted])${character}`,
      );
    },
  );

  test('from four characters on, and from eight on where blanks were put between them', () => {
    const shown = (text: string, value: string) => withoutCredentials(`(${text})`, [new Sensitive(value)]);
    expect(shown('door', 'door')).toBe('([redacted])');
    expect(shown('cat', 'cat')).toBe('(cat)');
    expect(shown('door step', 'doorstep')).toBe('([redacted])');
    expect(shown('door way', 'doorway')).toBe('(door way)');
  });

  test('from six characters on in the middle of a base64 text, and as a whole if it is shorter', () => {
    const shown = (text: string, value: string) => withoutCredentials(base64(text), [new Sensitive(value)]);
    for (const before of ['ada', 'ad', 'a'])
      expect(shown(`${before}secret!`, 'secret'), before).toBe('[redacted]');
    expect(shown('adahorse!', 'horse')).toBe(base64('adahorse!'));
    expect(shown('horse', 'horse')).toBe('[redacted]');
  });

  test('any value is hidden, in any position', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 8, unit: 'grapheme' }),
        fc.constantFrom(...Object.keys(FORMS)),
        fc.string({ maxLength: 20 }),
        (value, form, around) => {
          const written = defined(FORMS[form])(value);
          const shown = withoutCredentials(`${around} ${written} ${around}`, [new Sensitive(value)]);
          expect(shown).toContain('[redacted]');
        },
      ),
    );
  });

  test('a value of blanks only does not make the search endless', () => {
    expect(withoutCredentials('a         b\n', [new Sensitive(' '.repeat(9))])).toBe('a[redacted]b\n');
  });

  test('a text that is only similar is not removed', () => {
    const text = 'Graph demo not found, 100% of &amp; and \\ words; base64 aGVsbG8gd29ybGQ= stays';
    expect(withoutCredentials(text, [new Sensitive('correct-horse')])).toBe(text);
  });

  test.each([
    ['%41', '[redacted]'],
    ['&#65;', '[redacted]'],
    ['\\u0041', '[redacted]'],
    ['aGVs', 'aGVs'],
    ['%2525', '%2525'],
  ])('a large text of %s is processed within the time limit of a test', (piece, shown) => {
    const text = withoutCredentials(piece.repeat(100_000), [
      new Sensitive('A'.repeat(8)),
      new Sensitive('hel'),
    ]);
    expect(text.replaceAll(shown, '')).toBe('');
  });
});
