import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { open } from '../../src/auth/stores.js';
import { placesOf } from '../../src/cli/context.js';
import type { LocalSession } from '../../src/cli/session.js';
import { isTrusted } from '../../src/config/trust.js';
import { bench, cli, temporaryHome } from '../helpers/cli.js';

const put = (home: string, name: string, content: unknown) => {
  const file = path.join(home, name);
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  fs.writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content), { mode: 0o600 });
  return file;
};

const CONFIG = '.config/graphcred/config.json';

const write = (file: string, text: string) => {
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  fs.writeFileSync(file, text, { mode: 0o600 });
};

function project(home: string, name: string, content: string, mode = 0o600): string {
  const folder = path.join(home, 'cloned', 'repository');
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, name), content, { mode });
  return folder;
}

const PASSWORD = {
  GRAPHCRED_USERNAME: 'tigergraph',
  GRAPHCRED_PASSWORD: 'tigergraph',
  GRAPHCRED_STORE: 'none',
};

// holds: C3.14
test('an approved file is used until its content changes', async () => {
  const { sandbox, home } = await bench();
  const text = JSON.stringify({ gsqlUrl: sandbox.gsqlUrl, restUrl: sandbox.restUrl, graph: 'demo' });
  const cwd = project(home, '.graphcredrc', text);
  expect((await cli(home, ['config', 'trust'], { cwd })).status).toBe(0);
  expect((await cli(home, ['token', 'get'], { cwd, env: PASSWORD })).status).toBe(0);
  fs.appendFileSync(path.join(cwd, '.graphcredrc'), ' ');
  expect((await cli(home, ['token', 'get'], { cwd, env: PASSWORD })).status).toBe(5);
});

// holds: C3.15
test('an untrusted file has no effect, whatever credential it contains, and runs no program', async () => {
  const { sandbox, home, requests } = await bench();
  const mark = path.join(home, 'ran');
  const { gsqlUrl, restUrl } = sandbox;
  const profile = { gsqlUrl, restUrl, graph: 'demo', username: 'tigergraph', password: 'tigergraph' };
  const own = { profiles: { default: { ...profile, secretCommand: ['touch', mark] } } };
  const cwd = project(home, '.graphcredrc.json', JSON.stringify(own));
  const refused = await cli(home, ['token', 'get', '--store', 'none', '-o', 'json'], { cwd });
  expect(refused).toMatchObject({ status: 5, stdout: '' });
  const { code, hint } = JSON.parse(refused.stderr).error;
  expect(code).toBe('CONFIG_UNTRUSTED');
  for (const way of ['config trust', '--config FILE', '--config none']) expect(hint).toContain(way);
  expect(fs.existsSync(mark)).toBe(false);
  expect(requests()).toEqual([]);
});

// holds: C3.13
test('planted programs are never run, and .config folders are not searched', async () => {
  const home = temporaryHome();
  const mark = path.join(home, 'ran');
  const code = `require('node:fs').writeFileSync(${JSON.stringify(mark)}, 'x'); module.exports = {};`;
  for (const name of [
    '.graphcredrc.js',
    '.graphcredrc.cjs',
    '.graphcredrc.mjs',
    '.graphcredrc.ts',
    'graphcred.config.js',
  ])
    project(home, name, code);
  const cwd = project(home, 'package.json', JSON.stringify({ graphcred: { host: 'http://evil.example' } }));
  fs.mkdirSync(path.join(cwd, '.config'));
  for (const name of ['config.js', 'config.cjs', 'graphcredrc.js', 'graphcredrc.json'])
    fs.writeFileSync(path.join(cwd, '.config', name), code);
  // The file is YAML, so that cosmiconfig is loaded.
  fs.writeFileSync(path.join(cwd, '.graphcredrc.yaml'), 'graph: demo\n');
  const { stdout, stderr } = await cli(home, ['config', 'show', '-o', 'json'], { cwd });
  expect(JSON.parse(stdout)).toMatchObject({ file: null });
  expect(stderr).toMatch(/ignoring untrusted config file .*\.graphcredrc\.yaml/);
  expect(fs.existsSync(mark)).toBe(false);
});

