import { expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { start } from '../helpers/process.js';
import { onTerminal, python } from '../helpers/terminal.js';

test.skipIf(!python)(
  'a sandbox on a terminal prints on stderr that it is ready, and what to type in another terminal',
  async () => {
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
  },
);

// holds: C2.33
test('a command beside a sandbox finds it, and graphcred exits with its status', async () => {
  const script = 'echo "$GRAPHCRED_REST_URL $GRAPHCRED_GRAPH $GRAPHCRED_USERNAME"; exit 9';
  const argv = ['sandbox', '--', 'sh', '-c', script];
  const { status, stdout } = await start(argv, { HOME: temporaryHome() }).ended;
  expect(status).toBe(9);
  expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+ demo tigergraph\n$/);
});
