import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { cli, temporaryHome } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';
import { mountSkipReason } from '../helpers/keyring.js';
import { COMMAND } from '../helpers/process.js';
import { scene } from '../helpers/scene.js';
import { foldersOf } from '../helpers/storm.js';

// The store is broken from the start. A token is still printed, no secret is created, and nothing that is stored gets lost.

const VALUE = /^[a-z0-9]{32}\n$/;

const otherUser = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];

function otherUserProblem(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root can run a process as somebody else';
  try {
    execFileSync(defined(otherUser[0]), [...otherUser.slice(1), ...COMMAND, '--version'], {
      stdio: 'pipe',
    });
    return undefined;
  } catch {
    return 'the program cannot be run as somebody else here (setpriv, or the folders it lies in)';
  }
}

interface Fault {
  /** Breaks the store in a home folder that holds a token and the secret `ci`. */
  readonly spoil: (home: string) => void;
  /** The program that starts the command, if the fault needs one. */
  readonly prefix?: (home: string) => string[];
  readonly needs?: 'mount' | 'other user' | 'root';
  /** The exit statuses of `secret create new --save`, `secret rotate ci` and `login --store file`. */
  readonly create: number;
  readonly rotate: number;
  readonly login: number;
}

const nothing = () => {};
const filesIn = (folder: string, name: RegExp) =>
  fs
    .readdirSync(folder)
    .filter((file) => name.test(file))
    .map((file) => path.join(folder, file));
const records = (home: string) => filesIn(foldersOf(home).stateDir, /^(token|secret)-.*\.json$/);
const inNamespace = (script: string) => ['unshare', '-m', 'sh', '-c', `${script} && exec "$@"`, 'sh'];

const FAULTS: Record<string, Fault> = {
  'a full disk': {
    spoil: nothing,
    prefix: (home) =>
      inNamespace(
        `cp -a '${home}' '${home}.copy' && mount -t tmpfs -o size=128k,mode=700 none '${home}' && cp -a '${home}.copy/.' '${home}' && rm -r '${home}.copy' && { cat /dev/zero > '${home}/filler' 2>/dev/null; true; }`,
      ),
    needs: 'mount',
    create: 6,
    rotate: 6,
    login: 5,
  },
  'a read-only file system': {
    spoil: nothing,
    prefix: (home) => inNamespace(`mount --bind '${home}' '${home}' && mount -o remount,ro,bind '${home}'`),
    needs: 'mount',
    create: 6,
    rotate: 6,
    login: 5,
  },
  'a home of somebody else, read-only': {
    spoil: (home) => fs.chmodSync(home, 0o755),
    prefix: () => otherUser,
    needs: 'other user',
    create: 6,
    rotate: 6,
    login: 5,
  },
  'an empty home that cannot be written': {
    spoil: (home) => {
      fs.rmSync(path.join(home, '.local'), { recursive: true });
      fs.rmSync(path.join(home, '.config'), { recursive: true });
      fs.chmodSync(home, 0o755);
    },
    prefix: () => otherUser,
    needs: 'other user',
    create: 6,
    rotate: 6,
    login: 5,
  },
  'a folder of records that belongs to somebody else': {
    spoil: (home) => fs.chownSync(foldersOf(home).stateDir, 1234, 1234),
    needs: 'root',
    create: 6,
    rotate: 6,
    login: 0,
  },
  'records that belong to somebody else': {
    spoil: (home) => {
      for (const file of records(home)) fs.chownSync(file, 1234, 1234);
    },
    needs: 'root',
    create: 0,
    rotate: 0,
    login: 0,
  },
  'records that others can change': {
    spoil: (home) => {
      for (const file of records(home)) fs.chmodSync(file, 0o666);
    },
    create: 0,
    rotate: 0,
    login: 0,
  },
  'a folder of records that is a link to another one': {
    spoil: (home) => {
      const { stateDir } = foldersOf(home);
      fs.renameSync(stateDir, `${stateDir}.real`);
      fs.symlinkSync(`${stateDir}.real`, stateDir);
    },
    create: 0,
    rotate: 0,
    login: 0,
  },
  'a folder of records that is a link to nowhere': {
    spoil: (home) => {
      const { stateDir } = foldersOf(home);
      fs.rmSync(stateDir, { recursive: true });
      fs.symlinkSync('/nonexistent/place', stateDir);
    },
    create: 6,
    rotate: 6,
    login: 0,
  },
  'a file in the place of the folder of records': {
    spoil: (home) => {
      const { stateDir } = foldersOf(home);
      fs.rmSync(stateDir, { recursive: true });
      fs.writeFileSync(stateDir, 'in the way');
    },
    create: 6,
    rotate: 6,
    login: 0,
  },
  'a file in the place of the config folder': {
    spoil: (home) => {
      const { configDir } = foldersOf(home);
      fs.rmSync(configDir, { recursive: true });
      fs.writeFileSync(configDir, 'in the way');
    },
    create: 6,
    rotate: 6,
    login: 5,
  },
  'links in the place of records': {
    spoil: (home) => {
      for (const file of records(home)) {
        fs.renameSync(file, `${file}.real`);
        fs.symlinkSync(`${file}.real`, file);
      }
    },
    create: 0,
    rotate: 0,
    login: 0,
  },
  'folders in the place of records': {
    spoil: (home) => {
      for (const file of records(home)) {
        fs.rmSync(file);
        fs.mkdirSync(path.join(file, 'in the way'), { recursive: true });
      }
    },
    create: 0,
    rotate: 0,
    login: 0,
  },
  'records cut short': {
    spoil: (home) => {
      for (const file of records(home)) fs.truncateSync(file, 50);
    },
    create: 0,
    rotate: 0,
    login: 0,
  },
  'records of the next version': {
    spoil: (home) => {
      for (const file of records(home)) {
        const record = JSON.parse(fs.readFileSync(file, 'utf8'));
        fs.writeFileSync(file, JSON.stringify({ ...record, v: record.v + 1, sealed: { new: 'form' } }));
      }
    },
    create: 0,
    rotate: 0,
    login: 0,
  },
  'a key that was cut short': {
    spoil: (home) => fs.truncateSync(path.join(foldersOf(home).configDir, 'store.key'), 7),
    create: 6,
    rotate: 6,
    login: 6,
  },
  'a key that is a link': {
    spoil: (home) => {
      const key = path.join(foldersOf(home).configDir, 'store.key');
      fs.renameSync(key, `${key}.real`);
      fs.symlinkSync(`${key}.real`, key);
    },
    create: 6,
    rotate: 6,
    login: 6,
  },
  'no key any more': {
    spoil: (home) => fs.rmSync(path.join(foldersOf(home).configDir, 'store.key')),
    create: 0,
    rotate: 0,
    login: 0,
  },
};

