import { EventEmitter } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { describe as describeError } from '../../src/action/failure.js';
import { readSettings } from '../../src/action/inputs.js';
import { mint } from '../../src/action/request-token.js';
import { revoke } from '../../src/action/revoke.js';
import { log, type Runner } from '../../src/action/runner.js';
import { start, stopAfterGrace } from '../../src/action/start.js';
import { type ErrorCode, GraphException } from '../../src/core/errors.js';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/server.js';
import { gate } from '../helpers/gate.js';
import { playJob } from '../helpers/runner.js';
import { SECRET, startSocial, statusFor } from '../helpers/social.js';

const PASSWORD = 'tigergraph';
const MINT = (runner: Runner) => mint(runner, { timeoutMs: 10_000, signal: new AbortController().signal });
const REVOKE = (runner: Runner) => revoke(runner, { timeoutMs: 10_000 });

async function database(serverVersion: string, options: SandboxOptions = {}) {
  const sandbox = await startSocial(serverVersion, options);
  const addresses = { 'rest-url': sandbox.restUrl, 'gsql-url': sandbox.gsqlUrl, graph: 'social' };
  return { sandbox, addresses, accepts: (token: string) => accepts(sandbox, token) };
}

async function accepts(sandbox: Sandbox, token: string): Promise<boolean> {
  return (await statusFor(sandbox, token)) === 200;
}

const mints = ({ requests }: Sandbox) =>
  requests.filter(({ method, path }) => method !== 'DELETE' && /\/(?:requesttoken|tokens)$/.test(path))
    .length;

describe.each(['3.2.0', '3.10.1', '4.1.2'])('on %s', (version) => {
  test.each([
    ['a secret', { secret: SECRET }],
    ['a secret that ends with a line break', { secret: `${SECRET}\n` }],
    ['a secret that ends with a line break of Windows', { secret: `${SECRET}\r\n` }],
    ['user name and password', { username: 'tigergraph', password: PASSWORD }],
  ])('%s mints a token for the job, and the post step revokes it', async (_name, credential) => {
    const { addresses, accepts } = await database(version);
    const job = playJob();
    const inputs = { ...addresses, ...credential, lifetime: '15m' };
    const main = await job.run(MINT, inputs);
    expect(job.log()).toMatch(/a token for http:\S+ until 20\S+Z; it is revoked at the end of the job/);
    const { token = '', 'expires-at': expiresAt = '' } = main.outputs;
    expect(Object.keys(main.outputs)).toEqual(['token', 'expires-at']);
    expect(main.variables).toEqual({});
    expect(job.masks).toContain(token);
    expect(await accepts(token)).toBe(true);
    const secondsLeft = (Date.parse(expiresAt) - Date.now()) / 1000;
    expect(secondsLeft).toBeGreaterThan(800);
    expect(secondsLeft).toBeLessThan(1000);
    const post = await job.run(REVOKE, inputs);
    expect(post.failed).toBe(false);
    expect(await accepts(token)).toBe(false);
    expect(job.log()).toContain('the token is revoked');
    const is4 = version.startsWith('4');
    expect(job.log().includes('block list')).toBe(is4);
    // On 4.x a mint by password creates a secret.
    expect(job.log().includes('AUTO_GENERATED_ALIAS_')).toBe(is4 && 'password' in credential);
  });

  test('a token that was already revoked is no error in the post step', async () => {
    const { addresses } = await database(version);
    const job = playJob();
    const inputs = { ...addresses, secret: SECRET };
    await job.run(MINT, inputs);
    const somebody = playJob();
    Object.assign(somebody.state, job.state);
    expect((await somebody.run(REVOKE, inputs)).failed).toBe(false);
    expect((await job.run(REVOKE, inputs)).failed).toBe(false);
  });

  test('of two jobs at the same time, each revokes only its own token', async () => {
    let now = Date.now();
    const { addresses, accepts } = await database(version, { now: () => now });
    const inputs = { ...addresses, secret: SECRET };
    const [one, other] = [playJob(), playJob()];
    const first = (await one.run(MINT, inputs)).outputs.token as string;
    now += 2000;
    const second = (await other.run(MINT, inputs)).outputs.token as string;
    expect(second).not.toBe(first);
    await one.run(REVOKE, inputs);
    expect([await accepts(first), await accepts(second)]).toEqual([false, true]);
    await other.run(REVOKE, inputs);
    expect(await accepts(second)).toBe(false);
  });
});

