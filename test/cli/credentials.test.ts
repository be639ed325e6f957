import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Bench, bench, cli, temporaryHome } from '../helpers/cli.js';
import { configure } from '../helpers/home.js';

const NO_PASSWORD = { env: { GRAPHCRED_PASSWORD: '' } };

/** Writes a config file that is named on the command line, and is therefore trusted. */
function config(home: string, content: unknown): string {
  const file = path.join(home, 'own.json');
  fs.writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
  return file;
}

/** Creates a folder below the home that somebody else may have filled, such as a cloned repository. */
function _cloned(home: string, content: unknown): string {
  const folder = path.join(home, 'cloned');
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, '.graphcredrc.json'), JSON.stringify(content), { mode: 0o600 });
  return folder;
}

const urls = ({ sandbox }: Bench) => ({ restUrl: sandbox.restUrl, gsqlUrl: sandbox.gsqlUrl });
const code = (stderr: string) => JSON.parse(stderr.trim().split('\n').at(-1) as string).error.code;
const KEPT = { GRAPHCRED_STORE: 'file' };

describe('where a credential comes from', () => {
  // holds: C4.1
  test('stdin, a file, a variable, the other tools’ variable and a profile are used in this order', async () => {
    const b = await bench();
    const { secret } = await b.json<{ secret: string }>('secret create ci');
    const wrong = 'z'.repeat(31);
    const file = path.join(b.home, 'secret.txt');
    const own = { ...urls(b), graph: 'demo' };
    const env = (extra: Record<string, string>) => ({ GRAPHCRED_STORE: 'none', ...extra });
    const get = async (argv: string[], extra: Record<string, string>, stdin = '') => {
      const profile = config(b.home, { profiles: { p: { ...own, secret: extra.profile ?? wrong } } });
      const { profile: _, ...rest } = extra;
      const result = await cli(b.home, ['token', 'get', '--config', profile, ...argv], {
        env: env({ GRAPHCRED_PROFILE: 'p', ...rest }),
        stdin,
      });
      expect(result.stderr).not.toContain(wrong);
      return result.status;
    };
    fs.writeFileSync(file, `${secret}\r\n`);
    expect(await get(['--secret-stdin'], { GRAPHCRED_SECRET: wrong }, `${secret}\n`)).toBe(0);
    expect(await get(['--secret-file', 'secret.txt'], { GRAPHCRED_SECRET: wrong })).toBe(0);
    expect(await get([], { GRAPHCRED_SECRET_FILE: file, TG_SECRET: wrong })).toBe(0);
    expect(await get([], { GRAPHCRED_SECRET: secret, TG_SECRET: wrong })).toBe(0);
    expect(await get([], { TG_SECRET: secret })).toBe(0);
    expect(await get([], { profile: secret })).toBe(0);
    expect(await get([], {})).toBe(4);
    expect(await get([], { TG_SECRET: wrong, profile: secret })).toBe(4);
    // If a profile is chosen with a flag, the variables of other tools are ignored.
    expect(await get(['-p', 'p'], { TG_SECRET: wrong, profile: secret })).toBe(0);
  });

  // holds: C4.6
  test('a file without an end is refused, but a pipe is read', async () => {
    const b = await bench();
    const { secret } = await b.json<{ secret: string }>('secret create ci');
    const get = (...argv: string[]) =>
      b.run(['token', 'get', '-o', 'json', ...argv], { env: { GRAPHCRED_STORE: 'none' } });
    const endless = await get('--secret-file', '/dev/zero');
    expect([endless.status, code(endless.stderr)]).toEqual([2, 'INPUT_REQUIRED']);
    const file = path.join(b.home, 'secret.txt');
    fs.writeFileSync(file, secret, { mode: 0o600 });
    const authority = await get('--secret-file', file, '--ca', '/dev/zero');
    expect([authority.status, code(authority.stderr)]).toEqual([2, 'USAGE']);
    const pipe = path.join(b.home, 'pipe');
    execFileSync('mkfifo', [pipe]);
    spawn('sh', ['-c', 'printf %s "$1" >"$2"', 'sh', secret, pipe], { stdio: 'ignore' });
    const piped = await get('--secret-file', pipe);
    expect(piped).toMatchObject({ status: 0 });
    expect(JSON.parse(piped.stdout)).toMatchObject({ source: 'server' });
  });

  test('a command prints the secret without a shell, and is not run if a token is cached', async () => {
    const b = await bench();
    const { secret } = await b.json<{ secret: string }>('secret create ci');
    const log = path.join(b.home, 'log');
    const script = path.join(b.home, 'give.mjs');
    fs.writeFileSync(
      script,
      `import fs from 'node:fs';
       fs.appendFileSync(${JSON.stringify(log)}, process.argv[2] + '\\n');
       console.log(${JSON.stringify(secret)});`,
    );
    const command = [process.execPath, script, '$HOME; touch pwned'];
    const file = config(b.home, { profiles: { p: { ...urls(b), graph: 'demo', secretCommand: command } } });
    const argv = ['token', 'get', '--config', file, '-p', 'p'];
    const first = await cli(b.home, argv, { env: KEPT });
    expect(first).toMatchObject({ status: 0, stderr: '' });
    expect((await cli(b.home, argv, { env: KEPT })).stdout).toBe(first.stdout);
    expect(fs.readFileSync(log, 'utf8')).toBe('$HOME; touch pwned\n');
    expect(fs.existsSync(path.join(b.home, 'pwned'))).toBe(false);
  });

  // holds: C4.2
  test('a saved secret is used only for its own user and its own host', async () => {
    const b = await bench();
    expect((await b.run('secret create ci --save')).status).toBe(0);
    const { GRAPHCRED_PASSWORD: _, GRAPHCRED_USERNAME: __, ...bare } = b.env;
    expect((await cli(b.home, ['token', 'get', '--fresh'], { env: bare })).status).toBe(0);
    expect((await cli(b.home, ['token', 'get', '-u', 'tigergraph', '--fresh'], { env: bare })).status).toBe(
      0,
    );
    expect((await cli(b.home, ['token', 'get', '-u', 'other', '--fresh'], { env: bare })).status).toBe(2);
    const other = await bench();
    const there = {
      ...bare,
      GRAPHCRED_REST_URL: other.sandbox.restUrl,
      GRAPHCRED_GSQL_URL: other.sandbox.gsqlUrl,
    };
    expect((await cli(b.home, ['token', 'get'], { env: there })).status).toBe(2);
    expect(other.requests()).toEqual([]);
  });
});

