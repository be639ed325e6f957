import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { start } from '../helpers/process.js';
import { KEYS, onTerminal, python } from '../helpers/terminal.js';

describe.skipIf(!python)('a command beside a sandbox, on a terminal', () => {
  /** Runs `script` in a folder of its own, into which it writes files for the test. */
  function beside(script: string) {
    const cwd = temporaryHome();
    const words = ['sandbox', '--', 'sh', '-c', script];
    const trace = () => fs.readFileSync(path.join(cwd, 'trace'), 'utf8');
    return { cwd, trace, terminal: onTerminal(words, { env: { HOME: cwd }, cwd }) };
  }
  const LOOP = 'echo ready; while :; do sleep 0.05; done';

  test('gets SIGHUP when the window is closed, and graphcred ends by the same signal', async () => {
    const { cwd, terminal, trace } = beside(`trap 'echo HUP >> trace; exit 9' HUP; exec 2> errors; ${LOOP}`);
    await terminal.see('ready');
    terminal.close();
    // Status -1 means that the process ended by SIGHUP, as it should. An abort would be -6.
    expect((await terminal.ended).status).toBe(-1);
    expect(trace()).toMatch(/^HUP\n/);
    expect(fs.readdirSync(cwd).sort()).toEqual(['errors', 'trace']);
  });

  test('gets one SIGINT for one Ctrl-C, and a signal that was sent to graphcred alone', async () => {
    const { terminal } = beside(`trap 'echo INT' INT; trap 'echo TERM; exit 7' TERM; ${LOOP}`);
    await terminal.see('ready');
    terminal.type(KEYS.ctrlC);
    await terminal.see('INT');
    // A second signal would have been passed on before this one.
    terminal.signal('SIGTERM');
    const { status, screen, restored } = await terminal.ended;
    expect({ status, restored }).toEqual({ status: 7, restored: true });
    expect(screen.match(/INT|TERM/g)).toEqual(['INT', 'TERM']);
  });
});

describe.skipIf(!python)('a sandbox on a terminal', () => {
  test('prints on stderr that it is ready, and what to type in another terminal', async () => {
    const home = temporaryHome();
    const terminal = onTerminal(['sandbox', '--rest-port', '0', '--gsql-port', '0'], {
      env: { HOME: home },
      cwd: home,
    });
    await terminal.see('-u tigergraph');
    terminal.signal('SIGTERM');
    const { status, screen } = await terminal.ended;
    expect(status).toBe(0);
    expect(screen).toContain('graphcred: ready; the password of tigergraph is tigergraph');
    expect(screen.replace(/\r?\n/g, '')).toMatch(
      /in another terminal type:\s*graphcred secret create try --rest-url \S+ --gsql-url \S+ --graph demo -u tigergraph/,
    );
  });
});

describe('a command beside a sandbox', () => {
  const beside = (...words: string[]) => start(['sandbox', '--', ...words], { HOME: temporaryHome() });

  // holds: C2.33
  test('finds the sandbox, and graphcred exits with its status', async () => {
    const script = 'echo "$GRAPHCRED_REST_URL $GRAPHCRED_GRAPH $GRAPHCRED_USERNAME"; exit 9';
    const { status, stdout } = await beside('sh', '-c', script).ended;
    expect(status).toBe(9);
    expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+ demo tigergraph\n$/);
  });

  test.each(['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGUSR2'] as const)(
    'is ended by %s, and graphcred with it',
    async (signal) => {
      const { child, ended } = beside('sh', '-c', 'echo ready; exec sleep 600');
      await once(child.stdout as Readable, 'data');
      child.kill(signal);
      expect(await ended).toMatchObject({
        status: 128 + os.constants.signals[signal],
        signal: null,
        stderr: '',
      });
    },
  );
});