test('with export, the variables of other tools are set for all later steps', async () => {
  const { sandbox, addresses } = await database('3.10.1');
  const job = playJob();
  const { outputs } = await job.run(MINT, { ...addresses, secret: SECRET, export: 'true' });
  const [rest, gsql] = [new URL(sandbox.restUrl), new URL(sandbox.gsqlUrl)];
  expect(job.variables).toEqual({
    TG_API_TOKEN: outputs.token,
    TG_HOST: 'http://127.0.0.1',
    TG_GRAPHNAME: 'social',
    TG_RESTPP_PORT: rest.port,
    TG_GS_PORT: gsql.port,
  });
});

test('if the two servers have different hosts, the exported address is that of the REST server', async () => {
  const { sandbox, addresses } = await database('3.10.1');
  const job = playJob();
  const gsqlUrl = sandbox.gsqlUrl.replace('127.0.0.1', 'localhost');
  await job.run(MINT, { ...addresses, 'gsql-url': gsqlUrl, secret: SECRET, export: 'true' });
  expect(job.variables).toMatchObject({
    TG_HOST: 'http://127.0.0.1',
    TG_RESTPP_PORT: new URL(sandbox.restUrl).port,
  });
  expect(job.variables).not.toHaveProperty('TG_GS_PORT');
});

test('if the REST server is reached by https and the GSQL server by http, only the port of the REST server is exported', async () => {
  const { addresses } = await database('4.1.2');
  const job = playJob();
  // On 4.x the GSQL server mints, so that nothing needs to listen at this REST server.
  const inputs = { ...addresses, 'rest-url': 'https://127.0.0.1:9443', secret: SECRET, export: 'true' };
  await job.run(MINT, inputs);
  expect(job.variables).toMatchObject({ TG_HOST: 'https://127.0.0.1', TG_RESTPP_PORT: '9443' });
  expect(job.variables).not.toHaveProperty('TG_GS_PORT');
});

