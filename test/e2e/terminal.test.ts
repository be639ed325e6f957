import { describe, expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { sandboxFor, start } from '../helpers/process.js';
import { KEYS, onTerminal, python, type Terminal } from '../helpers/terminal.js';

const NOTHING_KEPT = ['--store', 'none'];

describe.skipIf(!python)('on a terminal', () => {
  // holds: C4.8, C6.1
  test('user name and password are asked for on the terminal, the password is hidden, and stdout holds only the token', async () => {
    const { env } = await sandboxFor(temporaryHome());
    const { GRAPHCRED_USERNAME: _, GRAPHCRED_PASSWORD: __, ...bare } = env;
    const terminal = onTerminal(['token', 'get', ...NOTHING_KEPT], { env: bare, pipe: true });
    await terminal.see('User name at http://127.0.0.1');
    terminal.type('tigergraph\r');
    await terminal.see('Password of tigergraph at http://127.0.0.1');
    terminal.type('tigergraph\r');
    const ended = await terminal.ended;
    expect(ended).toMatchObject({ status: 0, restored: true, cursorShown: true });
    expect(ended.stdout).toMatch(/^[a-z0-9]{32}\n$/);
    expect(ended.bytes).not.toContain(ended.stdout.trim());
  });

  test('what is typed as a password never appears, not even when Ctrl-T is pressed', async () => {
    const { env, sandbox } = await sandboxFor(temporaryHome());
    const { GRAPHCRED_PASSWORD: _, ...bare } = env;
    const terminal = onTerminal(['secret', 'list', ...NOTHING_KEPT], { env: bare });
    await terminal.see('Password of');
    terminal.type('hunter2\x14\r');
    const { status, bytes } = await terminal.ended;
    expect(status).toBe(4);
    expect(bytes).not.toContain('hunter2');
    expect(bytes).not.toContain('toggle');
    expect(sandbox.requests.filter(({ login }) => login !== 'none')).toHaveLength(1);
  });

  // At the questions of login, Ctrl-D and a closed window do the same; see terminal-login.test.ts.
  test.each([
    ['secret drop', ['secret', 'drop', 'one', 'two', ...NOTHING_KEPT], 'Drop 2 secrets', 130],
    // `exec` exits with 125 for every error before the command runs.
    ['exec', ['exec', ...NOTHING_KEPT, '--', 'echo', 'ran'], 'Password of', 125],
  ] as const)(
    'Ctrl-C at the question of %s ends the command and changes nothing',
    async (_, argv, question, status) => {
      const { env } = await sandboxFor(temporaryHome());
      for (const alias of ['one', 'two'])
        expect((await start(['secret', 'create', alias, ...NOTHING_KEPT], env).ended).status).toBe(0);
      const { GRAPHCRED_PASSWORD: _password, ...bare } = env;
      const terminal = onTerminal(argv, { env: question === 'Password of' ? bare : env, pipe: true });
      await terminal.see(question);
      terminal.type(KEYS.ctrlC);
      const ended = await terminal.ended;
      expect(ended).toMatchObject({ status, stdout: '', restored: true, cursorShown: true });
      expect(ended.screen).toContain('graphcred: Cancelled.');
      const { stdout } = await start(['secret', 'list', '-o', 'json', ...NOTHING_KEPT], env).ended;
      expect(JSON.parse(stdout).secrets).toHaveLength(2);
    },
  );

  const ENDED = { screen: '', restored: true, cursorShown: true };
  test.each([
    ['Ctrl-C', (terminal: Terminal) => terminal.type(KEYS.ctrlC), { status: -2, ...ENDED }],
    ['SIGTERM', (terminal: Terminal) => terminal.signal('SIGTERM'), { status: -15, ...ENDED }],
    ['the end of the window', (terminal: Terminal) => terminal.close(), { status: -1 }],
  ])(
    '%s takes the line about a wait away and ends the program as it would without it',
    async (_, end, expected) => {
      const { env } = await sandboxFor(temporaryHome(), { faults: [{ action: 'delay', ms: 600_000 }] });
      const terminal = onTerminal(['secret', 'list', ...NOTHING_KEPT], { env });
      await terminal.see('waiting for');
      end(terminal);
      expect(await terminal.ended).toMatchObject(expected);
    },
  );
});
