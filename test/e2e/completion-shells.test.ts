// Runs each completion script in its own shell.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { cli, temporaryHome } from '../helpers/cli.js';
import { putCommand, sandboxFor, start } from '../helpers/process.js';
import { onTerminal, python } from '../helpers/terminal.js';

type Shell = 'bash' | 'zsh' | 'fish';

/** Returns why the completion of a shell cannot be tested on this machine; empty if it can. */
function missing(shell: Shell): string {
  if (spawnSync(shell, ['--version']).error !== undefined) return `${shell} is not installed`;
  // fish completes a line without a terminal.
  return shell !== 'fish' && !python ? 'there is no python3 to make a terminal with' : '';
}

/** Creates a home with two profiles, a saved secret and a working folder, and puts the built command on the PATH. */
async function ready() {
  const home = temporaryHome();
  const { env, sandbox } = await sandboxFor(home);
  putCommand(home);
  const created = await start(['secret', 'create', 'nightly', '--save', '--store', 'file'], env).ended;
  expect(created.status).toBe(0);
  const profiles = { dev: { host: sandbox.restUrl.replace(/:\d+$/, '') }, prod: {} };
  fs.writeFileSync(path.join(home, '.config/graphcred/config.json'), JSON.stringify({ profiles }));
  fs.mkdirSync(path.join(home, 'here'));
  fs.writeFileSync(path.join(home, 'here/ca-of-the-house.pem'), '');
  const asked = sandbox.requests.length;
  const { GRAPHCRED_GSQL_URL = '', GRAPHCRED_REST_URL = '' } = env;
  const address = { GRAPHCRED_GSQL_URL, GRAPHCRED_REST_URL };
  const shellEnv = {
    ...address,
    HOME: home,
    PATH: `${home}/bin:${process.env.PATH}`,
    TERM: 'xterm',
    LC_ALL: 'C.UTF-8',
  };
  return {
    home,
    cwd: path.join(home, 'here'),
    env: shellEnv,
    newRequests: () => sandbox.requests.length - asked,
  };
}

/** Each row has the line before Tab is pressed, and the line that Tab must make of it. */
const LINES = [
  ['graphcred tok', 'graphcred token'],
  ['graphcred secret ro', 'graphcred secret rotate'],
  ['graphcred help token ref', 'graphcred help token refresh'],
  ['graphcred token get --li', 'graphcred token get --lifetime'],
  ['graphcred token get -o gith', 'graphcred token get -o github'],
  ['graphcred token get --store k', 'graphcred token get --store keychain'],
  ['graphcred token get --store=k', 'graphcred token get --store=keychain'],
  ['graphcred status --gsql-url http://a:1 -p pr', 'graphcred status --gsql-url http://a:1 -p prod'],
  ['graphcred secret drop ni', 'graphcred secret drop nightly'],
  ['graphcred status --ca ca-', 'graphcred status --ca ca-of-the-house.pem'],
  ['graphcred completion power', 'graphcred completion powershell'],
  ['graphcred -p prod stat', 'graphcred -p prod status'],
  ['graphcred profile use pr', 'graphcred profile use prod'],
  ['graphcred exec -- ca-', 'graphcred exec -- ca-of-the-house.pem'],
] as const;

/** Ctrl-U clears the line. Ctrl-C would also discard what is typed after it. */
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

test.for(['bash', 'zsh'] as const)('%s completes on a terminal', async (shell, { skip }) => {
  skip(missing(shell) !== '', missing(shell));
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
  // If several words are possible, the shell lists them; zsh adds a description to each. bash needs Tab twice for that.
  terminal.type('graphcred secret \t\t');
  await terminal.see(
    shell === 'zsh' ? /^rotate +-- replace the value/m : /create +drop +list +prune +rotate/,
  );
  terminal.type(WIPE);
  expect(newRequests()).toBe(0);
  terminal.type('exit\r');
  await terminal.ended;
});

test('zsh also finds the script as a file on its function path', async ({ skip }) => {
  skip(missing('zsh') !== '', missing('zsh'));
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

test('fish completes command lines', async ({ skip }) => {
  skip(missing('fish') !== '', missing('fish'));
  const { env, cwd, newRequests } = await ready();
  const withDescriptions = (line: string) => {
    const { status, stdout, stderr } = spawnSync(
      'fish',
      ['--no-config', '-c', 'graphcred completion fish | source; complete -C $argv[1]', line],
      { env, cwd, encoding: 'utf8' },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    return stdout.split('\n').filter(Boolean);
  };
  const complete = (line: string) => withDescriptions(line).map((one) => one.split('\t')[0]);
  expect(withDescriptions('graphcred secret li')).toEqual(['list\tlist secrets, masked and sorted by alias']);
  for (const [typed, becomes] of LINES) expect(complete(typed)).toEqual([becomes.split(' ').at(-1)]);
  expect(complete('graphcred secret ')).toEqual(['create', 'drop', 'list', 'prune', 'rotate']);
  expect(complete('graphcred status --graph ')).toEqual([]);
  expect(newRequests()).toBe(0);
});
