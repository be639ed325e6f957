// Runs the built steps of the action on a sandbox. What the command does of its own is tested with the command.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/server.js';
import { certificate } from '../helpers/certificate.js';
import { temporaryHome } from '../helpers/cli.js';
import { put } from '../helpers/home.js';
import { listening } from '../helpers/ports.js';
import { type Job, playJob } from '../helpers/runner.js';
import { SECRET, social, statusFor } from '../helpers/sandbox.js';

const MAIN = path.resolve('dist/action/main.cjs');
const POST = path.resolve('dist/action/post.cjs');
const LOGIN = { username: 'tigergraph', password: 'tigergraph' };

async function database(serverVersion: string, options: SandboxOptions = {}) {
  const sandbox = await social(serverVersion, options);
  const addresses = { 'rest-url': sandbox.restUrl, 'gsql-url': sandbox.gsqlUrl, graph: 'social' };
  return {
    sandbox,
    addresses,
    inputs: { ...addresses, secret: SECRET },
    accepts: async (token = '') => (await statusFor(sandbox, token)) === 200,
    log: (job: Job) =>
      job
        .log()
        .replaceAll(sandbox.restUrl, 'REST')
        .replaceAll(sandbox.gsqlUrl, 'GSQL')
        .replace(/\d{4}-\d\d-\d\dT[\d:]+Z/g, 'END'),
  };
}

/** Returns the paths of the requests that may carry a credential. */
const asked = ({ requests }: Sandbox) =>
  requests.map(({ path: asked }) => asked).filter((asked) => !/version$/.test(asked));

const secondsLeft = (expiresAt = '') => (Date.parse(expiresAt) - Date.now()) / 1000;

describe.each(['3.2.0', '3.10.1', '4.1.2'])('on %s', (version) => {
  test.each([
    ['a secret', { secret: SECRET }],
    ['user name and password', LOGIN],
  ])('%s mints a token for the job, and the post step revokes it', async (_name, credential) => {
    const { addresses, accepts, log } = await database(version);
    const job = playJob();
    const inputs = { ...addresses, ...credential, lifetime: '15m' };
    const main = await job.spawn(MAIN, inputs);
    const { token, 'expires-at': expiresAt } = main.outputs;
    expect(Object.keys(main.outputs)).toEqual(['token', 'expires-at']);
    expect(main.variables).toEqual({});
    expect(await accepts(token)).toBe(true);
    expect(secondsLeft(expiresAt)).toBeGreaterThan(800);
    expect(secondsLeft(expiresAt)).toBeLessThan(901);
    expect((await job.spawn(POST, inputs)).failed).toBe(false);
    expect(await accepts(token)).toBe(false);
    // A token that is gone already is no failure.
    expect((await job.spawn(POST, inputs)).failed).toBe(false);
    const made =
      version.startsWith('4') && 'password' in credential
        ? 'graphcred: a 4.x server makes a secret (AUTO_GENERATED_ALIAS_…) for each token made with a password; to avoid that, use one of your own: set the input secret\n'
        : '';
    expect(log(job)).toBe(
      `${made}graphcred: a token for REST and GSQL until END; it will be revoked at the end of the job\ngraphcred: the token is revoked\ngraphcred: the server no longer knew the token\n`,
    );
  });
});

test('credentials and token are masked before anything else is printed', async () => {
  const { inputs } = await database('3.10.1');
  const job = playJob();
  const { raw, outputs } = await job.spawn(MAIN, inputs);
  const masks = [`::add-mask::${SECRET}`, `::add-mask::${outputs.token}`];
  expect(raw.split('\n').slice(0, 2)).toEqual(masks);
  expect((await job.spawn(POST, inputs)).raw.split('\n').slice(0, 2)).toEqual(masks);
});

test('a credential is sent without the blanks around it, and masked with and without them', async () => {
  const password = 'per%0Acent%25:: sign';
  const { addresses, accepts } = await database('3.10.1', {
    users: [{ name: 'ada', password, role: 'superuser' }],
    secrets: [],
  });
  const job = playJob();
  const { outputs } = await job.spawn(MAIN, {
    ...addresses,
    username: 'ada',
    password: `\t ${password} \r\n`,
  });
  expect(job.masks).toEqual(expect.arrayContaining([`\t ${password} `, password]));
  expect(await accepts(outputs.token)).toBe(true);
});

test('each line of a credential with several lines is masked', async () => {
  const { addresses } = await database('3.10.1');
  const job = playJob();
  const secret = `${SECRET}\r\nsecond line\rthird line\n`;
  expect((await job.spawn(MAIN, { ...addresses, secret })).failed).toBe(true);
  expect(job.masks).toEqual([SECRET, 'second line', 'third line']);
});

