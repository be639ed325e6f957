import fs from 'node:fs';
import path from 'node:path';
import { generate } from 'selfsigned';
import { describe, expect, test } from 'vitest';
import { type Bench, bench, cli } from '../helpers/cli.js';

const portIn = (url: string) => new URL(url).port;
const code = (stderr: string) => JSON.parse(stderr.trim().split('\n').at(-1) as string).error.code;

/** The variables that other tools for this database use for the same settings. */
function fields({ sandbox }: Bench): Record<string, string> {
  return {
    GRAPHCRED_STORE: 'none',
    TG_HOST: 'http://127.0.0.1',
    TG_RESTPP_PORT: portIn(sandbox.restUrl),
    TG_GS_PORT: portIn(sandbox.gsqlUrl),
    TG_GRAPHNAME: 'demo',
    TG_USERNAME: 'tigergraph',
    TG_PASSWORD: 'tigergraph',
  };
}

describe.each(['3.2.0', '3.10.1', '4.1.2'])('TG_* on %s', (serverVersion) => {
  test('give the address, the user and the credential', async () => {
    const b = await bench({ serverVersion });
    const env = fields(b);
    const run = (line: string, more: Record<string, string> = {}) =>
      cli(b.home, [...line.split(' '), '-o', 'json'], { env: { ...env, ...more } });
    const made = JSON.parse((await run('secret create ci')).stdout);
    const by = [{}, { TG_SECRET: made.secret, TG_PASSWORD: '', TG_USERNAME: '' }];
    for (const more of by) {
      const { status, stdout } = await run('token get', more);
      expect(status).toBe(0);
      const { token, graph } = JSON.parse(stdout);
      expect(graph).toBe('demo');
      const alone = { TG_PASSWORD: '', TG_USERNAME: '', TG_API_TOKEN: token };
      expect((await run('api /graph/demo/vertices/Person', alone)).status).toBe(0);
    }
  });
});

