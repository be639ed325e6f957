import { expect, test, vi } from 'vitest';
import { findVersion } from '../../src/cli/session/connect.js';
import { askVersion } from '../../src/cli/session/open-connection.js';
import { bench, quietSession } from '../helpers/cli.js';

const WAITS = 'the server is not up yet; waiting';

test('--wait goes on while nothing listens at the port', async () => {
  const { run, sandbox } = await bench();
  await sandbox.close();
  expect((await run('token get -v --wait 1')).stderr).toContain(WAITS);
  expect((await run('token get -v')).stderr).not.toContain(WAITS);
});

test('--wait ends at once for a suspended workspace, because that does not start by itself', async () => {
  const { run, sandbox } = await bench();
  sandbox.addFault({ action: 'suspended' });
  const { status, stderr } = await run('token get -v --wait 1');
  expect(status).toBe(7);
  expect(stderr).toContain('suspended');
  expect(stderr).not.toContain(WAITS);
});

test('--wait has its own time limit, independent of --timeout', async () => {
  const { sandbox, home, env } = await bench();
  sandbox.addFault({ action: 'starting', nth: 1, times: 1 });
  let passed = 0;
  const clock = vi.spyOn(process, 'uptime').mockImplementation(() => passed);
  const left: number[] = [];
  const detail = (text: string) => {
    // Between two requests to the server more time passes than the time limit allows.
    if (text === WAITS) passed += 30;
    else left.push(session.timeLeft.ms);
  };
  const session = await quietSession(home, env, { flags: { wait: '10m', timeout: '20' }, detail });
  await findVersion(session);
  clock.mockRestore();
  const [first, second, ...afterwards] = left;
  expect([first, second]).toEqual([600_000, 570_000]);
  expect(new Set(afterwards)).toEqual(new Set([session.timeoutMs]));
  expect(session.timeoutMs).toBe(20_000);
});

test('a version found long ago counts while the server does not answer in time', async () => {
  const { sandbox, home, env } = await bench();
  sandbox.addFault({ action: 'delay', ms: 100 });
  const session = await quietSession(home, env);
  session.timeLeft.ms = 10;
  expect(await askVersion(session, { any: '3.9.3' })).toMatchObject({ version: '3.9.3' });
});
