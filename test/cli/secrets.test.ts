import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { listEntries } from '../../src/store/records.js';
import { bench, interruptedAt } from '../helpers/cli.js';
import { configure, put, secretFiles, stateOf } from '../helpers/home.js';

/** Without the password, a token can be minted only from a saved secret. */
const SAVED_ONLY = { env: { GRAPHCRED_PASSWORD: '' } };

async function holdings(options: Parameters<typeof bench>[0] = {}) {
  const made = await bench({
    users: [
      { name: 'tigergraph', password: 'tigergraph', role: 'superuser' },
      { name: 'ann', password: 'ann-pw', role: 'admin' },
    ],
    graphs: ['demo', 'other'],
    ...options,
  });
  const names = new Map<unknown, string>();
  /** Returns whose tokens are stored; a saved secret is named by its user and alias. */
  const principals = async () => {
    for (const { record } of listEntries(stateOf(made.home))) {
      if (record.kind !== 'secret') continue;
      const { id, username, alias } = record.info;
      names.set(id, `${username}/${alias}`);
    }
    const { tokens } = await made.json<{ tokens: { principal: string; graph: string }[] }>('token list');
    return tokens.map(({ principal, graph }) => `${names.get(principal) ?? principal} on ${graph}`).sort();
  };
  return { ...made, principals };
}

describe.each(['3.10.1', '4.1.2'])('secret drop on %s', (serverVersion) => {
  // holds: C2.29
  test('deletes the saved value and the tokens that end with it, and nothing else', async () => {
    const { run, principals } = await holdings({ serverVersion });
    await run('secret create keep --save');
    await run('token get', SAVED_ONLY);
    await run('secret create ci --save');
    await run('token get --secret-alias ci', SAVED_ONLY);
    await run('token get --secret-alias ci --lifetime 1h', SAVED_ONLY);
    await run('token get');
    expect(await principals()).toEqual([
      'tigergraph/ci on demo',
      'tigergraph/ci on demo',
      'tigergraph/keep on demo',
      'user:tigergraph on demo',
    ]);
    const dropped = await run('secret drop ci -o json');
    expect(dropped).toMatchObject({
      status: 0,
      stdout: '{"schemaVersion":1,"dropped":["ci"],"missing":[],"dryRun":false}\n',
    });
    const outlive = serverVersion.startsWith('4');
    expect(dropped.stderr.includes('2 tokens made from the secret "ci" can still be used until')).toBe(
      outlive,
    );
    expect((await principals()).filter((name) => name === 'tigergraph/ci on demo')).toHaveLength(
      outlive ? 2 : 0,
    );
    expect(await principals()).toEqual(
      expect.arrayContaining(['tigergraph/keep on demo', 'user:tigergraph on demo']),
    );
    // The secret that was saved earlier is used again, and not a value that the server no longer accepts.
    expect((await run('token get --fresh', SAVED_ONLY)).status).toBe(0);
  });

  test('by a secret drops that secret last, so that the others can be dropped', async () => {
    const { run } = await holdings({ serverVersion });
    await run('secret create ci --save');
    await run('secret create other');
    expect(await run('secret drop ci other nowhere --yes', SAVED_ONLY)).toMatchObject({
      status: 10,
      stdout: 'Dropped: other, ci\n',
      stderr: expect.stringContaining('No such secret: nowhere.'),
    });
  });

  test('of a secret that no longer exists deletes what is stored of it', async () => {
    const { run, principals } = await holdings({ serverVersion });
    await run('secret create ci --save');
    await run('token get', SAVED_ONLY);
    // The secret is dropped from elsewhere: by another machine, or by a process that was killed before it deleted the saved value.
    await run('secret drop ci --store none');
    expect(await principals()).toHaveLength(1);
    expect((await run('secret drop ci')).status).toBe(3);
    expect(await principals()).toHaveLength(serverVersion.startsWith('4') ? 1 : 0);
    expect((await run('token get', SAVED_ONLY)).status).toBe(2);
  });
});

