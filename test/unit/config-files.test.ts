import { execFileSync } from 'node:child_process';
import fs, { type Stats } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { approve, findConfigs, findTrustedConfig, readConfig, whyNotTrusted } from '../../src/config/find.js';
import { isLiteralCredential, readSwitch, type SettingsInput } from '../../src/config/keys.js';
import { isProfileName, PROFILE_NAME_FORM, parseConfig } from '../../src/config/parse.js';
import { resolveSettings } from '../../src/config/settings.js';
import { removeProfile, writeProfile } from '../../src/config/write.js';
import { tryLock } from '../../src/files/lock.js';
import { replaceFile } from '../../src/files/private-files.js';
import { temporaryHome } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';

const read = (file: string) => JSON.parse(fs.readFileSync(file, 'utf8'));
const CORRECT = 'correct the file; to see all settings: graphcred help environment';

function input(home: string, more: Partial<SettingsInput> = {}): SettingsInput {
  return { flags: {}, env: {}, cwd: home, home, configDir: undefined, ...more };
}

test.each([
  ['{\n  "graph": "a",\n}', ', line 3'],
  ['{\n  "graph": "a"\n  "host": "b"\n}', ', line 3'],
  ['{"profiles": [1, 2}\n', ', line 1'],
  // JSON.parse gives no position for it.
  ['{\n  "graph": tru\n}', ', line 2'],
])('an error in JSON is told with its line: %j', async (text, line) => {
  await expect(parseConfig('/x.json', text)).rejects.toThrow(`/x.json${line}: this is not valid JSON.`);
});

describe('values of a config file', () => {
  const LIST = 'write a list, for example secretCommand: [vault, kv, get, -field=secret, kv/graph]';
  const SWITCH = 'write one of: 1, true, yes, on, 0, false, no, off';
  const NAME = `begin it with ${PROFILE_NAME_FORM}`;
  test.each([
    '# mine',
    'tls:',
    'defaultProfile:',
    'profiles:\n  a:\n',
    'defaultProfile: a\nprofiles:\n  a: # nothing yet',
  ])('a YAML file or table with nothing in it sets nothing: %j', async (text) => {
    const { defaults, profiles } = await parseConfig('/x/config.yaml', text);
    expect([defaults, ...profiles.values()].every((table) => Object.keys(table).length === 0)).toBe(true);
  });

  // holds: C3.24
  test.each([
    [{ secretCommand: 'vault' }, 'secretCommand is not a list of strings', LIST],
    [{ secretCommand: ['a', 1] }, 'secretCommand is not a list of strings', LIST],
    [{ graph: {} }, 'graph is not a string', CORRECT],
    // YAML has made these of 3.10, 0123456 and 1.10 already.
    [{ serverVersion: 3.1 }, 'serverVersion is not a string', 'put the value in quotes'],
    [
      { profiles: { p: { password: 123456 } } },
      'profiles.p.password is not a string',
      'put the value in quotes',
    ],
    [{ tls: { ca: 1.1 } }, 'tls.ca is not a string', 'put the value in quotes'],
    [{ gsqlurl: 'x' }, 'gsqlurl is not a setting graphcred knows', 'did you mean gsqlUrl?'],
    [{ 'tls.ca': 'x' }, '"tls.ca" is not a setting graphcred knows', 'did you mean tls: { ca: … }?'],
    [{ toString: 'x' }, 'toString is not a setting graphcred knows', CORRECT],
    [{ tls: 'x' }, 'tls must be a table of settings', CORRECT],
    [{ redis: [] }, 'redis must be a table of settings', CORRECT],
    [{ defaultProfile: 1 }, 'defaultProfile is not text', 'put the value in quotes'],
    [{ profiles: [] }, 'profiles must be a table of profiles', CORRECT],
    [{ profiles: { a: 1 } }, 'profiles.a must be a table of settings', CORRECT],
    [{ profiles: { '-a': {} } }, 'profiles.-a is not a valid profile name', NAME],
    [[], 'the file must be a table of settings', CORRECT],
    [{ tls: { insecure: 'never' } }, 'tls.insecure must be on or off', SWITCH],
    [{ noInput: 2 }, 'noInput must be on or off', SWITCH],
    [{ noInput: ['on'] }, 'noInput must be on or off', SWITCH],
    [{ secretCommand: [] }, 'secretCommand is not a list of strings', LIST],
    [{ restPort: '9000x' }, 'restPort is not a port number', CORRECT],
    [{ gsqlPort: 'x14240' }, 'gsqlPort is not a port number', CORRECT],
    [{ graph: 'a\0b' }, 'graph contains a NUL character.*', CORRECT],
    [{ secretCommand: ['a', 'b\0'] }, 'secretCommand contains a NUL character.*', CORRECT],
  ])('%j is refused with a hint', async (config, problem, hint) => {
    const parsed = parseConfig('/x/config.yaml', JSON.stringify(config));
    await expect(parsed).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(new RegExp(`: ${problem}\\.$`)),
      hint,
    });
  });

  test('the line of a YAML error is counted from 1', async () => {
    await expect(parseConfig('/x/config.yaml', 'graph: demo\nhost: [\nx')).rejects.toThrow(/, line [34]: /);
    await expect(parseConfig('/x/config.yaml', 'graph: @demo')).rejects.toThrow('/x/config.yaml, line 1: ');
  });

  // holds: C3.1
  test('a switch takes the same words in a file as in a variable', async () => {
    const { defaults } = await parseConfig('/x/config.yaml', 'noInput: yes\ntls: { insecure: off }\n');
    const values = [defaults.noInput, defaults['tls.insecure']].map((value) => readSwitch(`${value}`));
    expect(values).toEqual([true, false]);
  });

  test('the URL of a Redis server is a credential only when it holds a password', () => {
    expect(isLiteralCredential('redis.url', 'rediss://ada:s3cret@redis.example:6379')).toBe(true);
    expect(isLiteralCredential('redis.url', 'rediss://ada@corp:s3cret@redis.example:6379')).toBe(true);
    expect(isLiteralCredential('redis.url', 'rediss://ada@redis.example:6379')).toBe(false);
    expect(isLiteralCredential('redis.url', 'rediss://redis.example:6379/a:b@c')).toBe(false);
  });
});