// holds: C3.19
test('a credential in the file is sent only to the file’s host', async () => {
  const { sandbox, home, requests } = await bench();
  const config = path.join(home, 'own.json');
  fs.writeFileSync(
    config,
    JSON.stringify({
      profiles: { prod: { host: 'http://127.0.0.1', secret: 'canary-canary-canary', graph: 'demo' } },
    }),
    { mode: 0o600 },
  );
  const argv = [
    'token',
    'get',
    '--config',
    config,
    '-p',
    'prod',
    '--store',
    'none',
    '--gsql-url',
    sandbox.gsqlUrl,
    '--rest-url',
    sandbox.restUrl,
  ];
  const { status, stdout, stderr } = await cli(home, [...argv, '-o', 'json']);
  expect({ status, stdout }).toEqual({ status: 5, stdout: '' });
  expect(JSON.parse(stderr).error.code).toBe('HOST_MISMATCH');
  expect(stderr).not.toContain('canary');
  expect(requests()).toEqual([]);
});

// holds: C3.12, C3.13
test('two config files in one folder, and files that are not data, are errors with file, key and line', async () => {
  const home = temporaryHome();
  fs.writeFileSync(path.join(home, '.graphcredrc'), 'graph: a\n');
  fs.writeFileSync(path.join(home, '.graphcredrc.json'), '{}');
  const two = await cli(home, ['config', 'show']);
  expect(two.status).toBe(5);
  expect(two.stderr).toMatch(/\.graphcredrc and .*\.graphcredrc\.json/);
  fs.rmSync(path.join(home, '.graphcredrc'));
  const cases = [
    [
      '{\n "profiles": {\n  "a": { "passwordd": "hunter2" } } }',
      /\.graphcredrc\.json, line 3: profiles\.a\.passwordd/,
    ],
    ['{\n "password": "hunter2",\n oops }', /\.graphcredrc\.json, line 3: this is not valid JSON/],
    ['[]', /does not hold a table/],
    ['{"restPort": "x"}', /restPort is not a port/],
    ['{"profiles": {"a": 3}}', /profiles\.a is not a table/],
  ] as const;
  for (const [text, message] of cases) {
    fs.writeFileSync(path.join(home, '.graphcredrc.json'), text, { mode: 0o600 });
    const { status, stderr } = await cli(home, ['token', 'get']);
    expect({ text, status }).toEqual({ text, status: 5 });
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain('hunter2');
  }
});

// holds: C4.7
test('a file with a credential is refused if others can write it, and causes a warning if others can read it', async () => {
  const home = temporaryHome();
  const file = path.join(home, '.graphcredrc');
  fs.writeFileSync(file, 'secret: canary-canary\ngraph: demo\n');
  for (const mode of [0o620, 0o602]) {
    fs.chmodSync(file, mode);
    for (const argv of [
      ['token', 'get'],
      ['token', 'get', '--config', file],
    ])
      expect(await cli(home, argv)).toMatchObject({
        status: 5,
        stderr: expect.stringContaining('chmod 600'),
      });
  }
  for (const mode of [0o640, 0o604]) {
    fs.chmodSync(file, mode);
    const shown = await cli(home, ['config', 'show']);
    expect(shown).toMatchObject({ status: 0, stderr: expect.stringContaining('chmod 600') });
    expect(shown.stdout + shown.stderr).not.toContain('canary');
  }
});

