import { createCipheriv, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openAesGcm } from '../../src/store/aes-gcm.js';
import { PROPERTY_MS, RUNS } from '../helpers/property.js';

/** Sealed by OpenSSL, which is also what the store seals with. */
function seal(key: Uint8Array, iv: Uint8Array, aad: Uint8Array, text: Uint8Array) {
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: 16 });
  cipher.setAAD(aad);
  const sealed = Buffer.concat([cipher.update(text), cipher.final()]);
  return { sealed, tag: cipher.getAuthTag() };
}

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const sample = {
  key: bytes(32),
  iv: bytes(12),
  // Without a size fast-check stays at ten bytes or so.
  aad: fc.uint8Array({ maxLength: 700, size: 'max' }),
  text: fc.uint8Array({ maxLength: 3000, size: 'max' }),
};

describe('opening AES-256-GCM', () => {
  // McGrew and Viega, The Galois/Counter Mode of Operation, appendix B, test cases 13 to 16.
  const KEY = 'feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308';
  const TEXT =
    'd9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255';
  const SEALED =
    '522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad';
  const ZERO = '00'.repeat(32);
  test.each([
    [13, ZERO, '00'.repeat(12), '', '', '', '530f8afbc74536b9a963b4f1c4cb738b'],
    [
      14,
      ZERO,
      '00'.repeat(12),
      '',
      '00'.repeat(16),
      'cea7403d4d606b6e074ec5d3baf39d18',
      'd0d1c8a799996bf0265b98b5d48ab919',
    ],
    [15, KEY, 'cafebabefacedbaddecaf888', '', TEXT, SEALED, 'b094dac5d93471bdec1a502270e3cc6c'],
    [
      16,
      KEY,
      'cafebabefacedbaddecaf888',
      'feedfacedeadbeeffeedfacedeadbeefabaddad2',
      TEXT.slice(0, 120),
      SEALED.slice(0, 120),
      '76fc6ece0f4e1768cddf8853bb2d551b',
    ],
  ])('published test case %i', (_number, ...hex) => {
    const [key, iv, aad, text, sealed, tag] = hex.map((one) => Buffer.from(one, 'hex')) as [
      Buffer,
      Buffer,
      Buffer,
      Buffer,
      Buffer,
      Buffer,
    ];
    expect(openAesGcm(key, iv, aad, sealed, tag)).toEqual(text);
    expect(seal(key, iv, aad, text)).toEqual({ sealed, tag });
  });

  test(
    'gives back whatever OpenSSL has sealed',
    () => {
      fc.assert(
        fc.property(fc.record(sample), ({ key, iv, aad, text }) => {
          const { sealed, tag } = seal(key, iv, aad, text);
          expect(openAesGcm(key, iv, aad, sealed, tag)?.equals(text)).toBe(true);
        }),
        { ...RUNS, endOnFailure: true },
      );
    },
    PROPERTY_MS,
  );

  test(
    'one bit changed anywhere, and it gives nothing',
    () => {
      const parts = fc.record({ ...sample, which: fc.nat(4), at: fc.nat(), bit: fc.nat(7) });
      fc.assert(
        fc.property(parts, ({ key, iv, aad, text, which, at, bit }) => {
          const { sealed, tag } = seal(key, iv, aad, text);
          const all = [key, iv, aad, sealed, tag].map((part) => Uint8Array.from(part)) as [
            Uint8Array,
            Uint8Array,
            Uint8Array,
            Uint8Array,
            Uint8Array,
          ];
          const part = all[which] as Uint8Array;
          fc.pre(part.length > 0);
          part[at % part.length] = (part[at % part.length] as number) ^ (1 << bit);
          expect(openAesGcm(...all)).toBeUndefined();
        }),
        { ...RUNS, endOnFailure: true },
      );
    },
    PROPERTY_MS,
  );

  const opens = (around: number, length: number) => {
    const [key, iv, aad, text] = [32, 12, around, length].map((size) => randomBytes(size)) as [
      Buffer,
      Buffer,
      Buffer,
      Buffer,
    ];
    const { sealed, tag } = seal(key, iv, aad, text);
    return openAesGcm(key, iv, aad, sealed, tag)?.equals(text);
  };

  test('every pair of lengths up to two blocks', () => {
    for (let around = 0; around < 34; around++)
      for (let length = 0; length < 34; length++)
        expect(opens(around, length), `${length} bytes, ${around} around`).toBe(true);
  });

  // Where a counter, or a length in bits, would wrap in 8, 16 or 20 bits.
  test.each([
    [8200, 9000],
    [70_000, 5],
    [5, 70_000],
    [0, 2 ** 20 + 40],
  ])('%i bytes around %i', (around, length) => {
    expect(opens(around, length)).toBe(true);
  });

  test.each([
    ['key', 31],
    ['key', 33],
    ['key', 64],
    ['iv', 11],
    ['iv', 13],
    ['iv', 24],
    ['tag', 15],
    ['tag', 17],
    ['tag', 28],
  ])('a %s of %i bytes opens nothing', (part, length) => {
    const parts = { key: Buffer.alloc(32), iv: Buffer.alloc(12), tag: Buffer.alloc(16) };
    const { sealed, tag } = seal(parts.key, parts.iv, Buffer.of(1), Buffer.of(2));
    const other = { ...parts, tag };
    expect(openAesGcm(other.key, other.iv, Buffer.of(1), sealed, other.tag)).toEqual(Buffer.of(2));
    // What is too long begins with what is right, what is too short is the beginning of it.
    const changed = Buffer.alloc(length);
    other[part as 'key'].copy(changed);
    Object.assign(other, { [part]: changed });
    expect(openAesGcm(other.key, other.iv, Buffer.of(1), sealed, other.tag)).toBeUndefined();
  });

  test('no bit of the tag is left out', () => {
    const [key, iv] = [Buffer.alloc(32, 1), Buffer.alloc(12, 2)];
    const { sealed, tag } = seal(key, iv, Buffer.from('what is around it'), Buffer.from('the value'));
    for (let bit = 0; bit < 128; bit++) {
      const other = Buffer.from(tag);
      other[bit >> 3] = (other[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(openAesGcm(key, iv, Buffer.from('what is around it'), sealed, other)).toBeUndefined();
    }
    for (const length of [0, 4, 8, 12, 15])
      expect(
        openAesGcm(key, iv, Buffer.from('what is around it'), sealed, tag.subarray(0, length)),
      ).toBeUndefined();
  });

  test('a tag that ends in zero is not the same without it', () => {
    const [key, iv] = [Buffer.alloc(32, 1), Buffer.alloc(12, 2)];
    for (let number = 0; ; number++) {
      const { sealed, tag } = seal(key, iv, Buffer.alloc(0), Buffer.from(String(number)));
      if (tag[15] !== 0) continue;
      expect(openAesGcm(key, iv, Buffer.alloc(0), sealed, tag)).toEqual(Buffer.from(String(number)));
      expect(openAesGcm(key, iv, Buffer.alloc(0), sealed, tag.subarray(0, 15))).toBeUndefined();
      break;
    }
  });

  test('bytes cannot move between what is sealed and what is around it', () => {
    const [key, iv] = [Buffer.alloc(32, 1), Buffer.alloc(12, 2)];
    const { sealed, tag } = seal(key, iv, Buffer.alloc(16, 3), Buffer.alloc(32, 4));
    expect(
      openAesGcm(
        key,
        iv,
        Buffer.concat([Buffer.alloc(16, 3), sealed.subarray(0, 16)]),
        sealed.subarray(16),
        tag,
      ),
    ).toBeUndefined();
  });
});
