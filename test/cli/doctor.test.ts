import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { generate } from 'selfsigned';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { failed, judgeClock } from '../../src/app/doctor/check.js';
import { probePort, resolveName } from '../../src/app/doctor/examine.js';
import { GraphException } from '../../src/core/errors.js';
import { bench, type RunOptions } from '../helpers/cli.js';

const IDS =
  'config config-mode dns service-port rest-port tls proxy version rest-auth credential graph clock store';

interface Finding {
  id: string;
  verdict: string;
  cause: string;
  fix: string;
}

const generateCertificate = () =>
  generate([{ name: 'commonName', value: '127.0.0.1' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  });

const causeOf = ({ checks }: { checks: Finding[] }, id: string) => checks.find((one) => one.id === id)?.cause;

async function ready(options: Parameters<typeof bench>[0] = {}) {
  const made = await bench(options);
  const file = path.join(made.home, '.config/graphcred/config.json');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, '{"lifetime":"1h"}', { mode: 0o600 });
  return {
    ...made,
    file,
    examine: async (more?: RunOptions) => {
      const { status, stdout, stderr } = await made.run('doctor -o json', more);
      expect(stdout + stderr).not.toContain('hunter2');
      const { checks } = JSON.parse(stdout) as { checks: Finding[] };
      return {
        status,
        checks,
        verdicts: Object.fromEntries(checks.map(({ id, verdict }) => [id, verdict])),
        failing: checks.filter(({ verdict }) => verdict === 'fail').map(({ id }) => id),
      };
    },
  };
}

describe.each(['3.2.0', '3.10.1', '4.1.2'])('doctor on %s', (serverVersion) => {
  test('every check passes, and only one request has a credential', async () => {
    const { examine, run, requests } = await ready({ serverVersion });
    requests();
    const { status, checks } = await examine();
    expect(checks.map(({ id }) => id).join(' ')).toBe(IDS);
    expect(causeOf({ checks }, 'credential')).toContain('the password of tigergraph is accepted');
    expect(checks.filter(({ verdict }) => verdict !== 'ok' && verdict !== 'skipped')).toEqual([]);
    expect(status).toBe(0);
    const withLogin = requests().filter((line) => /gsql\/file|\/gsql\/v1\/secrets/.test(line));
    expect(withLogin).toHaveLength(1);
    const text = await run('doctor');
    expect(text.stdout.trim().split('\n')).toHaveLength(13);
  });
});

test('closed ports and an unknown host name fail', async () => {
  const { examine } = await ready();
  const closed = 'http://127.0.0.1:1';
  const service = await examine({ env: { GRAPHCRED_GSQL_URL: closed } });
  expect(service).toMatchObject({ status: 7, failing: ['service-port'] });
  expect(causeOf(service, 'service-port')).toBe('port 1 of 127.0.0.1 refuses connections');
  expect(service.verdicts).toMatchObject({ version: 'skipped', credential: 'skipped', store: 'ok' });
  const rest = await examine({ env: { GRAPHCRED_REST_URL: closed } });
  expect(rest).toMatchObject({ status: 7, failing: ['rest-port'] });
  expect(rest.verdicts).toMatchObject({ 'rest-auth': 'skipped', credential: 'ok' });
  const name = await examine({ env: { GRAPHCRED_GSQL_URL: 'http://nowhere.invalid:14240' } });
  expect(name).toMatchObject({ status: 7, failing: ['dns'] });
});

