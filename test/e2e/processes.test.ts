import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { parseFault } from '../../src/sandbox/faults.js';
import { filesBelow } from '../helpers/canary.js';
import { temporaryHome } from '../helpers/cli.js';
import { gate } from '../helpers/gate.js';
import { put, stateOf } from '../helpers/home.js';
import { keyringSkipReason, withKeyring } from '../helpers/keyring.js';
import { sandboxFor, standaloneSkipReason, start } from '../helpers/process.js';

// holds: C5.3
test('a hundred processes that ask at once with an empty file store mint one token and all get it', {
  timeout: 300_000,
}, async () => {
  const home = temporaryHome();
  const { env, mints } = await sandboxFor(home);
  const argv = ['token', 'get', '--store', 'file', '--timeout', '5m'];
  const results = await Promise.all(Array.from({ length: 100 }, () => start(argv, env).ended));
  expect(new Set(results.map(({ status, stderr }) => `${status} ${stderr}`))).toEqual(new Set(['0 ']));
  expect(new Set(results.map(({ stdout }) => stdout)).size).toBe(1);
  expect(mints()).toBe(1);
  const token = results[0]?.stdout.trim() as string;
  for (const { file, text } of filesBelow(home)) {
    expect(text).not.toContain(token);
    expect(fs.statSync(path.join(home, file)).mode & 0o777).toBe(0o600);
  }
});

// holds: C5.3
test.each(['SIGKILL', 'SIGSTOP'] as const)(
  'after %s to the process that mints the others mint one more token, and none is lost',
  async (signal) => {
    const home = temporaryHome();
    const { sandbox, env, mints } = await sandboxFor(home);
    sandbox.addFault(parseFault('route=POST /requesttoken,nth=1,action=delay,ms=3000'));
    const argv = ['token', 'get', '--store', 'file', '--server-version', '3'];
    // The first request is slow, so that its process can be killed during it. If the process is killed before it sends anything, the next request is
    // slow.
    const holder = start(argv, env);
    const lock = /token-[0-9a-f]+\.lock$/;
    const folder = stateOf(home);
    const locked = () => fs.existsSync(folder) && fs.readdirSync(folder).some((name) => lock.test(name));
    while (!locked()) await new Promise((resolve) => setTimeout(resolve, 5));
    const others = Array.from({ length: 10 }, () => start(argv, env));
    holder.child.kill(signal);
    const results = await Promise.all(others.map(({ ended }) => ended));
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set([0]));
    expect(new Set(results.map(({ stdout }) => stdout)).size).toBe(1);
    expect(mints()).toBeLessThanOrEqual(2);
    if (signal === 'SIGKILL') return;
    holder.child.kill('SIGCONT');
    await holder.ended;
    const { tokens } = JSON.parse((await start(['token', 'list', '-o', 'json'], env).ended).stdout);
    expect(tokens).toHaveLength(mints());
  },
);

/** A process that waits for the lock leaves no trace but its attempts to create the lock's file. */
const TELL_LOCK = `
const fs = require('node:fs');
const { openSync } = fs;
let told = false;
fs.openSync = (file, ...rest) => {
  if (!told && (told = /token-[^/]*\\.lock$/.test(file))) fs.appendFileSync(process.env.HOME + '/waiting', '+');
  return openSync(file, ...rest);
};
`;

// holds: C5.3
test.skipIf(standaloneSkipReason)(
  'an error of the process that mints is the error of all processes that wait',
  async () => {
    const home = temporaryHome();
    const { sandbox, env, mints } = await sandboxFor(home);
    const hook = put(home, 'hook.cjs', TELL_LOCK);
    const waiting = put(home, 'waiting', '');
    const restUrl = await gate(sandbox.restUrl, /requesttoken/, () =>
      vi.waitFor(() => expect(fs.readFileSync(waiting, 'utf8')).toBe('+'.repeat(8)), 30_000),
    );
    const wrong = {
      ...env,
      GRAPHCRED_REST_URL: restUrl,
      GRAPHCRED_PASSWORD: 'wrong',
      NODE_OPTIONS: `--require=${hook}`,
    };
    const argv = ['token', 'get', '--store', 'file', '--server-version', '3', '--timeout', '1m'];
    const results = await Promise.all(Array.from({ length: 8 }, () => start(argv, wrong).ended));
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set([4]));
    expect(mints()).toBe(1);
  },
);

const skip = keyringSkipReason();
if (skip !== undefined) console.log(`keychain tests of the command are skipped: ${skip}`);

describe.skipIf(skip !== undefined)('with the real keychain', () => {
  // holds: C5.8
  test('a locked keychain causes a warning and stores nothing, and exit 6 if the store was named', async () => {
    await withKeyring({ state: 'locked' }, async (keyring) => {
      const { env } = await sandboxFor(keyring.home);
      const all = { ...keyring.env, ...env } as Record<string, string>;
      const kept = await start(['token', 'get'], all).ended;
      expect(kept).toMatchObject({
        status: 0,
        stderr: expect.stringMatching(/^graphcred: warning: .*locked/),
      });
      expect(kept.stdout).toMatch(/^[a-z0-9]{32}\n$/);
      const named = await start(['token', 'get', '--store', 'keychain', '-o', 'json'], all).ended;
      expect({ status: named.status, stdout: named.stdout }).toEqual({ status: 6, stdout: '' });
      expect(JSON.parse(named.stderr).error).toMatchObject({ code: 'STORE_LOCKED' });
      expect((await start(['secret', 'create', 'x', '--save'], all).ended).status).toBe(6);
      expect((await start(['secret', 'list', '-o', 'json'], all).ended).stdout).toContain('"secrets":[]');
    });
  });
});

// holds: C5.7
test('without a keychain the token is still printed, with one line that says why it is not stored', async () => {
  const home = temporaryHome();
  const { env } = await sandboxFor(home);
  const bare = { ...env, XDG_RUNTIME_DIR: home };
  const { status, stdout, stderr } = await start(['token', 'get'], bare).ended;
  expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/^[a-z0-9]{32}\n$/) });
  expect(stderr.trim().split('\n')).toEqual([expect.stringMatching(/no OS keychain.*login --store file/)]);
  expect((await start(['token', 'get', '--store', 'keychain'], bare).ended).status).toBe(6);
});
