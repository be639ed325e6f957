import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/server.js';
import { cli, temporaryHome } from '../helpers/cli.js';
import { sandboxFor, start } from '../helpers/process.js';

/** A token minted then has expired, because its lifetime was thirty days. */
const LONG_AGO = 40 * 86_400_000;

/**
 * Creates a machine that causes many warnings: a broken record, an expired token, a config file with a credential that others can read, and servers
 * reached without encryption.
 */
async function rough(options: SandboxOptions = {}) {
  const home = temporaryHome();
  const { sandbox, env } = await sandboxFor(home, options);
  const folder = path.join(home, 'project');
  const state = path.join(home, '.local/state/graphcred');
  fs.mkdirSync(folder);
  const config = path.join(folder, '.graphcredrc.json');
  fs.writeFileSync(config, '{"password":"of this file","profiles":{"p":{}}}', { mode: 0o644 });
  const all: Record<string, string> = {
    ...env,
    GRAPHCRED_STORE: 'file',
    // This address leads to this machine, but graphcred does not treat it as a loopback address.
    GRAPHCRED_GSQL_URL: sandbox.gsqlUrl.replace('127.0.0.1', '0.0.0.0'),
    GRAPHCRED_REST_URL: sandbox.restUrl.replace('127.0.0.1', '0.0.0.0'),
    GITHUB_OUTPUT: path.join(home, 'github-output'),
    GITHUB_ENV: path.join(home, 'github-env'),
  };
  const trusted = await cli(home, ['config', 'trust', config], { env: all });
  expect(trusted.status, trusted.stderr).toBe(0);
  const argv = ['token', 'get', '--lifetime', '30d'];
  const old = await cli(home, argv, { env: all, cwd: folder, now: () => Date.now() - LONG_AGO });
  expect(old.status, old.stderr).toBe(0);
  fs.writeFileSync(path.join(state, `token-${'f'.repeat(28)}.json`), '{"v":1,', { mode: 0o600 });
  return { home, folder, sandbox, env: all };
}

type Rough = Awaited<ReturnType<typeof rough>>;

async function print({ env, folder }: Rough, argv: readonly string[], more: Record<string, string> = {}) {
  return start(argv, { ...env, ...more }, '', folder).ended;
}

const words = (line: string) => line.split(' ');

/** A token may hold every visible character, so a server can put these into one. */
const HOSTILE = `a'b"$(touch\${IFS}pwned)\`touch\${IFS}pwned\`;#%0A::set-output\\n{}&|<>!*?~`;

describe.each([
  ['token get', '3.10.1'],
  ['token refresh', '3.10.1'],
  ['token get', '4.1.2'],
])('a hostile token of %s on %s', (line, serverVersion) => {
  const reply = (token: string) =>
    JSON.stringify({
      code: 'REST-0000',
      error: false,
      message: 'Generate new token successfully.',
      token,
      expiration: Math.floor(Date.now() / 1000) + 2_592_000,
      results: { token },
    });
  const route = serverVersion.startsWith('4') ? '/gsql/v1/tokens' : '/requesttoken';
  const argv = words(`${line} -v`);

  const shells = ['sh', 'dash', 'bash', 'zsh', 'busybox'].filter(installed);

  test('is printed unchanged in every format, and no shell runs a part of it', async () => {
    const made = await rough({ serverVersion });
    const token = HOSTILE;
    // The token is minted and then cached.
    made.sandbox.addFault({ action: 'status', status: 200, body: reply(token), route });
    expect((await print(made, words('token get'))).stdout).toBe(`${token}\n`);
    expect((await print(made, argv)).stdout).toBe(`${token}\n`);
    const get = async (...more: string[]) => {
      const result = await print(made, [...argv, ...more]);
      expect({ more, ...result }).toMatchObject({ status: 0 });
      return result.stdout;
    };
    expect(JSON.parse(await get('-o', 'json')).token).toBe(token);
    expect(await get('-o', 'header')).toBe(`Authorization: Bearer ${token}\n`);
    const assignment = await get('-o', 'env');
    const cwd = temporaryHome();
    for (const shell of shells) {
      const program = shell === 'busybox' ? ['busybox', 'sh'] : [shell];
      const [command = '', ...first] = program;
      const script = `eval "$1"; printf %s "$TG_API_TOKEN"; "$2" -e 'process.stdout.write(process.env.TG_API_TOKEN)'`;
      const got = execFileSync(command, [...first, '-c', script, shell, assignment, process.execPath], {
        encoding: 'utf8',
        cwd,
      });
      expect({ shell, got }).toEqual({ shell, got: `${token}${token}` });
    }
    const fish = await get('-o', 'env', '--shell', 'fish');
    const [fishPath, pwsh] = [installed('fish'), installed('pwsh')];
    if (fishPath) {
      const script = `${fish}; printf %s "$TG_API_TOKEN"`;
      expect(execFileSync(fishPath, ['-c', script], { encoding: 'utf8', cwd })).toBe(token);
    }
    if (pwsh) {
      const script = `${await get('-o', 'env', '--shell', 'powershell')}; [Console]::Write($env:TG_API_TOKEN)`;
      expect(execFileSync(pwsh, ['-NoProfile', '-c', script], { encoding: 'utf8', cwd })).toBe(token);
    }
    expect(fs.readdirSync(cwd)).toEqual([]);

    const mask = token.replaceAll('%', '%25');
    expect(await get('-o', 'github', '--export')).toBe(`::add-mask::${mask}\n`);
    const expires = JSON.parse(await get('-o', 'json')).expiresAt;
    expect(actionsFile(`${made.home}/github-output`)).toEqual({ token, 'expires-at': expires });
    expect(actionsFile(`${made.home}/github-env`)).toEqual({ TG_API_TOKEN: token });
    expect(await get('-o', 'gitlab', '--dotenv', 'out.env')).toBe('');
    expect(fs.readFileSync(path.join(made.folder, 'out.env'), 'utf8')).toBe(`TG_API_TOKEN=${token}\n`);
    expect(fs.statSync(path.join(made.folder, 'out.env')).mode & 0o777).toBe(0o600);
  });
});