const problems = {
  mount: mountSkipReason(),
  'other user': otherUserProblem(),
  root: process.getuid?.() === 0 ? undefined : 'only root can give files to somebody else',
};
for (const [what, problem] of Object.entries(problems))
  if (problem) console.log(`store faults that need ${what} are skipped: ${problem}`);

describe.each(Object.entries(FAULTS))('%s', (_name, { spoil, prefix, needs, ...statuses }) => {
  test.skipIf(needs !== undefined && problems[needs] !== undefined)(
    'loses neither token nor secret, and gives a clear error',
    async () => {
      const home = temporaryHome();
      const { run, accepted, mintsFrom, sandbox, env } = await scene(home);
      const prepared = async (line: string, stdin = '') => {
        const ended = await cli(home, line.split(' '), { env, stdin });
        expect(ended.status, line).toBe(0);
        return ended.stdout;
      };
      await prepared('token get');
      const secret = await prepared('secret create ci');
      await prepared('login --secret-stdin', secret);
      fs.rmSync(path.join(foldersOf(home).configDir, 'config.json'));
      spoil(home);
      const broken = (line: string, more = {}) => run(line, prefix?.(home), more);

      for (const line of ['token get', 'token get --fresh', 'token get --lifetime 1h']) {
        const got = await broken(line);
        expect(got, line).toMatchObject({ status: 0, stdout: expect.stringMatching(VALUE) });
        expect(await accepted(got.stdout), line).toBe(true);
        expect(
          got.stderr.split('\n').filter((text) => !/^graphcred: warning: |^$/.test(text)),
          line,
        ).toEqual([]);
      }
      const created = await broken('secret create new --save');
      const listed = JSON.parse(await prepared('secret list -o json --store none'));
      const exists = listed.secrets.some(({ alias }: { alias: string }) => alias === 'new');
      expect({ status: created.status, stdout: created.stdout, exists }).toEqual(
        statuses.create === 0
          ? { status: 0, stdout: 'Secret new is saved in the file store.\n', exists: true }
          : { status: statuses.create, stdout: '', exists: false },
      );
      // Two secrets are saved by now, so the alias must be given.
      const saved = { GRAPHCRED_PASSWORD: '', GRAPHCRED_SECRET_ALIAS: 'ci' };
      const rotated = await broken('secret rotate ci');
      expect(rotated.status, rotated.stderr).toBe(statuses.rotate);
      // If the rotation failed, the old value still works, or the new one is saved and works.
      if (rotated.status !== 0) {
        const viaSaved = await broken('token get --fresh', saved);
        expect((await mintsFrom(secret)) || viaSaved.status === 0).toBe(true);
      } else {
        expect(await broken('token get --fresh', saved)).toMatchObject({ status: 0 });
      }
      const loggedIn = await broken('login --store file');
      expect(loggedIn.status, loggedIn.stderr).toBe(statuses.login);
      for (const { stderr } of [created, rotated, loggedIn]) expect(stderr).not.toMatch(/\bbug\b|\n\s+at /);
      expect(sandbox.unknownRoutes).toEqual([]);
    },
  );
});
