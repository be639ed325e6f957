// The built command on Windows: the whole job, with each kind of store and of credential.
import fs from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { sandboxFor } from '../helpers/process.js';
import { native, type RunOptions, type Windows, windows, windowsSkipReason } from './windows.js';

describe.skipIf(windowsSkipReason() !== undefined)('on Windows', () => {
  let machine: Windows;
  beforeAll(async () => {
    machine = await windows();
    return () => machine.remove();
  }, 120_000);

  /** Starts a database, and returns a function that runs lines against it, none of which may fail. */
  async function database(env: Record<string, string> = {}) {
    const { env: found, sandbox, mints } = await sandboxFor(machine.home);
    const { HOME: _, GRAPHCRED_PASSWORD: password = '', ...address } = found;
    const run = (line: string | readonly string[], options: RunOptions = {}) =>
      machine.graphcred(typeof line === 'string' ? line.split(' ') : line, {
        ...options,
        env: { ...address, ...env, ...options.env },
      });
    const done = async (line: string, options: RunOptions = {}) => {
      const { status, stdout, stderr } = await run(line, options);
      expect({ line, status, stderr: status === 0 ? '' : stderr }).toEqual({ line, status: 0, stderr: '' });
      return stdout.trim();
    };
    return { run, done, password, sandbox, mints };
  }

  test.each(['keychain', 'file'])(
    'a profile, its secret and its tokens live in the store %s',
    async (store) => {
      const { done, run, password, mints } = await database();
      await done(`login --store ${store} --password-stdin --save-password`, { stdin: `${password}\r\n` });
      const places = ['AppData/Roaming/graphcred/config.json', 'AppData/Local/graphcred'];
      expect(places.filter((one) => !fs.existsSync(path.join(machine.home, one)))).toEqual([]);
      await done('secret create nightly --save');
      expect(JSON.parse(await done('secret list -o json')).secrets).toMatchObject([
        { alias: 'nightly', saved: true },
      ]);
      await done('secret rotate nightly');
      const before = mints();
      const token = await done('token get --fresh');
      expect(await done('token get')).toBe(token);
      expect(mints()).toBe(before + 1);
      expect(JSON.parse(await done('status -o json'))).toMatchObject({ store, profile: 'default' });
      expect(JSON.parse(await done('token list -o json')).tokens[0]).toMatchObject({ store });
      expect((await done('doctor -o json')).match(/"verdict":"fail"/)).toBeNull();
      await done('token delete');
      await done('secret drop nightly');
      await done('logout');
      expect((await run('token get')).status).toBe(2);
    },
    // Each access to the keychain starts a process, which takes long on a busy machine.
    300_000,
  );

  test.each([
    ['--secret-stdin', 'secret create fromfile'],
    ['--password-stdin', undefined],
  ])('login %s takes a credential in a line that ends as on Windows', async (flag, first) => {
    const { done, password } = await database({ GRAPHCRED_STORE: 'file' });
    const stdin = first ? await done(first, { env: { GRAPHCRED_PASSWORD: password } }) : password;
    await done(`login ${flag} -p other --store file`, { stdin: `\uFEFF${stdin}\r\n` });
    await done('profile list');
    expect(await done('token get -p other', first ? {} : { env: { GRAPHCRED_PASSWORD: password } })).toMatch(
      /^\w{32}$/,
    );
    await done('logout -p other');
  });

  test('twelve calls at once mint one token', async () => {
    const { done, password, mints } = await database({ GRAPHCRED_STORE: 'file' });
    const env = { GRAPHCRED_PASSWORD: password };
    const tokens = await Promise.all(Array.from({ length: 12 }, () => done('token get', { env })));
    expect(new Set(tokens).size).toBe(1);
    expect(mints()).toBe(1);
  });

  test('a token is printed as the caller takes it', async () => {
    const { done, password } = await database({ GRAPHCRED_STORE: 'file' });
    const env = { GRAPHCRED_PASSWORD: password };
    const token = await done('token get', { env });
    expect(await done('token get -o env', { env })).toBe(`$env:TG_API_TOKEN = '${token}'`);
    expect(await done('token get -o env', { env: { ...env, MSYSTEM: 'MINGW64' } })).toBe(
      `export TG_API_TOKEN='${token}'`,
    );
    expect(await done('token get -o env --shell cmd', { env })).toBe(`set "TG_API_TOKEN=${token}"`);
    expect(await done('token get -o header', { env })).toBe(`Authorization: Bearer ${token}`);
    expect(JSON.parse(await done('token get -o json', { env }))).toMatchObject({ token, source: 'store' });
  });

  test('exec runs an .exe with a token and ends with its status', async () => {
    const { run, password } = await database({ GRAPHCRED_STORE: 'none' });
    const script = path.join(machine.work, 'seven.cjs');
    fs.writeFileSync(script, 'console.log(process.env.TG_API_TOKEN.length); process.exitCode = 7;');
    const argv = ['exec', '--', machine.node, native(script)];
    const env = { GRAPHCRED_PASSWORD: password };
    expect(await run(argv, { env })).toMatchObject({ status: 7, stdout: '32\n' });
  });

  test('a config file of a cloned folder counts after config trust', async () => {
    const { run, done } = await database();
    const cwd = path.join(machine.work, 'clone');
    fs.mkdirSync(cwd);
    fs.writeFileSync(path.join(cwd, '.graphcredrc'), 'profiles:\r\n  default:\r\n    graph: other\r\n');
    expect((await run('token get', { cwd })).status).toBe(5);
    await done('config trust', { cwd });
    expect(await done('config show', { cwd, env: { GRAPHCRED_GRAPH: '' } })).toContain('other');
  });

  test.each([
    ['with a drive', (file: string) => file],
    ['without the limit of 260 characters', (file: string) => `\\\\?\\${file}`],
  ])('the name of a credential file %s may be long', async (_, named) => {
    const { done, password } = await database({ GRAPHCRED_STORE: 'none' });
    const folder = path.join(machine.work, ...Array.from({ length: 3 }, () => 'ü'.repeat(90)));
    fs.mkdirSync(folder, { recursive: true });
    const file = path.join(folder, 'password');
    fs.writeFileSync(file, `${password}\r\n`);
    const env = { GRAPHCRED_PASSWORD_FILE: named(native(file)) };
    expect(await done('token get', { env })).toMatch(/^\w{32}$/);
  });

  // holds: C14.3
  test('what lies outside the profile folder is named in a warning', async () => {
    const { run, password } = await database({ GRAPHCRED_STORE: 'file' });
    const file = path.join(machine.work, 'password');
    fs.writeFileSync(file, password);
    const state = native(path.join(machine.work, 'state'));
    const env = { XDG_STATE_HOME: state, GRAPHCRED_PASSWORD_FILE: native(file) };
    const { status, stderr } = await run('token get', { env });
    const warned = stderr.match(
      /(?<=warning: ).*(?= is outside your Windows user folder|; to stop that: move it into)/g,
    );
    expect({ status, warned }).toEqual({
      status: 0,
      warned: [`${state}\\graphcred`, 'other users may read the file named by GRAPHCRED_PASSWORD_FILE'],
    });
    const inside = await run('token get --fresh', { env: { GRAPHCRED_PASSWORD: password } });
    expect(inside.stderr).not.toMatch(/user folder|other users/);
  });
});
