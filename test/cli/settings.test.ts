import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { approve } from '../../src/config/find.js';
import { ownHome, placesOf } from '../../src/run/places.js';
import { bench, cli, temporaryHome } from '../helpers/cli.js';
import { configure, put } from '../helpers/home.js';
import { storesIn } from '../helpers/store-options.js';

function playAnotherUser(): void {
  const user = vi.spyOn(process, 'geteuid').mockReturnValue(54_321);
  onTestFinished(() => user.mockRestore());
}

/** Writes a file into a folder that somebody else may have filled, such as a cloned repository. Returns the folder. */
const project = (home: string, name: string, content: unknown) =>
  path.dirname(put(home, path.join('cloned/repository', name), content));

// holds: C3.15
test('an untrusted file has no effect, whatever credential it contains, and runs no program', async () => {
  const { sandbox, home, requests } = await bench();
  const mark = path.join(home, 'ran');
  const { gsqlUrl, restUrl, username, password } = sandbox;
  const profile = { gsqlUrl, restUrl, graph: 'demo', username, password, secretCommand: ['touch', mark] };
  const cwd = project(home, '.graphcredrc.json', { profiles: { default: profile } });
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
  for (const name of ['.graphcredrc.js', '.graphcredrc.cjs', '.graphcredrc.ts', '.config/graphcredrc.json'])
    project(home, name, code);
  const cwd = project(home, 'package.json', { graphcred: { host: 'http://evil.example' } });
  const { stdout, stderr } = await cli(home, ['config', 'show', '-o', 'json'], { cwd });
  expect([JSON.parse(stdout).file, stderr, fs.existsSync(mark)]).toEqual([null, '', false]);
});

test('a project’s file may not switch verification off, and an approval does not change that', async () => {
  const { run, home, requests } = await bench();
  const cwd = project(home, '.graphcredrc', { profiles: { default: { tls: { insecure: 'yes' } } } });
  const refused = {
    status: 5,
    stderr: expect.stringContaining("tls.insecure, which a project's config file may not"),
  };
  expect(await run('config trust', { cwd })).toMatchObject(refused);
  const file = path.join(cwd, '.graphcredrc');
  approve(file, fs.readFileSync(file), path.join(home, '.config', 'graphcred'));
  expect(await run('token get', { cwd })).toMatchObject(refused);
  expect(requests()).toEqual([]);
});

// holds: C3.19
test('a credential in the file is sent only to the file’s host', async () => {
  const { home, run, requests } = await bench();
  const prod = { host: 'http://127.0.0.1', secret: 'canary-canary-canary', graph: 'demo' };
  const config = put(home, 'own.json', { profiles: { prod } });
  // Where a password is given, the user name of the file is what is missing.
  for (const own of [{ GRAPHCRED_PASSWORD: '' }, { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: 'canary' }]) {
    const env = { ...own, GRAPHCRED_PROFILE: 'prod' };
    const { status, stdout, stderr } = await run(`token get --config ${config} -o json`, { env });
    expect([status, stdout, JSON.parse(stderr).error.code]).toEqual([5, '', 'HOST_MISMATCH']);
    expect(stderr).not.toContain('canary');
  }
  expect(requests()).toEqual([]);
});

// holds: C4.7
test.each([
  [0o620, 5],
  [0o602, 5],
  [0o640, 0],
  [0o604, 0],
])(
  'a file with a credential of mode %o is refused if others can write it, else warned of',
  async (mode, status) => {
    const home = temporaryHome();
    const file = put(home, '.graphcredrc', 'secret: canary-canary\ngraph: demo\n');
    fs.chmodSync(file, mode);
    const shown = await cli(home, ['config', 'show', '--config', file]);
    expect(shown).toMatchObject({ status, stderr: expect.stringContaining('chmod 600') });
    expect(shown.stdout + shown.stderr).not.toContain('canary');
  },
);

// holds: C3.17
test('config show hides the password of an address without a scheme', async () => {
  const { stdout } = await cli(temporaryHome(), ['config', 'show'], { env: { GRAPHCRED_HOST: 'ada:pw@db' } });
  expect(stdout).toMatch(/^host +\*{4}@db /m);
});

