import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { BIN, sandboxFor } from '../helpers/process.js';

/** Loaded before the command: at the end it says what the command made Node load, built in and from files. */
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
  // The part of a name that the build makes from the content says nothing.
  const names = files.map((file: string) => path.relative(root, file).replace(/-[\w-]{8}\.cjs$/, '.cjs'));
  return { stdout, builtin: builtin as string[], files: names as string[] };
}

const HOT = ['bin/graphcred.js', 'dist/cli/hot.cjs'];
/** node:crypto, and what it loads itself. */
const CRYPTO = ['crypto', 'stream', 'stream/promises', 'string_decoder', 'timers'];

test('--version loads one file and nothing built in', async () => {
  const { builtin, files } = await loads(temporaryHome(), ['--version'], {});
  expect(files).toEqual(HOT);
  expect(builtin).toEqual([]);
});

test('token get on a token in a file loads one file, and node:crypto', async () => {
  const home = temporaryHome();
  const { env, mints } = await sandboxFor(home);
  const own = { ...env, GRAPHCRED_STORE: 'file' };
  const first = await loads(home, ['token', 'get'], own);
  expect(first.files.length).toBeGreaterThan(HOT.length);
  const again = await loads(home, ['token', 'get'], own);
  expect(again.stdout).toBe(first.stdout);
  expect(mints()).toBe(1);
  expect(again.files).toEqual(HOT);
  expect(again.builtin).toContain('crypto');
  expect(CRYPTO).toEqual(expect.arrayContaining(again.builtin));
});

test('a cold token get loads neither a prompt, nor YAML, nor commander, nor the sandbox', async () => {
  const home = temporaryHome();
  const { env } = await sandboxFor(home, { serverVersion: '4.1.2' });
  const { files, builtin } = await loads(
    home,
    ['token', 'get', '--server-version', '4', '--store', 'none'],
    env,
  );
  expect(files.map((file) => path.basename(file, '.cjs')).sort()).toMatchInlineSnapshot(`
    [
      "connect",
      "connection",
      "envelope",
      "graphcred.js",
      "gsql-secrets",
      "hot",
      "http",
      "login",
      "mint",
      "mint",
      "none",
      "protocol-v4",
      "rolldown-runtime",
      "server-text",
      "version",
      "words",
    ]
  `);
  expect(builtin).not.toContain('undici');
  expect(builtin).not.toContain('child_process');
});