test('requests go through the proxy that the job has set', async () => {
  let asked = '';
  const proxy = http.createServer((request, response) => {
    asked ||= request.url ?? '';
    response.writeHead(502).end();
  });
  proxy.on('connect', (request, socket) => {
    asked ||= request.url ?? '';
    socket.destroy();
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void proxy.close());
  const { port } = proxy.address() as AddressInfo;
  const job = playJob({ http_proxy: `http://127.0.0.1:${port}` });
  const inputs = {
    'rest-url': 'http://graph.example.com:9000',
    'gsql-url': 'http://graph.example.com:14240',
    secret: SECRET,
  };
  expect((await job.run(MINT, inputs)).failed).toBe(true);
  expect(asked).toContain('graph.example.com:14240');
});

test('without a graph, TG_GRAPHNAME is not changed', async () => {
  const { addresses } = await database('3.10.1');
  const job = playJob();
  await job.run(MINT, { ...addresses, graph: '', secret: SECRET, export: 'true' });
  expect(Object.keys(job.variables)).toEqual(['TG_API_TOKEN', 'TG_HOST', 'TG_RESTPP_PORT', 'TG_GS_PORT']);
});

test('a graph name with line breaks cannot set further variables', async () => {
  const { addresses } = await database('3.10.1');
  const job = playJob();
  const graph = 'social\nEOF\nLD_PRELOAD<<EOF\n/tmp/evil.so\nEOF';
  await job.run(MINT, { ...addresses, graph, secret: SECRET, export: 'true' });
  expect(job.variables.TG_GRAPHNAME).toBe(graph);
  expect(Object.keys(job.variables)).not.toContain('LD_PRELOAD');
});

test('each value is written with a new random delimiter', async () => {
  const { addresses } = await database('3.10.1');
  const delimiters: string[] = [];
  for (let round = 0; round < 2; round++)
    await playJob().run(
      async (runner) => {
        await MINT(runner);
        const text = fs.readFileSync(runner.env.GITHUB_OUTPUT as string, 'utf8');
        delimiters.push(/^token<<(\S+)$/m.exec(text)?.[1] as string);
      },
      { ...addresses, secret: SECRET },
    );
  expect(new Set(delimiters).size).toBe(2);
  for (const delimiter of delimiters) expect(delimiter).toMatch(/[0-9a-f]{32}$/);
});

test('with revoke: false nothing is saved for the post step, and the token stays valid', async () => {
  const { addresses, accepts } = await database('3.10.1');
  const job = playJob();
  const inputs = { ...addresses, secret: SECRET, revoke: 'false' };
  const { outputs } = await job.run(MINT, inputs);
  expect(job.state).toEqual({});
  const post = await job.run(REVOKE, inputs);
  expect(post.failed).toBe(false);
  expect(await accepts(outputs.token as string)).toBe(true);
  expect(job.log()).toContain('it is not revoked');
});

test('credentials and token are masked before anything else is printed', async () => {
  const { addresses } = await database('3.10.1');
  const job = playJob();
  const { raw, outputs } = await job.run(MINT, { ...addresses, secret: SECRET });
  expect(raw.split('\n').slice(0, 2)).toEqual([`::add-mask::${SECRET}`, `::add-mask::${outputs.token}`]);
  const post = await job.run(REVOKE, { ...addresses, secret: SECRET });
  expect(post.raw.split('\n').slice(0, 2)).toEqual([`::add-mask::${SECRET}`, `::add-mask::${outputs.token}`]);
});

test('a password with percent signs is masked unchanged, not as the runner would decode it', async () => {
  const password = 'per%0Acent%25:: sign';
  const { addresses, accepts } = await database('3.10.1', {
    users: [{ name: 'ada', password, role: 'superuser' }],
    secrets: [],
  });
  const job = playJob();
  const { outputs } = await job.run(MINT, { ...addresses, username: 'ada', password });
  expect(job.masks).toContain(password);
  expect(await accepts(outputs.token as string)).toBe(true);
});

test('a credential with blanks around it is sent without them and masked with and without them', async () => {
  const { addresses } = await database('3.10.1');
  const job = playJob();
  const { failed } = await job.run(MINT, { ...addresses, secret: `\t ${SECRET}  \n` });
  expect(failed).toBe(false);
  expect(job.masks).toEqual(expect.arrayContaining([`\t ${SECRET}  `, SECRET]));
});

test('a credential with several lines is refused, and each of its lines is masked', async () => {
  const { sandbox, addresses } = await database('3.10.1');
  const job = playJob();
  const { failed } = await job.run(MINT, { ...addresses, secret: `${SECRET}\r\nsecond line\rthird line\n` });
  expect(failed).toBe(true);
  expect(job.masks).toEqual(expect.arrayContaining([SECRET, 'second line', 'third line']));
  expect(job.log()).toMatch(/USAGE: The input secret has more than one line/);
  expect(sandbox.requests).toHaveLength(0);
});

test.each<[string, Record<string, string>, RegExp]>([
  ['a lifetime in words', { secret: SECRET, lifetime: 'soon' }, /USAGE: The input lifetime/],
  [
    'an address with a password in it',
    { secret: SECRET, 'gsql-url': 'http://a:b@127.0.0.1:1' },
    /USAGE: .*must not hold a user name or password/,
  ],
  [
    'an address that is none',
    { secret: SECRET, 'gsql-url': 'graph.example.com' },
    /USAGE: The gsqlUrl must be a URL/,
  ],
])('%s is an error that names the input, and nothing is sent', async (_name, inputs, pattern) => {
  const { sandbox, addresses } = await database('3.10.1');
  const job = playJob();
  expect((await job.run(MINT, { ...addresses, ...inputs })).failed).toBe(true);
  expect(job.log()).toMatch(pattern);
  expect(job.log()).not.toContain(SECRET);
  expect(sandbox.requests).toHaveLength(0);
});

test.each(['GITHUB_STATE', 'GITHUB_OUTPUT', 'GITHUB_ENV'])(
  'without the file %s of the runner no token is minted, because nothing could revoke it',
  async (name) => {
    const { sandbox, addresses } = await database('3.10.1');
    const job = playJob();
    const inputs = { ...addresses, secret: SECRET, export: 'true' };
    const { failed } = await job.run(
      ({ env, write }) => MINT({ env: { ...env, [name]: '' }, write }),
      inputs,
    );
    expect(failed).toBe(true);
    expect(job.log()).toContain(name);
    expect(mints(sandbox)).toBe(0);
  },
);

test.each(['http://graph.example.com', 'http://127.0.0.1.example.com', 'http://localhost.example.com'])(
  'plain http to %s is a warning',
  async (host) => {
    const job = playJob();
    const stopped = AbortSignal.abort();
    await job.run((runner) => mint(runner, { timeoutMs: 1000, signal: stopped }), { host, secret: SECRET });
    expect(job.log()).toContain(`${host}:14240 is not encrypted`);
  },
);

test('plain http to the REST server alone is a warning too', async () => {
  const job = playJob();
  const stopped = AbortSignal.abort();
  const inputs = { 'gsql-url': 'https://graph.example.com', 'rest-url': 'http://graph.example.com:9000' };
  await job.run((runner) => mint(runner, { timeoutMs: 1000, signal: stopped }), {
    ...inputs,
    secret: SECRET,
  });
  expect(job.log()).toContain('http://graph.example.com:9000 is not encrypted');
});

test.each([
  ['90', 90],
  ['90s', 90],
  ['5m', 300],
  ['3h', 10_800],
  ['2d', 172_800],
  ['1w', 604_800],
])('the lifetime %s means %i seconds', (lifetime, seconds) => {
  const env = { INPUT_HOST: 'http://127.0.0.1', INPUT_SECRET: SECRET, INPUT_LIFETIME: lifetime };
  expect(readSettings({ env, write: () => {} }, { timeoutMs: 1000 }).lifetime).toBe(seconds);
});

test('a step that fails prints one line and fails the job, and a step that succeeds does neither', async () => {
  const written: string[] = [];
  const stdout = vi
    .spyOn(process.stdout, 'write')
    .mockImplementation((text) => written.push(String(text)) > 0);
  const before = process.exitCode;
  try {
    await start(async () => {});
    expect(process.exitCode).toBe(before);
    await start(async () => {
      throw new GraphException('AUTH_FAILED', 'k3v9 was refused');
    });
    expect(process.exitCode).toBe(1);
  } finally {
    stdout.mockRestore();
    process.exitCode = before;
  }
  expect(written).toEqual([
    expect.stringMatching(/^::error::graphcred: AUTH_FAILED: The server refused .*\n$/),
  ]);
});

test('of an unexpected error only the kind is shown, since its text may quote a credential', () => {
  expect(describeError(new TypeError(`cannot read ${SECRET}`))).toBe(
    'graphcred: INTERNAL: graphcred ran into a bug (TypeError). Please report it with the version of the action.',
  );
  expect(describeError(SECRET)).not.toContain(SECRET);
});

const RUN_AGAIN =
  'Check that the server is running and that this runner can reach it, then run the job again.';
const ASK = 'Run graphcred doctor with the same settings to see what the server answers.';

test.each<[ErrorCode, string]>([
  [
    'AUTH_FAILED',
    'The server refused the credential (HTTP 200). Check the input secret, or username and password.',
  ],
  [
    'PERMISSION_DENIED',
    'This user may not do that (HTTP 200). Ask an administrator of the database for the privilege.',
  ],
  ['NOT_FOUND', 'There is no such graph, or this user may not see it (HTTP 200). Check the input graph.'],
  [
    'REST_AUTH_DISABLED',
    'REST authentication is not enabled on this server (HTTP 200). Ask an administrator to enable it; until then the server wants no token.',
  ],
  ['SERVER_UNAVAILABLE', `The server is not available (HTTP 200). ${RUN_AGAIN}`],
  ['SERVER_ERROR', `The server refused the request (HTTP 200). ${ASK}`],
  ['ALREADY_EXISTS', `The server refused the request (HTTP 200). ${ASK}`],
  ['BAD_RESPONSE', `The answer is not one of this kind of server (HTTP 200). ${ASK}`],
  [
    'UNSUPPORTED',
    `This version of the server is not supported, or it does not tell its version (HTTP 200). ${ASK}`,
  ],
  ['NETWORK', `own text. ${RUN_AGAIN}`],
  ['TIMEOUT', `own text. ${RUN_AGAIN}`],
  ['TLS', 'own text. Check the address. For a CA of your own set NODE_EXTRA_CA_CERTS in the env of the job.'],
  ['HOST_MISMATCH', 'own text. own hint'],
])('the line about %s quotes no server and ends with what to do', (code, line) => {
  const error = new GraphException(code, 'own text.', { status: 200, hint: 'own hint' });
  expect(describeError(error)).toBe(`graphcred: ${code}: ${line}`);
});

test('a step that is cancelled has six seconds for the answer that may hold a token, however often it is cancelled', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  for (const signal of ['SIGINT', 'SIGTERM']) {
    const job = new EventEmitter();
    const stop = stopAfterGrace(job);
    vi.advanceTimersByTime(60_000);
    expect(stop.aborted).toBe(false);
    job.emit(signal);
    vi.advanceTimersByTime(3000);
    job.emit(signal);
    vi.advanceTimersByTime(2999);
    expect(stop.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(stop.aborted).toBe(true);
  }
});

test.each([true, false])(
  'after a request that may have taken effect (%s), the log says that there may be a token',
  (ambiguous) => {
    const said = describeError(new GraphException('NETWORK', 'The connection was lost.', { ambiguous }));
    expect(said.includes('A token may have been made all the same')).toBe(ambiguous);
  },
);

test('if a server counts the lifetime in milliseconds, a second token is requested', async () => {
  const { sandbox, addresses, accepts } = await database('4.1.2', { lifetimeUnit: 'ms' });
  const job = playJob();
  const { outputs } = await job.run(MINT, { ...addresses, secret: SECRET, lifetime: '1h' });
  expect(Date.parse(outputs['expires-at'] as string) - Date.now()).toBeGreaterThan(3_000_000);
  expect(await accepts(outputs.token as string)).toBe(true);
  expect(mints(sandbox)).toBe(2);
});

test.each(['1', '2', '7'])(
  'on 4.x a token of %s s is minted once, although so short a life looks like a thousandth',
  async (lifetime) => {
    const { sandbox, addresses } = await database('4.1.2');
    expect((await playJob().run(MINT, { ...addresses, secret: SECRET, lifetime })).failed).toBe(false);
    expect(mints(sandbox)).toBe(1);
  },
);

test('on 4.x, jobs that start in the same second get different tokens', async () => {
  const now = Date.now();
  const { addresses } = await database('4.1.2', { now: () => now });
  const tokens = new Set<string>();
  for (let job = 0; job < 8; job++)
    tokens.add((await playJob().run(MINT, { ...addresses, secret: SECRET })).outputs.token as string);
  // Two random lifetimes are equal once in 360 times.
  expect(tokens.size).toBeGreaterThan(5);
  // No token lives longer than was asked for.
  for (const token of tokens) {
    const { exp } = JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString());
    expect(exp).toBeLessThanOrEqual(Math.floor(now / 1000) + 3600);
  }
});

