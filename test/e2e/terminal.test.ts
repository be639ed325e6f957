import { describe, expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { sandboxFor } from '../helpers/process.js';
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