describe('which config file is read', () => {
  test('--config counts more than GRAPHCRED_CONFIG, and is a path from the current folder', async () => {
    const home = temporaryHome();
    for (const name of ['a', 'b']) fs.writeFileSync(path.join(home, `${name}.json`), `{"graph":"${name}"}`);
    const both = input(home, { flags: { config: 'a.json' }, env: { GRAPHCRED_CONFIG: 'b.json' } });
    const { file } = await findTrustedConfig(both);
    expect(file?.path).toBe(path.join(home, 'a.json'));
    expect(file?.config.defaults).toEqual({ graph: 'a' });
  });

  test('the search ends at the home folder, also when that is named by a symbolic link', () => {
    const root = fs.realpathSync(temporaryHome());
    const [real, link] = [path.join(root, 'real'), path.join(root, 'link')];
    const cwd = path.join(real, 'project');
    fs.mkdirSync(cwd, { recursive: true });
    fs.symlinkSync(real, link);
    fs.writeFileSync(path.join(real, '.graphcredrc'), 'graph: mine');
    fs.writeFileSync(path.join(root, '.graphcredrc'), 'graph: of somebody else');
    expect([...findConfigs(input(link, { cwd }))]).toEqual([
      { path: path.join(real, '.graphcredrc'), place: 'home' },
    ]);
  });

  test('a config file of the user that is there and cannot be read is an error', () => {
    const configDir = temporaryHome();
    const find = () => [...findConfigs(input('/', { home: undefined, configDir }))];
    const file = path.join(configDir, 'config.yaml');
    fs.symlinkSync('nowhere', file);
    expect(find).toThrow(`${file} cannot be read: it is a link to a file that does not exist.`);
    const denied = vi.spyOn(fs, 'lstatSync').mockImplementation(() => {
      throw Object.assign(new Error('EACCES'), { code: 'EACCES' });
    });
    expect(find).toThrow(`${configDir} cannot be read: permission denied.`);
    denied.mockRestore();
  });

  test('a link of a project or home to a file that does not exist is an error', () => {
    const cwd = temporaryHome();
    const file = path.join(cwd, '.graphcredrc');
    fs.symlinkSync('nowhere', file);
    const told = `${file} cannot be read: it is a link to a file that does not exist.`;
    expect(() => [...findConfigs(input(cwd, { home: undefined }))]).toThrow(told);
    expect(() => [...findConfigs(input(cwd, { cwd: '/' }))]).toThrow(told);
  });

  test('a home folder that does not exist ends no search, and neither does a file that was removed meanwhile', () => {
    const root = fs.realpathSync(temporaryHome());
    const file = path.join(root, '.graphcredrc');
    fs.writeFileSync(file, 'graph: mine');
    const found = () => [...findConfigs(input('/no/such/home', { cwd: root, configDir: '/no/such/config' }))];
    expect(found()).toContainEqual({ path: file, place: 'project' });
    const exists = vi.spyOn(fs, 'existsSync').mockReturnValue(true);
    onTestFinished(() => exists.mockRestore());
    fs.rmSync(file);
    expect(found()).not.toContainEqual({ path: file, place: 'project' });
  });

  test('a file that cannot be opened is CONFIG_INVALID, and the hint says where to look', async () => {
    const file = path.join(temporaryHome(), 'gone', 'config.json');
    const error = { code: 'CONFIG_INVALID', message: `${file} cannot be read: there is no such file.` };
    const hint = `check its owner and mode: ls -l ${file}`;
    await expect(readConfig({ path: file, place: 'user' })).rejects.toMatchObject({ ...error, hint });
  });

  test('a file of a megabyte is read, and not one byte more', async () => {
    const file = path.join(temporaryHome(), 'config.json');
    fs.writeFileSync(file, ' '.repeat(1_000_000));
    expect((await readConfig({ path: file, place: 'user' })).text).toHaveLength(1_000_000);
    fs.appendFileSync(file, ' ');
    const told = { message: expect.stringContaining('larger'), hint: 'name another one with --config' };
    await expect(readConfig({ path: file, place: 'user' })).rejects.toMatchObject(told);
  });

  test('a pipe is no config file', async () => {
    const file = path.join(temporaryHome(), 'config.json');
    execFileSync('mkfifo', [file]);
    await expect(readConfig({ path: file, place: 'user' })).rejects.toThrow(/cannot be read/);
  });

  test('an empty answer counts as not given', () => {
    const settings = resolveSettings(input('/', { flags: { graph: '' } }), undefined);
    expect(settings.all.graph).toEqual([]);
  });
});