test('on 4.x, a job that does not revoke its token gets the whole lifetime', async () => {
  const now = Date.now();
  const { addresses } = await database('4.1.2', { now: () => now });
  for (let job = 0; job < 3; job++) {
    const { outputs } = await playJob().run(MINT, { ...addresses, secret: SECRET, revoke: 'false' });
    const { exp } = JSON.parse(Buffer.from(outputs.token?.split('.')[1] ?? '', 'base64url').toString());
    expect(exp).toBe(Math.floor(now / 1000) + 3600);
  }
});

test('without a lifetime the token lives for an hour', async () => {
  const { addresses } = await database('3.10.1');
  const { outputs } = await playJob().run(MINT, { ...addresses, secret: SECRET });
  const minutes = (Date.parse(outputs['expires-at'] as string) - Date.now()) / 60_000;
  expect(Math.round(minutes)).toBe(60);
});

describe('if an input of the post step has changed', () => {
  test.each(['gsql-url', 'rest-url'])('by %s: no credential is sent, and the step fails', async (name) => {
    const { addresses, accepts } = await database('3.10.1');
    const elsewhere = await database('3.10.1');
    const job = playJob();
    const inputs = { ...addresses, secret: SECRET };
    const { outputs } = await job.run(MINT, inputs);
    const changed = { ...inputs, [name]: elsewhere.addresses[name as keyof typeof addresses] };
    expect((await job.run(REVOKE, changed)).failed).toBe(true);
    expect(job.log()).toMatch(/was not revoked; it lives until 20\S+Z[\s\S]*HOST_MISMATCH/);
    const sent = elsewhere.sandbox.requests.filter(({ path }) => !/version$/.test(path));
    expect(sent).toEqual([]);
    expect(await accepts(outputs.token as string)).toBe(true);
  });
});

