import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { bench, cli, temporaryHome } from '../helpers/cli.js';

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

test('a file in a cloned folder cannot send a credential to its own host', async () => {
  const evil = await bench();
  const cwd = project(
    evil.home,
    '.graphcredrc.json',
    JSON.stringify({ gsqlUrl: evil.sandbox.gsqlUrl, restUrl: evil.sandbox.restUrl, graph: 'demo' }),
  );
  for (const line of [
    'token get',
    'secret list',
    'secret create x',
    'token delete',
    'token refresh',
    'token check',
  ]) {
    const { status, stdout, stderr } = await cli(evil.home, line.split(' '), {
      cwd,
      env: { ...PASSWORD, GRAPHCRED_STORE: 'file' },
    });
    expect({ line, status, stdout }).toEqual({ line, status: 5, stdout: '' });
    expect(stderr).toContain(path.join(cwd, '.graphcredrc.json'));
    expect(stderr).toContain('graphcred config trust');
  }
  expect(evil.requests()).toEqual([]);
});

test('once approved it counts, until its content changes', async () => {
  const { sandbox, home } = await bench();
  const text = JSON.stringify({ gsqlUrl: sandbox.gsqlUrl, restUrl: sandbox.restUrl, graph: 'demo' });
  const cwd = project(home, '.graphcredrc', text);
  expect((await cli(home, ['config', 'trust'], { cwd })).status).toBe(0);
  expect((await cli(home, ['token', 'get'], { cwd, env: PASSWORD })).status).toBe(0);
  fs.appendFileSync(path.join(cwd, '.graphcredrc'), ' ');
  expect((await cli(home, ['token', 'get'], { cwd, env: PASSWORD })).status).toBe(5);
});

test('a credential of its own may go where the file says; programs, files and certificates are never taken', async () => {
  const { sandbox, home } = await bench();
  const target = {
    gsqlUrl: sandbox.gsqlUrl,
    restUrl: sandbox.restUrl,
    graph: 'demo',
    username: 'tigergraph',
  };
  const mark = path.join(home, 'ran');
  const own = JSON.stringify({
    profiles: {
      default: {
        ...target,
        password: 'tigergraph',
        tls: { ca: '/nope' },
        store: 'file',
        secretCommand: ['touch', mark],
      },
    },
  });
  const cwd = project(home, '.graphcredrc.json', own);
  const result = await cli(home, ['token', 'get', '--store', 'none'], { cwd });
  expect(result).toMatchObject({ status: 0, stderr: expect.stringContaining('secretCommand') });
  expect(fs.existsSync(mark)).toBe(false);
});

test('planted programs are never run, and no .config folder is looked into', async () => {
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
  // YAML, so that cosmiconfig is really loaded.
  fs.writeFileSync(path.join(cwd, '.graphcredrc.yaml'), 'graph: demo\n');
  const { stdout } = await cli(home, ['config', 'show', '-o', 'json'], { cwd });
  expect(JSON.parse(stdout)).toMatchObject({ file: path.join(cwd, '.graphcredrc.yaml'), trusted: false });
  expect(fs.existsSync(mark)).toBe(false);
});

test('a credential in the file stays at the file’s host', async () => {
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

test('two config files in one folder, and files that are no data, name file, key and line', async () => {
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

test('a file with a credential that others can write is refused; one that they can read is warned of', async () => {
  const home = temporaryHome();
  const file = path.join(home, '.graphcredrc');
  fs.writeFileSync(file, 'secret: canary-canary\ngraph: demo\n');
  fs.chmodSync(file, 0o666);
  expect(await cli(home, ['config', 'show'])).toMatchObject({
    status: 5,
    stderr: expect.stringContaining('chmod 600'),
  });
  fs.chmodSync(file, 0o644);
  const shown = await cli(home, ['config', 'show']);
  expect(shown).toMatchObject({ status: 0, stderr: expect.stringContaining('chmod 600') });
  expect(shown.stdout + shown.stderr).not.toContain('canary');
});

test('config show takes every setting, and says of the profile, too, what it hides', async () => {
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

test('the nearest source of a setting wins, and config show names what it hides', async () => {
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

test.each([
  [['--host', 'db.example'], /https:\/\/db\.example or http:\/\/db\.example/],
  [['--lifetime', 'soon'], /--lifetime.*\nhint: .*15m/],
  [['--rest-port', '70000'], /--rest-port is not a port/],
  [['--secret-stdin', '--password-stdin'], /Only one value can come from stdin/],
])('%j is exit 2 with a hint', async (flags, message) => {
  const home = temporaryHome();
  const { status, stdout, stderr } = await cli(home, ['token', 'get', '--store', 'none', ...flags]);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(message);
});

test.each(['create', 'drop'])('secret %s refuses what is no alias before anything is sent', async (verb) => {
  const { run, requests } = await bench();
  for (const alias of ['x; DROP ALL', 'a b', '', 'a'.repeat(300), 'a\nb']) {
    const { status, stdout } = await run(['secret', verb, alias]);
    expect({ alias, status, stdout }).toEqual({ alias, status: 2, stdout: '' });
  }
  expect(requests()).toEqual([]);
});
