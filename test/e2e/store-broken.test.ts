import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { cli, temporaryHome } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';
import { run as runProgram } from '../helpers/driver.js';
import { gate } from '../helpers/gate.js';
import { keyringSkipReason, mountSkipReason, processesOf, withKeyring } from '../helpers/keyring.js';
import { COMMAND, start } from '../helpers/process.js';
import { scene } from '../helpers/scene.js';
import { foldersOf } from '../helpers/storm.js';

// The store is broken from the start. A token is still printed, no secret is created, and nothing that is stored gets lost.

const VALUE = /^[a-z0-9]{32}\n$/;

const otherUser = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];

function otherUserProblem(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root can run a process as somebody else';
  try {
    for (const words of [
      [...COMMAND, '--version'],
      ['ls', path.join(os.tmpdir(), '.')],
    ])
      execFileSync(defined(otherUser[0]), [...otherUser.slice(1), ...words], { stdio: 'pipe' });
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
  readonly needs?: 'mount' | 'other user';
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

/** Runs a command while the folder is read-only, as after a remount. */
const readOnly = (folder: string) =>
  inNamespace(`mount --bind '${folder}' '${folder}' && mount -o remount,ro,bind '${folder}'`);

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
    login: 6,
  },
  'a home of somebody else, read-only': {
    spoil: (home) => {
      const { configDir, stateDir } = foldersOf(home);
      for (const end of [configDir, stateDir])
        for (let dir = end; dir !== path.dirname(home); dir = path.dirname(dir)) fs.chmodSync(dir, 0o755);
    },
    prefix: () => otherUser,
    needs: 'other user',
    create: 6,
    rotate: 6,
    login: 5,
  },
  'records cut short': {
    spoil: (home) => {
      for (const file of records(home)) fs.truncateSync(file, 50);
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

// The store breaks after the server has created a token or a secret, and before it is stored. It would be lost, so it is printed.

describe('when the store breaks after the server created the value,', () => {
  const REQUESTS = {
    mint: / \/requesttoken /,
    create: /CREATE SECRET/,
  };

  /** Prepares a run of the command line. `during` breaks the store while the server answers the request to mint or create. */
  async function breaking(
    home: string,
    line: string,
    during: () => Promise<unknown> | unknown,
    more: Readonly<Record<string, string>>,
  ) {
    const made = await scene(home);
    let isFirst = true;
    const once = async () => {
      if (!isFirst) return;
      isFirst = false;
      await during();
    };
    const env = {
      ...made.env,
      ...more,
      GRAPHCRED_REST_URL: await gate(
        made.sandbox.restUrl,
        REQUESTS.mint,
        line.startsWith('secret') ? async () => {} : once,
      ),
      GRAPHCRED_GSQL_URL: await gate(made.sandbox.gsqlUrl, REQUESTS.create, once),
    };
    return { ...made, ended: () => runProgram([...COMMAND, ...line.split(' ')], env) };
  }

  const noKeychain = keyringSkipReason();
  if (noKeychain !== undefined) console.log(`faults of the keychain are skipped: ${noKeychain}`);

  describe.skipIf(noKeychain !== undefined)('the keychain', () => {
    const named = (home: string, name: string) =>
      processesOf(home).filter((pid) => {
        try {
          return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(name);
        } catch {
          return false;
        }
      });
    const signal = (name: string, what: NodeJS.Signals) => (keyring: { home: string }) => {
      const pids = named(keyring.home, name);
      expect(pids.length).toBeGreaterThan(0);
      for (const pid of pids) process.kill(pid, what);
    };

    test.each([
      ['ends', signal('gnome-keyring-daemon', 'SIGKILL')],
      ['stops', signal('gnome-keyring-daemon', 'SIGSTOP')],
      ['loses its bus', signal('dbus-daemon', 'SIGKILL')],
      ['is locked', (keyring: { lock(): Promise<void> }) => keyring.lock()],
    ])('%s', async (_what, vanish) => {
      await withKeyring({ state: 'unlocked' }, async (keyring) => {
        const env = { ...keyring.env, GRAPHCRED_STORE: '' };
        const { ended, accepted } = await breaking(keyring.home, 'token get', () => vanish(keyring), env);
        const { status, stdout, stderr } = await ended();
        expect({ status, accepted: await accepted(stdout) }).toEqual({ status: 0, accepted: true });
        expect(stderr).toMatch(/^graphcred: warning: .*the token is not kept.*\n$/);
      });
      await withKeyring({ state: 'unlocked' }, async (keyring) => {
        const env = { ...keyring.env, GRAPHCRED_STORE: 'keychain' };
        const line = 'secret create ci --save';
        const { ended, mintsFrom } = await breaking(keyring.home, line, () => vanish(keyring), env);
        const { status, stdout } = await ended();
        expect({ status, works: await mintsFrom(stdout) }).toEqual({ status: 6, works: true });
      });
    });
  });
});

// The state folder becomes read-only after the server has carried out the request. The change on the server remains, and the message says what is
// left to do on this machine.

describe.skipIf(problems.mount !== undefined)('a read-only state folder', () => {
  const stored = async () => {
    const home = temporaryHome();
    const all = await scene(home);
    const token = (await all.run('token get')).stdout.trim();
    const { stateDir } = foldersOf(home);
    return { ...all, token, stateDir, prefix: readOnly(stateDir) };
  };
  /** Deletes the token on the server, but not from the store of this machine. */
  const refuseAtServer = async ({ env, token }: Awaited<ReturnType<typeof stored>>) => {
    const line = 'token delete --token-stdin --store none'.split(' ');
    expect((await start(line, env, token).ended).status).toBe(0);
  };

  test('token delete deletes the token on the server, exits 10, and reports that it is still stored', async () => {
    const { run, accepted, token, prefix, stateDir } = await stored();
    const ended = await run('token delete -o json', prefix);
    expect(ended).toMatchObject({ status: 10, stdout: '{"schemaVersion":1,"deleted":1,"missing":0}\n' });
    expect(JSON.parse(ended.stderr).error).toMatchObject({
      code: 'PARTIAL',
      message: expect.stringContaining(`cannot write to ${stateDir}: the file system is read-only`),
      hint: expect.stringContaining('graphcred token delete --skip-missing'),
    });
    expect(await accepted(token)).toBe(false);
    expect((await run('token delete --skip-missing')).status).toBe(0);
    expect((await run('token get')).stdout.trim()).not.toBe(token);
  });

  test('logout --revoke revokes the token, exits 10, and reports that it is still stored', async () => {
    const { run, accepted, token, prefix } = await stored();
    const ended = await run('logout --revoke', prefix);
    expect(ended.status).toBe(10);
    expect(ended.stderr).toMatch(
      /The token is gone at the server, but this machine could not forget it: cannot write to /,
    );
    expect(await accepted(token)).toBe(false);
  });

  test('logout changes nothing, and reports this with exit 6', async () => {
    const { run, prefix } = await stored();
    const ended = await run('logout', prefix);
    expect(ended).toMatchObject({ status: 6, stdout: '' });
    expect(ended.stderr).toContain('the file system is read-only');
  });

  test('api sends its request with a new token, not with the refused one again', async () => {
    const all = await stored();
    await refuseAtServer(all);
    const ended = await all.run('api /version', all.prefix);
    expect(ended.status).toBe(0);
    expect(ended.stderr).toContain('warning: the refused token could not be forgotten here');
    expect(fs.readdirSync(all.stateDir).filter((name) => /\.(lock|tmp)/.test(name))).toEqual([]);
  });
});