test.each([
  ['3.10.1', 10, /^graphcred: "a b" was not dropped: .* cannot be written in a GSQL statement/m],
  ['4.1.2', 0, /^graphcred: tokens not stored here stay valid until revoked or expired\n$/],
])(
  'on %s secret drop of an alias with a blank, which no GSQL statement can name, is exit %d, and drops the others',
  async (serverVersion, status, stderr) => {
    const secret = {
      alias: 'a b',
      value: 'k3v9q2m8x1c7b5n4l6h0g3f2d8s9a1p4',
      user: 'tigergraph',
      graph: 'demo',
    };
    const { run, sandbox } = await bench({ serverVersion, secrets: [secret] });
    expect((await run('secret create good')).status).toBe(0);
    const dropped = await run(['secret', 'drop', 'a b', 'good', '--yes']);
    expect(dropped).toMatchObject({ status, stderr: expect.stringMatching(stderr) });
    expect((await run('secret list')).stdout).not.toContain('good');
    // A job that cleans up again is told that nothing is there.
    expect((await run(['secret', 'drop', 'x y', 'good', '--yes', '--ignore-missing'])).status).toBe(0);
    expect((await run(['secret', 'drop', 'x y', 'good', '--yes'])).status).toBe(2);
    // Nothing was sent for the name that is not listed.
    const deletes = sandbox.requests.filter(({ method }) => method === 'DELETE');
    expect(deletes).toHaveLength(serverVersion === '4.1.2' ? 3 : 0);
  },
);

test('secret drop --revoke revokes and forgets what is saved in another store than that in force', async () => {
  const { run, json } = await bench({ serverVersion: '4.1.2' });
  await run('secret create ci --save');
  const { token } = await json<{ token: string }>('token get', SAVED_ONLY);
  const env = { GRAPHCRED_STORE: undefined };
  expect((await run('secret drop ci --revoke', { env })).status).toBe(0);
  expect((await run('token check --token-stdin', { stdin: token })).status).toBe(4);
  expect(await json('token list')).toMatchObject({ tokens: [] });
  expect((await run('token get', SAVED_ONLY)).status).toBe(2);
});

test('secret drop deletes the tokens of a saved secret whose alias was unknown, too', async () => {
  const { run, json, principals } = await holdings({ serverVersion: '3.6.1' });
  const { secret } = await json<{ secret: string }>('secret create ci');
  expect((await run('login -p dev --secret-stdin', { stdin: secret, ...SAVED_ONLY })).status).toBe(0);
  expect((await run('token get', SAVED_ONLY)).status).toBe(0);
  expect(await principals()).toEqual(['tigergraph/undefined on demo']);
  expect((await run('secret drop ci --revoke')).status).toBe(0);
  expect(await principals()).toEqual([]);
  expect((await run('token get', { env: { GRAPHCRED_GRAPH: 'other', ...SAVED_ONLY.env } })).status).toBe(2);
});

test('a secret of the same name on another graph stays on 3.x, with its tokens', async () => {
  const { run, principals } = await holdings();
  const other = { env: { GRAPHCRED_GRAPH: 'other' } };
  await run('secret create ci --save', other);
  await run('token get', { env: { ...other.env, ...SAVED_ONLY.env } });
  await run('secret create ci --save');
  expect((await run('secret drop ci')).status).toBe(0);
  expect(await principals()).toEqual(['tigergraph/ci on other']);
});

test('on 3.x a token that was minted from the secret without a graph is deleted too', async () => {
  const { run, principals } = await holdings();
  await run('secret create ci --save');
  await run('token get', { env: { GRAPHCRED_GRAPH: '', ...SAVED_ONLY.env } });
  expect(await principals()).toEqual(['tigergraph/ci on null']);
  expect((await run('secret drop ci')).status).toBe(0);
  expect(await principals()).toEqual([]);
});

// holds: C2.41
test('a secret of the same name that was saved for another server stays', async () => {
  const { run, sandbox } = await holdings();
  const elsewhere = {
    env: {
      GRAPHCRED_GSQL_URL: sandbox.gsqlUrl.replace('127.0.0.1', 'localhost'),
      GRAPHCRED_REST_URL: sandbox.restUrl.replace('127.0.0.1', 'localhost'),
    },
  };
  expect(await run('secret create ci --save', elsewhere)).toMatchObject({ status: 0 });
  expect((await run('secret drop ci')).status).toBe(0);
  // The server has dropped it, so only a refusal shows that its value is still saved for the other name.
  const refused = await run('token get', { env: { ...elsewhere.env, ...SAVED_ONLY.env } });
  expect(refused.stderr).toContain(' refused the secret "ci" saved on this machine.');
});

test('on 4.x a secret belongs to no graph, so what is saved for any graph is deleted', async () => {
  const { run, principals } = await holdings({ serverVersion: '4.1.2' });
  await run('secret create ci --save', { env: { GRAPHCRED_GRAPH: 'other' } });
  await run('token get', { env: { GRAPHCRED_GRAPH: 'other', ...SAVED_ONLY.env } });
  expect((await run('secret drop ci --revoke')).status).toBe(0);
  expect(await principals()).toEqual([]);
});

