import fs, { type Stats } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { approve, isTrusted } from '../../src/config/trust.js';
import { temporaryHome } from '../helpers/cli.js';

const UID = 1000;

/** Whether a config file with this owner and mode is trusted without approval. */
const trusted = (place: 'home' | 'project', stat: { uid: number; mode: number }, uid?: number) =>
  isTrusted(
    { path: '/home/ada/.graphcredrc', place, bytes: Buffer.from('graph: demo'), stat: stat as Stats },
    { uid, configDir: undefined },
  );

test.each([
  [0o100600, true],
  [0o100644, true],
  [0o100620, false],
  [0o100602, false],
  [0o100666, false],
])('~/.graphcredrc of mode %o is trusted: %s', (mode, expected) => {
  expect(trusted('home', { uid: UID, mode }, UID)).toBe(expected);
});

test('~/.graphcredrc of another user than root is not trusted, not even by root', () => {
  expect(trusted('home', { uid: 0, mode: 0o100600 }, UID)).toBe(true);
  expect(trusted('home', { uid: 1001, mode: 0o100600 }, UID)).toBe(false);
  expect(trusted('home', { uid: 1001, mode: 0o100600 }, 0)).toBe(false);
});

test('on a system without owners and modes the file in the home folder is trusted', () => {
  expect(trusted('home', { uid: 0, mode: 0o100666 })).toBe(true);
});

test('a file in a project folder is not trusted, whoever owns it', () => {
  expect(trusted('project', { uid: UID, mode: 0o100600 }, UID)).toBe(false);
});

test('the approval of one file does not apply to a copy of it', () => {
  const configDir = temporaryHome();
  const approvals = path.join(configDir, 'trusted');
  const counts = (file: string, text: string) =>
    isTrusted(
      {
        path: file,
        place: 'project',
        bytes: Buffer.from(text),
        stat: { uid: UID, mode: 0o100600 } as Stats,
      },
      { uid: UID, configDir },
    );
  approve('/work/one/.graphcredrc', Buffer.from('graph: one'), configDir);
  const [one] = fs.readdirSync(approvals) as [string];
  approve('/work/two/.graphcredrc', Buffer.from('graph: two'), configDir);
  const two = String(fs.readdirSync(approvals).find((name) => name !== one));
  fs.copyFileSync(path.join(approvals, one), path.join(approvals, two));
  expect(counts('/work/one/.graphcredrc', 'graph: one')).toBe(true);
  expect(counts('/work/two/.graphcredrc', 'graph: one')).toBe(false);
});
