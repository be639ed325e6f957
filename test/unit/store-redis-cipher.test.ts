import crypto from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { cipherOf } from '../../src/store/redis/cipher.js';
import { tokenRecord } from '../helpers/store-options.js';

const cipher = cipherOf(Buffer.alloc(32, 7));
const name = cipher.nameOf('a key');
const { token, refusal } = cipher.keysOf(name);

describe('what is encrypted for a Redis server', () => {
  const content = { value: 'tøken' };
  const encrypted = cipher.encrypt(token, content);

  // holds: C11.1, C11.5
  it('cannot be decrypted with another store key, under another name, as another kind, or after any change', () => {
    expect(cipherOf(Buffer.alloc(32, 7)).decrypt(token, encrypted)).toEqual(content);
    expect(cipherOf(crypto.randomBytes(32)).decrypt(token, encrypted)).toBeUndefined();
    expect(cipher.decrypt(cipher.keysOf(cipher.nameOf('another key')).token, encrypted)).toBeUndefined();
    expect(cipher.decrypt(refusal, encrypted)).toBeUndefined();
    for (let at = 0; at < encrypted.length; at++) {
      const changed = Buffer.from(encrypted);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      expect(cipher.decrypt(token, changed)).toBeUndefined();
      expect(cipher.decrypt(token, encrypted.subarray(0, at))).toBeUndefined();
    }
  });

  it('is found and decrypted by every version of graphcred: the same store key gives the same names and keys', () => {
    expect(token).toBe('graphcred:1:{9cb7f299167da109}:t:bd6499dcd6d6e24a0bea9dd0235c99bf');
    expect(cipher.index).toBe('graphcred:1:{9cb7f299167da109}:i');
    const older =
      '7ebjqef5HRCH5DnrcX9ah4QvNHV+XpgjROwNl8TIncafVxD1oSPS/lpTE0Ou/r2FWZNcuOLr/0RNFlJTuOdBlG9lLiCv+tDXzi5yrqW6ymhmvc4C1/cojYkGcM/sJMcYhDDs/TILl1/dFUserB9DkxyW/idOCPdKjt2xxItBIL9gtHW4U5A3hWm9NV2PcYRzfeuktTm/TMmBd6GJgEaHT+DlA1n+HDpfxPdIqO1rR6vkARinE21zrEZ/FodFJ1Jbbon61iWdwM5+JF3kvytOaTTvR/YzC1+pNWD17HQB5lgT+QJ6I77+Sp2HEf0W+S5IvORJUZPVn4J3ZY0tfNiN7AC5MNjtFHmGiiS3vHrbGjRI+WbUJ9PbNRvqixWETr1gAA6DQb+7oJJeR7Jym5B08Eh+UjRIMmH18AzpdrBOySpNYiBpf+hKq2ZMUADxapEyWs62fJmRLzY19iI=';
    const record = tokenRecord({ key: 'a key', store: 'redis', createdAtUnix: 1000, expiresAtUnix: 4600 });
    expect(cipher.decrypt(token, Buffer.from(older, 'base64'))).toEqual({
      record,
      value: 'tøken',
      generation: 3,
    });
  });

  it('has a name that differs by key and store key', () => {
    const names = [name, cipher.nameOf('a kez')];
    const other = cipherOf(Buffer.alloc(32, 8));
    expect(new Set([...names, other.nameOf('a key')]).size).toBe(3);
    expect(other.index).not.toBe(cipher.index);
  });
});
