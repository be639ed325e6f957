/** A text with its escapes decoded, as bytes (one character each), and the position of each byte in the text. */
export interface Decoded {
  readonly bytes: string;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

const ESCAPE =
  /%([0-9a-f]{2})|&#(\d{1,7});?|&#x([0-9a-f]{1,6});?|&(sup[1-3]|frac(?:12|14|34)|[a-z]{2,9});?|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\u([0-9a-f]{4})|\\u\{([0-9a-f]{1,6})\}|\\x([0-9a-f]{2})|\\(["'\\/bfnrt])/gi;

const CONTROL: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** The names HTML has for ASCII characters. */
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  apos: "'",
  ast: '*',
  bsol: '\\',
  colon: ':',
  comma: ',',
  commat: '@',
  dollar: '$',
  equals: '=',
  excl: '!',
  grave: '`',
  gt: '>',
  hat: '^',
  lbrace: '{',
  lbrack: '[',
  lcub: '{',
  lowbar: '_',
  lpar: '(',
  lsqb: '[',
  lt: '<',
  midast: '*',
  newline: '\n',
  num: '#',
  percnt: '%',
  period: '.',
  plus: '+',
  quest: '?',
  quot: '"',
  rbrace: '}',
  rbrack: ']',
  rcub: '}',
  rpar: ')',
  rsqb: ']',
  semi: ';',
  sol: '/',
  tab: '\t',
  underbar: '_',
  verbar: '|',
  vert: '|',
};
/** The HTML names of U+00A0 to U+00FF, in order. */
const LATIN =
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml'.split(
    ' ',
  );

/**
 * Returns the text and every form it takes while it is decoded until nothing changes, since each server of a chain may
 * have escaped it once.
 */
export function decodings(text: string): Decoded[] {
  const all = [asBytes(text)];
  for (let round = 0; round < 4; round++) {
    const next = decodeOnce(all.at(-1) as Decoded);
    if (next === undefined) break;
    all.push(next);
  }
  return all;
}

/** Matches blanks, line breaks, control and format characters in UTF-8 bytes. */
export const GAPS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are bytes
  /[\x00-\x20\x7f]|\xc2[\x80-\xa0\xad]|\xe1\x9a\x80|\xe1\xa0\x8e|\xe2\x80[\x80-\x8f\xa8-\xaf]|\xe2\x81[\x9f-\xaf]|\xe3\x80\x80|\xef\xbb\xbf/g;

/** Returns the text without the invisible characters that `GAPS` matches; undefined when it has none. */
export function withoutGaps({ bytes, starts, ends }: Decoded): Decoded | undefined {
  const parts: string[] = [];
  const keptStarts = new Int32Array(bytes.length);
  const keptEnds = new Int32Array(bytes.length);
  let at = 0;
  let done = 0;
  const append = (until: number) => {
    parts.push(bytes.slice(done, until));
    keptStarts.set(starts.subarray(done, until), at);
    keptEnds.set(ends.subarray(done, until), at);
    at += until - done;
  };
  for (const { 0: gap, index } of bytes.matchAll(GAPS)) {
    append(index);
    done = index + gap.length;
  }
  if (done === 0) return undefined;
  append(bytes.length);
  return { bytes: parts.join(''), starts: keptStarts, ends: keptEnds };
}

function asBytes(text: string): Decoded {
  const bytes = Buffer.from(text);
  const starts = new Int32Array(bytes.length);
  const ends = new Int32Array(bytes.length);
  let at = 0;
  let from = 0;
  for (const character of text) {
    const code = character.codePointAt(0) as number;
    const length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    starts.fill(from, at, at + length);
    ends.fill(from + character.length, at, at + length);
    at += length;
    from += character.length;
  }
  return { bytes: bytes.toString('latin1'), starts, ends };
}

function decodeOnce({ bytes, starts, ends }: Decoded): Decoded | undefined {
  const parts: string[] = [];
  // Decoding does not lengthen a text, except where it has half a surrogate pair; the doubled length covers that.
  const decodedStarts = new Int32Array(bytes.length * 2);
  const decodedEnds = new Int32Array(bytes.length * 2);
  let at = 0;
  let done = 0;
  const append = (until: number) => {
    if (until <= done) return;
    parts.push(bytes.slice(done, until));
    decodedStarts.set(starts.subarray(done, until), at);
    decodedEnds.set(ends.subarray(done, until), at);
    at += until - done;
  };
  ESCAPE.lastIndex = 0;
  for (let found = ESCAPE.exec(bytes); found !== null; found = ESCAPE.exec(bytes)) {
    const decoded = meaningOf(found);
    if (decoded === undefined) continue;
    append(found.index);
    done = found.index + found[0].length;
    parts.push(decoded);
    decodedStarts.fill(starts[found.index] as number, at, at + decoded.length);
    decodedEnds.fill(ends[done - 1] as number, at, at + decoded.length);
    at += decoded.length;
  }
  if (done === 0) return undefined;
  append(bytes.length);
  return { bytes: parts.join(''), starts: decodedStarts, ends: decodedEnds };
}

/** Returns the bytes that an escape stands for; undefined when the match is not an escape. */
function meaningOf(found: RegExpExecArray): string | undefined {
  const [, percent, decimal, hex, name, high, low, unit, point, byte, control] = found;
  const raw = percent ?? byte;
  if (raw !== undefined) return String.fromCharCode(Number.parseInt(raw, 16));
  if (control !== undefined) return CONTROL[control.toLowerCase()] ?? control;
  if (name !== undefined) return named(name);
  if (high !== undefined)
    return utf8(String.fromCharCode(Number.parseInt(high, 16), Number.parseInt(low ?? '', 16)));
  const code = decimal === undefined ? Number.parseInt(hex ?? unit ?? point ?? '', 16) : Number(decimal);
  return code <= 0x10ffff ? utf8(String.fromCodePoint(code)) : undefined;
}

function utf8(text: string): string {
  return Buffer.from(text).toString('latin1');
}

function named(name: string): string | undefined {
  const latin = LATIN.indexOf(name);
  return latin === -1 ? ENTITIES[name.toLowerCase()] : utf8(String.fromCharCode(0xa0 + latin));
}
