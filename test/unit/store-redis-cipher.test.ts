import crypto from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { GraphException } from '../../src/core/errors.js';
import { Sensitive } from '../../src/core/sensitive.js';
import { Cipher } from '../../src/store/redis/cipher.js';
import { tokenRecord } from '../helpers/store-options.js';

const cipher = new Cipher(Buffer.alloc(32, 7));
const record = tokenRecord({ key: 'a key', store: 'redis', createdAtUnix: 1000, expiresAtUnix: 4600 });
const name = cipher.nameOf(record.key);
const read = (of: Cipher, encrypted: Buffer, as = name) =>
  of.decryptToken(as, encrypted, 3_600_000, 1_000_000);

describe('a token that is encrypted for a Redis server', () => {
  const encrypted = cipher.encryptToken(name, { record, value: new Sensitive('tøken'), generation: 3 });

  // holds: C11.1, C11.5
  it('cannot be decrypted with another store key, under another name, as another kind, or after any change', () => {
    expect(read(new Cipher(Buffer.alloc(32, 7)), encrypted)?.value.reveal()).toBe('tøken');
    expect(read(new Cipher(crypto.randomBytes(32)), encrypted)).toBeUndefined();
    expect(read(cipher, encrypted, cipher.nameOf('another key'))).toBeUndefined();
    expect(cipher.decryptRefusal(name, encrypted, 0)).toBeUndefined();
    for (let at = 0; at < encrypted.length; at++) {
      const changed = Buffer.from(encrypted);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      expect(read(cipher, changed)).toBeUndefined();
      expect(read(cipher, encrypted.subarray(0, at))).toBeUndefined();
    }
  });

  it('is found and decrypted by every version of graphcred: the same store key gives the same names and keys', () => {
    expect(cipher.keysOf(name).token).toBe(
      'graphcred:1:{9cb7f299167da109}:t:bd6499dcd6d6e24a0bea9dd0235c99bf',
    );
    expect(cipher.index).toBe('graphcred:1:{9cb7f299167da109}:i');
    const older =
      '7ebjqef5HRCH5DnrcX9ah4QvNHV+XpgjROwNl8TIncafVxD1oSPS/lpTE0Ou/r2FWZNcuOLr/0RNFlJTuOdBlG9lLiCv+tDXzi5yrqW6ymhmvc4C1/cojYkGcM/sJMcYhDDs/TILl1/dFUserB9DkxyW/idOCPdKjt2xxItBIL9gtHW4U5A3hWm9NV2PcYRzfeuktTm/TMmBd6GJgEaHT+DlA1n+HDpfxPdIqO1rR6vkARinE21zrEZ/FodFJ1Jbbon61iWdwM5+JF3kvytOaTTvR/YzC1+pNWD17HQB5lgT+QJ6I77+Sp2HEf0W+S5IvORJUZPVn4J3ZY0tfNiN7AC5MNjtFHmGiiS3vHrbGjRI+WbUJ9PbNRvqixWETr1gAA6DQb+7oJJeR7Jym5B08Eh+UjRIMmH18AzpdrBOySpNYiBpf+hKq2ZMUADxapEyWs62fJmRLzY19iI=';
    expect(read(cipher, Buffer.from(older, 'base64'))).toMatchObject({ record, generation: 3 });
  });

  it('has a name that differs by key and store key', () => {
    const names = [name, cipher.nameOf('a kez')];
    const other = new Cipher(Buffer.alloc(32, 8));
    expect(new Set([...names, other.nameOf('a key')]).size).toBe(3);
    expect(other.index).not.toBe(cipher.index);
  });
});

it('a refusal tells all that it tells this machine, to processes that waited for it, if it is about a credential', () => {
  const refusal = new GraphException('AUTH_FAILED', 'no', {
    hint: 'look',
    option: 'username',
    remedies: ['list-secrets'],
    serverCode: 'REST-1',
    serverText: 'No.',
    status: 401,
  });
  const sent = (error: GraphException, since: number) =>
    cipher.decryptRefusal(name, cipher.encryptRefusal(name, error, 5), since);
  expect({ ...sent(refusal, 4) }).toEqual({ ...refusal });
  expect(sent(refusal, 5)).toBeUndefined();
  expect(sent(new GraphException('PERMISSION_DENIED', 'no'), 4)?.code).toBe('PERMISSION_DENIED');
  expect(sent(new GraphException('SERVER_ERROR', 'no'), 4)).toBeUndefined();
});
