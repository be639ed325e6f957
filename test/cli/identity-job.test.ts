import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { expect, test } from 'vitest';
import { bench, temporaryHome } from '../helpers/cli.js';
import { put } from '../helpers/home.js';
import { rsaJwt } from '../helpers/jwt.js';
import { listening } from '../helpers/ports.js';
import { AUDIENCE, FEDERATED, JOB, startProvider } from '../helpers/provider.js';
import { playJob } from '../helpers/runner.js';

async function jobScene() {
  const provider = await startProvider();
  const users = [JOB.id, FEDERATED].map((name) => ({ name, password: 'x', role: 'superuser' as const }));
  const b = await bench({ serverVersion: '4.2.0', provider: provider.sandbox, users });
  const env = {
    GRAPHCRED_USERNAME: '',
    GRAPHCRED_PASSWORD: '',
    GRAPHCRED_OIDC_ISSUER: provider.issuer,
    GRAPHCRED_OIDC_GRANT: 'client_credentials',
    GRAPHCRED_OIDC_AUDIENCE: AUDIENCE,
    CI: 'true',
  };
  return { b, provider, env };
}

/** What the action needs of node_modules. */
const PACKAGES = ['jose', 'oauth4webapi', 'openid-client'].map((name) => `node_modules/${name}`);

/** Returns a JWT that stands for the client at this provider. */
function assertionFor(issuer: string): string {
  const now = Math.floor(Date.now() / 1000);
  const jti = crypto.randomUUID();
  return rsaJwt(
    { iss: FEDERATED, sub: FEDERATED, aud: issuer, iat: now, exp: now + 60, jti },
    { alg: 'RS256' },
  );
}

/** Plays the token service of GitHub's runner, which vouches for the client of the job. */
async function tokenService(issuer: string) {
  const seen: string[] = [];
  const service = http.createServer((request, response) => {
    seen.push(`${request.headers.authorization} ${request.url}`);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ value: assertionFor(issuer) }));
  });
  const url = `${await listening(service)}/token?api-version=2.0`;
  const runner = { ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'runner-token' };
  return { seen, runner };
}

const subject = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).sub;

// holds: C12.14
test('a job with the secret of its client gets one token, and the next call the cached token', async () => {
  const { b, provider, env } = await jobScene();
  const own = { ...env, GRAPHCRED_OIDC_CLIENT_ID: JOB.id };
  const withVariable = { env: { ...own, GRAPHCRED_OIDC_CLIENT_SECRET: JOB.secret } };
  const { token, source } = await b.json<{ token: string; source: string }>('token get', withVariable);
  expect([subject(token), source]).toEqual([JOB.id, 'identity']);
  expect((await b.run('token check', withVariable)).status).toBe(0);
  expect(await b.json('status', withVariable)).toMatchObject({ username: JOB.id, token: { state: 'valid' } });
  expect(provider.requests().filter((line) => line === 'POST /token')).toHaveLength(1);
  const file = put(b.home, 'secret', `${JOB.secret}\n`);
  const withFile = { env: { ...own, GRAPHCRED_OIDC_CLIENT_SECRET_FILE: file } };
  const fresh = await b.run('token get --fresh -v', withFile);
  expect([fresh.status, fresh.stderr.includes(JOB.secret)]).toEqual([0, false]);
  expect(provider.requests().filter((line) => line === 'POST /token')).toHaveLength(1);
  fs.writeFileSync(file, 'wrong-secret-0123456789-canary');
  const refused = await b.run('token get --fresh', withFile);
  expect([refused.status, refused.stderr]).toEqual([4, expect.stringContaining('refused: invalid_client (')]);
  expect(refused.stderr).not.toContain('canary');
  const opaque = await b.run('token get', { env: { ...withVariable.env, GRAPHCRED_OIDC_AUDIENCE: '' } });
  expect(opaque.stderr).toContain("hint: ask the provider's operator which oidc.audience gives JWTs");
});

// holds: C3.18
test("a client's secret in a variable beside another address goes to no provider of a profile", async () => {
  const { b, provider } = await jobScene();
  const { restUrl, gsqlUrl } = b.sandbox;
  const clientSecretFile = put(b.home, 'secret', JOB.secret);
  const { issuer } = provider;
  const oidc = {
    issuer,
    clientId: JOB.id,
    grant: 'client_credentials',
    audience: AUDIENCE,
    clientSecretFile,
  };
  const config = put(b.home, 'own.json', { profiles: { job: { restUrl, gsqlUrl, oidc } } });
  const other = {
    GRAPHCRED_GSQL_URL: 'http://127.0.0.1:9',
    GRAPHCRED_OIDC_CLIENT_SECRET: 'of-another-provider',
  };
  const env = { ...other, GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '', GRAPHCRED_PROFILE: 'job' };
  const typed = `--config ${config} --gsql-url ${gsqlUrl} --rest-url ${restUrl}`;
  expect(await b.run(`token get ${typed}`, { env })).toMatchObject({ status: 0 });
});

