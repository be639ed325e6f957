// Tests the promises of docs/contract.md that are tested nowhere else.
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { BoundCredential, GraphConnection, Sensitive } from '../../src/index.js';
import { bench, cli, temporaryHome } from '../helpers/cli.js';

const put = (home: string, name: string, content: unknown) => {
  const file = path.join(home, name);
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  fs.writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content), { mode: 0o600 });
  return file;
};
const CONFIG = '.config/graphcred/config.json';

// holds: C2.21
test('login at a new address replaces the old one as a whole, drops the credentials and says so', async () => {
  const { run, home, sandbox } = await bench();
  const old = {
    host: 'http://old.example.com',
    restPort: 1,
    gsqlPort: 2,
    serverVersion: '3.2.0',
    username: 'ada',
    graph: 'demo',
    secretCommand: ['get-old-secret'],
  };
  const file = put(home, CONFIG, { profiles: { dev: old } });
  const { status, stderr, stdout } = await run('login -p dev');
  expect(status).toBe(0);
  const { dev } = JSON.parse(fs.readFileSync(file, 'utf8')).profiles;
  expect(dev).toMatchObject({ gsqlUrl: sandbox.gsqlUrl, restUrl: sandbox.restUrl, graph: 'demo' });
  for (const key of ['host', 'restPort', 'gsqlPort', 'serverVersion', 'secretCommand'])
    expect(dev).not.toHaveProperty(key);
  expect(stdout + stderr).toMatch(/secretCommand/);
});

// holds: C2.25
test('dropping many secrets may take longer than the time limit of one request, and shows the progress', async () => {
  const { run, sandbox } = await bench();
  const aliases = ['a', 'b', 'c', 'd', 'e'];
  for (const alias of aliases) await run(`secret create ${alias}`);
  sandbox.addFault({ action: 'delay', ms: 300, route: '/gsqlserver/gsql/file' });
  const { status, stderr } = await run(['secret', 'drop', ...aliases, '--yes', '--timeout', '1'], {
    stderrTerminal: true,
  });
  expect(status).toBe(0);
  expect(stderr).toContain('dropping secret 5 of 5');
});

// holds: C3.6
test('--host without a scheme is exit 2 and shows both spellings', async () => {
  const { status, stderr } = await cli(temporaryHome(), ['token', 'get', '--host', 'db.example.com']);
  expect(status).toBe(2);
  expect(stderr).toMatch(/https:\/\/db\.example\.com or http:\/\/db\.example\.com/);
});

// holds: C3.12
test('the config file is looked for in the folder and its parents up to the home folder, then in the home folder, then in the config folder', async () => {
  const home = temporaryHome();
  const project = path.join(home, 'code/project');
  const sub = path.join(project, 'deep/down');
  fs.mkdirSync(sub, { recursive: true });
  const found = async (cwd: string, env = {}) =>
    JSON.parse((await cli(home, ['config', 'show', '-o', 'json'], { cwd, env })).stdout).file;
  expect(await found(sub)).toBe(null);
  const xdg = put(home, 'elsewhere/graphcred/config.yaml', 'graph: a');
  expect(await found(sub, { XDG_CONFIG_HOME: path.join(home, 'elsewhere') })).toBe(xdg);
  const user = put(home, CONFIG, { graph: 'b' });
  expect(await found(sub)).toBe(user);
  const own = put(home, '.graphcredrc', 'graph: c');
  expect(await found(sub)).toBe(own);
  const near = put(home, 'code/project/.graphcredrc.json', { graph: 'd' });
  // A file that was not approved is ignored.
  expect(await found(sub)).toBe(own);
  await cli(home, ['config', 'trust'], { cwd: sub });
  expect(await found(sub)).toBe(near);
  expect(await found(home)).toBe(own);
});

// holds: C3.16
test.each([
  ['config path', 3, /not trusted/],
  ['config show', 0, /not trusted/],
  // `doctor` makes all checks, and then exits with the status of the first failure.
  ['doctor', 5, /not trusted[\s\S]*store/],
  ['completion bash', 0, /complete .*graphcred/],
  ['help', 0, /Usage: graphcred/],
])('%s ignores an untrusted file and exits %i', async (line, expected, told) => {
  const home = temporaryHome();
  put(home, 'cloned/.graphcredrc', 'host: http://evil.example.com');
  const env = { GRAPHCRED_GSQL_URL: 'http://127.0.0.1:1', GRAPHCRED_REST_URL: 'http://127.0.0.1:1' };
  const { status, stdout, stderr } = await cli(home, line.split(' '), {
    cwd: path.join(home, 'cloned'),
    env,
  });
  expect(status).toBe(expected);
  expect(stderr + stdout).toMatch(told);
});

