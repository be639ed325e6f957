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

  describe.each([
    ['the password', ['secret', 'list'], 'Password of'],
    ['secret drop', ['secret', 'drop', 'one', 'two'], 'Drop 2 secrets'],
    ['secret prune', ['secret', 'prune'], 'Drop this secret?'],
    ['exec, before the command runs', ['exec', '--', 'echo', 'ran'], 'Password of'],
  ] as const)('at the question of %s', (_, argv, question) => {
    async function asked() {
      const { env, sandbox } = await sandboxFor(temporaryHome());
      for (const alias of [['one'], ['two'], []])
        expect((await start(['secret', 'create', ...alias, ...NOTHING_KEPT], env).ended).status).toBe(0);
      const { GRAPHCRED_PASSWORD: _password, ...bare } = env;
      const secrets = async () => {
        const listed = await start(['secret', 'list', '-o', 'json', ...NOTHING_KEPT], env).ended;
        return JSON.parse(listed.stdout).secrets.length as number;
      };
      const [first, second = '', ...rest] = argv;
      const words = first === 'exec' ? [first, ...NOTHING_KEPT, second, ...rest] : [...argv, ...NOTHING_KEPT];
      const terminal = onTerminal(words, { env: question === 'Password of' ? bare : env, pipe: true });
      await terminal.see(question);
      return { terminal, secrets, sandbox };
    }

    test.each([
      ['Ctrl-C', KEYS.ctrlC],
      ['Ctrl-D', KEYS.ctrlD],
    ])('%s at the question ends the command, changes nothing and restores the terminal', async (__, key) => {
      const { terminal, secrets } = await asked();
      terminal.type(key);
      const { status, stdout, screen, restored, cursorShown } = await terminal.ended;
      // `exec` exits with 125 for every error before the command runs.
      expect(status).toBe(argv[0] === 'exec' ? 125 : 130);
      expect({ stdout, restored, cursorShown }).toEqual({ stdout: '', restored: true, cursorShown: true });
      expect(screen).toContain('graphcred: Cancelled.');
      expect(await secrets()).toBe(3);
    });

    test('closing the window ends the command and changes nothing', async () => {
      const { terminal, secrets } = await asked();
      terminal.close();
      const { status, stdout } = await terminal.ended;
      expect(status).not.toBe(0);
      expect(stdout).toBe('');
      expect(await secrets()).toBe(3);
    });
  });

  test.each([
    ['Ctrl-C', (terminal: Terminal) => terminal.type(KEYS.ctrlC), -2],
    ['SIGTERM', (terminal: Terminal) => terminal.signal('SIGTERM'), -15],
  ])(
    '%s takes the line about a wait away and ends the program as it would without it',
    async (_, end, status) => {
      const { env } = await sandboxFor(temporaryHome(), { faults: [{ action: 'delay', ms: 600_000 }] });
      const terminal = onTerminal(['secret', 'list', ...NOTHING_KEPT], { env });
      await terminal.see('waiting for');
      end(terminal);
      const ended = await terminal.ended;
      expect(ended).toMatchObject({ status, screen: '', restored: true, cursorShown: true });
    },
  );

  test('closing the window ends a wait for the server', async () => {
    const { env } = await sandboxFor(temporaryHome(), { faults: [{ action: 'delay', ms: 600_000 }] });
    const terminal = onTerminal(['token', 'get', ...NOTHING_KEPT], { env });
    await terminal.see('waiting for');
    terminal.close();
    expect((await terminal.ended).status).toBe(-1);
  });
});