// holds: C3.27
test.each([
  ['GRAPHCRED_SECRET', `"${'s'.repeat(31)}1"`, 'a quotation mark in GRAPHCRED_SECRET, at character 1 of 34'],
  ['TG_API_TOKEN', `${'t'.repeat(31)}1\u200b`, 'an unprintable character in TG_API_TOKEN'],
  ['GRAPHCRED_PASSWORD', 'tiger\ngraph', 'a line end in GRAPHCRED_PASSWORD'],
  ['TG_HOST', 'http://127.0.0.1 ', 'a blank in TG_HOST'],
  ['TG_GRAPHNAME', '"demo"', 'a quotation mark in TG_GRAPHNAME'],
  ['GRAPHCRED_PROFILE', '"dev"', 'a quotation mark in GRAPHCRED_PROFILE'],
  ['GRAPHCRED_LIFETIME', '15m ', 'a blank in GRAPHCRED_LIFETIME'],
  [
    'GRAPHCRED_STORE_KEY',
    `'${Buffer.alloc(32, 7).toString('base64')}'`,
    'a quotation mark in GRAPHCRED_STORE_KEY',
  ],
])('what %s cannot hold is named before anything is sent', async (name, value, told) => {
  const { run, requests } = await bench();
  const { status, stderr } = await run('api /graph/demo', { env: { [name]: value } });
  expect({ status, stderr: stderr.slice(11) }).toEqual({ status: 2, stderr: expect.stringMatching(told) });
  expect(requests()).toEqual([]);
});

test('a value of a variable loses one line end, and a password may hold blanks and quotation marks', async () => {
  const { run, home } = await bench({
    users: [{ name: 'tigergraph', password: '"a b\'', role: 'superuser' }],
  });
  put(home, 'named.json', '{"profiles":{"p":{}}}');
  const env = {
    GRAPHCRED_PASSWORD: '"a b\'\r\n',
    GRAPHCRED_GRAPH: 'demo\n',
    GRAPHCRED_CONFIG: `${home}/named.json\n`,
    GRAPHCRED_PROFILE: 'p\n',
  };
  expect(await run('secret list', { env })).toMatchObject({ status: 0 });
});

test.each([
  ['password', 'PASSWORD'],
  ['secret', 'SECRET'],
  ['jwt', 'JWT'],
  ['secretFile', 'SECRET_FILE'],
  ['tls.key', 'KEY'],
])('config show hides %s that a variable holds', async (name, variable) => {
  const env = { [`GRAPHCRED_${variable}`]: 'canary' };
  const { stdout } = await cli(temporaryHome(), ['config', 'show', '-o', 'json'], { env });
  expect(JSON.parse(stdout).settings).toContainEqual(expect.objectContaining({ name, value: 'set' }));
});

// holds: C3.1, C3.17
test.each<[string, Record<string, string>, [string, string, string]]>([
  ['--graph flag', { GRAPHCRED_GRAPH: 'own' }, ['flag', '--graph', 'own field profile top']],
  ['', { GRAPHCRED_GRAPH: 'own' }, ['own', 'GRAPHCRED_GRAPH', 'field profile top']],
  ['', {}, ['field', 'TG_GRAPHNAME', 'profile top']],
  ['-p p', {}, ['profile', 'profile p', 'top']],
  ['-p q', {}, ['top', 'config file', '']],
])('with %j and %j the graph is of the source of highest priority: %j', async (line, env, expected) => {
  const home = temporaryHome();
  put(home, '.graphcredrc', 'graph: top\nprofiles:\n  p: { graph: profile }\n  q: {}\n');
  const set = { TG_GRAPHNAME: 'field', GRAPHCRED_PROFILE: 'p', ...env };
  const argv = `config show -o json ${line}`.trim().split(' ');
  const { settings } = JSON.parse((await cli(home, argv, { env: set })).stdout);
  const { value, source, shadowed } = settings.find(({ name }: { name: string }) => name === 'graph');
  expect([value, source, shadowed.map((other: { value: string }) => other.value).join(' ')]).toEqual(
    expected,
  );
});