// holds: C3.17
test('config show prints every setting, and the settings that the profile hides', async () => {
  const home = temporaryHome();
  const file = path.join(home, '.graphcredrc.json');
  fs.writeFileSync(file, '{"defaultProfile":"a","profiles":{"a":{},"b":{},"c":{}}}', { mode: 0o600 });
  const words = 'config show -o json --profile c --lifetime 15m --min-ttl 5m';
  const { stdout } = await cli(home, words.split(' '), { env: { GRAPHCRED_PROFILE: 'b' } });
  const { settings } = JSON.parse(stdout);
  const of = (wanted: string) => settings.find(({ name }: { name: string }) => name === wanted);
  expect(of('profile')).toEqual({
    name: 'profile',
    value: 'c',
    source: '--profile',
    shadowed: [
      { value: 'b', source: 'GRAPHCRED_PROFILE' },
      { value: 'a', source: 'defaultProfile' },
      { value: 'default', source: 'default' },
    ],
  });
  expect(of('lifetime')).toMatchObject({ value: '15m', source: '--lifetime' });
  expect(of('minTtl')).toMatchObject({ value: '5m', source: '--min-ttl' });
});

// holds: C3.17
test.each(['password', 'secret', 'jwt'])('config show prints no value of %s', async (name) => {
  const env = { [`GRAPHCRED_${name.toUpperCase()}`]: 'canary' };
  const { stdout } = await cli(temporaryHome(), ['config', 'show', '-o', 'json'], { env });
  expect(JSON.parse(stdout).settings).toContainEqual(expect.objectContaining({ name, value: 'set' }));
});

// holds: C3.1, C3.17
test('the source of highest priority wins, and config show names the sources it hides', async () => {
  const home = temporaryHome();
  fs.writeFileSync(
    path.join(home, '.graphcredrc'),
    'graph: top\nprofiles:\n  p: { graph: profile }\n  q: {}\n',
    { mode: 0o600 },
  );
  const graph = async (argv: string[], env: Record<string, string> = {}) => {
    const { stdout } = await cli(home, ['config', 'show', '-o', 'json', ...argv], { env });
    const settings: { name: string; value: string; source: string; shadowed: { value: string }[] }[] =
      JSON.parse(stdout).settings;
    const { value, source, shadowed } = settings.find(({ name }) => name === 'graph') ?? {
      value: '',
      source: '',
      shadowed: [],
    };
    return [value, source, shadowed.map((other) => other.value).join(' ')];
  };
  const both = { GRAPHCRED_GRAPH: 'own', TG_GRAPHNAME: 'field', GRAPHCRED_PROFILE: 'p' };
  expect(await graph(['--graph', 'flag'], both)).toEqual(['flag', '--graph', 'own field profile top']);
  expect(await graph([], both)).toEqual(['own', 'GRAPHCRED_GRAPH', 'field profile top']);
  expect(await graph([], { TG_GRAPHNAME: 'field', GRAPHCRED_PROFILE: 'p' })).toEqual([
    'field',
    'TG_GRAPHNAME',
    'profile top',
  ]);
  expect(await graph(['-p', 'p'], { TG_GRAPHNAME: 'field' })).toEqual(['profile', 'profile p', 'top']);
  expect(await graph(['-p', 'q'])).toEqual(['top', 'config file', '']);
  expect((await cli(home, ['config', 'show', '-p', 'none'])).status).toBe(3);
});

// holds: C2.4
test.each(['create', 'drop'])('secret %s refuses a malformed alias before anything is sent', async (verb) => {
  const { run, requests } = await bench();
  for (const alias of ['x; DROP ALL', 'a b', '', 'a'.repeat(300), 'a\nb']) {
    const { status, stdout } = await run(['secret', verb, alias]);
    expect({ alias, status, stdout }).toEqual({ alias, status: 2, stdout: '' });
  }
  expect(requests()).toEqual([]);
});

test.each([
  ['644', true],
  ['620', false],
  ['602', false],
])('~/.graphcredrc with mode %s is used without a question: %s', async (mode, counts) => {
  const home = temporaryHome();
  const file = path.join(home, '.graphcredrc');
  fs.writeFileSync(file, 'graph: demo\n');
  fs.chmodSync(file, Number.parseInt(mode, 8));
  const { stdout } = await cli(home, ['config', 'show', '-o', 'json']);
  expect(JSON.parse(stdout).file).toBe(counts ? file : null);
});