// holds: C12.14
test('a job for which a JWT in a file stands needs no secret, and the file is read anew', async () => {
  const { b, provider, env } = await jobScene();
  const { restUrl, gsqlUrl } = b.sandbox;
  const oidc = {
    issuer: provider.issuer,
    clientId: FEDERATED,
    grant: 'client_credentials',
    audience: AUDIENCE,
    clientAssertion: 'assertion',
  };
  const config = put(b.home, 'own.json', { profiles: { job: { restUrl, gsqlUrl, oidc } } });
  const own = { GRAPHCRED_USERNAME: env.GRAPHCRED_USERNAME, GRAPHCRED_PASSWORD: '' };
  for (let call = 0; call < 2; call++) {
    put(b.home, 'assertion', assertionFor(provider.issuer));
    const { token } = await b.json<{ token: string }>(`token get --fresh --config ${config} -p job`, {
      env: own,
    });
    expect(subject(token)).toBe(FEDERATED);
  }
  expect(provider.errors).toEqual([]);
  // Another address than the profile's gets nothing.
  const elsewhere = { GRAPHCRED_PROFILE: 'job', GRAPHCRED_GSQL_URL: 'http://127.0.0.1:9' };
  provider.requests();
  expect((await b.run(`token get --config ${config}`, { env: { ...own, ...elsewhere } })).status).toBe(5);
  expect(provider.requests()).toEqual([]);
});

// holds: C12.14
test('a job on GitHub asks the token service of its runner for the issuer as audience', async () => {
  const { b, provider, env } = await jobScene();
  const { seen, runner } = await tokenService(provider.issuer);
  const own = { ...env, GRAPHCRED_OIDC_CLIENT_ID: FEDERATED, GRAPHCRED_OIDC_CLIENT_ASSERTION: 'github' };
  const { token } = await b.json<{ token: string }>('token get', { env: { ...own, ...runner } });
  expect(subject(token)).toBe(FEDERATED);
  expect(seen).toEqual([
    `Bearer runner-token /token?api-version=2.0&audience=${encodeURIComponent(provider.issuer)}`,
  ]);
  const without = await b.run('token get --fresh', { env: own });
  expect([without.status, without.stderr]).toEqual([
    2,
    expect.stringContaining('hint: give the job the permission'),
  ]);
});

test('a job needs no login, and its settings are checked', async () => {
  const { b, env } = await jobScene();
  const own = { ...env, GRAPHCRED_OIDC_CLIENT_ID: JOB.id };
  expect((await b.run('login -p job', { env: own })).stderr).toContain('no login is needed');
  for (const [name, value, why] of [
    ['GRAPHCRED_OIDC_GRANT', 'password', 'is not a grant for jobs'],
    ['GRAPHCRED_OIDC_USE', 'cookie', 'is not a kind of token'],
    ['GRAPHCRED_OIDC_PORT', 'any', 'is not a port number'],
    ['GRAPHCRED_OIDC_PORT', '70000', 'is not a port number'],
    ['GRAPHCRED_OIDC_CLIENT_ID', '', 'is set without a client'],
  ] as const) {
    const { status, stderr } = await b.run('token get', { env: { ...own, [name]: value } });
    expect([status, stderr]).toEqual([2, expect.stringContaining(why)]);
  }
});

// holds: C12.14
test('the action gets a token at a provider without any secret, and revokes nothing', async () => {
  const { b, provider } = await jobScene();
  const { runner } = await tokenService(provider.issuer);
  const job = playJob(runner);
  const inputs = {
    'rest-url': b.sandbox.restUrl,
    'gsql-url': b.sandbox.gsqlUrl,
    'oidc-issuer': provider.issuer,
    'oidc-client-id': FEDERATED,
    'oidc-audience': AUDIENCE,
  };
  // A release's tag has no other packages.
  const tag = temporaryHome();
  for (const name of ['package.json', 'bin', 'dist/cli', 'dist/action', ...PACKAGES])
    fs.cpSync(name, path.join(tag, name), { recursive: true });
  const { outputs, failed, raw } = await job.spawn(path.join(tag, 'dist/action/main.cjs'), inputs);
  expect([failed, subject(outputs.token ?? '')], raw).toEqual([false, FEDERATED]);
  expect([job.masks, job.state]).toEqual([[outputs.token], {}]);
});
