import net from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { failed, judgeClock } from '../../src/app/doctor/check.js';
import { probePort } from '../../src/app/doctor/reach.js';
import { GraphException } from '../../src/core/errors.js';

test.each([
  [30, 'ok', 'agree'],
  [-30, 'ok', 'agree'],
  [31, 'warn', '31 s ahead'],
  [-31, 'warn', '31 s behind'],
])('a server whose clock differs by %i s is %s', (seconds, verdict, cause) => {
  const found = judgeClock(1_700_000_000 + seconds, 1_700_000_000_000, 'server');
  expect(found).toMatchObject({ verdict, cause: expect.stringContaining(cause) });
});

test('an IPv6 address is reached as an address, not looked up as a name with brackets', async () => {
  const { verdict, cause } = await probePort('http://[::1]:1', 5000);
  expect(verdict).toBe('fail');
  expect(cause).toMatch(/^port 1 of ::1 /);
  expect(cause).not.toMatch(/ENOTFOUND|EAI_AGAIN|EINVAL/);
});

test('a port that does not answer is TIMEOUT', async () => {
  const socket = new net.Socket();
  const connect = vi.spyOn(net, 'connect').mockReturnValue(socket);
  onTestFinished(() => connect.mockRestore());
  const probed = probePort('http://127.0.0.1:1', 5000);
  socket.emit('timeout');
  expect(await probed).toMatchObject({
    verdict: 'fail',
    code: 'TIMEOUT',
    cause: expect.stringContaining('does not answer'),
  });
});

test('a bug is thrown and not reported as a failed check', () => {
  expect(() => failed(new TypeError('oops'))).toThrow('oops');
  expect(failed(new GraphException('TLS', 'no'))).toMatchObject({ verdict: 'fail', code: 'TLS' });
});