test('~/.graphcredrc is used without a question only if it belongs to this user or root', () => {
  const isTrustedOf = (uid: number) =>
    isTrusted({
      location: { path: '/home/ada/.graphcredrc', place: 'home' },
      bytes: Buffer.alloc(0),
      stat: { uid, mode: 0o100600 } as fs.Stats,
      uid: 1000,
      configDir: undefined,
    });
  expect([1000, 1001, 0].map(isTrustedOf)).toEqual([true, false, true]);
});

test('--config none ignores project files, and the search for one ends at the home folder', async () => {
  const outer = temporaryHome();
  const home = path.join(outer, 'home');
  const cwd = project(home, '.graphcredrc', 'graph: planted\n');
  fs.writeFileSync(path.join(outer, '.graphcredrc'), 'graph: outer\n');
  const show = (...argv: string[]) => cli(home, ['config', 'show', ...argv], { cwd });
  const { stderr } = await show();
  expect(stderr).toContain(`ignoring untrusted config file ${path.join(cwd, '.graphcredrc')}`);
  expect(stderr).not.toContain(path.join(outer, '.graphcredrc'));
  expect((await show('--config', 'none')).stderr).toBe('');
  expect(await show('--config', 'nowhere')).toMatchObject({
    status: 5,
    stderr: expect.stringContaining(`There is no config file at ${path.join(cwd, 'nowhere')}`),
  });
});

test('a byte order mark is ignored, and a file over 1 MB is refused', async () => {
  const home = temporaryHome();
  const file = path.join(home, '.graphcredrc.json');
  fs.writeFileSync(file, '\ufeff{"graph":"marked"}', { mode: 0o600 });
  expect((await cli(home, ['config', 'show'])).stdout).toMatch(/^graph +marked/m);
  fs.writeFileSync(file, `{"graph":"large"}${' '.repeat(1_000_000)}`);
  expect(await cli(home, ['config', 'show'])).toMatchObject({
    status: 5,
    stderr: expect.stringContaining('too large'),
  });
});

test('files named in the config file are looked for beside it, not in the working directory', async () => {
  const { sandbox, home } = await bench();
  const { restUrl, gsqlUrl, username, password } = sandbox;
  const folder = path.join(home, '.config/graphcred');
  fs.mkdirSync(folder, { recursive: true });
  const own = { restUrl, gsqlUrl, username, graph: 'demo', passwordFile: 'password', tls: { ca: 'ca.pem' } };
  fs.writeFileSync(path.join(folder, 'config.json'), JSON.stringify(own), { mode: 0o600 });
  fs.writeFileSync(path.join(folder, 'password'), password);
  fs.writeFileSync(path.join(folder, 'ca.pem'), '');
  const cwd = project(home, 'password', 'planted');
  expect(await cli(home, ['token', 'get', '--store', 'none'], { cwd })).toMatchObject({ status: 0 });
});

test('a relative XDG_CONFIG_HOME or XDG_STATE_HOME is ignored', () => {
  const env = { XDG_CONFIG_HOME: 'planted', XDG_STATE_HOME: './planted' };
  expect(placesOf({ env, home: '/home/ada' })).toEqual({
    configDir: '/home/ada/.config/graphcred',
    stateDir: '/home/ada/.local/state/graphcred',
  });
  expect(placesOf({ env, home: undefined })).toEqual({ configDir: undefined, stateDir: undefined });
});

test('the warning about certificates that are not verified is printed even with -q', async () => {
  const { run } = await bench();
  for (const more of ['', ' -q'])
    expect((await run(`token get --insecure${more}`)).stderr).toContain(
      'server certificates are not verified',
    );
});

test('HTTP_PROXY is used for a host other than this machine', async () => {
  const env = { ...PASSWORD, HTTP_PROXY: 'http://127.0.0.1:1', GRAPHCRED_SERVER_VERSION: '3' };
  const argv = ['token', 'get', '--host', 'http://db.invalid', '--graph', 'demo'];
  const { status, stderr } = await cli(temporaryHome(), argv, { env });
  expect(status).toBe(7);
  expect(stderr).toContain('Cannot reach the proxy http://127.0.0.1:1: the connection was refused');
});

