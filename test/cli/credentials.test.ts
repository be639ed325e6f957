// Which credential a command takes, and what it says when there is none. That none goes to a server to which it does not belong is drawn at random in
// test/contract/binding-model.test.ts.
import fs from 'node:fs';
import { expect, test } from 'vitest';
import { portOf, type Servers } from '../../src/core/endpoints.js';
import { bench, cli, temporaryHome } from '../helpers/cli.js';
import { configure, put } from '../helpers/home.js';

const NO_PASSWORD = { GRAPHCRED_PASSWORD: '' };
const NO_ADDRESS = { GRAPHCRED_REST_URL: '', GRAPHCRED_GSQL_URL: '' };

// holds: C4.1
test('stdin, a file, a variable, the other tools’ variable and a profile are used in this order', async () => {
  const { home, json, sandbox } = await bench();
  const { secret } = await json<{ secret: string }>('secret create ci');
  const wrong = 'z'.repeat(31);
  const file = put(home, 'secret.txt', `${secret}\r\n`);
  const { restUrl, gsqlUrl } = sandbox;
  const get = async (line: string, more: Record<string, string>, ofProfile = wrong, stdin = '') => {
    const config = put(home, 'own.json', {
      profiles: { p: { restUrl, gsqlUrl, graph: 'demo', secret: ofProfile } },
    });
    const env = { GRAPHCRED_STORE: 'none', GRAPHCRED_PROFILE: 'p', ...more };
    const argv = `token get --config ${config} ${line}`.trim().split(' ');
    const { status, stderr } = await cli(home, argv, { env, stdin });
    expect(stderr).not.toContain(wrong);
    return status;
  };
  expect(await get('--secret-stdin', { GRAPHCRED_SECRET: wrong }, wrong, `${secret}\n`)).toBe(0);
  expect(await get('--secret-file secret.txt', { GRAPHCRED_SECRET: wrong })).toBe(0);
  expect(await get('', { GRAPHCRED_SECRET_FILE: file, TG_SECRET: wrong })).toBe(0);
  expect(await get('', { GRAPHCRED_SECRET: secret, TG_SECRET: wrong })).toBe(0);
  expect(await get('', { TG_SECRET: secret })).toBe(0);
  expect(await get('', {}, secret)).toBe(0);
  expect(await get('', { TG_SECRET: wrong }, secret)).toBe(4);
  // If a profile is chosen with a flag, the variables of other tools are ignored.
  expect(await get('-p p', { TG_SECRET: wrong }, secret)).toBe(0);
});

// holds: C4.2
test('two saved secrets of one name for different graphs are chosen between by the graph', async () => {
  const { run, sandbox } = await bench({ serverVersion: '3.10.1', graphs: ['demo', 'two'] });
  for (const graph of ['demo', 'two'])
    expect((await run(`secret create z --save --graph ${graph}`)).status).toBe(0);
  const env = { ...NO_PASSWORD, GRAPHCRED_USERNAME: '', GRAPHCRED_GRAPH: '' };
  expect(await run('token get', { env })).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('demo, two.\nhint: choose one with --graph NAME'),
  });
  expect((await run('token get --graph two', { env })).status).toBe(0);
  expect(sandbox.requests.at(-1)).toMatchObject({ path: '/requesttoken', status: 200 });
});

test('two commands with the same letters but different words are two principals', async () => {
  const { home, sandbox, json, run, requests } = await bench();
  const { secret } = await json<{ secret: string }>('secret create ci');
  const file = put(home, 'program', `#!/bin/sh\necho ${secret}\n`);
  fs.chmodSync(file, 0o755);
  const { gsqlUrl, restUrl } = sandbox;
  for (const args of [['a b'], ['a', 'b']]) {
    configure(home, { gsqlUrl, restUrl, graph: 'demo', secretCommand: [file, ...args] });
    expect((await run('token get', { env: { ...NO_PASSWORD, ...NO_ADDRESS } })).status).toBe(0);
  }
  expect(requests().filter((request) => request.endsWith('/requesttoken'))).toHaveLength(2);
});

test('two profiles that share only the GSQL server each keep their own password', async () => {
  const { run, sandbox } = await bench();
  for (const [name, GRAPHCRED_REST_URL] of [
    ['one', sandbox.restUrl],
    ['two', 'http://127.0.0.1:1'],
  ] as const)
    expect((await run(`login -p ${name} --save-password`, { env: { GRAPHCRED_REST_URL } })).status).toBe(0);
  for (const name of ['one', 'two'])
    expect((await run(`secret list -p ${name}`, { env: { ...NO_PASSWORD, ...NO_ADDRESS } })).status).toBe(0);
});

// holds: C3.18
test.each([
  ['URLs', { gsqlUrl: 'http://127.0.0.1:9' }, ({ restUrl, gsqlUrl }: Servers) => ({ restUrl, gsqlUrl })],
  [
    'ports',
    { host: 'http://127.0.0.1', gsqlPort: 9 },
    ({ restUrl, gsqlUrl }: Servers) => ({ restPort: portOf(restUrl), gsqlPort: portOf(gsqlUrl) }),
  ],
])(
  'a credential beside an address at the top level of a file does not go to the %s of a profile',
  async (_, address, its) => {
    const { home, sandbox } = await bench();
    const top = { ...address, username: 'tigergraph', password: 'tigergraph' };
    const config = put(home, 'own.json', { ...top, profiles: { p: { ...its(sandbox), graph: 'demo' } } });
    const refused = await cli(home, ['token', 'get', '--config', config, '-p', 'p'], { env: NO_ADDRESS });
    expect(refused).toMatchObject({
      status: 5,
      stderr: expect.stringContaining('is for http://127.0.0.1:9'),
    });
    expect(sandbox.requests.filter(({ login }) => login !== 'none')).toEqual([]);
  },
);

