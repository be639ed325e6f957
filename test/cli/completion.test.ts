import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { bench, cli, temporaryHome } from '../helpers/cli.js';

async function offered(home: string, ...words: string[]): Promise<string[]> {
  const { status, stdout } = await cli(home, ['__complete', ...words]);
  expect(status).toBe(0);
  return stdout.split('\n').filter((line) => line !== '');
}

test('commands, options, choices and profile names, each in its place', async () => {
  const home = temporaryHome();
  const dir = path.join(home, '.config/graphcred');
  fs.mkdirSync(dir, { recursive: true });
  fs.writeFileSync(path.join(dir, 'config.json'), '{"profiles":{"dev":{},"prod":{"graph":"x"}}}');
  expect(await offered(home, '')).toEqual(expect.arrayContaining(['token', 'secret', 'completion', 'help']));
  expect(await offered(home, 'secret', 'ro')).toEqual(['rotate']);
  expect(await offered(home, 'help', 'token', 'ge')).toEqual(['get']);
  expect(await offered(home, 'token', 'get', '--li')).toEqual(['--lifetime']);
  expect(await offered(home, 'token', 'get', '-o', 'g')).toEqual(['github', 'gitlab']);
  expect(await offered(home, 'token', 'get', '--output=j')).toEqual(['--output=json']);
  expect(await offered(home, 'token', 'get', '-p', '')).toEqual(['dev', 'prod']);
  expect(await offered(home, 'token', 'get', '--profile', 'p')).toEqual(['prod']);
  expect(await offered(home, 'completion', 'f')).toEqual(['fish']);
  expect(await offered(home, 'exec', '--', 'x')).toEqual([]);
});

test('saved aliases are offered without a request', async () => {
  const { home, run, requests } = await bench();
  await run('secret create nightly --save');
  await run('secret create unsaved');
  requests();
  expect(await offered(home, 'secret', 'rotate', '')).toEqual(['nightly']);
  expect(await offered(home, 'secret', 'drop', 'n')).toEqual(['nightly']);
  expect(requests()).toEqual([]);
});

test('a broken config file spoils nothing', async () => {
  const home = temporaryHome();
  fs.writeFileSync(path.join(home, '.graphcredrc'), '{ no');
  expect(await cli(home, ['__complete', 'status', '-p', ''])).toEqual({ status: 0, stdout: '', stderr: '' });
});

test('bash completes a line with the script', async () => {
  const home = temporaryHome();
  const { stdout: script } = await cli(home, ['completion', 'bash']);
  // The program itself is played by one that says what it was asked.
  const play = `${script}
graphcred() { printf '%s\\n' "$@" >"$HOME/asked"; printf 'rotate\\nread\\nlist\\n'; }
COMP_WORDS=(graphcred secret r); COMP_CWORD=2; _graphcred; printf '%s\\n' "\${COMPREPLY[@]}"
complete -p graphcred`;
  const said = execFileSync('bash', ['--norc', '-c', play], {
    encoding: 'utf8',
    env: { ...process.env, HOME: home },
  });
  expect(said.split('\n').slice(0, 3)).toEqual([
    'rotate',
    'read',
    'complete -o default -F _graphcred graphcred',
  ]);
  expect(fs.readFileSync(path.join(home, 'asked'), 'utf8')).toBe('__complete\nsecret\nr\n');
});

test.each([
  ['zsh', 'zsh', '#compdef graphcred'],
  ['fish', 'fish', 'complete -c graphcred'],
  ['powershell', 'pwsh', 'Register-ArgumentCompleter -Native -CommandName graphcred'],
])('the script for %s', async (shell, program, registers) => {
  const { status, stdout } = await cli(temporaryHome(), ['completion', shell]);
  expect(status).toBe(0);
  expect(stdout).toContain(registers);
  expect(stdout).toContain('graphcred __complete ');
  // Where the shell is installed it has to find the script well formed.
  const installed = spawnSync(program, ['--version']).error === undefined;
  if (installed && program !== 'pwsh')
    expect(spawnSync(program, ['-n'], { input: stdout, encoding: 'utf8' })).toMatchObject({ status: 0 });
});

test('another shell is refused, and the refusal names those there are', async () => {
  expect(await cli(temporaryHome(), ['completion', 'tcsh'])).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining('bash, zsh, fish, powershell'),
  });
});
