import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Sensitive } from '../../src/core/sensitive.js';
import { fileStore } from '../../src/store/file.js';
import type { StoreRecord } from '../../src/store/store.js';
import { defined } from '../helpers/defined.js';
import { PROPERTY_MS, RUNS } from '../helpers/property.js';
import { passwordRecord, secretRecord, storeOptions, tokenRecord } from '../helpers/store-options.js';

let home: string;
let stateDir: string;
beforeEach(() => {
  home = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-records-'));
  stateDir = path.join(home, '.local/state/graphcred');
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

const STORE_KEY = Buffer.alloc(32, 7).toString('base64');

function open(warnings: string[] = []) {
  const storeKey = async () => new Sensitive(STORE_KEY);
  return fileStore({ ...storeOptions(home, (text) => warnings.push(text)), stateDir, storeKey });
}

const text = fc.string({ unit: 'binary' });
const time = fc.integer({ min: 0, max: 253_402_300_799 });
const lifetime = fc.double({ noNaN: true, noDefaultInfinity: true });
const where = { host: text, gsqlUrl: text, restUrl: text, graph: fc.option(text) };
const about = {
  // A key may contain any text that a setting can hold, even half of a surrogate pair.
  key: fc.oneof(
    text,
    fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((n) => String.fromCharCode(n)) }),
  ),
  createdAtUnix: time,
};
const tokenInfo = fc.record({ ...where, principal: text, lifetime, serverVersion: text });
const record: fc.Arbitrary<StoreRecord> = fc.oneof(
  fc.record({ ...about, expiresAtUnix: time, info: tokenInfo }).map(tokenRecord),
  fc.record({ ...about, info: fc.record({ ...where, id: text, alias: text }) }).map(secretRecord),
  fc.record({ ...about, info: fc.record({ ...where, username: text }) }).map(passwordRecord),
);

const onlyFile = () =>
  path.join(stateDir, fs.readdirSync(stateDir).find((name) => name.endsWith('.json')) as string);

function empty(): void {
  fs.rmSync(stateDir, { recursive: true, force: true });
}

/** One byte is changed, the rest is cut off, bytes are inserted, a piece is doubled, or the whole text is replaced. */
const damage = fc.oneof(
  fc.tuple(fc.constant('flip'), fc.nat(), fc.integer({ min: 1, max: 255 })),
  fc.tuple(fc.constant('cut'), fc.nat(), fc.constant(0)),
  fc.tuple(fc.constant('double'), fc.nat(), fc.integer({ min: 1, max: 40 })),
  fc.tuple(fc.constant('remove'), fc.nat(), fc.integer({ min: 1, max: 40 })),
  fc.tuple(fc.uint8Array({ maxLength: 60, size: 'max' }), fc.nat(), fc.constant(0)),
);

function damaged(
  bytes: Buffer,
  [how, where, amount]: readonly [string | Uint8Array, number, number],
): Buffer {
  const at = where % (bytes.length + 1);
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  if (how === 'flip' && bytes.length === 0) return bytes;
  if (how === 'flip') {
    const changed = Buffer.from(bytes);
    changed.writeUInt8(changed.readUInt8(at % bytes.length) ^ amount, at % bytes.length);
    return changed;
  }
  if (how === 'cut') return before;
  if (how === 'double') return Buffer.concat([before, after.subarray(0, amount), after]);
  if (how === 'remove') return Buffer.concat([before, after.subarray(amount)]);
  return Buffer.concat([before, how as Uint8Array, after]);
}

describe('a record', () => {
  test(
    'that was damaged counts as missing, or still gives the same value, and never causes a crash',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          record,
          text,
          fc.array(damage, { minLength: 1, maxLength: 3 }),
          async (one, value, harm) => {
            empty();
            await open().put(one, new Sensitive(value));
            const file = onlyFile();
            const bytes = harm.reduce(damaged, fs.readFileSync(file));
            // The record of a newer version is left alone.
            fc.pre(!/"v":(?!1\b)\d/.test(bytes.toString()));
            fs.writeFileSync(file, bytes);
            const store = open();
            const [found] = await store.list(one.key);
            const read = found && (await store.get(found));
            if (read) expect(read.reveal()).toBe(value);
            for (const listed of await store.list()) await store.get(listed);
            await store.put(one, new Sensitive('new'));
            expect((await store.get(defined((await store.list(one.key))[0])))?.reveal()).toBe('new');
          },
        ),
        RUNS,
      );
    },
    PROPERTY_MS,
  );
});
