import fs from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { accessOf, isPrivatePlace, keepOthersOut } from '../../src/files/access.js';
import { shellWord } from '../../src/files/shell-word.js';
import { temporaryHome } from '../helpers/cli.js';

// holds: C14.3
test('on Windows a place is private inside the profile folder, wherever a link leads', () => {
  const [home, outside] = [temporaryHome(), temporaryHome()];
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(process, 'platform', 'get').mockReturnValue('win32');
  vi.spyOn(process.getBuiltinModule('node:os'), 'homedir').mockReturnValue(home);
  fs.symlinkSync(outside, path.join(home, 'link'), 'junction');
  const places = ['.', 'x', 'x/not/there', '..x', 'link', 'link/x', '../x'].map((name) =>
    path.join(home, name),
  );
  expect(places.map(isPrivatePlace)).toEqual([true, true, true, true, false, false, false]);
  expect(places.map((place) => accessOf(place, 0o666))).toEqual([
    ...['none', 'none', 'none', 'none'],
    ...['read', 'read', 'read'],
  ]);
  expect(keepOthersOut(outside)).toBe(`move it into ${home}`);
  expect(keepOthersOut(home)).toBe(`icacls ${shellWord(home)} /reset`);
});

// holds: C14.4
test.each([
  ['C:\\a\\b-1.json', 'C:\\a\\b-1.json'],
  ['C:\\Users\\Jörg Müller\\x', '"C:\\Users\\Jörg Müller\\x"'],
  ['C:\\a & b\\', '"C:\\a & b\\\\"'],
  ["C:\\it's $HOME", "'C:\\it''s $HOME'"],
])('a printed command names %s so that the shells of Windows take it for one word', (name, word) => {
  expect(shellWord(name, 'win32')).toBe(word);
});
