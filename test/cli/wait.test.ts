import { expect, test } from 'vitest';
import { bench } from '../helpers/cli.js';

const WAITS = 'the server is not up yet; waiting';

test('--wait goes on while nothing listens at the port', async () => {
  const { run, sandbox } = await bench();
  await sandbox.close();
  expect((await run('token get -v --wait 1')).stderr).toContain(WAITS);
  expect((await run('token get -v')).stderr).not.toContain(WAITS);
});

test('--wait ends at once for a workspace that is suspended, since nobody starts it', async () => {
  const { run, sandbox } = await bench();
  sandbox.addFault({ action: 'suspended' });
  const { status, stderr } = await run('token get -v --wait 1');
  expect(status).toBe(7);
  expect(stderr).toContain('suspended');
  expect(stderr).not.toContain(WAITS);
});

test('the time that --wait takes is not taken from --timeout', async () => {
  const { run, sandbox } = await bench();
  sandbox.addFault({ action: 'starting', nth: 1, times: 1 });
  sandbox.addFault({ action: 'delay', ms: 1200, route: '/requesttoken' });
  const { status, stderr } = await run('token get -v --wait 1 --timeout 20');
  expect(stderr).toContain(WAITS);
  expect(status).toBe(0);
});