// holds: C4.1
test('a saved secret mints tokens, and a saved password logs in for secret commands', async () => {
  const { run, sandbox } = await bench();
  const saved = { env: { ...NO_PASSWORD, ...NO_ADDRESS, GRAPHCRED_USERNAME: '' } };
  expect((await run('login -p dev --save-password')).status).toBe(0);
  expect((await run('secret create ci --save -p dev', saved)).status).toBe(0);
  expect((await run('token get --fresh -p dev', saved)).status).toBe(0);
  expect(sandbox.requests.at(-1)).toMatchObject({
    login: 'none',
    fields: expect.arrayContaining(['secret']),
  });
  // Also when the profile names a secret for its tokens.
  expect((await run('secret list -p dev --secret-alias ci', saved)).status).toBe(0);
  expect(sandbox.requests.at(-1)).toMatchObject({ login: 'basic' });
  // When it has been changed on the server, the way out is a login that saves the new one.
  sandbox.addFault({ action: 'status', status: 401, route: '/gsqlserver/gsql/file' });
  expect((await run('secret list -p dev', saved)).stderr).toContain(
    'may have been changed; log in again: graphcred login --save-password -p dev',
  );
});

// holds: C4.4
test.each([
  ['3.10.0', 'basic'],
  ['4.2.0', 'gsql-secret'],
])(
  'on %s a secret alone lists the secrets, sent as %s, and is named when it is refused',
  async (...given) => {
    const [serverVersion, login] = given;
    const { run, json, sandbox } = await bench({ serverVersion });
    const secret = (await run('secret create ci')).stdout.trim();
    const alone = (value: string) => ({ env: { ...NO_PASSWORD, GRAPHCRED_SECRET: value } });
    expect((await json<{ secrets: unknown[] }>('secret list', alone(secret))).secrets).toHaveLength(1);
    expect(sandbox.requests.at(-1)).toMatchObject({ login });
    const { status, stderr } = await run('secret list', alone('z'.repeat(32)));
    expect([status, stderr]).toEqual([4, expect.stringContaining('the secret from GRAPHCRED_SECRET')]);
  },
);

// holds: C4.4
test('a secret cannot log in for secret commands before 3.6.2, and the error says so', async () => {
  const { run } = await bench({ serverVersion: '3.6.1' });
  const env = { ...NO_PASSWORD, GRAPHCRED_SECRET: (await run('secret create ci')).stdout.trim() };
  const { status, stderr } = await run('secret list', { env });
  expect(status).toBe(2);
  expect(stderr).toMatch(/^graphcred: A (user name|password) is needed/);
  expect(stderr).toContain('the secret (GRAPHCRED_SECRET) does not log in on a server before 3.6.2');
});

test.each(['secret list', 'api --service /gsql/v1/version'])(
  'a token cannot log in for %s: exit 2 before anything is sent, with the reason',
  async (line) => {
    const { run, requests } = await bench();
    const { status, stderr } = await run(line, { env: { ...NO_PASSWORD, TG_API_TOKEN: 'canary' } });
    expect([status, requests()]).toEqual([2, []]);
    expect(stderr).toMatch(/TG_API_TOKEN\) cannot log in here\..*GRAPHCRED_PASSWORD/s);
    expect(stderr).not.toContain('canary');
  },
);

test.each(['GRAPHCRED_SECRET', 'GRAPHCRED_SECRET_FILE', 'TG_SECRET'])(
  'the error names a %s that a job sets to an empty text',
  async (name) => {
    const { run } = await bench();
    const { status, stderr } = await run('token get', {
      env: { GRAPHCRED_USERNAME: undefined, GRAPHCRED_PASSWORD: undefined, [name]: '' },
    });
    expect(status).toBe(2);
    expect(stderr).toContain(`hint: ${name} is set but empty; `);
  },
);

test.each(['GRAPHCRED_HOST', 'GRAPHCRED_GSQL_URL', 'TG_HOST'])(
  'without a server, in a job too, the text names %s if it is empty',
  async (name) => {
    for (const more of [{}, { CI: '1' }]) {
      const { stderr } = await cli(temporaryHome(), ['token', 'get'], { env: { ...more, [name]: '' } });
      expect(stderr).toMatch(
        new RegExp(`${name} (is )?set but empty[^]*no server is named; give yours with `),
      );
    }
  },
);

test('a job is told of an empty graph, and of empty addresses where none is set', async () => {
  const { run } = await bench({ serverVersion: '4.1.2' });
  const job = { CI: '1', GRAPHCRED_STORE: 'none' };
  const told = async (env: Record<string, string>) =>
    (await run('token get', { env: { ...job, ...env } })).stderr;
  expect(await told({ GRAPHCRED_GRAPH: '' })).toContain('GRAPHCRED_GRAPH is set but empty: on 4.x');
  expect(await told({ GRAPHCRED_HOST: '' })).not.toContain('set but empty');
  expect(await told({ GRAPHCRED_REST_URL: '' })).toContain(
    'GRAPHCRED_REST_URL is set but empty, so the REST',
  );
  expect(await told({ GRAPHCRED_HOST: '', ...NO_ADDRESS })).toContain(
    'GRAPHCRED_HOST, GRAPHCRED_GSQL_URL, GRAPHCRED_REST_URL are set but empty, so the server is http://127.0.0.1:14240',
  );
});