test('TG_CERT_PATH names the CA', async () => {
  const { cert, private: key } = await generate([{ name: 'commonName', value: '127.0.0.1' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  });
  const b = await bench({ tls: { cert, key } });
  const file = path.join(b.home, 'ca.pem');
  fs.writeFileSync(file, cert);
  const env = { ...fields(b), TG_HOST: 'https://127.0.0.1' };
  expect((await cli(b.home, ['token', 'get'], { env })).status).toBe(7);
  expect((await cli(b.home, ['token', 'get'], { env: { ...env, TG_CERT_PATH: file } })).status).toBe(0);
});

test('the profile that login wrote works without the flags: it has the CA and the lifetime', async () => {
  const { cert, private: key } = await generate([{ name: 'commonName', value: '127.0.0.1' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  });
  const { home, sandbox, run } = await bench({ tls: { cert, key } });
  fs.writeFileSync(path.join(home, 'ca.pem'), cert);
  const config = path.join(home, '.config/graphcred/config.json');
  const prod = () => JSON.parse(fs.readFileSync(config, 'utf8')).profiles.prod;
  expect((await run('login -p prod --ca ca.pem --lifetime 15m --min-ttl 1m')).status).toBe(0);
  expect(prod()).toMatchObject({
    gsqlUrl: sandbox.gsqlUrl,
    tls: { ca: path.join(home, 'ca.pem') },
    lifetime: '15m',
    minTtl: '1m',
  });
  const env = { GRAPHCRED_PASSWORD: sandbox.password, GRAPHCRED_STORE: 'none' };
  const got = await cli(home, ['token', 'get', '-p', 'prod', '-o', 'json'], { env });
  expect(JSON.parse(got.stdout)).toMatchObject({ lifetimeSeconds: 900 });
  const before = prod();
  expect((await run('login -p prod')).status).toBe(0);
  expect(prod()).toEqual(before);
});

describe('a credential set together with TG_HOST', () => {
  const ways: [string, (away: Bench['sandbox']) => [string[], Record<string, string>]][] = [
    ['--gsql-port', ({ gsqlUrl }) => [['--gsql-port', portIn(gsqlUrl)], {}]],
    ['--rest-port', ({ restUrl }) => [['--rest-port', portIn(restUrl)], {}]],
    ['--gsql-url', ({ gsqlUrl }) => [['--gsql-url', gsqlUrl], {}]],
    ['--rest-url', ({ restUrl }) => [['--rest-url', restUrl], {}]],
    ['--host', () => [['--host', 'http://localhost'], {}]],
    ['GRAPHCRED_HOST', () => [[], { GRAPHCRED_HOST: 'https://127.0.0.1' }]],
    ['GRAPHCRED_GSQL_URL', ({ gsqlUrl }) => [[], { GRAPHCRED_GSQL_URL: gsqlUrl }]],
    ['GRAPHCRED_REST_URL', ({ restUrl }) => [[], { GRAPHCRED_REST_URL: restUrl }]],
  ];
  const commands = ['token get', 'secret list', 'secret create x', 'status', 'api /echo', 'exec'];

  test.each(ways)('is not sent to %s', async (_, lead) => {
    const b = await bench();
    const away = await bench();
    const [argv, more] = lead(away.sandbox);
    const without = { ...fields(b), TG_PASSWORD: '', TG_USERNAME: '' };
    for (const line of commands) {
      for (const own of [fields(b), { ...without, TG_SECRET: 'k3v9q2m8x1c7b5n4l6h0g3f2d8s9a1p4' }]) {
        // With a secret alone, a secret command looks for a password elsewhere, so it is not part of this test.
        if ('TG_SECRET' in own && line.startsWith('secret')) continue;
        const words = [...line.split(' '), ...argv, '-o', 'json', '--server-version', '3'];
        const { status, stderr } = await cli(b.home, line === 'exec' ? [...words, '--', 'true'] : words, {
          env: { ...own, ...more },
        });
        expect({ line, status, code: code(stderr) }).toEqual({
          line,
          status: line === 'exec' ? 125 : 5,
          code: 'HOST_MISMATCH',
        });
        expect(stderr).toMatch(/TG_(PASSWORD|SECRET)/);
      }
    }
    expect([...b.requests(), ...away.requests()]).toEqual([]);
  });

  test.each(['api /echo', 'token check'])('is not sent as a token to %s', async (line) => {
    const b = await bench();
    const away = await bench();
    const own = {
      ...fields(b),
      TG_PASSWORD: '',
      TG_USERNAME: '',
      TG_API_TOKEN: 'canarycanarycanarycanarycanary12',
    };
    for (const [, lead] of ways) {
      const [argv, more] = lead(away.sandbox);
      const { status, stderr } = await cli(b.home, [...line.split(' '), ...argv, '--server-version', '3'], {
        env: { ...own, ...more },
      });
      expect(status).toBe(5);
      expect(stderr).toContain('TG_API_TOKEN is for the servers in TG_HOST');
      expect(stderr).toContain('it is not sent to');
    }
    expect([...b.requests(), ...away.requests()]).toEqual([]);
  });

  test('is sent if the flags give the same address', async () => {
    const b = await bench();
    const { restUrl, gsqlUrl } = b.sandbox;
    const same = {
      GRAPHCRED_REST_URL: `${restUrl}/`,
      GRAPHCRED_GSQL_URL: gsqlUrl,
      GRAPHCRED_HOST: 'http://127.0.0.1',
    };
    expect((await cli(b.home, ['token', 'get'], { env: { ...fields(b), ...same } })).status).toBe(0);
    // Without ports, TG_HOST means the ports 9000 and 14240, which are other servers than those of the flags.
    const { TG_RESTPP_PORT: rest, TG_GS_PORT: gsql, ...env } = fields(b) as Record<string, string>;
    const ports = ['--rest-port', rest as string, '--gsql-port', gsql as string];
    expect((await cli(b.home, ['token', 'get', ...ports], { env })).status).toBe(5);
  });

  test('is not sent if a credential of higher priority goes to the other host', async () => {
    const b = await bench();
    const away = await bench();
    const { restUrl, gsqlUrl } = away.sandbox;
    const env = {
      ...fields(b),
      TG_PASSWORD: 'wrong',
      GRAPHCRED_REST_URL: restUrl,
      GRAPHCRED_GSQL_URL: gsqlUrl,
    };
    const given = await cli(b.home, ['token', 'get'], { env: { ...env, GRAPHCRED_PASSWORD: 'tigergraph' } });
    expect(given.status).toBe(0);
  });
});

test('TG_API_TOKEN is ignored if a profile is chosen, and is not named as the reason for a missing credential', async () => {
  const b = await bench();
  expect((await b.run('login -p dev')).status).toBe(0);
  const env = { TG_API_TOKEN: 'canarycanarycanarycanarycanary12', TG_HOST: 'http://elsewhere.example' };
  const { status, stderr } = await cli(b.home, ['api', '/echo', '-p', 'dev', '--store', 'none'], { env });
  expect(stderr).not.toContain('belongs to');
  expect(status).toBe(2);
});