test('without a home folder, a store that needs files is STORE_UNAVAILABLE', async () => {
  const session = {
    ports: { env: {}, reporter: {} },
    stateDir: undefined,
    configDir: undefined,
  } as unknown as LocalSession;
  for (const name of ['keychain', 'file', 'redis'] as const)
    await expect(open(session, name, true)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  expect((await open(session, 'none', true)).name).toBe('none');
});

test('config show hides a login in an address', async () => {
  const env = { GRAPHCRED_GSQL_URL: 'http://ada:hunter2@db.example:14240' };
  for (const more of [[], ['-o', 'json']]) {
    const { stdout, stderr } = await cli(temporaryHome(), ['config', 'show', ...more], { env });
    expect(stdout).toContain('http://****@db.example:14240');
    expect(stdout + stderr).not.toContain('hunter2');
  }
});

// holds: C3.4
test('nothing is read from the home of another user, or made in it', async () => {
  const { run, home } = await bench();
  const ran = path.join(temporaryHome(), 'ran');
  fs.mkdirSync(path.join(home, '.config/graphcred'), { recursive: true, mode: 0o700 });
  const profiles = { mine: { passwordCommand: ['touch', ran] } };
  fs.writeFileSync(path.join(home, '.config/graphcred/config.json'), JSON.stringify({ profiles }), {
    mode: 0o600,
  });
  // As under sudo: root with the user's HOME. Without root's rights, another user is played.
  if (process.getuid?.() === 0) fs.chownSync(home, 54_321, 54_321);
  else vi.spyOn(process, 'getuid').mockReturnValue(54_321);
  const env = { GRAPHCRED_STORE: undefined };
  const owner = `belongs to another user (uid ${fs.statSync(home).uid})`;
  expect(await run('token get', { env, cwd: '/' })).toMatchObject({
    status: 0,
    stderr: expect.stringContaining(`${home} ${owner}, so nothing is read from it or kept there`),
  });
  expect(await run('token get --store file', { env, cwd: '/' })).toMatchObject({
    status: 6,
    stderr: expect.stringContaining(`${home}, named by HOME, is not used: it ${owner}.\nhint: set HOME`),
  });
  expect((await run('token get -p mine', { env, cwd: '/' })).status).toBe(3);
  expect(fs.existsSync(ran)).toBe(false);
  expect(fs.readdirSync(home)).toEqual(['.config']);
});

test('a folder of XDG_STATE_HOME that is another user’s, or would be made in one, is not used', () => {
  const folder = temporaryHome();
  const uid = fs.statSync(folder).uid === 0 ? 54_321 : 54_322;
  if (process.getuid?.() === 0) fs.chownSync(folder, 54_322, 54_322);
  const env = { XDG_STATE_HOME: path.join(folder, 'not/there') };
  expect(placesOf({ env, home: '/h', uid })).toEqual({
    configDir: '/h/.config/graphcred',
    stateDir: undefined,
    foreign: {
      path: env.XDG_STATE_HOME,
      variable: 'XDG_STATE_HOME',
      owner: expect.stringMatching(/uid \d+/),
    },
  });
});

// holds: C3.22
test.each([
  ['serverVersion', '4.1.2'],
  ['store', 'redis'],
  ['secretAlias', 'prod'],
  ['tls', { ca: '/none/ca.pem' }, {}],
])(
  'at another address a profile’s %s does not count, and config show says so',
  async (key, value, address: object = { gsqlUrl: 'https://prod.example.com' }) => {
    const { run, home } = await bench();
    const folder = path.join(home, '.config/graphcred');
    fs.mkdirSync(folder, { recursive: true });
    const profile = { ...address, [key]: value };
    fs.writeFileSync(path.join(folder, 'config.json'), JSON.stringify({ profiles: { default: profile } }), {
      mode: 0o600,
    });
    const env = { GRAPHCRED_STORE: undefined, CI: '1' };
    expect(await run('secret list', { env })).toMatchObject({ status: 0 });
    const { stderr } = await run('config show', { env });
    expect(stderr).toMatch(new RegExp(`these settings of it do not count: ${key}`));
  },
);

// holds: C4.7
test('a credential in another profile of a file that others can read is a warning', async () => {
  const { run, home } = await bench();
  const folder = path.join(home, '.config/graphcred');
  fs.mkdirSync(folder, { recursive: true });
  const profiles = { mine: {}, other: { password: 'p' } };
  fs.writeFileSync(path.join(folder, 'config.json'), JSON.stringify({ profiles }), { mode: 0o644 });
  expect((await run('secret list -p mine')).stderr).toContain(
    'holds a credential and other users can read it',
  );
});

// holds: C3.14
test.each<[string, (config: string) => void, string]>([
  ['a file that others can write', (config) => fs.chmodSync(config, 0o666), 'chmod go-w'],
  ['a folder that others can write', (config) => fs.chmodSync(path.dirname(config), 0o777), 'chmod go-w'],
  ['a file of another user', (config) => fs.chownSync(config, 54_321, 54_321), 'chown'],
])('%s in the user’s config folder runs no program', async (what, spoil, mend) => {
  if (what.includes('another user') && process.getuid?.() !== 0)
    return console.log('not tried: only root can give a file away');
  const { run, home } = await bench();
  const ran = path.join(temporaryHome(), 'ran');
  const config = path.join(home, '.config/graphcred/config.json');
  fs.mkdirSync(path.dirname(config), { recursive: true, mode: 0o700 });
  fs.writeFileSync(config, JSON.stringify({ passwordCommand: ['touch', ran] }), { mode: 0o600 });
  spoil(config);
  const env = { GRAPHCRED_PASSWORD: undefined };
  for (const line of ['token get', 'login -p new', `token get --config ${config}`])
    if (mend === 'chown' || !line.includes('--config') || what.includes('file'))
      expect(await run(line, { env })).toMatchObject({
        status: 5,
        stderr: expect.stringContaining(`hint: ${mend}`),
      });
  expect(fs.existsSync(ran)).toBe(false);
});

// holds: C3.14
test('a config file that is not UTF-8 is refused, and an approval is for the very bytes', async () => {
  const { run, home } = await bench();
  const file = path.join(home, 'project.json');
  fs.writeFileSync(file, Buffer.from('{"graph":"a\xff"}', 'latin1'), { mode: 0o600 });
  for (const line of [`token get --config ${file}`, `config trust ${file}`])
    expect(await run(line)).toMatchObject({
      status: 5,
      stderr: expect.stringContaining('is not UTF-8 text'),
    });
});

// holds: C4.6
test('a credential file that others can write is refused', async () => {
  const { run, home } = await bench();
  const file = path.join(home, 'password');
  fs.writeFileSync(file, 'tigergraph');
  fs.chmodSync(file, 0o666);
  expect(await run(`token get --password-file ${file}`)).toMatchObject({
    status: 5,
    stderr: expect.stringContaining(`hint: chmod go-w ${file}`),
  });
});

test.skipIf(process.getuid?.() !== 0)(
  'a credential file and a key file of another user are refused (as root)',
  async () => {
    const { run, home } = await bench();
    const file = path.join(home, 'password');
    fs.writeFileSync(file, `${Buffer.alloc(32).toString('base64')}\n`, { mode: 0o600 });
    fs.chownSync(file, 54_321, 54_321);
    const told = `${file} belongs to another user.\nhint: chown 0 ${file}\n`;
    expect(await run(`token get --password-file ${file}`)).toMatchObject({
      status: 5,
      stderr: expect.stringContaining(told),
    });
    const env = { GRAPHCRED_STORE_KEY_FILE: file };
    expect((await run('secret create ci --save', { env })).stderr).toContain(told.replace('.\n', '\n'));
  },
);

test('the name of a folder is printed on one line without control characters', async () => {
  const home = temporaryHome();
  const cwd = path.join(home, 'a\u001b[31mb\nhint: run this');
  fs.mkdirSync(cwd);
  const planted = { profiles: { 'p\u001b]0;title\u0007': {} } };
  fs.writeFileSync(path.join(cwd, '.graphcredrc.json'), JSON.stringify(planted));
  for (const line of ['status', 'config path', 'config show', 'config trust', 'doctor']) {
    const { stdout, stderr } = await cli(home, line.split(' '), { cwd, env: { GRAPHCRED_STORE: 'none' } });
    expect(stdout + stderr).toContain('.graphcredrc.json');
    expect(stdout + stderr).not.toContain('\u001b');
    expect(stdout + stderr).not.toMatch(/^hint: run this/m);
  }
});

test('the state of this machine lies where XDG_STATE_HOME says, and not where the config files are', () => {
  const env = { XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: '/s' };
  expect(placesOf({ env, home: '/h' })).toEqual({ configDir: '/c/graphcred', stateDir: '/s/graphcred' });
  const only = placesOf({ env: { XDG_CONFIG_HOME: '/c' }, home: '/h' });
  expect(only.stateDir).toBe('/h/.local/state/graphcred');
});

// holds: C14.1
test('on Windows config and state lie in the folders of the system for them', () => {
  const env = { APPDATA: '/roaming', LOCALAPPDATA: '/local' };
  const places = (more: object) => placesOf({ env: { ...env, ...more }, home: '/h', platform: 'win32' });
  expect(places({})).toMatchObject({ configDir: '/roaming/graphcred', stateDir: '/local/graphcred' });
  expect(places({ APPDATA: '', LOCALAPPDATA: 'planted', XDG_CONFIG_HOME: '/c' })).toMatchObject({
    configDir: '/c/graphcred',
    stateDir: '/h/AppData/Local/graphcred',
  });
});

test('the folder for credentials needs a folder for the config too', async () => {
  const { run, home } = await bench();
  const env = { XDG_STATE_HOME: path.join(home, 'state') };
  expect(await run('secret create ci --save', { env, homeless: true })).toMatchObject({
    status: 6,
    stderr: expect.stringContaining('There is no home folder, so the file store cannot be used.'),
  });
});

describe('config', () => {
  test('path prints a name as it is to a pipe, and on one line to a terminal', async () => {
    const home = temporaryHome();
    const file = path.join(home, 'odd\u001b[31mname.json');
    write(file, '{}');
    const run = (terminal: boolean) => cli(home, ['config', 'path', '--config', file], { terminal });
    expect((await run(false)).stdout).toBe(`${file}\n`);
    expect((await run(true)).stdout).toBe(`${path.join(home, 'odd [31mname.json')}\n`);
  });

  test('path and trust give programs the file', async () => {
    const home = temporaryHome();
    const file = path.join(home, 'own.json');
    write(file, '{"profiles":{"dev":{}}}');
    const shown = `${JSON.stringify({ schemaVersion: 1, file, trusted: true })}\n`;
    for (const argv of [
      ['config', 'path', '--config', file],
      ['config', 'trust', file],
    ])
      expect(await cli(home, [...argv, '-o', 'json'])).toEqual({ status: 0, stdout: shown, stderr: '' });
    expect((await cli(home, ['config', 'trust', file])).stdout).toContain('(profiles: dev)');
  });

  test('trust is an error without a config file, and without a home folder to write to', async () => {
    expect((await cli(temporaryHome(), ['config', 'trust'])).status).toBe(3);
    expect(await cli(temporaryHome(), ['config', 'trust'], { homeless: true })).toEqual({
      status: 6,
      stdout: '',
      stderr:
        'graphcred: There is no home folder to write the approval to.\nhint: set HOME, or name the file in each call: --config FILE\n',
    });
  });

  test('trust approves no file that graphcred cannot use', async () => {
    const home = temporaryHome();
    const project = path.join(home, 'project');
    const file = path.join(project, '.graphcredrc.json');
    write(file, '{"profiles":7}');
    const before = fs.existsSync(path.join(home, '.config/graphcred'));
    expect((await cli(home, ['config', 'trust'], { cwd: project })).status).toBe(5);
    expect(fs.existsSync(path.join(home, '.config/graphcred'))).toBe(before);
  });
});

// holds: C3.6
test('--host without a scheme is exit 2 and shows both spellings', async () => {
  const { status, stderr } = await cli(temporaryHome(), ['token', 'get', '--host', 'db.example.com']);
  expect(status).toBe(2);
  expect(stderr).toMatch(/https:\/\/db\.example\.com or http:\/\/db\.example\.com/);
});

// holds: C3.12
test('the config file is looked for in the folder and its parents up to the home folder, then in the home folder, then in the config folder', async () => {
  const home = temporaryHome();
  const project = path.join(home, 'code/project');
  const sub = path.join(project, 'deep/down');
  fs.mkdirSync(sub, { recursive: true });
  const found = async (cwd: string, env = {}) =>
    JSON.parse((await cli(home, ['config', 'show', '-o', 'json'], { cwd, env })).stdout).file;
  expect(await found(sub)).toBe(null);
  const xdg = put(home, 'elsewhere/graphcred/config.yaml', 'graph: a');
  expect(await found(sub, { XDG_CONFIG_HOME: path.join(home, 'elsewhere') })).toBe(xdg);
  const user = put(home, CONFIG, { graph: 'b' });
  expect(await found(sub)).toBe(user);
  const own = put(home, '.graphcredrc', 'graph: c');
  expect(await found(sub)).toBe(own);
  const near = put(home, 'code/project/.graphcredrc.json', { graph: 'd' });
  // A file that was not approved is ignored.
  expect(await found(sub)).toBe(own);
  await cli(home, ['config', 'trust'], { cwd: sub });
  expect(await found(sub)).toBe(near);
  expect(await found(home)).toBe(own);
});

// holds: C3.16
test.each([
  ['config path', 3, /untrusted/],
  ['config show', 0, /untrusted/],
  ['profile list', 0, /untrusted/],
  // `doctor` makes all checks, and then exits with the status of the first failure.
  ['doctor', 5, /not trusted[\s\S]*store/],
  ['completion bash', 0, /complete .*graphcred/],
  ['help', 0, /Usage: graphcred/],
])('%s ignores an untrusted file and exits %i', async (line, expected, told) => {
  const home = temporaryHome();
  put(home, 'cloned/.graphcredrc', 'host: http://evil.example.com');
  const env = { GRAPHCRED_GSQL_URL: 'http://127.0.0.1:1', GRAPHCRED_REST_URL: 'http://127.0.0.1:1' };
  const { status, stdout, stderr } = await cli(home, line.split(' '), {
    cwd: path.join(home, 'cloned'),
    env,
  });
  expect(status).toBe(expected);
  expect(stderr + stdout).toMatch(told);
});

// holds: C3.2, C5.6
test('the store is that of the option, else the one that login recorded, else none in CI, else the keychain', async () => {
  const { run } = await bench();
  const store = async (env: Record<string, string>, ...flags: string[]) =>
    JSON.parse(
      (await run(['status', '--offline', '-o', 'json', ...flags], { env: { GRAPHCRED_STORE: '', ...env } }))
        .stdout,
    ).store;
  expect(await store({ CI: 'true' })).toBe('none');
  for (const CI of ['', '0', 'false']) expect(await store({ CI })).toBe('keychain');
  expect(await store({ CI: 'true' }, '--store', 'file')).toBe('file');
  expect((await run('login -p dev --store file', { env: { GRAPHCRED_STORE: '' } })).status).toBe(0);
  expect(await store({ CI: 'true' })).toBe('file');
  expect(await store({}, '--store', 'none')).toBe('none');
});
