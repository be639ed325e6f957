import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';
import { keyringSkipReason, mountSkipReason, withKeyring } from '../helpers/keyring.js';
import { sandboxFor } from '../helpers/process.js';

// Tests what is special about the standalone executable. `npm run test:standalone` runs all other end-to-end tests on it.
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-standalone-'));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));
const target = `${process.platform}-${process.arch}`;
const executable = path.join(folder, `graphcred-${target}`);
// The executable is built here, so that it has the present sources.
const built = spawnSync(process.execPath, ['scripts/standalone.mjs', '--out', folder], { encoding: 'utf8' });
const unavailable = built.status === 69 ? built.stderr.trim() : undefined;
if (unavailable !== undefined) console.log(`tests of the standalone executable are skipped: ${unavailable}`);
const noKeyring = keyringSkipReason() !== undefined;
const noMounts = mountSkipReason() !== undefined;

interface Place {
  readonly cwd?: string;
  /** A program that starts the executable. */
  readonly prefix?: readonly string[];
}

/** Runs the executable with a PATH on which there is no other program. */
async function run(argv: readonly string[], env: Record<string, string>, place: Place = {}) {
  const [command, ...words] = [...(place.prefix ?? []), executable, ...argv];
  const child = spawn(defined(command), words, {
    cwd: place.cwd ?? folder,
    env: { ...env, PATH: place.prefix ? (process.env.PATH ?? '') : '/nonexistent' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { status, stdout, stderr };
}

test('a runtime that npm could not fetch is a failure, not one that the registry does not have', () => {
  const npm = { registry: 'http://127.0.0.1:1', cache: folder, fetch_retries: '0' };
  const settings = Object.entries(npm).map(([name, value]) => [`npm_config_${name}`, value]);
  const env = { ...process.env, ...Object.fromEntries(settings) };
  const words = ['scripts/standalone.mjs', '--target', 'darwin-x64', '--out', folder];
  const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8', env });
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('ECONNREFUSED') });
});

describe.skipIf(unavailable !== undefined)('the standalone executable', () => {
  test('is built with its checksum, and --version also prints the build', async () => {
    expect({ status: built.status, stderr: built.stderr }).toEqual({ status: 0, stderr: '' });
    const sums = spawnSync('sha256sum', ['-c', 'SHA256SUMS'], { cwd: folder, encoding: 'utf8' });
    expect(sums.stdout).toBe(`graphcred-${target}: OK\n`);
    const { version } = JSON.parse(fs.readFileSync('package.json', 'utf8'));
    for (const argv of [['--version'], ['--version', '--help']]) {
      const [first, second, ...rest] = (await run(argv, {})).stdout.split('\n');
      expect([first, rest]).toEqual([version, ['']]);
      expect(second).toMatch(new RegExp(`^standalone ${target}, bun \\d+\\.\\d+\\.\\d+$`));
    }
  });

  test.skipIf(process.platform !== 'linux')(
    'and its Debian package, made on Linux alone, carry the notices of the packages in them',
    () => {
      const notices = fs.readFileSync('dist/THIRD-PARTY-NOTICES', 'utf8');
      expect(fs.readFileSync(path.join(folder, 'THIRD-PARTY-NOTICES'), 'utf8')).toBe(notices);
      execFileSync(process.execPath, ['scripts/package.mjs', '--out', folder], { stdio: 'pipe' });
      const deb = defined(fs.readdirSync(folder).find((name) => name.endsWith('.deb')));
      execFileSync('dpkg-deb', ['--extract', deb, 'unpacked'], { cwd: folder });
      const doc = path.join(folder, 'unpacked/usr/share/doc/graphcred');
      expect(fs.readFileSync(path.join(doc, 'THIRD-PARTY-NOTICES'), 'utf8')).toBe(notices);
      expect(fs.readFileSync(path.join(doc, 'copyright'), 'utf8')).toContain('THIRD-PARTY-NOTICES');
    },
    180_000,
  );

  test('can be built here for another system', () => {
    const out = path.join(folder, 'windows');
    const words = ['scripts/standalone.mjs', '--target', 'windows-x64', '--out', out];
    expect(spawnSync(process.execPath, words, { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    expect(fs.readFileSync(path.join(out, 'graphcred-windows-x64.exe')).toString('latin1', 0, 2)).toBe('MZ');
  });

  test('reads neither settings nor code from files in the working directory', async () => {
    const home = temporaryHome();
    const { env } = await sandboxFor(home);
    const cwd = path.join(home, 'cloned');
    const planted = (name: string, content: string) => {
      const file = path.join(cwd, name);
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, content);
    };
    const evil = `require('node:fs').appendFileSync(${JSON.stringify(path.join(home, 'planted'))}, 'x');`;
    planted('evil.cjs', evil);
    planted('bunfig.toml', 'preload = ["./evil.cjs"]\n[run]\npreload = ["./evil.cjs"]\n');
    for (const name of ['.env', '.env.local', '.env.production', '.env.development'])
      planted(name, 'GRAPHCRED_GRAPH=planted\nTG_GRAPHNAME=planted\nGRAPHCRED_OUTPUT=env\n');
    planted('package.json', '{"name":"x","main":"./evil.cjs","imports":{"#x":"./evil.cjs"}}');
    planted('tsconfig.json', '{"compilerOptions":{"paths":{"*":["./evil.cjs"]}}}');
    for (const name of ['keytar', 'commander', 'cosmiconfig', 'inquirer'])
      planted(`node_modules/${name}/index.js`, evil);
    planted('.graphcredrc', 'lifetime: 1h\n');
    const { GRAPHCRED_GRAPH: _, ...bare } = env;
    const shown = await run(['config', 'show', '-o', 'json'], bare, { cwd });
    expect(shown).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('is not trusted, so it is not used'),
    });
    const { settings } = JSON.parse(shown.stdout) as { settings: { name: string; value: unknown }[] };
    expect(settings.find(({ name }) => name === 'graph')).toBeUndefined();
    expect(settings.find(({ name }) => name === 'lifetime')).toMatchObject({ value: '2592000' });
    await run(['token', 'get', '--store', 'keychain'], env, { cwd });
    expect(fs.existsSync(path.join(home, 'planted'))).toBe(false);
  });

  test.skipIf(noKeyring)('contains the keychain library, and is its own helper process', async () => {
    await withKeyring({ state: 'unlocked' }, async (keyring) => {
      const { env, mints } = await sandboxFor(keyring.home);
      const all = { ...keyring.env, ...env };
      const first = await run(['token', 'get'], all);
      expect(first).toMatchObject({ status: 0, stderr: '' });
      expect(await run(['token', 'get'], all)).toEqual(first);
      expect(mints()).toBe(1);
      expect((await run(['token', 'list', '-o', 'json'], all)).stdout).toContain('"store":"keychain"');
      // A native module must be a file before it can be loaded. Only this user can read that file.
      const loaded = fs.readdirSync(all.TMPDIR as string).filter((name) => name.endsWith('.node'));
      expect(loaded).toHaveLength(1);
      expect(fs.statSync(path.join(all.TMPDIR as string, defined(loaded[0]))).mode & 0o777).toBe(0o600);
    });
  });

  test.skipIf(noKeyring || noMounts)('stores nothing without libsecret, and doctor says why', async () => {
    await withKeyring({ state: 'unlocked' }, async (keyring) => {
      const { env } = await sandboxFor(keyring.home);
      const all = { ...keyring.env, ...env };
      const hidden =
        'for file in $(ldconfig -p | sed -n "s/.*libsecret-1.so.0.* => //p"); do mount --bind /dev/null "$(readlink -f "$file")"; done; exec "$@"';
      const prefix = ['unshare', '-m', 'sh', '-c', hidden, 'sh'];
      const { status, stdout, stderr } = await run(['token', 'get'], all, { prefix });
      expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/^[a-z0-9]{32}\n$/) });
      expect(stderr).toMatch(
        /library that opens the OS keychain cannot be loaded.*apt install libsecret-1-0/,
      );
      const examined = await run(['doctor'], all, { prefix });
      expect(examined.stdout).toMatch(
        /^fail +store +the library that opens the OS keychain cannot be loaded/m,
      );
    });
  });
});
