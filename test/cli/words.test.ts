import net from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { bench } from '../helpers/cli.js';

test.each(['GRAPHCRED_SECRET', 'GRAPHCRED_SECRET_FILE', 'TG_SECRET'])(
  'the error names a %s that a job sets to an empty text, and not a missing user name',
  async (name) => {
    const { run } = await bench();
    const env = { GRAPHCRED_USERNAME: undefined, GRAPHCRED_PASSWORD: undefined, [name]: '' };
    const { status, stderr } = await run('token get', { env });
    expect(status).toBe(2);
    expect(stderr).toMatch(new RegExp(`^graphcred: ${name} is empty, and there is no other credential for `));
    expect(stderr).not.toContain('user name is needed');
  },
);

test('the error does not call a token lost that was never minted', async () => {
  const { run } = await bench();
  const env = { GRAPHCRED_STORE: undefined, GRAPHCRED_PASSWORD: 'wrong' };
  const refused = await run('token get', { env });
  expect(refused.status).toBe(4);
  expect(refused.stderr).not.toContain('not kept');
  const minted = await run('token get', { env: { GRAPHCRED_STORE: undefined } });
  expect(minted).toMatchObject({ status: 0, stderr: expect.stringContaining('the token is not kept') });
});

test('the errors for http to a TLS port and for https to a plain port name the other scheme', async () => {
  // A TLS server closes a connection that does not begin with a TLS handshake.
  const tls = net.createServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
  await new Promise<void>((resolve) => tls.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void tls.close());
  const { port } = tls.address() as net.AddressInfo;
  const { run, sandbox } = await bench();
  const plain = await run(`token get --gsql-url http://127.0.0.1:${port} --server-version auto`);
  expect(plain).toMatchObject({
    status: 7,
    stderr: expect.stringContaining('use https:// in place of http://'),
  });
  const gsqlUrl = sandbox.gsqlUrl.replace('http:', 'https:');
  const secure = await run(`token get --gsql-url ${gsqlUrl}`);
  expect(secure.status).toBe(7);
  expect(secure.stderr).toContain('the port does not answer in TLS');
  expect(secure.stderr).toContain('use http:// in place of https://');
  const doctor = await run(`doctor --gsql-url http://127.0.0.1:${port}`);
  expect(doctor.stdout).toMatch(/fail +version/);
  expect(doctor.stdout).not.toContain('graphcred doctor');
});
