import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { certificate } from '../helpers/certificate.js';
import { type Bench, bench, cli } from '../helpers/cli.js';
import { profilesOf, put } from '../helpers/home.js';

const portIn = (url: string) => new URL(url).port;

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

test('TG_* give the address, the user and the credential', async () => {
  const b = await bench();
  const run = (line: string, more: Record<string, string> = {}) =>
    cli(b.home, [...line.split(' '), '-o', 'json'], { env: { ...fields(b), ...more } });
  const { secret } = JSON.parse((await run('secret create ci')).stdout);
  for (const more of [{}, { TG_SECRET: secret, TG_PASSWORD: '', TG_USERNAME: '' }]) {
    const { token, graph } = JSON.parse((await run('token get', more)).stdout);
    expect(graph).toBe('demo');
    const alone = { TG_PASSWORD: '', TG_USERNAME: '', TG_API_TOKEN: token };
    expect((await run('api /graph/demo/vertices/Person', alone)).status).toBe(0);
  }
});

test('TG_CERT_PATH names the CA', async () => {
  const tls = await certificate('127.0.0.1');
  const b = await bench({ tls });
  const env = { ...fields(b), TG_HOST: 'https://127.0.0.1' };
  expect((await cli(b.home, ['token', 'get'], { env })).status).toBe(7);
  const trusting = { ...env, TG_CERT_PATH: put(b.home, 'ca.pem', tls.cert) };
  expect((await cli(b.home, ['token', 'get'], { env: trusting })).status).toBe(0);
});

test('the profile that login wrote works without the flags: it has the CA and the lifetime', async () => {
  const tls = await certificate('127.0.0.1');
  const { home, sandbox, run } = await bench({ tls });
  put(home, 'ca.pem', tls.cert);
  const prod = () => profilesOf(home).prod;
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
  const ways: [string, (away: Bench['sandbox']) => string, Record<string, string>][] = [
    ['--gsql-url', ({ gsqlUrl, restUrl }) => `--gsql-url ${gsqlUrl} --rest-url ${restUrl}`, {}],
    ['GRAPHCRED_HOST', () => '--server-version 3', { GRAPHCRED_HOST: 'https://127.0.0.1' }],
  ];

  test.each(ways)('is not sent to %s, and neither is a token', async (_, lead, more) => {
    const b = await bench();
    const away = await bench();
    const alone = { ...fields(b), TG_PASSWORD: '', TG_USERNAME: '', ...more };
    for (const [line, env, name] of [
      ['token get', { ...fields(b), ...more }, 'TG_PASSWORD'],
      ['token get', { ...alone, TG_SECRET: 'canary' }, 'TG_SECRET'],
      ['token check', { ...alone, TG_API_TOKEN: 'canary' }, 'TG_API_TOKEN is not used: TG_HOST names '],
    ] as [string, Record<string, string>, string][]) {
      const argv = `${line} ${lead(away.sandbox)} -o json`.split(' ');
      const { status, stderr } = await cli(b.home, argv, { env });
      expect([line, status, stderr]).toEqual([line, 5, expect.stringContaining('HOST_MISMATCH')]);
      expect(stderr).toContain(name);
    }
    expect([...b.requests(), ...away.requests()].filter((line) => !line.includes('version'))).toEqual([]);
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