test('a token that cannot be revoked fails the job, and the message says when it expires', async () => {
  const { sandbox, addresses } = await database('3.10.1');
  const job = playJob();
  const inputs = { ...addresses, secret: SECRET };
  const { outputs } = await job.run(MINT, inputs);
  await sandbox.close();
  expect((await job.run(REVOKE, inputs)).failed).toBe(true);
  expect(job.log()).toContain(`the token was not revoked; it lives until ${outputs['expires-at']}`);
  expect(job.log()).toMatch(/NETWORK: .*Check that the server is running/);
});

test('the post step does nothing if the main step made no token', async () => {
  const { sandbox, addresses } = await database('3.10.1');
  const job = playJob();
  const inputs = { ...addresses, secret: 'wrong0secret0wrong0secret0wrong0' };
  expect((await job.run(MINT, inputs)).failed).toBe(true);
  expect(job.log()).toMatch(
    /AUTH_FAILED: The server refused the credential \(HTTP \d+\)\. Check the input secret/,
  );
  const asked = sandbox.requests.length;
  expect((await job.run(REVOKE, inputs)).failed).toBe(false);
  expect(sandbox.requests).toHaveLength(asked);
});

test('a line of the log contains neither a line break nor a command', () => {
  const written: string[] = [];
  log({ env: {}, write: (text) => written.push(text) }, 'error', '50%\r\n::set-output name=x::y');
  expect(written).toEqual(['::error::50%25%0D%0A::set-output name=x::y\n']);
});