describe('a credential', () => {
  // holds: C3.1
  test('of a profile is not sent to the host in the variables of other tools', async () => {
    const b = await bench();
    const literal = { ...urls(b), graph: 'demo', username: 'tigergraph', password: 'tigergraph' };
    const file = config(b.home, { profiles: { p: literal } });
    const env = { ...KEPT, TG_HOST: 'http://198.51.100.1', TG_GRAPHNAME: 'other', TG_PASSWORD: 'wrong' };
    const result = await cli(b.home, ['token', 'get', '-v', '-o', 'json', '--config', file, '-p', 'p'], {
      env,
    });
    expect(JSON.parse(result.stdout)).toMatchObject({ graph: 'demo', host: 'http://127.0.0.1' });
    expect(result.stderr).toContain('TG_HOST is ignored because --profile was given');
    expect(result.stderr).not.toContain('wrong');
  });
});

describe('config files', () => {
  test.each([
    ['.graphcredrc', 'profiles:\n  default: { graph: here }\n'],
    ['.graphcredrc', '{"profiles":{"default":{"graph":"here"}}}'],
    ['.graphcredrc.json', '{"profiles":{"default":{"graph":"here"}}}'],
    ['.graphcredrc.yaml', 'profiles:\n  default:\n    graph: here\n'],
    ['.graphcredrc.yml', 'graph: here\n'],
    ['.config/graphcred/config.json', '{"graph":"here"}'],
    ['.config/graphcred/config.yaml', 'graph: here\n'],
    ['.config/graphcred/config.yml', 'graph: here\n'],
  ])('%s with %j is read', async (name, text) => {
    const { home } = await bench();
    const file = path.join(home, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text, { mode: 0o600 });
    const below = path.join(home, 'a', 'b');
    fs.mkdirSync(below, { recursive: true });
    const { stdout } = await cli(home, ['config', 'show', '-o', 'json'], { cwd: below });
    const shown = JSON.parse(stdout);
    expect(shown).toMatchObject({ schemaVersion: 1, file, trusted: true });
    expect(shown.settings.find((setting: { name: string }) => setting.name === 'graph')).toMatchObject({
      value: 'here',
    });
  });
});

