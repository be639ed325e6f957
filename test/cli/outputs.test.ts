import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Secret } from 'kubernetes-models/v1/Secret';
import { expect, test } from 'vitest';
import type { Token } from '../../src/app/tokens/token-cache.js';
import type { Invocation } from '../../src/cli/command.js';
import { assignment, toGithub } from '../../src/cli/print-token.js';
import { bench, temporaryHome } from '../helpers/cli.js';

/** Creates the parts of a session that an output format uses. `onPrint` is called with each line when it is printed. */
function fakeCall(home: string, flags: Record<string, string | true>, onPrint = () => {}) {
  const printed: string[] = [];
  const env = { GITHUB_OUTPUT: path.join(home, 'output'), GITHUB_ENV: path.join(home, 'env') };
  const invocation = {
    ctx: { env, cwd: home },
    flags,
    report: {
      raw: (text: string) => {
        printed.push(text);
        onPrint();
      },
      note: () => {},
    },
  } as unknown as Invocation;
  return { invocation, printed, env };
}

// holds: C6.7
test('the mask is printed before the token is written to a file', () => {
  const home = temporaryHome();
  const filesThen: string[][] = [];
  const { invocation, printed, env } = fakeCall(home, { export: true }, () =>
    filesThen.push(fs.readdirSync(home)),
  );
  toGithub(invocation, 'the-token', { expiresAtUnix: 0 } as Token);
  expect({ printed, filesThen }).toEqual({ printed: ['::add-mask::the-token'], filesThen: [[]] });
  for (const file of Object.values(env)) expect(fs.readFileSync(file, 'utf8')).toContain('the-token');
});

test('the mask contains no line break, and a value cannot end its own heredoc', () => {
  const { invocation, printed, env } = fakeCall(temporaryHome(), { export: true });
  const hostile = 'a%0Ab\r\nEOF\nPATH=/evil';
  toGithub(invocation, hostile, { expiresAtUnix: 0 } as Token);
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

test('if the dotenv file cannot be written, no token is minted', async () => {
  const { run, home, requests } = await bench();
  fs.mkdirSync(path.join(home, 'taken'));
  requests();
  for (const name of ['taken', 'nowhere/at/all.env'])
    expect(await run(`token get -o gitlab --dotenv ${name}`)).toMatchObject({ status: 2, stdout: '' });
  expect(requests()).toEqual([]);
});

// holds: C6.8
test('the dotenv file is private, keeps its other lines, and is written in place', async () => {
  const { run, home } = await bench();
  const file = path.join(home, 'out.env');
  fs.writeFileSync(file, 'A=1\nTG_API_TOKEN=old\nB=2', { mode: 0o644 });
  const { ino } = fs.statSync(file);
  expect(await run('token get -o gitlab --dotenv out.env')).toMatchObject({ status: 0, stdout: '' });
  expect(fs.readFileSync(file, 'utf8')).toMatch(/^A=1\nB=2\nTG_API_TOKEN=[a-z0-9]{32}\n$/);
  const after = fs.statSync(file);
  expect([after.mode & 0o777, after.ino]).toEqual([0o600, ino]);
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
    stderr: expect.stringContaining('The result cannot be printed to standard output'),
  });
  expect(requests()).toEqual([]);
});

test('the dotenv file is never a device, a pipe or a symbolic link, and then no token is minted', async () => {
  const { run, home, requests } = await bench();
  execFileSync('mkfifo', [path.join(home, 'pipe')]);
  fs.symlinkSync('/dev/null', path.join(home, 'device'));
  requests();
  fs.writeFileSync(path.join(home, 'mine'), 'A=1');
  fs.symlinkSync('mine', path.join(home, 'link'));
  for (const name of ['pipe', 'device', 'link']) {
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
  expect(() => assignment('X', value, 'cmd')).toThrow('This token cannot be written safely.');
});

// holds: C6.5, C6.6
test('the form of an assignment is that of the shell, which on Windows is PowerShell unless a variable names another', async () => {
  const { run } = await bench();
  await run('token get');
  const onWindows = async (env: Record<string, string>) =>
    (await run('token get -o env', { platform: 'win32', env })).stdout;
  expect(await onWindows({})).toMatch(/^\$env:TG_API_TOKEN = '\w{32}'\n$/);
  for (const env of [{ MSYSTEM: 'MINGW64' }, { SHELL: '/usr/bin/bash' }] as Record<string, string>[])
    expect(await onWindows(env)).toMatch(/^export TG_API_TOKEN='\w{32}'\n$/);
  expect((await run('token get -o dotenv')).stdout).toMatch(/^TG_API_TOKEN=\w{32}\n$/);
  expect((await run('token get -o header')).stdout).toMatch(/^Authorization: Bearer \w{32}\n$/);
  const [pwsh, powershell] = ['pwsh', 'powershell'].map((shell) => run(`token get -o env --shell ${shell}`));
  expect(await pwsh).toEqual(await powershell);
  expect((await run('token get -o env --shell cmd')).stdout).toMatch(/^set "TG_API_TOKEN=\w{32}"\n$/);
});

// holds: C6.3
test('an option of one format is exit 2 with another, and with token refresh too', async () => {
  const { run, requests } = await bench();
  for (const line of ['token refresh --export', 'token refresh --shell fish', 'token get --name tok'])
    expect(await run(line)).toMatchObject({ status: 2, stdout: '' });
  expect(requests()).toEqual([]);
});

// holds: C6.9
test('-o k8s-secret prints a Secret that Kubernetes accepts, with the token’s times of issue and expiry', async () => {
  const { run } = await bench();
  const { stdout } = await run('token get -o k8s-secret --name graph-token --lifetime 1h');
  const document = JSON.parse(stdout);
  new Secret(document).validate();
  const { annotations } = document.metadata;
  expect(
    Date.parse(annotations['graphcred/expires-at']) - Date.parse(annotations['graphcred/minted-at']),
  ).toBe(3_600_000);
  expect(document).toEqual({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'graph-token', annotations },
    type: 'Opaque',
    stringData: { token: (await run('token get --lifetime 1h')).stdout.trim() },
  });
  const wrong = { metadata: { name: 'a' }, stringData: { token: 1 } };
  expect(() => new Secret(wrong as never).validate()).toThrow('must be string');
});