/** Reads the file as the runner of GitHub Actions does: `name<<delimiter`, the lines of the value, the delimiter. */
function actionsFile(file: string): Record<string, string> {
  const lines = fs.readFileSync(file, 'utf8').split('\n');
  const found: Record<string, string> = {};
  while (lines.length > 1) {
    const [name = '', delimiter = ''] = (lines.shift() as string).split('<<');
    expect(delimiter).not.toBe('');
    const end = lines.indexOf(delimiter);
    expect(end).toBeGreaterThanOrEqual(0);
    found[name] = lines
      .splice(0, end + 1)
      .slice(0, -1)
      .join('\n');
  }
  return found;
}

for (const shell of ['fish', 'zsh', 'pwsh', 'busybox'])
  if (!installed(shell)) console.log(`${shell} is not installed: its reading of -o env is not tested`);

/** Returns the path of a program; undefined if it is not installed. */
function installed(program: string): string | undefined {
  const found = (process.env.PATH ?? '').split(':').map((folder) => path.join(folder, program));
  return found.find((file) => fs.existsSync(file));
}

const NAMES = [
  `it's "quoted"`,
  '$(touch pwned)',
  '`touch pwned`;rm',
  'line\nbreak\r\u2028x',
  '\u001b[31mred\u0007',
  'grüße 図 🦆',
  '--output=json',
  '-o',
  '__proto__',
  '$HOME%0A\\',
];

/** Matches characters that a terminal may interpret, except the line breaks of a table. */
const CONTROL = /(?!\n)[\p{Cc}\u2028\u2029]/u;

describe('names that somebody else has chosen', () => {
  // Each name is tried on 3.x, and the worst of them on 4.x as well.
  const on3 = NAMES.map((name) => [name, '3.10.1'] as const);
  test.each([...on3, [NAMES.join(''), '4.1.2'] as const])(
    '%j as graph and user on %s are escaped',
    async (name, serverVersion) => {
      const made = await rough({
        serverVersion,
        graphs: ['demo', name],
        users: [
          { name: 'tigergraph', password: 'tigergraph', role: 'superuser' },
          { name, password: 'x', role: 'superuser' },
        ],
      });
      const more = { GRAPHCRED_GRAPH: name, GRAPHCRED_USERNAME: name, GRAPHCRED_PASSWORD: 'x' };
      const json = async (line: string) => {
        const { stdout, stderr } = await print(made, words(`${line} -v -o json`), more);
        expect({ line, stderr, stdout }).toMatchObject({ stdout: expect.stringMatching(/^\{[^\n]*\}\n$/) });
        return JSON.parse(stdout);
      };
      expect(await json('token get')).toMatchObject({ graph: name });
      const { tokens } = await json('token list');
      expect(tokens).toContainEqual(expect.objectContaining({ graph: name, principal: `user:${name}` }));
      expect(await json('status')).toMatchObject({ token: { state: 'valid' } });
      const { settings } = await json('config show');
      expect(settings).toContainEqual(expect.objectContaining({ name: 'username', value: name }));
      // For people the list has one line for each record, and no character that a terminal would interpret.
      const list = (await print(made, words('token list'), more)).stdout;
      expect(list.split('\n')).toHaveLength(tokens.length + 2);
      const shown = await print(made, words('config show'), more);
      for (const text of [list, shown.stdout, shown.stderr]) expect(text).not.toMatch(CONTROL);
      const script = 'process.stdout.write(process.env.TG_GRAPHNAME)';
      const child = await print(made, ['exec', '--', process.execPath, '-e', script], more);
      expect(child).toMatchObject({ status: 0, stdout: name });
    },
  );
});

test('aliases chosen by another user are escaped', async () => {
  const value = 'canary0123456789canary0123456789';
  const made = await rough({
    serverVersion: '4.1.2',
    secrets: NAMES.map((alias) => ({ alias, value, user: 'tigergraph', graph: 'demo' })),
  });
  const { stdout } = await print(made, words('secret list -v -o json'));
  const { secrets } = JSON.parse(stdout) as { secrets: { alias: string; masked: string }[] };
  expect(secrets.map(({ alias }) => alias).filter((alias) => !alias.startsWith('AUTO_'))).toEqual(
    NAMES.map((name) => name.replace(/[\p{Cc}\u2028\u2029]/gu, '')).sort(),
  );
  expect(stdout).not.toContain(value);
  const text = (await print(made, words('secret list'))).stdout;
  expect(text.split('\n')).toHaveLength(secrets.length + 2);
  expect(text).not.toMatch(CONTROL);
});