test('on 4.x a login with bob’s secret drops bob’s ci, and deletes no secret of that name from the store', async () => {
  const users = [
    { name: 'tigergraph', password: 'tigergraph', role: 'superuser' as const },
    { name: 'bob', password: 'bob', role: 'superuser' as const },
  ];
  const b = await bench({ serverVersion: '4.1.2', users });
  await b.run('secret create ci --save');
  const bob = { GRAPHCRED_USERNAME: 'bob', GRAPHCRED_PASSWORD: 'bob' };
  const made = await b.run('secret create ci -o json', { env: bob });
  const { secret } = JSON.parse(made.stdout) as { secret: string };
  const asBob = { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '', GRAPHCRED_SECRET: secret };
  await b.run('secret drop ci', { env: asBob });
  expect(secretFiles(b.home)).toHaveLength(1);
});

// holds: C2.29
test.each([
  ['drop', 1],
  ['drop --revoke', 0],
  ['rotate', 1],
  ['rotate --revoke', 0],
])('on 4.x secret %s by that secret itself leaves %i tokens, and names them', async (command, left) => {
  const { run, json, principals } = await holdings({ serverVersion: '4.1.2' });
  const { secret } = await json<{ secret: string }>('secret create ci');
  const env = { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '', GRAPHCRED_SECRET: secret };
  await run('token get', { env });
  const { stderr } = await run(`secret ${command} ci`, { env });
  expect(stderr.includes('1 token made from the secret "ci" can still be used until')).toBe(left > 0);
  expect(await principals()).toHaveLength(left);
});

// holds: C2.8
test('secret drop drops what it can: exit 10 if some aliases were unknown or failed, 3 if all were unknown, 0 with --ignore-missing', async () => {
  const { run, sandbox } = await bench();
  for (const alias of ['one', 'two', 'three']) await run(`secret create ${alias}`);
  sandbox.addFault({ route: '/gsqlserver/gsql/file', nth: 2, action: 'status', status: 500 });
  const failed = await run('secret drop two three --yes');
  expect(failed).toMatchObject({ status: 10, stdout: 'Dropped: three\n' });
  expect(failed.stderr).toMatch(
    /^graphcred: "two" was not dropped: .*\nhint: check the server and its address: graphcred doctor; see the secrets: /,
  );
  expect(await run('secret drop one none -o json')).toMatchObject({
    status: 10,
    stdout: '{"schemaVersion":1,"dropped":["one"],"missing":["none"],"dryRun":false}\n',
  });
  expect((await run('secret drop none')).status).toBe(3);
  expect((await run('secret drop none --skip-missing')).status).toBe(0);
});

// holds: C2.43
test('a secret that is saved here stays when a colleague’s of the same name is dropped', async () => {
  const made = await holdings({ serverVersion: '4.2.0' });
  expect((await made.run('secret create ci --save')).status).toBe(0);
  const own = secretFiles(made.home);
  expect(own.length).toBe(1);
  expect((await made.run('secret create ci --owner ann')).status).toBe(0);
  expect((await made.run('secret drop ci --owner ann --revoke')).status).toBe(0);
  expect(secretFiles(made.home)).toEqual(own);
});

// holds: C3.21
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

test('a new secret whose generated name cannot be found out is printed without a name', async () => {
  const { run, sandbox } = await bench();
  sandbox.addFault({ action: 'drop-before', route: '/gsqlserver/gsql/file', nth: 3 });
  const { status, stderr } = await run('secret create');
  expect(status).toBe(0);
  expect(stderr).toContain('the new secret (named in "secret list"): this is the only time');
});

test('after Ctrl-C secret drop tries no other secret, and names those', async () => {
  const { run } = await interruptedAt('DELETE /gsql/v1/secrets', { serverVersion: '4.1.2' });
  const { status, stderr } = await run('secret drop a b c --yes');
  expect(status).toBe(130);
  expect(stderr).toContain('"a" may have been dropped: ');
  expect(stderr).toContain('Not tried, or not dropped: b, c.');
});

const MADE = 'A token may have been made; it stays valid until it expires.\n';