const CLOUD = 'https://tg-1.i.tgcloud.io';
// holds: C3.26
test.each<[string, Record<string, string>, string, string]>([
  ['', { TG_HOST: CLOUD, TG_TGCLOUD: 'true', TG_SSL_PORT: '443' }, CLOUD, `${CLOUD}/restpp`],
  ['', { TG_HOST: CLOUD, TG_RESTPP_PORT: '9000', TG_GS_PORT: '14240' }, CLOUD, `${CLOUD}/restpp`],
  ['', { TG_HOST: 'https://db', TG_TGCLOUD: 'True' }, 'https://db', 'https://db/restpp'],
  ['', { TG_HOST: CLOUD, TG_SSL_PORT: '8443' }, `${CLOUD}:8443`, `${CLOUD}:8443/restpp`],
  ['--server-version 4.1.2', { TG_HOST: CLOUD, TG_GS_PORT: '8443' }, `${CLOUD}:8443`, `${CLOUD}:8443/restpp`],
  [`--host ${CLOUD}`, {}, CLOUD, `${CLOUD}/restpp`],
  ['--host https://db', { TG_TGCLOUD: 'true', TG_SSL_PORT: '443' }, 'https://db:14240', 'https://db:9000'],
])('with %j and %j both servers of the cloud are behind one port', async (line, env, gsqlUrl, restUrl) => {
  const argv = `status --server-version 3.10.1 -o json ${line}`.trim().split(' ');
  const { stdout } = await cli(temporaryHome(), argv, {
    env: { ...env, HTTPS_PROXY: '127.0.0.1:1' },
  });
  expect(JSON.parse(stdout)).toMatchObject({ gsqlUrl, restUrl });
});

// holds: C3.26
test('config show gives the ports of the cloud as the default ones of such a host', async () => {
  const argv = ['config', 'show', '--host', CLOUD, '--rest-port', '8443'];
  const { stdout } = await cli(temporaryHome(), argv);
  expect(stdout).toMatch(/^restPort +8443 +--rest-port +443 \(default\)$/m);
  expect(stdout).toMatch(/^gsqlPort +443 +default/m);
});

// holds: C3.2
test('TG_TGCLOUD is a switch: another word is exit 2, unless --profile leaves the variable out', async () => {
  const env = { TG_HOST: CLOUD, TG_TGCLOUD: 'maybe' };
  const typed = (line: string) => cli(temporaryHome(), `config show ${line}`.trim().split(' '), { env });
  expect(await typed('')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('TG_TGCLOUD must be on or off.'),
  });
  expect((await typed('-p default')).stderr).not.toContain('TG_TGCLOUD');
});

test('the warning about certificates that are not verified is printed even with -q', async () => {
  const { run } = await bench();
  for (const more of ['', ' -q'])
    expect((await run(`token get --insecure${more}`)).stderr).toContain(
      'server certificates are not verified',
    );
});

test('without a home folder, a store that needs files is STORE_UNAVAILABLE', async () => {
  const stores = storesIn({ stateDir: undefined, configDir: undefined });
  for (const name of ['keychain', 'file', 'redis'] as const)
    await expect(stores.open(name, true)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  expect((await stores.open('none', true)).name).toBe('none');
});

test('without a folder for the key of its store nothing is stored, unless a store is named', async () => {
  const { run } = await bench();
  const env = { XDG_STATE_HOME: temporaryHome(), GRAPHCRED_STORE: undefined };
  for (const line of ['token get', 'token list'])
    expect(await run(line, { env, homeless: true })).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('there is no home folder, so nothing is stored'),
    });
});

test('a store is opened once in a run, so that one without an answer is waited for once', async () => {
  const home = temporaryHome();
  const stores = storesIn({ stateDir: home, configDir: home });
  const first = await stores.open('file', false);
  expect(await stores.open('file', false)).toBe(first);
  stores.restart();
  expect(await stores.open('file', false)).not.toBe(first);
});

// holds: C3.14
test('the hint of a file in the home folder that others can change says how to stop that', async () => {
  const { run, home } = await bench();
  put(home, '.graphcredrc', 'graph: demo');
  fs.chmodSync(home, 0o777);
  expect(await run('token get')).toMatchObject({
    status: 5,
    stderr: expect.stringContaining(
      `other users can write ${home}, so the config is not used.\nhint: check its content, which others may have changed; then: chmod go-w ${home}\n`,
    ),
  });
});

// holds: C3.4
test('nothing is read from the home of another user, or made in it', async () => {
  const { run, home } = await bench();
  const ran = path.join(temporaryHome(), 'ran');
  configure(home, { profiles: { mine: { passwordCommand: ['touch', ran] } } });
  // As under sudo: root with the user's HOME. Without root's rights, another user is played.
  if (process.getuid?.() === 0) fs.chownSync(home, 54_321, 54_321);
  else playAnotherUser();
  const env = { GRAPHCRED_STORE: undefined };
  const owner = `belongs to another user (uid ${fs.statSync(home).uid})`;
  expect(await run('token get', { env, cwd: '/' })).toMatchObject({
    status: 0,
    stderr: expect.stringContaining(`warning: ${home}, named by HOME, is not used: it ${owner}`),
  });
  expect(await run('token get --store file', { env, cwd: '/' })).toMatchObject({
    status: 6,
    stderr: expect.stringContaining(`${home}, named by HOME, is not used: it ${owner}.\nhint: set HOME`),
  });
  expect(await run('token get', { cwd: '/' })).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^\S+\n$/),
  });
  expect((await run('token get -p mine', { env, cwd: '/' })).status).toBe(3);
  expect(fs.existsSync(ran)).toBe(false);
  expect(fs.readdirSync(home)).toEqual(['.config']);
});