// holds: C4.3
test.each(['3.10.1', '4.1.2'])(
  'on %s a saved secret mints tokens, and the saved password logs in for secret commands',
  async (serverVersion) => {
    const { run, sandbox } = await bench({ serverVersion });
    const addresses = {
      GRAPHCRED_REST_URL: '',
      GRAPHCRED_GSQL_URL: '',
      GRAPHCRED_USERNAME: '',
      GRAPHCRED_PASSWORD: '',
    };
    expect((await run('login -p dev --save-password')).status).toBe(0);
    expect((await run('secret create ci --save -p dev', { env: addresses })).status).toBe(0);
    const sent = sandbox.requests.length;
    expect((await run('token get --fresh -p dev', { env: addresses })).status).toBe(0);
    expect((await run('secret list -p dev', { env: addresses })).status).toBe(0);
    const later = sandbox.requests.slice(sent).filter(({ path: route }) => !route.endsWith('/version'));
    expect(later[0]?.fields).toContain('secret');
    expect(later[0]?.login).toBe('none');
    expect(later.at(-1)?.login).toBe('basic');
  },
);

// holds: C3.2, C5.6
test('the store is that of the option, else the one that login recorded, else none in CI, else the keychain', async () => {
  const { run } = await bench();
  const store = async (env: Record<string, string>, ...flags: string[]) =>
    JSON.parse(
      (await run(['status', '--offline', '-o', 'json', ...flags], { env: { GRAPHCRED_STORE: '', ...env } }))
        .stdout,
    ).store;
  expect(await store({ CI: 'true' })).toBe('none');
  for (const CI of ['', '0', 'false']) expect(await store({ CI })).toBe('keychain');
  expect(await store({ CI: 'true' }, '--store', 'file')).toBe('file');
  expect((await run('login -p dev --store file', { env: { GRAPHCRED_STORE: '' } })).status).toBe(0);
  expect(await store({ CI: 'true' })).toBe('file');
  expect(await store({}, '--store', 'none')).toBe('none');
});

// holds: C6.4, C6.10, C6.11
test('the JSON documents have the keys of the table in the contract', async () => {
  const { run } = await bench();
  const page = fs.readFileSync('docs/contract.md', 'utf8');
  const promised = (command: string) => {
    const row = page.split('\n').find((line) => line.startsWith(`| \`${command}\``)) ?? '';
    return [...(row.split(' | ')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, key]) => key as string);
  };
  const lines: [string, string, string][] = [
    ['token get', 'token get', ''],
    ['token list', 'token list', 'tokens'],
    ['token check', 'token check', ''],
    ['secret create', 'secret create a', ''],
    ['secret create', 'secret create b --save', ''],
    ['secret list', 'secret list', 'secrets'],
    ['secret rotate', 'secret rotate b', ''],
    ['secret drop', 'secret drop a --yes', ''],
    ['status', 'status', ''],
    ['config show', 'config show', 'settings'],
    ['doctor', 'doctor', 'checks'],
    ['token delete', 'token delete', ''],
  ];
  for (const [command, line, list] of lines) {
    const { stdout } = await run(`${line} -o json`);
    const { schemaVersion, ...document } = JSON.parse(stdout);
    expect({ line, schemaVersion }).toEqual({ line, schemaVersion: 1 });
    const keys = [...Object.keys(document), ...Object.keys(list === '' ? {} : document[list][0])];
    expect(promised(command), line).toEqual(expect.arrayContaining(keys));
  }
  const { stderr } = await run('secret drop nobody --yes -o json');
  expect(stderr.trim()).toMatch(/^\{"error":\{.*\}\}$/);
  expect(Object.keys(JSON.parse(stderr).error)).toEqual(['code', 'message', 'hint', 'exitCode', 'retryable']);
});

// holds: C9.2
test('no file of the library uses the console, the environment, files, prompts or another process', () => {
  const files = fs
    .readdirSync('src/core', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.join('src/core', name));
  expect(files.length).toBeGreaterThan(20);
  for (const file of [...files, 'src/index.ts']) {
    const text = fs.readFileSync(file, 'utf8');
    expect({
      file,
      found: text.match(
        /\bconsole\.|\bprocess\.(?!versions?\b|getBuiltinModule\b|uptime\b)\w+|'node:(?:fs|readline|child_process|os|tty).*'/g,
      ),
    }).toEqual({
      file,
      found: null,
    });
  }
});

