/**
 * Opening AES-256-GCM without `node:crypto`, whose loading costs more than all else that a held token takes; see
 * docs/decisions/0008. For the small values of records; nothing is ever sealed here.
 */

const ROUNDS = 14;
const BLOCK = 16;

/**
 * NIST SP 800-38D, section 7.2, with a 96-bit `iv` and the whole tag.
 * @param key 32 bytes
 * @returns the plain text, or undefined when anything was changed since it was sealed
 */
export function openAesGcm(
  key: Uint8Array,
  iv: Uint8Array,
  aad: Uint8Array,
  sealed: Uint8Array,
  tag: Uint8Array,
): Buffer | undefined {
  if (key.length !== 32 || iv.length !== 12 || tag.length !== BLOCK) return undefined;
  // The sum holds their lengths in bits; beyond this one word would not do.
  if (aad.length >= 2 ** 28 || sealed.length >= 2 ** 28) return undefined;
  const box = substitutionBox();
  const keys = roundKeys(key, box);
  const counter = Int32Array.of(wordAt(iv, 0), wordAt(iv, 4), wordAt(iv, 8), 1);
  const mask = encrypt(keys, box, counter);
  const sum = hash(encrypt(keys, box, new Int32Array(4)), aad, sealed);
  // All of it is compared, so that the time says nothing of where it differs.
  let difference = 0;
  for (let at = 0; at < 4; at++)
    difference |= (sum[at] as number) ^ (mask[at] as number) ^ wordAt(tag, 4 * at);
  if (difference !== 0) return undefined;
  const text = Buffer.alloc(sealed.length);
  for (let at = 0; at < sealed.length; at++) {
    if (at % BLOCK === 0) {
      counter[3] = (counter[3] as number) + 1;
      mask.set(encrypt(keys, box, counter));
    }
    text[at] = (sealed[at] as number) ^ ((mask[(at >> 2) & 3] as number) >> (24 - 8 * (at & 3)));
  }
  return text;
}

/** FIPS 197, section 5.1.1: the inverse in GF(2^8), and an affine mapping of it. */
function substitutionBox(): Uint8Array {
  const box = new Uint8Array(256);
  box[0] = 0x63;
  // All elements but 0 are powers of 3; the inverse of each is found by going the other way round.
  let element = 1;
  let inverse = 1;
  do {
    element ^= (element << 1) ^ (element & 0x80 ? 0x11b : 0);
    inverse ^= inverse << 1;
    inverse ^= inverse << 2;
    inverse = (inverse ^ (inverse << 4)) & 0xff;
    if (inverse & 0x80) inverse ^= 0x09;
    const twice = (inverse << 8) | inverse;
    box[element] = 0x63 ^ inverse ^ (twice >> 4) ^ (twice >> 5) ^ (twice >> 6) ^ (twice >> 7);
  } while (element !== 1);
  return box;
}

/** FIPS 197, section 5.2 */
function roundKeys(key: Uint8Array, box: Uint8Array): Int32Array {
  const words = new Int32Array(4 * (ROUNDS + 1));
  let constant = 1;
  for (let at = 0; at < words.length; at++) {
    if (at < 8) {
      words[at] = wordAt(key, 4 * at);
      continue;
    }
    let word = words[at - 1] as number;
    if (at % 8 === 0) {
      word = (word << 8) | (word >>> 24);
      word = shifted(box, word, word, word, word) ^ (constant << 24);
      constant <<= 1;
    } else if (at % 8 === 4) {
      word = shifted(box, word, word, word, word);
    }
    words[at] = (words[at - 8] as number) ^ word;
  }
  return words;
}

/** Sections 5.1.1 and 5.1.2: a byte of each word, substituted. */
function shifted(box: Uint8Array, a: number, b: number, c: number, d: number): number {
  return (
    ((box[a >>> 24] as number) << 24) |
    ((box[(b >>> 16) & 0xff] as number) << 16) |
    ((box[(c >>> 8) & 0xff] as number) << 8) |
    (box[d & 0xff] as number)
  );
}

