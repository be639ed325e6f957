import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { keyringSkipReason, withKeyring } from '../helpers/keyring.js';
import { BIN, sandboxFor } from '../helpers/process.js';

/** This module is loaded before the command. At the end it prints which modules Node has loaded for the command. */
const SPY = `
const before = new Set(process.moduleLoadList);
process.on('exit', () => {
  const builtin = process.moduleLoadList.filter((name) => !before.has(name))
    .filter((name) => /^NativeModule (?!internal)/.test(name)).map((name) => name.replace('NativeModule ', ''));
  const files = Object.keys(require.cache).filter((file) => file !== __filename);
  require('node:fs').writeFileSync(process.env.SPY_FILE, JSON.stringify({ builtin, files }));
});
`;

async function loads(home: string, argv: readonly string[], env: Readonly<Record<string, string>>) {
  const spy = path.join(home, 'spy.cjs');
  const found = path.join(home, 'spy.json');
  fs.writeFileSync(spy, SPY);
  const child = spawn(process.execPath, ['--require', spy, BIN, ...argv], {
    env: { PATH: process.env.PATH, HOME: home, SPY_FILE: found, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [stdout, [status]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  expect(status).toBe(0);
  const { builtin, files } = JSON.parse(fs.readFileSync(found, 'utf8'));
  const root = path.dirname(path.dirname(BIN));
  // The build adds a part made from the content to each file name, which is removed here.
  const names = files.map((file: string) => path.relative(root, file).replace(/-[\w-]{8}\.cjs$/, '.cjs'));
  return { stdout, builtin: builtin as string[], files: names as string[] };
}

const START = ['bin/graphcred.js', 'dist/cli/start.cjs'];
/** Modules that only other commands, or a request to the server, need. */
const NOT_FOR_A_CACHED_TOKEN =
  /new-token|connection|node_modules|catalogue|complete|sandbox|vault|keytar|defaults/;
const NOT_BUILT_IN = ['child_process', 'http', 'https', 'tls', 'undici', 'perf_hooks', 'readline'];

test('--version loads only the first file of the program', async () => {
  const { builtin, files } = await loads(temporaryHome(), ['--version'], {});
  expect(files).toEqual([...START, 'dist/cli/rolldown-runtime.cjs']);
  for (const name of NOT_BUILT_IN) expect(builtin).not.toContain(name);
});

test.each([['--help'], ['-h'], ['help'], []])(
  'graphcred %s shows the help without what commander runs programs with',
  async (...argv) => {
    const { stdout, files, builtin } = await loads(temporaryHome(), argv, {});
    expect(stdout).toContain('Usage: graphcred <command> [options]');
    expect(files.join(' ')).not.toContain('node_modules');
    expect(builtin).not.toContain('child_process');
  },
);

test('token get on a token in a file loads no HTTP client, prompt, YAML parser or keychain', async () => {
  const home = temporaryHome();
  const { env, mints } = await sandboxFor(home);
  const own = { ...env, GRAPHCRED_STORE: 'file' };
  const first = await loads(home, ['token', 'get'], own);
  expect(first.files).toContain('dist/cli/new-token.cjs');
  const again = await loads(home, ['token', 'get'], own);
  expect(again.stdout).toBe(first.stdout);
  expect(mints()).toBe(1);
  expect(again.files.filter((file) => NOT_FOR_A_CACHED_TOKEN.test(file))).toEqual([]);
  for (const name of NOT_BUILT_IN) expect(again.builtin).not.toContain(name);
});

test.skipIf(keyringSkipReason() !== undefined)(
  'token get on a token in an unlocked keychain asks the session bus, and loads no native module',
  async () => {
    await withKeyring({ state: 'unlocked' }, async (keyring) => {
      const { env, mints } = await sandboxFor(keyring.home);
      const own = { ...keyring.env, ...env, GRAPHCRED_STORE: 'keychain' };
      const first = await loads(keyring.home, ['token', 'get'], own);
      expect(first.files).toContain('node_modules/keytar/lib/keytar.js');
      const again = await loads(keyring.home, ['token', 'get'], own);
      expect(again.stdout).toBe(first.stdout);
      expect(mints()).toBe(1);
      expect(again.files.join(' ')).not.toMatch(/keytar|connection/);
      for (const name of ['crypto', ...NOT_BUILT_IN]) expect(again.builtin).not.toContain(name);
    });
  },
);

test('token get without a store loads no prompt, YAML parser, commander, sandbox or cryptography', async () => {
  const home = temporaryHome();
  const { env } = await sandboxFor(home, { serverVersion: '4.1.2' });
  const { files, builtin } = await loads(
    home,
    ['token', 'get', '--server-version', '4', '--store', 'none'],
    env,
  );
  expect(files.join(' ')).not.toMatch(/node_modules|catalogue|sandbox|defaults/);
  for (const name of ['undici', 'child_process', 'crypto', 'os', 'perf_hooks'])
    expect(builtin).not.toContain(name);
});