test('on 4.x a saved secret is used for every graph', async () => {
  const b = await bench({ serverVersion: '4.1.2', graphs: ['demo', 'other'] });
  expect((await b.run('secret create ci --save')).status).toBe(0);
  expect(await b.run('token get --graph other', NO_PASSWORD)).toMatchObject({ status: 0 });
});

test('a credential for other servers does not hide one of lower priority for these servers', async () => {
  const b = await bench();
  const { restUrl, gsqlUrl, username, password } = b.sandbox;
  configure(b.home, { restUrl, gsqlUrl, username, password });
  const env = { GRAPHCRED_PASSWORD: '', TG_HOST: 'http://127.0.0.2', TG_PASSWORD: 'elsewhere' };
  expect(await b.run('token get', { env })).toMatchObject({ status: 0 });
});

test('on 3.x a secret that was saved without a graph is used for every graph', async () => {
  const { run } = await bench();
  const secret = (await run('secret create ci')).stdout;
  const env = { GRAPHCRED_PASSWORD: undefined };
  const login = await run('login -p new --secret-stdin', {
    stdin: secret,
    env: { ...env, GRAPHCRED_GRAPH: undefined },
  });
  expect(login.status).toBe(0);
  expect((await run('token get', { env })).status).toBe(0);
});

test('two profiles that share only the GSQL server each keep their own password', async () => {
  const { run, sandbox } = await bench({ serverVersion: '3.10.1' });
  for (const [name, restUrl] of [
    ['one', sandbox.restUrl],
    ['two', 'http://127.0.0.1:1'],
  ])
    expect((await run(`login -p ${name} --save-password --rest-url ${restUrl}`)).status).toBe(0);
  const clear = {
    GRAPHCRED_REST_URL: undefined,
    GRAPHCRED_GSQL_URL: undefined,
    GRAPHCRED_PASSWORD: undefined,
  };
  for (const name of ['one', 'two'])
    expect((await run(`secret list -p ${name}`, { env: clear })).status).toBe(0);
});

test('a saved password logs in, also when the profile names a secret for its tokens', async () => {
  const { run } = await bench();
  await run('login --save-password');
  const env = { GRAPHCRED_PASSWORD: undefined } as unknown as Record<string, string>;
  expect(await run('secret list --secret-alias ci', { env })).toMatchObject({ status: 0 });
});

test.each([
  ['4.1.2', 0],
  ['3.10.1', 5],
])(
  'on %s a password of the file is used with the REST URL that the file leads to, and with no other: exit %i',
  async (serverVersion, status) => {
    const { home, sandbox } = await bench({ serverVersion });
    const { gsqlUrl, restUrl, username, password } = sandbox;
    const profiles = { p: { gsqlUrl, username, password, graph: 'demo' } };
    configure(home, { profiles });
    const argv = ['token', 'get', '-p', 'p', '--store', 'none', '--rest-url', restUrl];
    expect((await cli(home, argv)).status).toBe(status);
  },
);

// holds: C4.8
test('a missing credential without a terminal is exit 2, and the error names flag and variable', async () => {
  const home = temporaryHome();
  const { status, stdout, stderr } = await cli(home, ['token', 'get', '--store', 'none'], {});
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(/--username.*GRAPHCRED_USERNAME/s);
});

// holds: C4.3
test.each(['3.10.1', '4.1.2'])(
  'on %s a saved secret mints tokens, and the saved password logs in for secret commands',
  async (serverVersion) => {
    const { run, sandbox } = await bench({ serverVersion });
    const addresses = {
      GRAPHCRED_REST_URL: '',
      GRAPHCRED_GSQL_URL: '',
      GRAPHCRED_USERNAME: '',
      GRAPHCRED_PASSWORD: '',
    };
    expect((await run('login -p dev --save-password')).status).toBe(0);
    expect((await run('secret create ci --save -p dev', { env: addresses })).status).toBe(0);
    const sent = sandbox.requests.length;
    expect((await run('token get --fresh -p dev', { env: addresses })).status).toBe(0);
    expect((await run('secret list -p dev', { env: addresses })).status).toBe(0);
    const later = sandbox.requests.slice(sent).filter(({ path: route }) => !route.endsWith('/version'));
    expect(later[0]?.fields).toContain('secret');
    expect(later[0]?.login).toBe('none');
    expect(later.at(-1)?.login).toBe('basic');
  },
);
