import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Invocation } from '../../src/cli/command.js';
import { assignment, toGithub, toGitlab } from '../../src/cli/print-token.js';
import { bench, temporaryHome } from '../helpers/cli.js';

/** Creates the parts of a session that an output format uses. `onPrint` is called with each line when it is printed. */
function fakeCall(home: string, flags: Record<string, string | true>, onPrint = () => {}) {
  const printed: string[] = [];
  const env = { GITHUB_OUTPUT: path.join(home, 'output'), GITHUB_ENV: path.join(home, 'env') };
  const invocation = {
    ctx: { env, cwd: home },
    flags,
    report: {
      result: (text: string) => {
        printed.push(text);
        onPrint();
      },
      note: () => {},
    },
  } as unknown as Invocation;
  return { invocation, printed, env };
}

test('the mask is printed before the token is written to a file', () => {
  const home = temporaryHome();
  const filesThen: string[][] = [];
  const { invocation, printed, env } = fakeCall(home, { export: true }, () =>
    filesThen.push(fs.readdirSync(home)),
  );
  toGithub(invocation, 'the-token', '2026-01-01T00:00:00Z');
  expect({ printed, filesThen }).toEqual({ printed: ['::add-mask::the-token'], filesThen: [[]] });
  for (const file of Object.values(env)) expect(fs.readFileSync(file, 'utf8')).toContain('the-token');
});

test('the mask contains no line break, and a value cannot end its own heredoc', () => {
  const { invocation, printed, env } = fakeCall(temporaryHome(), { export: true });
  const hostile = 'a%0Ab\r\nEOF\nPATH=/evil';
  toGithub(invocation, hostile, '2026-01-01T00:00:00Z');
  expect(printed).toEqual(['::add-mask::a%250Ab%0D%0AEOF%0APATH=/evil']);
  for (const [file, names] of [
    [env.GITHUB_OUTPUT, ['token', 'expires-at']],
    [env.GITHUB_ENV, ['TG_API_TOKEN']],
  ] as const) {
    let rest = fs.readFileSync(file, 'utf8');
    const found: string[] = [];
    while (rest !== '') {
      const [head, name, end] = /^([\w-]+)<<(\S+)\n/.exec(rest) ?? [];
      expect(end).toMatch(/^graphcred_[0-9a-f]{32}$/);
      found.push(name as string);
      const close = rest.indexOf(`\n${end}\n`);
      if (name !== 'expires-at') expect(rest.slice(head?.length, close)).toBe(hostile);
      rest = rest.slice(close + (end as string).length + 2);
    }
    expect(found).toEqual(names);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  }
});

test('if the dotenv file cannot be written, no token is minted', () => {
  const home = temporaryHome();
  fs.mkdirSync(path.join(home, 'taken', 'inside'), { recursive: true });
  const { invocation } = fakeCall(home, { dotenv: 'taken' });
  expect(() => toGitlab(invocation, 'abc')).toThrow(/cannot be written/);
  expect(fs.readdirSync(home)).toEqual(['taken']);
  const { invocation: inNowhere } = fakeCall(home, { dotenv: 'nowhere/at/all.env' });
  expect(() => toGitlab(inNowhere, 'abc')).toThrow(/cannot be written/);
  const { invocation: twoLines } = fakeCall(home, { dotenv: 'out.env' });
  expect(() => toGitlab(twoLines, 'abc\nPATH=/evil')).toThrow(/dotenv/);
  expect(fs.readdirSync(home)).toEqual(['taken']);
});

test('the dotenv file replaces a symbolic link and does not follow it', async () => {
  const { run, home } = await bench();
  fs.writeFileSync(path.join(home, 'mine'), 'precious');
  fs.symlinkSync('mine', path.join(home, 'out.env'));
  expect((await run('token get -o gitlab --dotenv out.env')).status).toBe(0);
  expect(fs.readFileSync(path.join(home, 'mine'), 'utf8')).toBe('precious');
  expect(fs.lstatSync(path.join(home, 'out.env')).isFile()).toBe(true);
});

test('the dotenv file keeps its other lines', async () => {
  const { run, home } = await bench();
  fs.writeFileSync(path.join(home, 'out.env'), 'A=1\nTG_API_TOKEN=old\nB=2');
  expect((await run('token get -o gitlab --dotenv out.env')).status).toBe(0);
  expect(fs.readFileSync(path.join(home, 'out.env'), 'utf8')).toMatch(
    /^A=1\nB=2\nTG_API_TOKEN=[a-z0-9]{32}\n$/,
  );
});