describe('a profile is written', () => {
  test('and the certificates that it had stay beside the new one, unless they are removed', async () => {
    const folder = temporaryHome();
    await writeProfile(folder, 'a', { profile: { 'tls.ca': 'ca.pem' }, removed: [] });
    await writeProfile(folder, 'a', { profile: { 'tls.cert': 'me.pem' }, removed: [] });
    expect(read(path.join(folder, 'config.json')).profiles.a).toEqual({
      tls: { ca: 'ca.pem', cert: 'me.pem' },
    });
    await writeProfile(folder, 'a', { profile: { 'tls.key': 'k.pem' }, removed: ['tls'] });
    expect(read(path.join(folder, 'config.json')).profiles.a).toEqual({ tls: { key: 'k.pem' } });
  });

  test('and is no longer the default after it was removed; another one stays the default', async () => {
    const folder = temporaryHome();
    const file = path.join(folder, 'config.json');
    for (const name of ['a', 'b'])
      await writeProfile(folder, name, { profile: { graph: name }, removed: [] });
    await removeProfile(folder, 'b');
    expect(read(file)).toEqual({ defaultProfile: 'a', profiles: { a: { graph: 'a' } } });
    await removeProfile(folder, 'a');
    expect(read(file)).toEqual({ profiles: {} });
    const rest = { timeout: 9, profiles: { a: {} } };
    fs.writeFileSync(file, JSON.stringify(rest));
    await removeProfile(folder, 'a');
    expect(read(file)).toEqual({ timeout: 9, profiles: {} });
  });

  test('and the comment at the top of a YAML file stays when its first key goes', async () => {
    const folder = temporaryHome();
    const file = path.join(folder, 'config.yaml');
    fs.writeFileSync(file, '# ours\ndefaultProfile: a\nprofiles:\n  a: {}\n  b: {}\n');
    await removeProfile(folder, 'a');
    expect(fs.readFileSync(file, 'utf8')).toBe('# ours\n\nprofiles:\n  b: {}\n');
  });

  test('not while another process has the lock, but without one where none can be made', async () => {
    const folder = temporaryHome();
    const lock = defined(tryLock(path.join(folder, 'config.json.lock')));
    const waits = vi.spyOn(process, 'uptime');
    const writing = writeProfile(folder, 'a', { profile: { graph: 'one' }, removed: [] });
    await expect.poll(() => waits.mock.calls.length).toBeGreaterThan(0);
    expect(fs.readdirSync(folder)).not.toContain('config.json');
    fs.writeFileSync(path.join(folder, 'config.json'), '{"profiles":{"b":{}}}');
    lock.release();
    expect(read(await writing).profiles).toEqual({ a: { graph: 'one' }, b: {} });
    expect(fs.readdirSync(folder)).toEqual(['config.json']);
    const open = fs.openSync;
    const opened = vi.spyOn(fs, 'openSync').mockImplementation((name, ...how) => {
      if (String(name).endsWith('.lock')) throw Object.assign(new Error('read-only'), { code: 'EROFS' });
      return open(name, ...how);
    });
    onTestFinished(() => opened.mockRestore());
    await writeProfile(folder, 'a', { profile: { graph: 'two' }, removed: [] });
    expect(read(await writing).profiles).toEqual({ a: { graph: 'two' }, b: {} });
  });

  // holds: C2.39
  test.each(['config.yaml', 'config.yml'])('into a %s in place, with its comments', async (name) => {
    const folder = temporaryHome();
    const text =
      '# ours\nprofiles:\n  a: # the first\n    graph: old # gone soon\n    host: "http://h"\n  b: {graph: other}\n';
    fs.writeFileSync(path.join(folder, name), text);
    await writeProfile(folder, 'a', { profile: { graph: 'one' }, removed: ['host'] });
    expect(fs.readdirSync(folder)).toEqual([name]);
    expect(fs.readFileSync(path.join(folder, name), 'utf8')).toBe(
      '# ours\nprofiles:\n  a:\n    # the first\n    graph: one # gone soon\n  b: { graph: other }\n',
    );
  });

  test.each([
    [
      'profiles:\n  b: &b\n    graph: other # theirs\n  a: *b\n',
      /^ {4}graph: other # theirs$/m,
      { b: { graph: 'other' }, a: { graph: 'one' } },
    ],
    [
      'profiles:\n  2024: &b\n    graph: other # theirs\n  a:\n    <<: *b\n    lifetime: 1h\n',
      /^ {4}graph: other # theirs$/m,
      { 2024: { graph: 'other' }, a: { graph: 'one', lifetime: '1h' } },
    ],
    [
      'profiles:\n  a: &b\n    graph: other # theirs\n  b: *b\n',
      /^ {4}graph: other # theirs$/m,
      { b: { graph: 'other' }, a: { graph: 'one' } },
    ],
    ['profiles:\n  a:\n    minTtl: 0 # theirs\n', /minTtl: 0 # theirs/, { a: { minTtl: 0, graph: 'one' } }],
  ])('into the YAML %j, in no other profile, with its comments', async (text, comment, profiles) => {
    const folder = temporaryHome();
    const file = path.join(folder, 'config.yaml');
    fs.writeFileSync(file, text);
    await writeProfile(folder, 'a', { profile: { graph: 'one', minTtl: undefined }, removed: [] });
    const written = fs.readFileSync(file, 'utf8');
    expect(written).toMatch(comment);
    expect(parse(written, { stringKeys: true }).profiles).toEqual(profiles);
  });

  test('into JSON that has a key twice, of which the last one counts', async () => {
    const folder = temporaryHome();
    const file = path.join(folder, 'config.json');
    fs.writeFileSync(file, '{"profiles":{"a":{"graph":"x","lifetime":"1h","lifetime":"2h"}}}');
    await writeProfile(folder, 'a', { profile: { graph: 'one' }, removed: [] });
    expect(read(file).profiles.a).toEqual({ graph: 'one', lifetime: '2h' });
  });

  test.each([
    ['{ no', 'is not valid JSON.', 'correct the file, or name another one with --config'],
    ['{"grahp": 1}', 'grahp is not a setting graphcred knows.', CORRECT],
    ['[]', 'the file must be a table of settings.', CORRECT],
  ])('not over %s, which stays as it is', async (text, problem, hint) => {
    const folder = temporaryHome();
    const file = path.join(folder, 'config.json');
    fs.writeFileSync(file, text);
    const wrong = writeProfile(folder, 'a', { profile: { graph: 'one' }, removed: [] });
    const message = expect.stringContaining(problem);
    await expect(wrong).rejects.toMatchObject({ code: 'CONFIG_INVALID', message, hint });
    expect(fs.readFileSync(file, 'utf8')).toBe(text);
  });

  test.each(['', ' \n', '\ufeff', '\ufeff{"profiles":{}}'])(
    'as the first one and the default one over %j',
    async (text) => {
      const folder = temporaryHome();
      fs.writeFileSync(path.join(folder, 'config.json'), text);
      const file = await writeProfile(folder, 'a', { profile: { graph: 'one' }, removed: [] });
      expect(read(file)).toEqual({ defaultProfile: 'a', profiles: { a: { graph: 'one' } } });
    },
  );

  test('as the default one only if that was asked for, and without the keys that it loses', async () => {
    const folder = temporaryHome();
    const file = path.join(folder, 'config.json');
    const before = { defaultProfile: 'b', profiles: { a: { graph: 'one', host: 'http://old' }, b: {} } };
    fs.writeFileSync(file, JSON.stringify(before));
    const change = { profile: { graph: 'two' }, removed: ['host'] };
    await writeProfile(folder, 'a', change);
    expect(read(file)).toEqual({ defaultProfile: 'b', profiles: { a: { graph: 'two' }, b: {} } });
  });

  test('not with a setting that could not be read again', async () => {
    const folder = temporaryHome();
    const wrong = writeProfile(folder, 'a', { profile: { grahp: 'one' } as object, removed: [] });
    await expect(wrong).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(fs.readdirSync(folder)).toEqual([]);
  });

  test('not over a file that cannot be read, and nothing is left when it cannot be replaced', async () => {
    const folder = temporaryHome();
    const file = path.join(folder, 'config.json');
    fs.mkdirSync(path.join(file, 'full'), { recursive: true });
    const wrong = writeProfile(folder, 'a', { profile: { graph: 'one' }, removed: [] });
    await expect(wrong).rejects.toThrow(`${file} cannot be read`);
    expect(() => replaceFile(file, '{}')).toThrow(`cannot write to ${file}`);
    expect(fs.readdirSync(folder)).toEqual(['config.json']);
  });
});

test('a name of 64 characters is the name of a profile, and a longer one is none', () => {
  expect(['a'.repeat(64), 'a'.repeat(65)].map(isProfileName)).toEqual([true, false]);
});

test('a profile is added to the file that a symbolic link points to, and the link stays', async () => {
  const home = temporaryHome();
  const [folder, elsewhere] = [path.join(home, 'config'), path.join(home, 'dotfiles')];
  for (const one of [folder, elsewhere]) fs.mkdirSync(one);
  fs.writeFileSync(path.join(elsewhere, 'mine.json'), '{"profiles":{"a":{"graph":"one"}}}');
  fs.symlinkSync('../dotfiles/mine.json', path.join(folder, 'config.json'));
  expect(await writeProfile(folder, 'b', { profile: { graph: 'two' }, removed: [] })).toBe(
    path.join(folder, 'config.json'),
  );
  expect(fs.lstatSync(path.join(folder, 'config.json')).isSymbolicLink()).toBe(true);
  expect(read(path.join(elsewhere, 'mine.json')).profiles).toEqual({
    a: { graph: 'one' },
    b: { graph: 'two' },
  });
  expect(fs.readdirSync(elsewhere)).toEqual(['mine.json']);
});

test('a profile file is readable only by this user, and other keys and the default profile do not change', async () => {
  const folder = path.join(temporaryHome(), 'graphcred');
  const file = path.join(folder, 'config.json');
  await writeProfile(folder, 'a', { profile: { graph: 'one', lifetime: '1h' }, removed: [] });
  expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  expect(fs.statSync(folder).mode & 0o777).toBe(0o700);
  await writeProfile(folder, 'b', { profile: { graph: 'two' }, removed: [] });
  await writeProfile(folder, 'a', { profile: { minTtl: '1m' }, removed: ['graph'] });
  expect(read(file)).toEqual({
    defaultProfile: 'a',
    profiles: { a: { lifetime: '1h', minTtl: '1m' }, b: { graph: 'two' } },
  });
});

test('a profile named like a member of every JavaScript object is written like any other', async () => {
  const folder = temporaryHome();
  for (const graph of ['a', 'b'])
    await writeProfile(folder, '__proto__', { profile: { graph }, removed: [] });
  const file = path.join(folder, 'config.json');
  const { profiles } = await parseConfig(file, fs.readFileSync(file, 'utf8'));
  expect([...profiles]).toEqual([['__proto__', { graph: 'b' }]]);
});

/** Whether a config file with this owner and mode is trusted without approval. */
function trusted(place: 'home' | 'project', stat: { uid: number; mode: number }, uid?: number): boolean {
  const text = 'graph: demo';
  const user = vi.spyOn(process, 'geteuid').mockReturnValue(uid as number);
  onTestFinished(() => user.mockRestore());
  const read = { path: '/home/ada/.graphcredrc', place, bytes: Buffer.from(text), text, stat: stat as Stats };
  return whyNotTrusted(read, undefined) === undefined;
}

test.each<['home' | 'project', owner: number, mode: number, uid: number | undefined, boolean]>([
  ['home', 1000, 0o100600, 1000, true],
  ['home', 1000, 0o100644, 1000, true],
  ['home', 1000, 0o100620, 1000, false],
  ['home', 1000, 0o100602, 1000, false],
  ['home', 0, 0o100600, 1000, true],
  ['home', 1001, 0o100600, 1000, false],
  ['home', 1001, 0o100600, 0, false],
  // A system without owners and modes.
  ['home', 0, 0o100666, undefined, true],
  ['project', 1000, 0o100600, 1000, false],
])(
  'a file in a %s folder, of user %i with mode %o, is trusted by user %s: %s',
  (place, owner, mode, uid, expected) => {
    expect(trusted(place, { uid: owner, mode }, uid)).toBe(expected);
  },
);

test('the approval of one file does not apply to a copy of it', () => {
  const configDir = temporaryHome();
  const approvals = path.join(configDir, 'trusted');
  const counts = (file: string, text: string) =>
    whyNotTrusted(
      {
        path: file,
        place: 'project',
        bytes: Buffer.from(text),
        text,
        stat: { uid: 1000, mode: 0o100600 } as Stats,
      },
      configDir,
    ) === undefined;
  approve('/work/one/.graphcredrc', Buffer.from('graph: one'), configDir);
  const [one] = fs.readdirSync(approvals) as [string];
  approve('/work/two/.graphcredrc', Buffer.from('graph: two'), configDir);
  const two = String(fs.readdirSync(approvals).find((name) => name !== one));
  fs.copyFileSync(path.join(approvals, one), path.join(approvals, two));
  expect(counts('/work/one/.graphcredrc', 'graph: one')).toBe(true);
  expect(counts('/work/two/.graphcredrc', 'graph: one')).toBe(false);
});