// holds: C2.24
test.each([
  ['3.10.1', 'token get', 'POST /requesttoken', MADE],
  ['4.1.2', 'token get', 'POST /gsql/v1/tokens', `${MADE}hint: a secret may have been made too`],
  [
    '3.10.1',
    'token refresh --token-stdin',
    'PUT /requesttoken',
    'The token may have another end now.\nhint: to see it: graphcred token check\n',
  ],
  ['3.10.1', 'exec -- true', 'POST /requesttoken', MADE],
])('after Ctrl-C on %s, %s tells what may have been done', async (serverVersion, line, route, told) => {
  const { run } = await interruptedAt(route, { serverVersion });
  const { status, stderr } = await run(line, { stdin: 't'.repeat(32) });
  expect(status).toBe(130);
  expect(stderr).toContain(told);
  expect(stderr).not.toContain('complete');
  expect(stderr.includes('4.x') || (serverVersion[0] === '3' && stderr.includes('secret prune'))).toBe(false);
});

// holds: C2.5, C6.13
test('no alias is printed as a command that the runner of a CI job obeys, and JSON holds it unchanged', async () => {
  const aliases = ['\u0007 ::error::y', '::stop-commands::x', 'a##[add-mask]z', 'b##vso[task.complete]'];
  const secrets = aliases.map((alias) => ({
    alias,
    value: 'v'.repeat(32),
    user: 'tigergraph',
    graph: 'demo',
  }));
  const { run } = await bench({ secrets, serverVersion: '4.1.2' });
  const { stdout } = await run('secret list');
  expect(stdout).toContain('\\::stop-commands::x');
  expect(stdout).toContain('\\::error::y');
  const document = (await run('secret list -o json')).stdout;
  expect(JSON.parse(document).secrets.map(({ alias }: { alias: string }) => alias)).toEqual([
    ' ::error::y',
    ...aliases.slice(1),
  ]);
  const { stdout: dropped, stderr } = await run('secret drop a##[add-mask]z -q');
  expect(stderr).toBe('');
  expect(dropped).toContain('Dropped: a#');
  expect(stdout + document + dropped).not.toMatch(/^\s*::|##(?:vso)?\[/m);
});

test('secret list does not mark a secret whose saved value it cannot compare', async () => {
  const { run } = await bench({ serverVersion: '3.6.1' });
  const stdin = (await run('secret create ci')).stdout;
  expect((await run('login -p dev --secret-stdin', { stdin })).status).toBe(0);
  expect((await run('secret list')).stdout).toMatch(/^ci .* here$/m);
  const env = { GRAPHCRED_STORE_KEY: Buffer.alloc(32, 7).toString('base64') };
  expect((await run('secret list', { env })).stdout).toMatch(/^ci .* -$/m);
});

test('prune goes on although a config file that this folder hides, or the folder itself, cannot be used', async () => {
  const { run, json, home } = await bench();
  await run('secret create');
  const own = put(home, 'own.json', '{}');
  configure(home, '{"profiles":7}');
  for (const name of ['.graphcredrc', '.graphcredrc.json']) put(home, name, '{}');
  const { dropped } = await json<{ dropped: string[] }>(`secret prune --dry-run --config ${own}`);
  expect(dropped).toHaveLength(1);
});

test('prune drops nothing while a saved secret that it cannot read may be one of these', async () => {
  const { run, json } = await bench({ serverVersion: '3.6.1' });
  const { secret } = await json<{ secret: string }>('secret create');
  // Before 3.6.2 the alias of a given secret is not known.
  expect((await run('login -p dev --secret-stdin', { stdin: secret })).status).toBe(0);
  expect(await json('secret prune --dry-run')).toMatchObject({ dropped: [] });
  const env = { GRAPHCRED_STORE_KEY: Buffer.alloc(32, 7).toString('base64') };
  expect(await run('secret prune --yes', { env })).toMatchObject({
    status: 6,
    stdout: '',
    stderr: expect.stringMatching(/^graphcred: Nothing was dropped: .*\nhint: put the old store key back/m),
  });
});

test.skipIf(process.platform === 'win32')(
  'prune reads a store key once, which may come through a pipe, for all saved secrets',
  async () => {
    const { run, json, home } = await bench({ serverVersion: '3.6.1' });
    const key = Buffer.alloc(32, 7).toString('base64');
    for (const profile of ['one', 'two']) {
      const { secret } = await json<{ secret: string }>('secret create');
      await run(`login -p ${profile} --secret-stdin`, { stdin: secret, env: { GRAPHCRED_STORE_KEY: key } });
    }
    const pipe = path.join(home, 'key');
    execFileSync('mkfifo', ['-m', '600', pipe]);
    const writer = spawn('sh', ['-c', 'printf %s "$KEY" > "$PIPE"'], { env: { KEY: key, PIPE: pipe } });
    onTestFinished(() => void writer.kill());
    const env = { GRAPHCRED_STORE_KEY_FILE: pipe };
    expect(await json('secret prune --dry-run --timeout 5', { env })).toMatchObject({ dropped: [] });
  },
);

test('prune keeps a secret that a variable of other servers holds, with the line end of a file', async () => {
  const { json, run, sandbox } = await bench();
  const { secret } = await json<{ secret: string }>('secret create');
  const line = `secret prune --dry-run -o json --gsql-url ${sandbox.gsqlUrl} --rest-url ${sandbox.restUrl} --graph demo -u tigergraph --password-stdin`;
  const env = { GRAPHCRED_GSQL_URL: 'http://other.example', GRAPHCRED_SECRET: `${secret}\n` };
  expect(JSON.parse((await run(line, { env, stdin: 'tigergraph' })).stdout)).toMatchObject({ dropped: [] });
});

test('prune keeps a secret whose file a variable of other servers names, and shows no value that stands there', async () => {
  const { run, json, home, sandbox } = await bench();
  const { secret } = await json<{ secret: string }>('secret create');
  const login = `--graph demo -u tigergraph --password-file ${put(home, 'password.txt', 'tigergraph')}`;
  const line = `secret prune --dry-run -o json --gsql-url ${sandbox.gsqlUrl} --rest-url ${sandbox.restUrl} ${login}`;
  const prune = (file: string) =>
    run(line, { env: { GRAPHCRED_GSQL_URL: 'http://other.example', GRAPHCRED_SECRET_FILE: file } });
  expect(JSON.parse((await prune(put(home, 'secret.txt', secret))).stdout)).toMatchObject({ dropped: [] });
  const { status, stdout, stderr } = await prune(secret);
  expect(status).toBe(2);
  expect(stdout + stderr).not.toContain(secret);
});

test('prune needs no folder of stored values', async () => {
  const { run, json, home } = await bench();
  await run('secret create --store none');
  const { dropped } = await json<{ dropped: string[] }>('secret prune --dry-run --store none');
  expect(dropped).toHaveLength(1);
  expect(fs.existsSync(stateOf(home))).toBe(false);
});

test('prune is not held up by a saved secret that it cannot read if its alias is known', async () => {
  const { run } = await bench();
  await run('secret create ci --save');
  await run('secret create');
  // A token is no secret, so it need not be read.
  await run('token get');
  const env = { GRAPHCRED_STORE_KEY: Buffer.alloc(32, 7).toString('base64') };
  const { status, stdout } = await run('secret prune --yes', { env });
  expect({ status, stdout }).toEqual({
    status: 0,
    stdout: expect.stringMatching(/^Dropped: AUTO_GENERATED_/),
  });
});

test('prune drops nothing while a stored file may belong to a secret and cannot be read', async () => {
  const { run, home } = await bench();
  await run('secret create');
  await run('secret create ci --save');
  put(home, `.local/state/graphcred/secret-${'0'.repeat(32)}.json`, 'no JSON');
  expect(await run('secret prune --yes')).toMatchObject({
    status: 10,
    stdout: '',
    stderr: expect.stringContaining('Not all of the store could be read'),
  });
});

// holds: C2.13
test('prune names the profile of this server whose secretCommand it did not run', async () => {
  const { run, home, sandbox } = await bench();
  await run('secret create');
  const secretCommand = ['never-run'];
  const profiles = { job: { gsqlUrl: sandbox.gsqlUrl, secretCommand }, away: { secretCommand } };
  configure(home, { profiles });
  expect((await run('secret prune --dry-run')).stderr).toContain(
    'profile "job" may use one of these secrets; to check, look for the value that its secretCommand prints',
  );
});

test.each<[string, object]>([
  ['.config/graphcred/config.json', { secretFile: '~/all.secret', profiles: {} }],
  ['.graphcredrc', { profiles: { other: { secretFile: '~/all.secret' } } }],
])('prune spares a secret of ~/%s while --config names another file', async (name, content) => {
  const { json, home, run } = await bench();
  const { secret } = await json<{ secret: string }>('secret create');
  await run('secret create');
  put(home, 'all.secret', `${secret}\n`);
  put(home, name, content);
  const other = put(home, 'other.json', '{}');
  const { dropped } = await json<{ dropped: string[] }>(`secret prune --dry-run --config ${other}`);
  expect(dropped).toHaveLength(1);
});
