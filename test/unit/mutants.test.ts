import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
// @ts-expect-error A script without types.
import { choose, listErrors, readMutants, roomOf } from '../../scripts/mutants/list.mjs';

interface Mutant {
  readonly id: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  readonly security?: true;
  readonly test: string;
}

const mutants: Mutant[] = readMutants();

describe('the list of defects that the tests must notice', () => {
  test('the text of each defect stands exactly once in its file, and the test it names exists', () => {
    expect(listErrors(mutants)).toEqual([]);
  });

  test('an entry is an id, a file, two texts, a test, and whether it is about security', () => {
    for (const { security = true, ...entry } of mutants) {
      expect(Object.keys(entry)).toEqual(['id', 'file', 'find', 'replace', 'test']);
      expect(Object.values(entry).every((value) => typeof value === 'string')).toBe(true);
      expect(security).toBe(true);
    }
  });

  test('every room of src has defects in the list, and there are 150 at least', () => {
    const rooms = fs
      .readdirSync('src', { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && name.includes(path.sep))
      .map((name) => path.dirname(name).split(path.sep).join('/'));
    const listed = new Set(mutants.map(roomOf));
    expect([...new Set(rooms)].filter((room) => !listed.has(room))).toEqual([]);
    expect(mutants.length).toBeGreaterThanOrEqual(150);
  });

  test('the same seed draws the same defects, and another seed others', () => {
    const draw = (seed: number) => choose(mutants, { random: '20', seed }).map(({ id }: Mutant) => id);
    expect(draw(1)).toHaveLength(20);
    expect(draw(1)).toEqual(draw(1));
    expect(draw(2)).not.toEqual(draw(1));
  });

  test('a text that occurs twice, a missing file or test, and a duplicate id are errors', () => {
    const entry = {
      id: 'x',
      file: 'src/store/none.ts',
      find: 'async',
      replace: '',
      test: 'test/none.test.ts',
    };
    expect(listErrors([entry, { ...entry, file: 'src/gone.ts' }])).toEqual([
      expect.stringMatching(/^x: its text is \d+ times in src\/store\/none\.ts/),
      'x: there is no test/none.test.ts; name the test that notices it',
      'x is there twice',
      'x: there is no src/gone.ts; name the file that the text is in now',
      'x: there is no test/none.test.ts; name the test that notices it',
    ]);
  });
});
