import { describe, expect, test } from 'vitest';
import type { Fault } from '../../src/sandbox/faults/faults.js';
import { temporaryHome } from '../helpers/cli.js';
import { sandboxFor } from '../helpers/process.js';
import { KEYS, onTerminal, python } from '../helpers/terminal.js';

const SLOW: Fault = { action: 'delay', ms: 1000, times: 1 };
const NEVER: Fault = { action: 'delay', ms: 600_000 };
const LIST = ['secret', 'list', '--store', 'none'];

describe.skipIf(!python)('while a server takes its time', () => {
  test('a line shows what the command waits for, and is erased when the answer arrives', async () => {
    const { env } = await sandboxFor(temporaryHome(), { faults: [SLOW] });
    const terminal = onTerminal(LIST, { env });
    await terminal.see(/^[-\\|/] waiting for http:\/\/127\.0\.0\.1$/);
    const { status, screen } = await terminal.ended;
    expect(status).toBe(0);
    expect(screen).toMatch(/^graphcred: there are no secrets/);
    expect(screen).not.toContain('waiting');
  });

  test.each([
    ['Ctrl-C', 'SIGINT', -2],
    ['SIGTERM', 'SIGTERM', -15],
  ] as const)('%s takes it away and ends the program as it would without it', async (_, signal, status) => {
    const { env } = await sandboxFor(temporaryHome(), { faults: [NEVER] });
    const terminal = onTerminal(LIST, { env });
    await terminal.see('waiting for');
    if (signal === 'SIGINT') terminal.type(KEYS.ctrlC);
    else terminal.signal(signal);
    const ended = await terminal.ended;
    expect(ended).toMatchObject({ status, screen: '', restored: true, cursorShown: true });
  });
});
