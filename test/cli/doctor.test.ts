import fs from 'node:fs';
import { expect, test } from 'vitest';
import { failed } from '../../src/app/doctor/examine.js';
import type { SandboxOptions } from '../../src/sandbox/server.js';
import { certificate } from '../helpers/certificate.js';
import { bench } from '../helpers/cli.js';
import { configure, put } from '../helpers/home.js';

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

test('the config file that GRAPHCRED_CONFIG names is examined in place of the others', async () => {
  const { examine, home } = await ready();
  const named = put(home, 'named.json', '{"lifetime":"1h"}');
  fs.chmodSync(named, 0o622);
  const found = await examine({ GRAPHCRED_CONFIG: named });
  expect(found.config).toMatchObject({ verdict: 'warn', fix: expect.stringContaining(named) });
});

test('beside a config file that is ignored no credential is sent, since the servers may be others', async () => {
  const { run, home, requests } = await bench();
  fs.chmodSync(configure(home, { graph: 'demo' }), 0o664);
  const { status, stdout } = await run('doctor');
  expect([status, stdout]).toEqual([5, expect.stringMatching(/^skipped +credential /m)]);
  expect(requests().filter((line) => /secret|token|file/.test(line))).toEqual([]);
});

test('the credential that mints is tried, although a password would log in', async () => {
  const { run } = await bench();
  const env = { GRAPHCRED_SECRET: '0123456789abcdefghijklmnopqrstuv' };
  const { status, stdout } = await run('doctor', { env });
  expect([status, stdout]).toEqual([4, expect.stringMatching(/^fail +credential .*GRAPHCRED_SECRET/m)]);
});

test('a secret is no failure on 3.6.1, where only a token can prove it', async () => {
  const { run } = await bench({ serverVersion: '3.6.1' });
  expect(await run('secret create kept --save')).toMatchObject({ status: 0 });
  const { status, stdout } = await run('doctor', { env: { GRAPHCRED_PASSWORD: '' } });
  expect([status, stdout]).toEqual([0, expect.stringMatching(/^skipped +credential .*saved secret "kept"/m)]);
});

test('certificates that are not verified are a warning, and so is plain http to the REST server alone', async () => {
  const tls = await certificate('127.0.0.1');
  const { examine, run, home } = await ready({ tls });
  const GRAPHCRED_CA = put(home, 'ca.pem', tls.cert);
  expect((await examine({ GRAPHCRED_CA })).tls?.verdict).toBe('ok');
  expect((await examine({ GRAPHCRED_INSECURE: '1' })).tls?.verdict).toBe('warn');
  // This is not a loopback address, and a connection to it is refused at once.
  const { stdout } = await run('doctor', { env: { GRAPHCRED_CA, GRAPHCRED_REST_URL: 'http://0.0.0.0:1' } });
  expect(stdout).toMatch(/^warn +tls +http: others on the network can read credentials/m);
});

test.each(['html', 'drop-before'] as const)(
  'a server behind TLS that fails by %s is one failure, and so is one that is not trusted',
  async (action) => {
    const tls = await certificate('127.0.0.1');
    const { examine, sandbox, home } = await ready({ tls });
    sandbox.addFault({ action });
    const verdictsOf = (found: Awaited<ReturnType<typeof examine>>) =>
      ['server', 'tls'].map((id) => found[id]?.verdict).join(' ');
    expect(verdictsOf(await examine({ GRAPHCRED_CA: put(home, 'ca.pem', tls.cert) }))).toBe('fail skipped');
    expect(verdictsOf(await examine())).toBe('fail skipped');
  },
);

test('a bug is thrown and not reported as a failed check', () => {
  expect(() => failed(new TypeError('oops'))).toThrow('oops');
});
