import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { bench, cli, temporaryHome } from '../helpers/cli.js';
import { COMMAND, sandboxFor, start } from '../helpers/process.js';
import { onTerminal, python } from '../helpers/terminal.js';

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
  expect(await offered(home, 'token', 'get', '')).toContain('--fresh');
  // bash cuts at the equals sign.
  expect(await offered(home, 'token', 'get', '--output', '=', 'j')).toEqual(['json']);
  expect(await offered(home, 'token', 'get', '--store', '=')).toEqual(['file', 'keychain', 'none']);
  const files = [
    ['exec', '--', 'x'],
    ['status', '--config', ''],
    ['status', '--ca=/e'],
    ['config', 'trust', ''],
  ];
  for (const words of files) expect(await offered(home, ...words)).toEqual([':file']);
  for (const words of [
    ['status', '--graph', ''],
    ['api', '/'],
  ])
    expect(await offered(home, ...words)).toEqual([]);
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

const installed = (program: string) => spawnSync(program, ['--version']).error === undefined;
for (const shell of ['zsh', 'fish']) {
  if (!installed(shell)) console.log(`skipped: ${shell} is not installed, so its completion was not tried`);
}
console.log('skipped: PowerShell is not run here; of its completion only the text is looked at');

/** A home with two profiles and a saved secret, a folder to stand in, and the built command on the PATH. */
async function ready() {
  const home = temporaryHome();
  const { env, sandbox } = await sandboxFor(home);
  fs.mkdirSync(path.join(home, 'bin'));
  fs.writeFileSync(
    path.join(home, 'bin/graphcred'),
    `#!/bin/sh\nexec ${COMMAND.map((word) => `'${word}'`).join(' ')} "$@"\n`,
    {
      mode: 0o755,
    },
  );
  const created = await start(['secret', 'create', 'nightly', '--save', '--store', 'file'], env).ended;
  expect(created.status).toBe(0);
  const profiles = { dev: { host: sandbox.restUrl.replace(/:\d+$/, '') }, prod: {} };
  fs.writeFileSync(path.join(home, '.config/graphcred/config.json'), JSON.stringify({ profiles }));
  fs.mkdirSync(path.join(home, 'here'));
  fs.writeFileSync(path.join(home, 'here/ca-of-the-house.pem'), '');
  const asked = sandbox.requests.length;
  const shellEnv = { HOME: home, PATH: `${home}/bin:${process.env.PATH}`, TERM: 'xterm', LC_ALL: 'C.UTF-8' };
  return {
    home,
    cwd: path.join(home, 'here'),
    env: shellEnv,
    newRequests: () => sandbox.requests.length - asked,
  };
}

/** What stands in the line before Tab, and what it must become. */
const LINES = [
  ['graphcred tok', 'graphcred token'],
  ['graphcred secret ro', 'graphcred secret rotate'],
  ['graphcred help token ref', 'graphcred help token refresh'],
  ['graphcred token get --li', 'graphcred token get --lifetime'],
  ['graphcred token get -o gith', 'graphcred token get -o github'],
  ['graphcred token get --output=j', 'graphcred token get --output=json'],
  ['graphcred token get --store k', 'graphcred token get --store keychain'],
  ['graphcred status -p pr', 'graphcred status -p prod'],
  ['graphcred secret drop ni', 'graphcred secret drop nightly'],
  ['graphcred status --ca ca-', 'graphcred status --ca ca-of-the-house.pem'],
  ['graphcred completion power', 'graphcred completion powershell'],
] as const;

/** Ctrl-U. Ctrl-C would throw away what is typed after it, too. */
const WIPE = '\x15';

const SHELLS = {
  bash: {
    command: ['/bin/bash', '--norc', '--noprofile', '-i'],
    setUp: 'PS1="> "; source <(graphcred completion bash)',
  },
  zsh: {
    command: ['/usr/bin/zsh', '-f', '-i'],
    setUp: 'PS1="> "; autoload -Uz compinit && compinit -u -D; source <(graphcred completion zsh)',
  },
} as const;

test.each(['bash', 'zsh'] as const)('%s completes on a terminal', async (shell) => {
  if (!python || !installed(shell))
    return void console.log(`skipped: ${shell} needs a terminal, and ${shell}`);
  const { env, cwd, newRequests } = await ready();
  const { command, setUp } = SHELLS[shell];
  const terminal = onTerminal([], { env, cwd, command, columns: 150 });
  terminal.type(`${setUp}; echo rea''dy\r`);
  await terminal.see(/^ready$/m);
  for (const [typed, becomes] of LINES) {
    terminal.type(`${typed}\t`);
    await terminal.see(new RegExp(`^> ${becomes}$`, 'm'));
    terminal.type(WIPE);
  }
  // Several candidates are listed: bash wants Tab twice.
  terminal.type('graphcred secret \t\t');
  await terminal.see(/create +drop +list +prune +rotate/);
  terminal.type(WIPE);
  expect(newRequests()).toBe(0);
  terminal.type('exit\r');
  await terminal.ended;
});

test('zsh finds the script as a file of its function path, too', async () => {
  if (!python || !installed('zsh'))
    return void console.log('skipped: zsh, or python3 for a terminal, is not here');
  const { home, env, cwd } = await ready();
  fs.mkdirSync(path.join(home, 'functions'));
  const script = await cli(home, ['completion', 'zsh']);
  fs.writeFileSync(path.join(home, 'functions/_graphcred'), script.stdout);
  const terminal = onTerminal([], { env, cwd, command: SHELLS.zsh.command, columns: 150 });
  terminal.type(
    "PS1='> '; fpath=($HOME/functions $fpath); autoload -Uz compinit && compinit -u -D; echo rea''dy\r",
  );
  await terminal.see(/^ready$/m);
  for (const [typed, becomes] of LINES.slice(0, 2)) {
    terminal.type(`${typed}\t`);
    await terminal.see(new RegExp(`^> ${becomes}$`, 'm'));
    terminal.type(WIPE);
  }
  terminal.type('exit\r');
  await terminal.ended;
});

test('fish completes', async () => {
  if (!installed('fish')) return void console.log('skipped: fish is not installed');
  const { env, cwd, newRequests } = await ready();
  const complete = (line: string) => {
    const { status, stdout, stderr } = spawnSync(
      'fish',
      ['--no-config', '-c', 'graphcred completion fish | source; complete -C $argv[1]', line],
      { env, cwd, encoding: 'utf8' },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    // A description may stand behind a tab.
    return stdout
      .split('\n')
      .filter(Boolean)
      .map((one) => one.split('\t')[0]);
  };
  for (const [typed, becomes] of LINES) expect(complete(typed)).toEqual([becomes.split(' ').at(-1)]);
  expect(complete('graphcred secret ')).toEqual(['create', 'drop', 'list', 'prune', 'rotate']);
  expect(complete('graphcred status --graph ')).toEqual([]);
  expect(newRequests()).toBe(0);
});

test('the script for PowerShell', async () => {
  const { status, stdout } = await cli(temporaryHome(), ['completion', 'powershell']);
  expect(status).toBe(0);
  expect(stdout).toContain('Register-ArgumentCompleter -Native -CommandName graphcred');
  expect(stdout).toContain('graphcred __complete ');
});

test('another shell is refused, and the refusal names those there are', async () => {
  expect(await cli(temporaryHome(), ['completion', 'tcsh'])).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining('bash, zsh, fish, powershell'),
  });
});