test('a file of the runner that cannot be written is an error before a token is minted', async () => {
  const { sandbox, addresses } = await database('3.10.1');
  const job = playJob();
  const missing = (runner: Runner) =>
    MINT({ ...runner, env: { ...runner.env, GITHUB_OUTPUT: `${job.folder}/none/output` } });
  const step = await job.run(missing, { ...addresses, secret: SECRET });
  expect(step.raw).toContain('The file named by GITHUB_OUTPUT cannot be written.');
  expect(mints(sandbox)).toBe(0);
});

test('only an address of plain http that others can read along is warned of', async () => {
  const warned = (gsqlUrl: string) => {
    let text = '';
    const env = {
      'INPUT_REST-URL': 'http://127.0.0.1:9000',
      'INPUT_GSQL-URL': gsqlUrl,
      INPUT_SECRET: SECRET,
    };
    readSettings({ env, write: (line) => (text += line) }, { timeoutMs: 1000 });
    return text.includes('::warning');
  };
  expect(warned('http://db.example:14240')).toBe(true);
  expect(warned('https://db.example:14240')).toBe(false);
  expect(warned('http://127.0.0.1:14240')).toBe(false);
});

test('the built post step revokes the token although the job is cancelled again', async () => {
  const { addresses, accepts } = await database('3.10.1');
  const job = playJob();
  let cancel = () => {};
  const restUrl = await gate(
    addresses['rest-url'],
    /^DELETE \/requesttoken/,
    async () => {},
    async () => cancel(),
  );
  const inputs = { ...addresses, 'rest-url': restUrl, secret: SECRET };
  const { outputs } = await job.run(MINT, inputs);
  const step = await job.spawn(path.resolve('dist/action/post.cjs'), inputs, (child) => {
    cancel = () => {
      child.kill('SIGINT');
      child.kill('SIGTERM');
    };
  });
  expect(step.failed).toBe(false);
  expect(await accepts(outputs.token as string)).toBe(false);
});