test('an unknown host name is told apart from name servers that do not answer', async () => {
  const dns = process.getBuiltinModule('node:dns').promises;
  const lookup = vi.spyOn(dns, 'lookup');
  onTestFinished(() => lookup.mockRestore());
  lookup.mockRejectedValueOnce(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
  expect(await resolveName('db.example', 5000)).toMatchObject({
    cause: 'there is no host db.example',
    fix: 'check the name: --host, GRAPHCRED_HOST, or the profile',
  });
  lookup.mockRejectedValueOnce(Object.assign(new Error('no'), { code: 'EAI_AGAIN' }));
  expect(await resolveName('db.example', 5000)).toMatchObject({
    cause: 'the name db.example cannot be looked up (EAI_AGAIN)',
    fix: 'check the network and the name servers of this machine',
  });
  lookup.mockReturnValueOnce(new Promise(() => {}) as never);
  expect(await resolveName('db.example', 20)).toEqual({
    verdict: 'fail',
    code: 'TIMEOUT',
    cause: 'the name db.example was not found within 0.02 s',
    fix: 'check the network and the name servers of this machine',
  });
});

test('a proxy that is not valid is reported without its password', async () => {
  const { examine } = await ready();
  const proxied = await examine({
    env: { GRAPHCRED_GSQL_URL: 'http://graph.invalid', HTTP_PROXY: 'http://u:hunter2@127.0.0.1:1' },
  });
  expect(proxied.status).toBe(7);
  expect(proxied.failing).toEqual(['proxy']);
});

test('the config file that GRAPHCRED_CONFIG names is examined in place of the others', async () => {
  const { examine, home } = await ready();
  const named = path.join(home, 'named.json');
  fs.writeFileSync(named, '{"lifetime":"1h"}');
  fs.chmodSync(named, 0o622);
  const found = await examine({ env: { GRAPHCRED_CONFIG: named } });
  expect(found.verdicts['config-mode']).toBe('warn');
  expect(found.checks.find(({ id }) => id === 'config-mode')?.fix).toContain(named);
});

test('a store that cannot be used fails', async () => {
  const { examine, home } = await ready();
  fs.rmSync(path.join(home, '.local'), { recursive: true, force: true });
  fs.writeFileSync(path.join(home, '.local'), 'in the way');
  const { status, failing, verdicts } = await examine();
  expect({ status, failing }).toEqual({ status: 6, failing: ['store'] });
  expect(verdicts.credential).toBe('ok');
  expect((await examine({ env: { GRAPHCRED_STORE: 'none' } })).verdicts.store).toBe('warn');
});

test.each(['3.2.0', '3.6.1'])(
  'a secret is no failure on %s, where only a token can prove it',
  async (serverVersion) => {
    const { examine, run } = await ready({ serverVersion });
    expect(await run('secret create kept --save --store file')).toMatchObject({ status: 0 });
    const { status, checks } = await examine({
      env: { GRAPHCRED_PASSWORD: '', GRAPHCRED_STORE: 'file' },
    });
    expect(checks.find(({ id }) => id === 'credential')).toMatchObject({
      verdict: 'skipped',
      cause: expect.stringContaining('saved secret kept'),
    });
    expect(status).toBe(0);
  },
);

test('missing encryption is a warning, and a planted config file fails', async () => {
  const { examine, home } = await ready();
  // The request goes through a proxy, so the name is not looked up on this machine.
  const away = { GRAPHCRED_GSQL_URL: 'http://localhost.evil.example', HTTP_PROXY: 'http://127.0.0.1:1' };
  expect((await examine({ env: away })).verdicts.tls).toBe('warn');
  const cwd = path.join(home, 'cloned');
  fs.mkdirSync(cwd);
  fs.writeFileSync(path.join(cwd, '.graphcredrc'), 'graph: planted\n');
  expect((await examine({ cwd })).failing).toEqual(['config']);
});

test('certificates that are not verified are a warning, and so is plain http to the REST server alone', async () => {
  const { cert, private: key } = await generateCertificate();
  const { examine, run, home } = await ready({ tls: { cert, key } });
  fs.writeFileSync(path.join(home, 'ca.pem'), cert);
  expect((await examine({ env: { GRAPHCRED_CA: 'ca.pem' } })).verdicts.tls).toBe('ok');
  expect((await examine({ env: { GRAPHCRED_INSECURE: '1' } })).verdicts.tls).toBe('warn');
  // This is not a loopback address, and a connection to it is refused at once.
  const plainRest = { GRAPHCRED_CA: 'ca.pem', GRAPHCRED_REST_URL: 'http://0.0.0.0:1' };
  const { stdout } = await run('doctor', { env: plainRest });
  expect(stdout).toMatch(/^warn +tls +http to the REST server: credentials can be read on the way/m);
});

test('over TLS the certificate is judged also where the server fails: by an answer, but not without one', async () => {
  const { cert, private: key } = await generateCertificate();
  for (const [action, tls] of [
    ['html', 'ok'],
    ['drop-before', 'skipped'],
  ] as const) {
    const { examine, sandbox, home } = await ready({ tls: { cert, key } });
    fs.writeFileSync(path.join(home, 'ca.pem'), cert);
    sandbox.addFault({ action });
    const { verdicts } = await examine({ env: { GRAPHCRED_CA: 'ca.pem' } });
    expect(verdicts).toMatchObject({ tls, version: 'fail' });
    expect((await examine()).verdicts).toMatchObject({ tls: 'fail', version: 'skipped' });
  }
});

test('without a password and with a store that cannot be opened no login is tried', async () => {
  const { examine, home } = await ready();
  fs.rmSync(path.join(home, '.local'), { recursive: true, force: true });
  // Even a file that can be executed is no folder.
  fs.writeFileSync(path.join(home, '.local'), 'in the way', { mode: 0o755 });
  const found = await examine({ env: { GRAPHCRED_PASSWORD: undefined } });
  expect(found).toMatchObject({ failing: ['store'], verdicts: { credential: 'warn' } });
  expect(found.checks.find(({ id }) => id === 'credential')?.fix).toContain('--password-stdin');
  expect(found.checks.find(({ id }) => id === 'store')?.fix).toMatch(
    /^check owner and mode of .*; choose another/,
  );
});

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

test('doctor does not call a version ok that was given and not asked for', async () => {
  const { examine, sandbox } = await ready();
  sandbox.addFault({ action: 'status', status: 404 });
  const { verdicts } = await examine({ env: { GRAPHCRED_SERVER_VERSION: '4.2.0' } });
  expect(verdicts).toMatchObject({ version: 'skipped' });
});