test('a folder of XDG_STATE_HOME that is another user’s, or would be made in one, is not used', () => {
  const folder = temporaryHome();
  if (process.getuid?.() === 0) fs.chownSync(folder, 54_322, 54_322);
  else playAnotherUser();
  const env = { XDG_STATE_HOME: path.join(folder, 'not/there') };
  expect(placesOf({ env, home: '/h' })).toEqual({
    configDir: '/h/.config/graphcred',
    stateDir: undefined,
    foreign: {
      path: env.XDG_STATE_HOME,
      variable: 'XDG_STATE_HOME',
      why: expect.stringMatching(/^belongs to another user \(uid \d+\)$/),
    },
  });
});

// holds: C3.4
test('a home that cannot be reached is told as that, and nothing is said of its owner', async () => {
  const { run, home } = await bench();
  const loop = path.join(home, 'loop');
  fs.symlinkSync(loop, loop);
  for (const [HOME, code] of [
    [loop, 'ELOOP'],
    [`/${'x'.repeat(300)}`, 'ENAMETOOLONG'],
  ] as const) {
    expect(ownHome(HOME).foreignHome).toMatchObject({
      why: `cannot be reached (${code})`,
    });
    const env = { GRAPHCRED_STORE: undefined, XDG_STATE_HOME: HOME };
    expect(await run('token get', { env })).toMatchObject({
      status: 0,
      stderr: expect.stringContaining(
        `${HOME}, named by XDG_STATE_HOME, is not used: it cannot be reached (${code})`,
      ),
    });
  }
});

// holds: C3.22
test.each([
  ['serverVersion', '4.1.2'],
  ['store', 'redis'],
  ['secretAlias', 'prod'],
  ['tls', { ca: '/none/ca.pem' }],
])('at another address a profile’s %s does not count, and config show says so', async (key, value) => {
  const { run, home } = await bench();
  configure(home, { profiles: { default: { gsqlUrl: 'https://prod.example.com', [key]: value } } });
  const env = { GRAPHCRED_STORE: undefined, CI: '1' };
  expect(await run('secret list', { env })).toMatchObject({ status: 0 });
  const { stderr } = await run('config show', { env });
  expect(stderr).toMatch(new RegExp(`profile default names .*; not used: .*${key}`));
});

