import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/server.js';
import { temporaryHome } from '../helpers/cli.js';
import { putCommand, standaloneSkipReason } from '../helpers/process.js';
import { KEYS, onTerminal, python } from '../helpers/terminal.js';

/**
 * One person's session, from the first login to the last profile. The whole screen is a text file in
 * screens/. After an intended change, run this file with -u and read the difference.
 */
const SCREENS = path.resolve('test/e2e/screens');

/** Replaces what differs between two runs. Each replacement has the length of the text it replaces. */
function constant(screen: string): string {
  return screen
    .replace(/\b[a-z0-9]{3}\*{4}[a-z0-9]{3}\b/g, 'xxx****xxx')
    .replace(/(AUTO_GENERATED_ALIAS_)\w{7}/g, '$1xxxxxxx')
    .replace(/\b20\d\d-\d\d-\d\d \d\d:\d\d\b/g, '2026-01-31 09:30')
    .replace(/\b20\d\d-\d\d-\d\d …/g, '2026-01-31 …')
    .replace(/\b\ds ago/g, '0s ago')
    .replace(/^[0-9a-f]{8}(?= {2}\d)/gm, 'xxxxxxxx')
    .replace(/\bsecret:[0-9a-f]+/g, (principal) => `secret:${'x'.repeat(principal.length - 7)}`)
    .replace(/ +$/gm, '');
}

const ESCAPE = String.fromCharCode(27);

type Step = readonly [see: string | RegExp, keys: string];

const LOGIN: readonly Step[] = [
  ['Host, a name', '\r'],
  ['Graph', 'demo\r'],
  ['User name', 'tigergraph\r'],
  ['Password of', 'hunter2\r'],
  [/2 more[\s\S]*Password of/, 'tigergraph\r'],
  ['Create a secret', '\r'],
];
const SECOND_LOGIN: readonly Step[] = [
  ['Name of the profile', 'social\r'],
  ['Host, a name', '\r'],
  ['Graph', 'social\r'],
  ['User name', '\r'],
  ['Create a secret', 'nightly\r'],
  ['Make social the default', 'n\r'],
];
/** This config file has no profiles, so it does not say which of the saved secrets to use. */
const NO_PROFILE = '--config empty.json --graph social';

const SESSION: readonly (readonly [command: string, ...steps: Step[]])[] = [
  // Step 1: log in once.
  ['graphcred login --store file --save-password', ...LOGIN],
  ['graphcred token list'],
  ['graphcred login', ...SECOND_LOGIN],
  // Steps 2 and 3: profiles and status.
  ['graphcred profile list'],
  ['graphcred profile use social'],
  ['graphcred status'],
  ['graphcred -p default status --offline'],
  // Step 4: choose a secret.
  ['graphcred secret create other --save'],
  ['graphcred secret list'],
  [`graphcred token get ${NO_PROFILE}`],
  [`graphcred token get ${NO_PROFILE} --secret-alias other | wc -c`],
  ['graphcred secret rotate nightly'],
  ['graphcred status | grep credential'],
  // Steps 5 and 6: habits from other tools, and help.
  ['graphcred | head -5'],
  ['graphcred profile ls --json'],
  ['graphcred login prod'],
  ['graphcred help completion'],
  ['source <(graphcred completion bash)'],
  ['graphcred profile use d\t'],
  ['graphcred help logout'],
  ['graphcred help help'],
  // Step 7: a long operation.
  ['for n in 1 2 3; do graphcred secret create -p social -q >& /dev/null; done'],
  ['graphcred secret prune -p social', [/Drop these/, 'y\r'], ['dropping secret 2 of 3', KEYS.ctrlC]],
  // Step 8: error messages.
  ['GRAPHCRED_SECRET= graphcred token get --config empty.json --no-input -u alice'],
  ['graphcred status --config empty.json --host https://127.0.0.1'],
  // Step 2 again, and the end of the session.
  ['graphcred profile rm social', [/Remove/, 'y\r']],
  ['graphcred logout'],
  ['graphcred status'],
  ['graphcred profile rm default', [/Remove/, 'y\r']],
];

describe.skipIf(!python || standaloneSkipReason !== undefined)('a session', () => {
  test('of 80 columns, from the first login to the last profile', async () => {
    const sandbox = await startSandbox({ restPort: 0, gsqlPort: 0, graphs: ['demo', 'social'] });
    onTestFinished(() => sandbox.close());
    const home = temporaryHome();
    const bin = putCommand(home);
    fs.writeFileSync(path.join(home, '.bashrc'), "PS1='$ '\nbind 'set enable-bracketed-paste off'\n");
    fs.writeFileSync(path.join(home, 'empty.json'), '{}', { mode: 0o600 });
    const port = (url: string) => Number(new URL(url).port);
    const shell = onTerminal([], {
      command: ['bash', '--rcfile', path.join(home, '.bashrc'), '-i'],
      columns: 80,
      cwd: home,
      env: {
        HOME: home,
        PATH: `${bin}:${process.env.PATH}`,
        XDG_RUNTIME_DIR: home,
        LC_ALL: 'C.UTF-8',
        NODE_OPTIONS: `--require ${path.resolve('scripts/stage.cjs')}`,
        STAGE_HOSTS: JSON.stringify({
          '127.0.0.1:9000': port(sandbox.restUrl),
          '127.0.0.1:14240': port(sandbox.gsqlUrl),
        }),
      },
    });
    const isIdle = (screen: string) => /(^|\n)\$$/.test(screen);
    await shell.see(isIdle);
    for (const [command, ...steps] of SESSION) {
      // The second of three drops gets no answer.
      if (command.includes('prune'))
        sandbox.addFault({ action: 'delay', ms: 60_000, route: '/gsqlserver/gsql/file', nth: 3 });
      const before = shell.screen().length;
      const since = (screen: string) => screen.slice(before).replace(/\s+/g, ' ');
      shell.type(`${command}\r`);
      await shell.see((screen) => screen.length > before);
      for (const [see, keys] of steps) {
        const isAsked = (text: string) => (typeof see === 'string' ? text.includes(see) : see.test(text));
        await shell.see((screen) => isAsked(since(screen)));
        shell.type(keys);
      }
      await shell.see((screen) => screen.length > before + 2 && isIdle(screen));
    }
    const file = path.join(SCREENS, 'session.txt');
    await expect(`${constant(shell.screen())}\n`).toMatchFileSnapshot(file);
    expect(shell.bytes()).toContain(`${ESCAPE}[32m`);
    expect(shell.bytes()).not.toContain('hunter2');
  });
});