test('the options of the sandbox apply to its servers', async () => {
  const home = temporaryHome();
  const state = path.join(home, 'state.json');
  const seen = path.join(home, 'seen');
  const script = `
    const at = process.env.GRAPHCRED_GSQL_URL;
    const login = { authorization: 'Basic ' + btoa('ada:pw') };
    const mint = { method: 'POST', headers: login, body: '{"lifetime":"600000","graph":"social"}' };
    (async () => {
      const ping = (await fetch(at + '/api/ping')).status;
      const open = (await fetch(at + '/restpp/echo')).status;
      const listed = await (await fetch(at + '/gsql/v1/secrets', { headers: login })).json();
      const off = await (await fetch(at + '/gsql/v1/tokens', mint)).json();
      require('fs').writeFileSync(${JSON.stringify(seen)}, JSON.stringify({ ping, open, listed, off }));
    })();`;
  const options = [
    ...['--server-version', '4.1.2', '--rest-auth', 'off', '--user', 'ada:pw:admin', '--graph', 'social'],
    ...['--secret', `ci:${'a'.repeat(32)}:ada:social`, '--state', state, '--lifetime-unit', 'ms'],
    ...['--fault', 'route=/api/ping,action=status,status=503'],
  ];
  const argv = ['sandbox', ...options, '-v', '--', process.execPath, '-e', script];
  const { status, stderr } = await cli(home, argv);
  expect({ status, stderr }).toMatchObject({
    status: 0,
    stderr: expect.stringContaining('"path":"/api/ping"'),
  });
  const { ping, open, listed, off } = JSON.parse(fs.readFileSync(seen, 'utf8'));
  expect({ ping, open, code: off.code }).toEqual({ ping: 503, open: 200, code: 'REST-1000' });
  expect(listed.results).toEqual([{ alias: 'ci', value: 'a'.repeat(32) }]);
  // The sandbox starts again with the same state, and counts lifetimes in milliseconds: 600,000 are ten minutes.
  const again = ['sandbox', '--server-version', '4.1.2', '--state', state, '--lifetime-unit', 'ms', '--'];
  expect((await cli(home, [...again, process.execPath, '-e', script])).status).toBe(0);
  const { off: made } = JSON.parse(fs.readFileSync(seen, 'utf8'));
  const { exp, iat } = JSON.parse(Buffer.from(made.token.split('.')[1], 'base64url').toString());
  expect(exp - iat).toBe(605);
});

test.each([
  ['--rest-auth', 'maybe'],
  ['--lifetime-unit', 'h'],
  ['--fault', 'action=explode'],
])('sandbox %s %s is exit 2', async (...argv) => {
  const { status, stdout, stderr } = await cli(temporaryHome(), ['sandbox', ...argv, '--', 'true']);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toContain('hint: ');
});

test.each(['-v', '--verbose'])('%s shows each request, without a credential', async (flag) => {
  const { run } = await bench();
  const { stderr } = await run(['token', 'get', flag]);
  expect(stderr).toContain('POST');
  expect(stderr).not.toContain('"tigergraph"');
});

test('noInput and output can be set in a profile', async () => {
  const home = temporaryHome();
  put(home, CONFIG, { profiles: { default: { noInput: true, output: 'json' } } });
  const { stdout } = await cli(home, ['config', 'show']);
  const { settings } = JSON.parse(stdout) as { settings: { name: string; value: string; source: string }[] };
  expect(settings.filter(({ name }) => name === 'noInput' || name === 'output')).toEqual([
    expect.objectContaining({ name: 'output', value: 'json', source: 'profile default' }),
    expect.objectContaining({ name: 'noInput', value: 'true', source: 'profile default' }),
  ]);
});

test.each(['-d', '--data'])('api %s sends the body', async (flag) => {
  const { run, sandbox } = await bench();
  expect((await run(['api', '/echo', flag, '{}'])).status).toBe(0);
  expect(sandbox.requests.at(-1)).toMatchObject({ method: 'POST', path: '/echo' });
});

test('keepRefusal makes the library return a refusal with its answer, and toJSON shows no credential', async () => {
  const { sandbox } = await bench();
  const { restUrl, gsqlUrl } = sandbox;
  const connection = new GraphConnection({ restUrl, gsqlUrl, apiToken: 'a'.repeat(32), serverVersion: '3' });
  await expect(connection.rest('GET', '/echo')).rejects.toMatchObject({ code: 'AUTH_FAILED' });
  const { status, body, refusal } = await connection.rest('GET', '/echo', { keepRefusal: true });
  expect({ status, code: refusal?.code }).toEqual({ status: 403, code: 'AUTH_FAILED' });
  expect(body).toContain('REST-10016');
  const secret = new Sensitive('a'.repeat(32));
  for (const one of [secret, new BoundCredential(secret, { restUrl, gsqlUrl })])
    expect(one.toJSON()).toBe('[redacted]');
});
