import fs from 'node:fs';
import path from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { tryLock } from '../../src/store/lock/lock.js';
import { bench } from '../helpers/cli.js';

afterEach(() => vi.restoreAllMocks());

const configOf = (home: string) => path.join(home, '.config/graphcred/config.json');
const profilesOf = (home: string) =>
  Object.keys(JSON.parse(fs.readFileSync(configOf(home), 'utf8')).profiles).sort();
const put = (home: string, name: string, text: string) => {
  fs.mkdirSync(path.dirname(configOf(home)), { recursive: true, mode: 0o700 });
  fs.writeFileSync(path.join(path.dirname(configOf(home)), name), text, { mode: 0o600 });
};

test('logins at the same time lose no profile', async () => {
  const { run, home } = await bench();
  put(home, 'config.json', '{}');
  // This lock stands for another login that has read the file and is about to write it.
  const lock = tryLock(`${configOf(home)}.lock`);
  const waiting = run('login -p second');
  const names = () => fs.readdirSync(path.dirname(configOf(home)));
  await expect
    .poll(() => names().some((name) => /\.lock\..*\.tmp$/.test(name)), { timeout: 20_000 })
    .toBe(true);
  put(home, 'config.json', '{"profiles":{"first":{"graph":"demo"}}}');
  lock?.release();
  expect(await waiting).toMatchObject({ status: 0 });
  expect(profilesOf(home)).toEqual(['first', 'second']);
  expect(names().filter((name) => /\.(lock|tmp)/.test(name))).toEqual([]);
});

test('a stale temporary file of a process with the same id, as in a container, does not prevent a login', async () => {
  const { run, home } = await bench();
  put(home, `config.json.${process.pid}.tmp`, '{"prof');
  expect(await run('login -p ci')).toMatchObject({ status: 0 });
  expect(profilesOf(home)).toEqual(['ci']);
});

test.each(['null', '', '\ufeff{}'])('a config.json that holds %j counts as empty', async (text) => {
  const { run, home } = await bench();
  put(home, 'config.json', text);
  expect((await run('status --offline')).status).toBe(3);
  expect(await run('login -p ci')).toMatchObject({ status: 0 });
  expect(profilesOf(home)).toEqual(['ci']);
});

test.each(['[]', '7', '{"profiles":null}'])('a config.json that holds %s is CONFIG_INVALID', async (text) => {
  const { run, home } = await bench();
  put(home, 'config.json', text);
  const { status, stderr } = await run('login -p ci');
  expect(status).toBe(5);
  expect(stderr).toContain(configOf(home));
  expect(fs.readFileSync(configOf(home), 'utf8')).toBe(text);
});

test('on Windows a file that another program has open for a moment is replaced in a later attempt', async () => {
  const { run, home } = await bench();
  const [rename, platform] = [fs.renameSync, process.platform];
  let refused = 0;
  vi.spyOn(fs, 'renameSync').mockImplementation((from, to) => {
    if (String(to) === configOf(home) && ++refused < 4) throw Object.assign(new Error(), { code: 'EBUSY' });
    rename(from, to);
  });
  const loginOn = async (name: NodeJS.Platform) => {
    Object.defineProperty(process, 'platform', { value: name });
    try {
      return (await run('login -p ci')).status;
    } finally {
      Object.defineProperty(process, 'platform', { value: platform });
    }
  };
  // On other systems this error is not temporary, so it is not retried.
  expect(await loginOn('linux')).toBe(5);
  expect(refused).toBe(1);
  expect(await loginOn('win32')).toBe(0);
  expect(refused).toBe(4);
  expect(profilesOf(home)).toEqual(['ci']);
});