describe('with export', () => {
  test('the variables of other tools are set for all later steps', async () => {
    const { sandbox, inputs } = await database('3.10.1');
    const job = playJob();
    const { outputs } = await job.spawn(MAIN, { ...inputs, export: 'true' });
    expect(job.variables).toEqual({
      TG_API_TOKEN: outputs.token,
      TG_HOST: 'http://127.0.0.1',
      TG_GRAPHNAME: 'social',
      TG_RESTPP_PORT: new URL(sandbox.restUrl).port,
      TG_GS_PORT: new URL(sandbox.gsqlUrl).port,
    });
  });

  test('a 4.x server is found behind the GSQL server, and TG_GRAPHNAME is not changed without a graph', async () => {
    const { sandbox } = await database('4.1.2');
    const job = playJob();
    await job.spawn(MAIN, { 'gsql-url': sandbox.gsqlUrl, secret: SECRET, export: 'true' });
    const { port } = new URL(sandbox.gsqlUrl);
    expect(job.variables).toMatchObject({ TG_RESTPP_PORT: port, TG_GS_PORT: port });
    expect(job.variables).not.toHaveProperty('TG_GRAPHNAME');
  });
});

test('with revoke: false the token stays valid for the whole lifetime, an hour unless set', async () => {
  const now = Date.now();
  const { inputs, accepts, log } = await database('4.1.2', { now: () => now });
  const job = playJob();
  const kept = { ...inputs, revoke: 'false' };
  const { token = '' } = (await job.spawn(MAIN, kept)).outputs;
  const { exp } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  expect(exp).toBe(Math.floor(now / 1000) + 3600);
  expect(job.state).toEqual({});
  expect((await job.spawn(POST, kept)).failed).toBe(false);
  expect(await accepts(token)).toBe(true);
  expect(log(job)).toBe('graphcred: a token for REST and GSQL until END; it will not be revoked\n');
});

test('settings come from the inputs alone, not from variables or files of other steps', async () => {
  const { sandbox, inputs, accepts } = await database('4.1.2');
  const elsewhere = await database('4.1.2');
  const { restUrl, gsqlUrl } = elsewhere.sandbox;
  const home = temporaryHome();
  put(home, '.graphcredrc', { profiles: { default: { lifetime: '5s', graph: 'nowhere' } } });
  put(home, 'graphcred/config.json', { serverVersion: '3.10.1' });
  const job = playJob({
    HOME: home,
    XDG_CONFIG_HOME: home,
    GRAPHCRED_REST_URL: restUrl,
    GRAPHCRED_GSQL_URL: gsqlUrl,
    GRAPHCRED_JWT: 'jwt',
    TG_GRAPHNAME: 'nowhere',
    TG_SECRET: 'another',
    GRAPHCRED_OUTPUT: 'text',
    GRAPHCRED_STORE: 'file',
  });
  put(job.folder, '.graphcredrc', '{"timeout":"x"}');
  const { outputs } = await job.spawn(MAIN, { ...inputs, graph: '', lifetime: '' });
  expect(secondsLeft(outputs['expires-at'])).toBeGreaterThan(3000);
  expect(await accepts(outputs.token)).toBe(true);
  await job.spawn(POST, { ...inputs, graph: '', lifetime: '' });
  expect(await accepts(outputs.token)).toBe(false);
  expect(asked(sandbox)).not.toEqual([]);
  expect(elsewhere.sandbox.requests).toEqual([]);
  expect(fs.readdirSync(home)).toEqual(['.graphcredrc', 'graphcred']);
});

test('requests go through the proxy that the job has set', async () => {
  let asked = '';
  const proxy = http.createServer().on('connect', (request, socket) => {
    asked ||= request.url ?? '';
    socket.destroy();
  });
  const job = playJob({ https_proxy: await listening(proxy) });
  await job.spawn(MAIN, { 'gsql-url': 'https://graph.example.com', secret: SECRET });
  expect(asked).toBe('graph.example.com:443');
});

test('a warning is in the log without what the server said', async () => {
  const { sandbox, inputs } = await database('4.1.2', { lifetimeUnit: 'ms' });
  const body = JSON.stringify({ error: true, message: 'evil ##[add-path]x' });
  sandbox.addFault({ action: 'status', route: 'POST /gsql/v1/tokens', nth: 2, status: 500, body });
  const job = playJob();
  expect((await job.spawn(MAIN, inputs)).raw).toContain(
    '::warning::graphcred: this token ends sooner than asked for, since a longer one could not be made\n',
  );
  expect(job.log()).not.toContain('evil');
});

test('a certificate of an own CA is trusted by NODE_EXTRA_CA_CERTS, which the error names', async () => {
  const tls = await certificate('127.0.0.1');
  const { inputs } = await database('4.1.2', { tls });
  const job = playJob();
  expect((await job.spawn(MAIN, inputs)).failed).toBe(true);
  expect(job.log()).toMatch(/TLS: .* give the CA certificate \(NODE_EXTRA_CA_CERTS\);/m);
  const trusting = playJob({ NODE_EXTRA_CA_CERTS: put(job.folder, 'ca.pem', tls.cert) });
  expect((await trusting.spawn(MAIN, inputs)).failed).toBe(false);
});