/** FIPS 197, section 5.1 */
function encrypt(keys: Int32Array, box: Uint8Array, block: Int32Array): Int32Array {
  let a = (block[0] as number) ^ (keys[0] as number);
  let b = (block[1] as number) ^ (keys[1] as number);
  let c = (block[2] as number) ^ (keys[2] as number);
  let d = (block[3] as number) ^ (keys[3] as number);
  let at = 4;
  for (; at < 4 * ROUNDS; at += 4) {
    const e = mixed(shifted(box, a, b, c, d)) ^ (keys[at] as number);
    const f = mixed(shifted(box, b, c, d, a)) ^ (keys[at + 1] as number);
    const g = mixed(shifted(box, c, d, a, b)) ^ (keys[at + 2] as number);
    d = mixed(shifted(box, d, a, b, c)) ^ (keys[at + 3] as number);
    a = e;
    b = f;
    c = g;
  }
  const last = keys.slice(at);
  last[0] = (last[0] as number) ^ shifted(box, a, b, c, d);
  last[1] = (last[1] as number) ^ shifted(box, b, c, d, a);
  last[2] = (last[2] as number) ^ shifted(box, c, d, a, b);
  last[3] = (last[3] as number) ^ shifted(box, d, a, b, c);
  return last;
}

/** FIPS 197, section 5.1.3, all four bytes of a column at once. */
function mixed(word: number): number {
  const next = (word << 8) | (word >>> 24);
  const both = word ^ next;
  const doubled = ((both & 0x7f7f7f7f) << 1) ^ (((both >>> 7) & 0x01010101) * 0x1b);
  return doubled ^ next ^ ((word << 16) | (word >>> 16)) ^ ((word << 24) | (word >>> 8));
}

/** SP 800-38D, section 6.4: the sum over what is authenticated, what is sealed, and both lengths. */
function hash(subkey: Int32Array, aad: Uint8Array, sealed: Uint8Array): Int32Array {
  const padded = (length: number) => Math.ceil(length / BLOCK) * BLOCK;
  const input = new Uint8Array(padded(aad.length) + padded(sealed.length));
  input.set(aad);
  input.set(sealed, padded(aad.length));
  const table = multiples(subkey);
  const sum = new Int32Array(4);
  for (let at = 0; at < input.length; at += BLOCK) {
    for (let word = 0; word < 4; word++) sum[word] = (sum[word] as number) ^ wordAt(input, at + 4 * word);
    multiply(table, sum);
  }
  // Two words each, of which the upper ones are 0.
  sum[1] = (sum[1] as number) ^ (aad.length * 8);
  sum[3] = (sum[3] as number) ^ (sealed.length * 8);
  multiply(table, sum);
  return sum;
}

/** The subkey times each polynomial of four bits, four words each. The first bit is the lowest power. */
function multiples(subkey: Int32Array): Int32Array {
  const table = new Int32Array(64);
  table.set(subkey, 4 * 8);
  for (let at = 4; at > 0; at >>= 1) {
    const carry = (table[8 * at + 3] as number) & 1;
    for (let word = 3; word > 0; word--)
      table[4 * at + word] =
        ((table[8 * at + word] as number) >>> 1) | ((table[8 * at + word - 1] as number) << 31);
    table[4 * at] = ((table[8 * at] as number) >>> 1) ^ (carry * 0xe1000000);
  }
  for (let high = 2; high < 16; high <<= 1) {
    for (let low = 1; low < high; low++) {
      for (let word = 0; word < 4; word++)
        table[4 * (high + low) + word] =
          (table[4 * high + word] as number) ^ (table[4 * low + word] as number);
    }
  }
  return table;
}

/** Section 6.3, four bits at a time: `sum` times the subkey of the table. */
function multiply(table: Int32Array, sum: Int32Array): void {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let word = 3; word >= 0; word--) {
    let bits = sum[word] as number;
    for (let left = 8; left > 0; left--) {
      const at = (bits & 15) << 2;
      bits >>= 4;
      // What is shifted out comes back as multiples of the polynomial.
      const out = d & 15;
      d = ((d >>> 4) | (c << 28)) ^ (table[at + 3] as number);
      c = ((c >>> 4) | (b << 28)) ^ (table[at + 2] as number);
      b = ((b >>> 4) | (a << 28)) ^ (table[at + 1] as number);
      a = (a >>> 4) ^ ((out ^ (out << 5) ^ (out << 6) ^ (out << 7)) << 21) ^ (table[at] as number);
    }
  }
  sum[0] = a;
  sum[1] = b;
  sum[2] = c;
  sum[3] = d;
}

/** Four bytes, the first one highest. */
function wordAt(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] as number) << 24) |
    ((bytes[at + 1] as number) << 16) |
    ((bytes[at + 2] as number) << 8) |
    (bytes[at + 3] as number)
  );
}
