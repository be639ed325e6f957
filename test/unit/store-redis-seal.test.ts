import crypto from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GraphException } from '../../src/core/errors.js';
import { closeRefusal, openRefusal } from '../../src/store/redis/entries.js';
import { createSeal } from '../../src/store/redis/seal.js';
import { RUNS } from '../helpers/property.js';

const storeKey = Buffer.alloc(32, 7);
const seal = createSeal(storeKey);
const place = seal.keyOf('t', seal.nameOf('token', 'a key'));

describe('an entry that is encrypted for a Redis server', () => {
  it('can be decrypted by every machine with the store key', () => {
    const sealed = seal.close(place, { value: 'tøken', generation: 3 });
    expect(createSeal(Buffer.alloc(32, 7)).open(place, sealed)).toEqual({ value: 'tøken', generation: 3 });
  });

  // holds: C11.1, C11.5
  it('cannot be decrypted with another store key, under another name, or after any change', () => {
    const sealed = seal.close(place, { value: 'token' });
    expect(createSeal(crypto.randomBytes(32)).open(place, sealed)).toBeUndefined();
    expect(seal.open(seal.keyOf('t', seal.nameOf('token', 'another key')), sealed)).toBeUndefined();
    expect(seal.open(seal.keyOf('r', seal.nameOf('token', 'a key')), sealed)).toBeUndefined();
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      expect(seal.open(place, changed)).toBeUndefined();
      expect(seal.open(place, sealed.subarray(0, at))).toBeUndefined();
    }
  });

  it('is found and decrypted by every version of graphcred: the same store key gives the same names and keys', () => {
    expect(place).toBe('graphcred:1:{9cb7f299167da109}:t:bd6499dcd6d6e24a0bea9dd0235c99bf');
    expect(seal.index).toBe('graphcred:1:{9cb7f299167da109}:i');
    const sealed = 'AQEBAQEBAQEBAQEBlUXloRbSdL06GvYqPSukXut/Uruwlrbf0nkcbF5Qrwfd';
    expect(seal.open(place, Buffer.from(sealed, 'base64'))).toEqual({ value: 'token' });
  });

  it('is never encrypted the same way twice', () => {
    expect(seal.close(place, 'token').equals(seal.close(place, 'token'))).toBe(false);
  });

  it('has its own name for every kind and key, which reveals neither', () => {
    const kinds = fc.constantFrom('token' as const, 'secret' as const, 'password' as const);
    fc.assert(
      fc.property(kinds, fc.string(), kinds, fc.string(), (kind, key, otherKind, otherKey) => {
        const name = seal.nameOf(kind, key);
        expect(name).toMatch(/^[0-9a-f]{32}$/);
        expect(name === seal.nameOf(otherKind, otherKey)).toBe(kind === otherKind && key === otherKey);
        expect(name).not.toBe(createSeal(Buffer.alloc(32, 8)).nameOf(kind, key));
      }),
      RUNS,
    );
  });

  it('has one prefix and is in one slot of a cluster', () => {
    const tag = /^graphcred:1:\{[0-9a-f]{16}\}:/;
    const keys = [seal.index, ...(['t', 'l', 'r', 'g'] as const).map((kind) => seal.keyOf(kind, 'ab'))];
    expect(new Set(keys.map((key) => tag.exec(key)?.[0])).size).toBe(1);
    expect(new Set(keys).size).toBe(5);
    expect(createSeal(Buffer.alloc(32, 8)).index).not.toBe(seal.index);
  });
});

it('a refusal is given only to processes that waited for it, and only if it is about a credential', () => {
  const seal = createSeal(Buffer.alloc(32, 7));
  const sent = (code: 'AUTH_FAILED' | 'PERMISSION_DENIED' | 'SERVER_ERROR', since: number) =>
    openRefusal(seal, 'r', closeRefusal(seal, 'r', new GraphException(code, 'no'), 5), since)?.code;
  expect(sent('AUTH_FAILED', 4)).toBe('AUTH_FAILED');
  expect(sent('PERMISSION_DENIED', 4)).toBe('PERMISSION_DENIED');
  expect(sent('AUTH_FAILED', 5)).toBeUndefined();
  expect(sent('SERVER_ERROR', 4)).toBeUndefined();
});

it('a refusal tells the other machines all that it tells this one', () => {
  const seal = createSeal(Buffer.alloc(32, 7));
  const refusal = new GraphException('AUTH_FAILED', 'no', {
    hint: 'look',
    option: 'username',
    remedies: ['list-secrets'],
    serverCode: 'REST-1',
    serverText: 'No.',
    status: 401,
  });
  expect({ ...openRefusal(seal, 'r', closeRefusal(seal, 'r', refusal, 5), 4) }).toEqual({ ...refusal });
});