test('-o github begins a line of its own in the runner’s file', async () => {
  const { run, home } = await bench();
  const GITHUB_OUTPUT = path.join(home, 'output');
  fs.writeFileSync(GITHUB_OUTPUT, 'a=1');
  expect((await run('token get -o github', { env: { GITHUB_OUTPUT } })).status).toBe(0);
  expect(fs.readFileSync(GITHUB_OUTPUT, 'utf8')).toMatch(/^a=1\ntoken<</);
});

test('-o github mints nothing when the mask goes nowhere', async () => {
  const { run, home, requests } = await bench();
  requests();
  const GITHUB_OUTPUT = path.join(home, 'output');
  expect(await run('token get -o github', { env: { GITHUB_OUTPUT }, toNowhere: true })).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('cannot be masked'),
  });
  expect(requests()).toEqual([]);
});

test('the dotenv file never replaces a device or a pipe, and then no token is minted', async () => {
  const { run, home, requests } = await bench();
  execFileSync('mkfifo', [path.join(home, 'pipe')]);
  fs.symlinkSync('/dev/null', path.join(home, 'device'));
  requests();
  for (const name of ['pipe', 'device']) {
    const before = fs.lstatSync(path.join(home, name));
    const refused = await run(`token get -o gitlab --dotenv ${name}`);
    expect(refused).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('must be a regular file'),
    });
    expect(fs.lstatSync(path.join(home, name)).ino).toBe(before.ino);
  }
  expect(requests()).toEqual([]);
});

test('fish and PowerShell quote a value as their documentation says (not run here)', () => {
  expect(assignment('X', "a'b\\c$d", 'fish')).toBe("set -gx X 'a\\'b\\\\c$d'");
  expect(assignment('X', "a'b‘c`$d", 'powershell')).toBe("$env:X = 'a''b‘‘c`$d'");
});

test.each(['a"b', '%PATH%', 'a!b', 'a\nb'])('cmd refuses a value that it cannot hold safely: %j', (value) => {
  expect(() => assignment('X', value, 'cmd')).toThrow('cmd cannot hold this token safely.');
});

describe('token refresh', () => {
  test('prints in the same formats as token get', async () => {
    const { run, home } = await bench({ serverVersion: '3.10.1' });
    const got = (await run('token get --lifetime 1h')).stdout.trim();
    const line = 'token refresh --lifetime 2h';
    expect((await run(`${line} -o header`)).stdout).toMatch(/^Authorization: Bearer \S+\n$/);
    const { stdout } = await run(`${line} -o env`);
    expect(execFileSync('sh', ['-c', `${stdout} printf %s "$TG_API_TOKEN"`], { encoding: 'utf8' })).toBe(got);
    expect((await run(`${line} -o gitlab --dotenv out.env`)).stdout).toBe('');
    expect(fs.readFileSync(path.join(home, 'out.env'), 'utf8')).toBe(`TG_API_TOKEN=${got}\n`);
  });
});

test.each([
  ['text', /^\S+\n$/],
  ['json', /^\{"schemaVersion":1,.*\}\n$/],
  ['env', /^export TG_API_TOKEN='\S+'\n$/],
  ['header', /^Authorization: Bearer \S+\n$/],
])('-o %s prints only the result, with -v, a pending warning and a broken record', async (format, shape) => {
  const { run, home } = await bench();
  await run('token get');
  const folder = path.join(home, '.local/state/graphcred');
  for (const name of fs.readdirSync(folder).filter((file) => /^token-.*\.json$/.test(file)))
    fs.writeFileSync(path.join(folder, name), '{"v":1,', { mode: 0o600 });
  const result = await run(`token get -v --insecure -o ${format}`);
  expect(result).toMatchObject({ status: 0, stdout: expect.stringMatching(shape) });
  expect(result.stderr).toContain('--insecure');
});

test('no token is minted when a file of GitHub Actions cannot be written', async () => {
  const { run, requests, home } = await bench();
  const file = path.join(home, 'output');
  fs.writeFileSync(file, '');
  for (const env of [{ GITHUB_OUTPUT: '/none/output' }, { GITHUB_OUTPUT: home }]) {
    expect((await run('token get -o github', { env })).status).toBe(2);
    expect(requests()).toEqual([]);
  }
  expect((await run('token get -o github', { env: { GITHUB_OUTPUT: file } })).status).toBe(0);
});

test('a token format that is set for all commands means text where no token is printed', async () => {
  const { run } = await bench();
  await run('secret create ci');
  const { stdout } = await run('secret list');
  for (const GRAPHCRED_OUTPUT of ['env', 'header', 'k8s-secret'])
    expect(await run('secret list', { env: { GRAPHCRED_OUTPUT } })).toMatchObject({ status: 0, stdout });
  expect(await run('secret list', { env: { GRAPHCRED_OUTPUT: 'xml' } })).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('hint: choose one of: text, json'),
  });
});
