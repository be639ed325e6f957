import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { cli, temporaryHome } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';
import { foldersOf } from '../helpers/home.js';
import { mountSkipReason } from '../helpers/keyring.js';
import { COMMAND, sandboxFor, spawned } from '../helpers/process.js';
import { statusFor, unknownRoutes } from '../helpers/sandbox.js';

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
  /** The exit status of `secret create new --save`, `secret rotate ci` and `login --store file`. */
  readonly status: 0 | 6;
}

const nothing = () => {};
const inNamespace = (script: string) => ['unshare', '-m', 'sh', '-c', `${script} && exec "$@"`, 'sh'];

const FAULTS: Record<string, Fault> = {
  'a full disk': {
    spoil: nothing,
    prefix: (home) =>
      inNamespace(
        `cp -a '${home}' '${home}.copy' && mount -t tmpfs -o size=128k,mode=700 none '${home}' && cp -a '${home}.copy/.' '${home}' && rm -r '${home}.copy' && { cat /dev/zero > '${home}/filler' 2>/dev/null; true; }`,
      ),
    needs: 'mount',
    status: 6,
  },
  'a home of somebody else, read-only': {
    spoil: (home) => {
      const { configDir, stateDir } = foldersOf(home);
      for (const end of [configDir, stateDir])
        for (let dir = end; dir !== path.dirname(home); dir = path.dirname(dir)) fs.chmodSync(dir, 0o755);
    },
    prefix: () => otherUser,
    needs: 'other user',
    status: 6,
  },
  'records cut short': {
    spoil: (home) => {
      const { stateDir } = foldersOf(home);
      for (const file of fs.readdirSync(stateDir))
        if (/^(token|secret)-.*\.json$/.test(file)) fs.truncateSync(path.join(stateDir, file), 50);
    },
    status: 0,
  },
  'a key that was cut short': {
    spoil: (home) => fs.truncateSync(path.join(foldersOf(home).configDir, 'store.key'), 7),
    status: 6,
  },
  'no key any more': {
    spoil: (home) => fs.rmSync(path.join(foldersOf(home).configDir, 'store.key')),
    status: 0,
  },
};

/** Starts a sandbox, and returns functions that run the built command with the file store and ask the server about what it printed. */
async function scene(home: string) {
  const { sandbox, env } = await sandboxFor(home);
  const all = { ...env, GRAPHCRED_STORE: 'file' };
  const accepted = async (token: string) => (await statusFor(sandbox, token.trim())) === 200;
  /** Whether the server accepts this secret. */
  const mintsFrom = async (secret: string) => {
    const reply = await fetch(`${sandbox.restUrl}/requesttoken`, {
      method: 'POST',
      body: JSON.stringify({ secret: secret.trim(), lifetime: '60' }),
    });
    return ((await reply.json()) as { error: boolean }).error === false;
  };
  const run = (line: string, prefix: readonly string[] = [], more: Record<string, string> = {}) =>
    spawned([...prefix, ...COMMAND, ...line.split(' ')], { ...all, ...more });
  return { sandbox, env: all, accepted, mintsFrom, run };
}

const problems = {
  mount: mountSkipReason(),
  'other user': otherUserProblem(),
};
for (const [what, problem] of Object.entries(problems))
  if (problem) console.log(`store faults that need ${what} are skipped: ${problem}`);

describe.each(Object.entries(FAULTS))('%s', (_name, { spoil, prefix, needs, status }) => {
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
        status === 0
          ? { status, stdout: 'Secret "new" is saved in the file store.\n', exists: true }
          : { status, stdout: '', exists: false },
      );
      // Two secrets are saved by now, so the alias must be given.
      const saved = { GRAPHCRED_PASSWORD: '', GRAPHCRED_SECRET_ALIAS: 'ci' };
      const rotated = await broken('secret rotate ci');
      expect(rotated.status, rotated.stderr).toBe(status);
      // A value works that is saved; or the old one, if the rotation failed; or the new one that is printed.
      const viaSaved = await broken('token get --fresh', saved);
      const other = rotated.status === 0 ? rotated.stdout.trim() : secret;
      expect(viaSaved.status === 0 || (await mintsFrom(other))).toBe(true);
      const loggedIn = await broken('login --store file');
      expect(loggedIn.status, loggedIn.stderr).toBe(status);
      for (const { stderr } of [created, rotated, loggedIn]) expect(stderr).not.toMatch(/\bbug\b|\n\s+at /);
      expect(unknownRoutes(sandbox)).toEqual([]);
    },
  );
});
