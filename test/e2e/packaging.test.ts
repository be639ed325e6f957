import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { validate } from 'dockerfile-utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { absent } from '../helpers/lacking.js';
import { DEEP } from '../helpers/property.js';

test('a linter finds no mistake in the Dockerfile', () => {
  const text = fs.readFileSync('docs/container/Dockerfile', 'utf8');
  expect(validate(text)).toEqual([]);
  // This proves that the check finds a mistake at all.
  expect(validate(text.replace('ENTRYPOINT', 'ENTRYPONT'))).not.toEqual([]);
});

/** Returns why the package cannot be tested here. The test takes minutes and needs a Debian system made for it. */
function problem(): string | undefined {
  if (!DEEP) return 'only with GRAPHCRED_DEEP=1, since a Debian system is made for it';
  if (process.getuid?.() !== 0) return 'only root can install packages';
  const gone = absent(['debootstrap', 'dpkg-deb', 'unshare', 'chroot']);
  return gone.length > 0 ? `not installed: ${gone.join(', ')} (apt install debootstrap)` : undefined;
}
const unavailable = problem();
if (unavailable !== undefined) console.log(`the Debian package is not tried: ${unavailable}`);

const MINUTES = 60_000;

describe.skipIf(unavailable !== undefined)('the Debian package on a bare system', () => {
  let folder: string;
  let root: string;
  const output = (command: string, ...args: string[]) =>
    execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  /** Runs a shell script in the bare Debian system, with a fresh environment and /proc. */
  const inside = (script: string) =>
    output(
      'unshare',
      '-mpf',
      'sh',
      '-c',
      'mount -t proc proc "$1/proc" && exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$1" sh -euc "$2"',
      'sh',
      root,
      script,
    );

  beforeAll(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-debian-'));
    root = path.join(folder, 'root');
    for (const script of ['standalone', 'package'])
      execFileSync(process.execPath, [`scripts/${script}.mjs`, '--out', folder], { stdio: 'pipe' });
    // The packages come from the mirror that this machine itself uses.
    const [mirror] = output('apt-get', 'indextargets', '--format', '$(REPO_URI)').split('\n');
    output('debootstrap', '--variant=minbase', 'bookworm', root, mirror as string);
    const [deb] = fs.readdirSync(folder).filter((name) => name.endsWith('.deb'));
    fs.copyFileSync(path.join(folder, deb as string), path.join(root, 'tmp/graphcred.deb'));
  }, 20 * MINUTES);
  afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

  test(
    'can be installed, runs, and can be removed without deleting a file of the user',
    () => {
      const before = inside('find / -xdev -not -path "/var/*" -not -path "/proc/*" | sort');
      expect(before).not.toContain('node_modules');
      inside('dpkg -i /tmp/graphcred.deb');
      expect(inside('dpkg -V graphcred; dpkg -l graphcred | tail -1')).toMatch(/^ii +graphcred /);
      expect(inside('graphcred --version')).toMatch(/^\d+\.\d+\.\d+.*\nstandalone linux-/);
      const token = inside(
        'graphcred sandbox --gsql-port 0 --rest-port 0 -- sh -c "graphcred token get --store file"',
      );
      expect(token).toMatch(/^[a-z0-9]{32}\n$/);
      expect(inside('zcat /usr/share/man/man1/graphcred.1.gz')).toMatch(/^\.TH graphcred 1/im);
      const completion = '/usr/share/bash-completion/completions/graphcred';
      expect(inside(`bash -c '. ${completion}; complete -p graphcred'`)).toContain('_graphcred');
      const kept =
        'cd /root && find .config/graphcred .local/state/graphcred -type f -exec sha256sum {} + | sort';
      const mine = inside(kept);
      expect(mine.trim().split('\n').length).toBeGreaterThan(1);
      inside('dpkg --purge graphcred');
      expect(inside(kept)).toBe(mine);
      const after = inside('find / -xdev -not -path "/var/*" -not -path "/proc/*" | sort');
      const left = after.split('\n').filter((name) => !before.split('\n').includes(name));
      expect(left.filter((name) => !/^\/root(\/|$)/.test(name))).toEqual([]);
      expect(inside('dpkg -l | grep -c graphcred || true').trim()).toBe('0');
    },
    10 * MINUTES,
  );
});