// holds: C4.7
test('a credential in another profile of a file that others can read is a warning', async () => {
  const { run, home } = await bench();
  fs.chmodSync(configure(home, { profiles: { mine: {}, other: { password: 'p' } } }), 0o644);
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
  const config = configure(home, { passwordCommand: ['touch', ran] });
  spoil(config);
  const env = { GRAPHCRED_PASSWORD: undefined };
  for (const line of ['token get', 'login -p new', `token get --config ${config}`])
    if (mend === 'chown' || !line.includes('--config') || what.includes('file'))
      expect(await run(line, { env })).toMatchObject({
        status: 5,
        stderr: expect.stringMatching(new RegExp(`hint: .*${mend}`)),
      });
  expect(fs.existsSync(ran)).toBe(false);
  const { status, stderr } = await run('config show');
  expect([status, stderr]).toEqual([
    0,
    expect.stringMatching(new RegExp(`so the config is not used; .*${mend}`)),
  ]);
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
test('a credential file that others can read is a warning, and one that they can write is refused', async () => {
  const { run, home } = await bench();
  const file = put(home, 'password', 'tigergraph');
  fs.chmodSync(file, 0o644);
  expect(await run(`token get --password-file ${file}`)).toMatchObject({
    status: 0,
    stderr: `graphcred: warning: other users may read the file named by --password-file; to stop that: chmod 600 ${file}\n`,
  });
  fs.chmodSync(file, 0o666);
  expect(await run(`token get --fresh --password-file ${file}`)).toMatchObject({
    status: 5,
    stderr: expect.stringContaining(`hint: chmod go-w ${file}`),
  });
});

test.skipIf(process.getuid?.() !== 0)(
  'a credential file and a key file of another user are refused (as root)',
  async () => {
    const { run, home } = await bench();
    const file = put(home, 'password', `${Buffer.alloc(32).toString('base64')}\n`);
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
  const planted = { profiles: { 'p\u001b]0;title\u0007': {} } };
  const cwd = path.dirname(put(home, 'a\u001b[31mb\nhint: run this/.graphcredrc.json', planted));
  for (const line of ['status', 'config path', 'config show', 'config trust', 'doctor']) {
    const { stdout, stderr } = await cli(home, line.split(' '), { cwd, env: { GRAPHCRED_STORE: 'none' } });
    expect(stdout + stderr).toContain('.graphcredrc.json');
    expect(stdout + stderr).not.toContain('\u001b');
    expect(stdout + stderr).not.toMatch(/^hint: run this/m);
  }
});

test('config and state lie below the home folder, or where an absolute XDG variable says', () => {
  const places = (env: object, home: string | undefined = '/h') => placesOf({ env: { ...env }, home });
  expect(places({ XDG_CONFIG_HOME: 'planted', XDG_STATE_HOME: './planted' })).toEqual({
    configDir: '/h/.config/graphcred',
    stateDir: '/h/.local/state/graphcred',
  });
  expect(placesOf({ env: {}, home: undefined })).toEqual({ configDir: undefined, stateDir: undefined });
  const own = { configDir: '/c/graphcred', stateDir: '/s/graphcred' };
  expect(places({ XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: '/s' })).toEqual(own);
  expect(places({ XDG_CONFIG_HOME: '/c' }).stateDir).toBe('/h/.local/state/graphcred');
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
    stderr: expect.stringContaining('There is no home folder to keep anything in.'),
  });
  for (const GRAPHCRED_STORE of ['none', 'bogus'])
    expect(await run('secret rotate ci', { env: { ...env, GRAPHCRED_STORE }, homeless: true })).toMatchObject(
      { status: 2, stderr: expect.not.stringContaining('home folder') },
    );
});

describe('config', () => {
  test('path prints a name without control characters, and as it is with -o json', async () => {
    const home = temporaryHome();
    const file = put(home, 'odd\u001b[31mname.json', '{}');
    const run = (...more: string[]) => cli(home, ['config', 'path', '--config', file, ...more]);
    expect((await run()).stdout).toBe(`${path.join(home, 'odd [31mname.json')}\n`);
    expect(JSON.parse((await run('-o', 'json')).stdout)).toMatchObject({ file });
  });

  test('trust is an error without a home folder to write to', async () => {
    expect(await cli(temporaryHome(), ['config', 'trust'], { homeless: true })).toEqual({
      status: 6,
      stdout: '',
      stderr:
        'graphcred: There is no home folder to record the trust in.\nhint: set HOME (sudo -H), or name the file in each call: --config FILE\n',
    });
  });

  test('trust approves no file that graphcred cannot use', async () => {
    const home = temporaryHome();
    const cwd = project(home, '.graphcredrc.json', '{"profiles":7}');
    expect((await cli(home, ['config', 'trust'], { cwd })).status).toBe(5);
    expect(fs.existsSync(path.join(home, '.config/graphcred'))).toBe(false);
  });
});

// holds: C3.12
test('the config file is looked for in the folder and its parents up to the home folder, then in the home folder, then in the config folder', async () => {
  const home = temporaryHome();
  const sub = path.join(home, 'code/project/deep/down');
  fs.mkdirSync(sub, { recursive: true });
  const found = async (cwd: string, env = {}) =>
    JSON.parse((await cli(home, ['config', 'show', '-o', 'json'], { cwd, env })).stdout).file;
  expect(await found(sub)).toBe(null);
  const xdg = put(home, 'elsewhere/graphcred/config.yaml', 'graph: a');
  expect(await found(sub, { XDG_CONFIG_HOME: path.join(home, 'elsewhere') })).toBe(xdg);
  const user = configure(home, { graph: 'b' });
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
  ['config show -o json', 0, /"file":null,"trusted":false/],
  ['completion bash', 0, /complete .*graphcred/],
  ['help', 0, /Usage: graphcred/],
])('%s ignores an untrusted file and exits %i', async (line, expected, told) => {
  const home = temporaryHome();
  const cwd = project(home, '.graphcredrc', 'host: http://evil.example.com');
  const env = { GRAPHCRED_GSQL_URL: 'http://127.0.0.1:1', GRAPHCRED_REST_URL: 'http://127.0.0.1:1' };
  const { status, stdout, stderr } = await cli(home, line.split(' '), { cwd, env });
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