test('without a file of the runner no token is minted, because nothing could revoke it', async () => {
  const { sandbox, inputs } = await database('3.10.1');
  const job = playJob({ GITHUB_STATE: '' });
  expect((await job.spawn(MAIN, inputs)).failed).toBe(true);
  expect(job.log()).toBe(
    'graphcred: INPUT_REQUIRED: The action needs the variable GITHUB_STATE, which GitHub Actions sets.\n',
  );
  expect(sandbox.requests).toHaveLength(0);
});

test('the log of a job with wrong inputs says which, and what to set', async () => {
  const { addresses, inputs, log } = await database('3.10.1');
  const job = playJob();
  for (const wrong of [
    { secret: SECRET },
    addresses,
    { ...addresses, username: 'tigergraph' },
    { ...addresses, password: 'tigergraph' },
    { ...inputs, lifetime: 'soon' },
    { ...inputs, revoke: 'never' },
    { ...inputs, export: 'maybe' },
    { ...inputs, 'gsql-url': 'graph.example.com' },
    { ...inputs, 'gsql-url': 'http://a:b@127.0.0.1:1' },
    { ...addresses, secret: 'wrong0secret0wrong0secret0wrong0' },
    { ...addresses, ...LOGIN, graph: 'nowhere' },
    { ...inputs, 'gsql-url': 'http://graph.invalid', 'rest-url': '' },
  ])
    expect((await job.spawn(MAIN, wrong)).failed).toBe(true);
  expect(log(job)).toMatchInlineSnapshot(`
    "graphcred: INPUT_REQUIRED: Set the input host, or rest-url and gsql-url.
    graphcred: INPUT_REQUIRED: Set the input secret, or username and password. Pull requests from forks get no secrets from GitHub.
    graphcred: INPUT_REQUIRED: Set the input secret, or username and password. Pull requests from forks get no secrets from GitHub.
    graphcred: INPUT_REQUIRED: Set the input secret, or username and password. Pull requests from forks get no secrets from GitHub.
    graphcred: USAGE: The value of the input lifetime is not a duration. Hint: write seconds, or a number with a unit, 100 years at most: 90, 90s, 15m, 12h, 30d, 1w
    graphcred: USAGE: The input revoke is neither true nor false.
    graphcred: USAGE: The input export is neither true nor false.
    graphcred: USAGE: The value of the input gsql-url must be a URL that begins with http:// or https://. Hint: give http://127.0.0.1 or https://graph.example.com, for example
    graphcred: USAGE: The value of the input gsql-url must not hold a user name or password. Hint: remove them from the address, and give them as username and password
    graphcred: AUTH_FAILED: The server refused the credential. Check the input secret, or username and password.
    graphcred: NOT_FOUND: There is no such graph, or this user may not see it. Check the input graph.
    graphcred: no encryption at http://graph.invalid: credentials can be read on the way. Use https if the server offers it
    graphcred: NETWORK: Cannot reach http://graph.invalid: there is no such host. Hint: check the network, host and port, and that the server is running
    "
  `);
  // The post step has nothing to do.
  expect(await job.spawn(POST, inputs)).toMatchObject({ failed: false, raw: `::add-mask::${SECRET}\n` });
});

test('if a later step leads the post step to another address, no credential is sent and the step fails', async () => {
  const { inputs, accepts, log } = await database('3.10.1');
  const elsewhere = await database('3.10.1');
  const job = playJob();
  const { outputs } = await job.spawn(MAIN, inputs);
  for (const name of ['rest-url', 'gsql-url'] as const)
    expect((await job.spawn(POST, { ...inputs, [name]: elsewhere.addresses[name] })).failed).toBe(true);
  expect(elsewhere.sandbox.requests).toEqual([]);
  expect(await accepts(outputs.token)).toBe(true);
  expect(log(job).replaceAll(elsewhere.sandbox.restUrl, 'OTHER').split('\n').slice(1, 3)).toEqual([
    'graphcred: the token was not revoked; it is valid until END',
    'graphcred: HOST_MISMATCH: The token was made by REST and GSQL, but the inputs now name OTHER and GSQL. Write the addresses into the workflow, or take them from vars, because later steps can change env.',
  ]);
});

test('a token that cannot be revoked fails the job, and the message says until when it lives', async () => {
  const { sandbox, inputs, log } = await database('3.10.1');
  const job = playJob();
  await job.spawn(MAIN, inputs);
  await sandbox.close();
  expect((await job.spawn(POST, inputs)).failed).toBe(true);
  expect(log(job)).toMatch(
    /the token was not revoked; it is valid until END\ngraphcred: NETWORK: Cannot reach GSQL: the connection was refused/,
  );
});
