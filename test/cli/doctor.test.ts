import fs from 'node:fs';
import net from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { failed, probePort, resolveName } from '../../src/app/doctor.js';
import type { SandboxOptions } from '../../src/sandbox/server.js';
import { certificate } from '../helpers/certificate.js';
import { bench } from '../helpers/cli.js';
import { put } from '../helpers/home.js';

async function ready(options: SandboxOptions = {}) {
  const made = await bench(options);
  return {
    ...made,
    examine: async (env: Record<string, string> = {}) => {
      const { stdout } = await made.run('doctor -o json', { env });
      const { checks } = JSON.parse(stdout) as { checks: { id: string; verdict: string; fix: string }[] };
      return Object.fromEntries(checks.map((check) => [check.id, check]));
    },
  };
}

test('an unknown host name is told apart from name servers that do not answer', async () => {
  const dns = process.getBuiltinModule('node:dns').promises;
  const lookup = vi.spyOn(dns, 'lookup');
  onTestFinished(() => lookup.mockRestore());
  const network = 'check the network and the name servers of this machine';
  for (const [code, cause, fix] of [
    ['ENOTFOUND', 'there is no host db.example', 'check the name: --host, GRAPHCRED_HOST, or the profile'],
    ['EAI_AGAIN', 'the name db.example cannot be looked up (EAI_AGAIN)', network],
  ]) {
    lookup.mockRejectedValueOnce(Object.assign(new Error('no'), { code }));
    expect(await resolveName('db.example', 5000)).toMatchObject({ cause, fix });
  }
  lookup.mockReturnValueOnce(new Promise(() => {}) as never);
  expect(await resolveName('db.example', 20)).toEqual({
    verdict: 'fail',
    code: 'TIMEOUT',
    cause: 'the name db.example was not found within 0.02 s',
    fix: network,
  });
});

test('the config file that GRAPHCRED_CONFIG names is examined in place of the others', async () => {
  const { examine, home } = await ready();
  const named = put(home, 'named.json', '{"lifetime":"1h"}');
  fs.chmodSync(named, 0o622);
  const found = await examine({ GRAPHCRED_CONFIG: named });
  expect(found['config-mode']).toMatchObject({ verdict: 'warn', fix: expect.stringContaining(named) });
});

test('a secret is no failure on 3.6.1, where only a token can prove it', async () => {
  const { run } = await bench({ serverVersion: '3.6.1' });
  expect(await run('secret create kept --save')).toMatchObject({ status: 0 });
  const { status, stdout } = await run('doctor', { env: { GRAPHCRED_PASSWORD: '' } });
  expect([status, stdout]).toEqual([0, expect.stringMatching(/^skipped +credential .*saved secret kept/m)]);
});

test('certificates that are not verified are a warning, and so is plain http to the REST server alone', async () => {
  const tls = await certificate('127.0.0.1');
  const { examine, run, home } = await ready({ tls });
  const GRAPHCRED_CA = put(home, 'ca.pem', tls.cert);
  expect((await examine({ GRAPHCRED_CA })).tls?.verdict).toBe('ok');
  expect((await examine({ GRAPHCRED_INSECURE: '1' })).tls?.verdict).toBe('warn');
  // This is not a loopback address, and a connection to it is refused at once.
  const { stdout } = await run('doctor', { env: { GRAPHCRED_CA, GRAPHCRED_REST_URL: 'http://0.0.0.0:1' } });
  expect(stdout).toMatch(/^warn +tls +http to the REST server: credentials can be read on the way/m);
});

test.each([
  ['html', 'ok'],
  ['drop-before', 'skipped'],
] as const)('over TLS with a server that fails by %s the certificate is %s', async (action, verdict) => {
  const tls = await certificate('127.0.0.1');
  const { examine, sandbox, home } = await ready({ tls });
  sandbox.addFault({ action });
  const trusting = await examine({ GRAPHCRED_CA: put(home, 'ca.pem', tls.cert) });
  expect([trusting.tls?.verdict, trusting.version?.verdict]).toEqual([verdict, 'fail']);
  const other = await examine();
  expect([other.tls?.verdict, other.version?.verdict]).toEqual(['fail', 'skipped']);
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
  expect(await probePort('http://127.0.0.1:1', 20)).toMatchObject({
    verdict: 'fail',
    code: 'TIMEOUT',
    cause: expect.stringContaining('does not answer'),
  });
});

test('a bug is thrown and not reported as a failed check', () => {
  expect(() => failed(new TypeError('oops'))).toThrow('oops');
});
