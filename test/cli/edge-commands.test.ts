import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseFault } from '../../src/sandbox/args.js';
import { stageEntry } from '../../src/store/records.js';
import { absentRedis, bench, cli, temporaryHome } from '../helpers/cli.js';

const stateOf = (home: string) => path.join(home, '.local/state/graphcred');
const configOf = (home: string) => path.join(home, '.config/graphcred/config.json');
const write = (file: string, text: string) => {
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  fs.writeFileSync(file, text, { mode: 0o600 });
};
const PROFILES = {
  defaultProfile: 'dev',
  profiles: { dev: { host: 'http://127.0.0.1' }, prod: { host: 'https://graph.example.com' } },
};

describe('secret drop', () => {
  test('drops an alias that is named twice once, which is no error', async () => {
    const { run, json } = await bench();
    await run('secret create ci');
    expect(await json('secret drop ci ci')).toMatchObject({ dropped: ['ci'], missing: [] });
    expect((await run('secret drop ci ci')).status).toBe(3);
  });

  test('drops a listed secret whose name graphcred would not give, and nothing if one of the names is unknown', async () => {
    const value = 'v'.repeat(32);
    const secrets = ['ci-prod', 'ci'].map((alias) => ({ alias, value, user: 'tigergraph', graph: 'demo' }));
    const { run, requests } = await bench({ secrets });
    expect((await run('secret drop ci-prod ci other-one --yes')).status).toBe(2);
    const { stdout } = await run('secret list');
    expect([...stdout.matchAll(/^ci\S*/gm)].map(([alias]) => alias)).toEqual(['ci', 'ci-prod']);
    requests();
    const refused = await run('secret rotate ci-prod');
    expect({ status: refused.status, requests: requests() }).toEqual({ status: 2, requests: [] });
    expect((await run('secret drop ci-prod')).stdout).toBe('Dropped: ci-prod\n');
  });

  test('asks the server nothing about an alias that is longer than any', async () => {
    const { run, requests } = await bench();
    expect((await run(['secret', 'drop', 'ä'.repeat(129)])).status).toBe(2);
    expect(requests()).toEqual([]);
  });
});

test('secret list marks the secrets that are saved here, and no others', async () => {
  const { run } = await bench();
  await run('secret create kept --save');
  await run('secret create other');
  const { stdout } = await run('secret list');
  expect(stdout).toMatch(/^kept .* here$/m);
  expect(stdout).toMatch(/^other .* -$/m);
});

// holds: C2.5
test('secret list in CI prints no alias as a command that the runner of the job obeys', async () => {
  const secrets = ['::stop-commands::x', '\u0007 ::error::y', 'a##[add-mask]z'].map((alias) => ({
    alias,
    value: 'v'.repeat(32),
    user: 'tigergraph',
    graph: 'demo',
  }));
  const { run } = await bench({ secrets });
  const { stdout } = await run('secret list', { env: { CI: 'true' } });
  expect(stdout).toContain('\\::stop-commands::x');
  expect(stdout).toContain('\\::error::y');
  expect(stdout).not.toMatch(/^\s*::|##\[/m);
});

test('secret list without secrets prints a note for people, which on 4.x names no graph, as a secret belongs to none', async () => {
  const { run } = await bench({ serverVersion: '4.1.2' });
  const stderr = 'graphcred: there are no secrets; make one: graphcred secret create NAME\n';
  expect(await run('secret list')).toEqual({ status: 0, stdout: '', stderr });
});

test('an unknown secret is dropped without a look at saved values that cannot be read', async () => {
  const { run } = await bench();
  const stdin = (await run('secret create ci')).stdout;
  expect((await run('login -p dev --secret-stdin', { stdin })).status).toBe(0);
  const env = { GRAPHCRED_STORE_KEY: Buffer.alloc(32, 7).toString('base64') };
  const { status, stderr } = await run('secret drop nowhere', { env });
  expect(status).toBe(3);
  expect(stderr).not.toContain('could not be removed');
});

test('the folder for credentials needs a folder for the config too', async () => {
  const { run, home } = await bench();
  const env = { XDG_STATE_HOME: path.join(home, 'state') };
  expect(await run('secret create ci --save', { env, homeless: true })).toMatchObject({
    status: 6,
    stderr: expect.stringContaining('There is no home folder, so the file store cannot be used.'),
  });
});

test('a token format that is set for all commands means text where no token is printed', async () => {
  const { run } = await bench();
  await run('secret create ci');
  const { stdout } = await run('secret list');
  for (const GRAPHCRED_OUTPUT of ['env', 'header', 'k8s-secret'])
    expect(await run('secret list', { env: { GRAPHCRED_OUTPUT } })).toMatchObject({ status: 0, stdout });
  expect(await run('secret list', { env: { GRAPHCRED_OUTPUT: 'xml' } })).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('hint: choose one of: text, json'),
  });
});

test('secret list does not mark a secret whose saved value it cannot compare', async () => {
  const { run } = await bench();
  const stdin = (await run('secret create ci')).stdout;
  expect((await run('login -p dev --secret-stdin', { stdin })).status).toBe(0);
  expect((await run('secret list')).stdout).toMatch(/^ci .* here$/m);
  const env = { GRAPHCRED_STORE_KEY: Buffer.alloc(32, 7).toString('base64') };
  expect((await run('secret list', { env })).stdout).toMatch(/^ci .* -$/m);
});

test('secret create --save removes the trial entry that a killed process left', async () => {
  const { run, home } = await bench();
  const key = 'trial entry 1';
  const record = { v: 1, kind: 'secret', key, store: 'file', createdAtUnix: 1, info: {} } as const;
  stageEntry(stateOf(home), { record, sealed: 'x' }).commit();
  expect((await run('secret create ci --save')).status).toBe(0);
  const entries = fs.readdirSync(stateOf(home)).filter((name) => name.startsWith('secret-'));
  expect(entries).toHaveLength(1);
});

test('help of a short form is the help of the command that it stands for', async () => {
  const home = temporaryHome();
  const { status, stdout } = await cli(home, ['help', 'secret', 'rm']);
  expect(status).toBe(0);
  expect(stdout).toBe((await cli(home, ['secret', 'drop', '--help'])).stdout);
});

describe('completion', () => {
  test('offers the profiles of the config file that was typed', async () => {
    const home = temporaryHome();
    write(path.join(home, 'own.json'), '{"profiles":{"mine":{}}}');
    write(configOf(home), '{"profiles":{"usual":{}}}');
    const words = ['__complete', 'status', '--config', path.join(home, 'own.json'), '-p', ''];
    expect((await cli(home, words)).stdout).toBe('mine\n');
  });

  test('offers nothing that would steer the terminal', async () => {
    const home = temporaryHome();
    write(configOf(home), JSON.stringify({ profiles: { dev: { graph: 'a\u001b[31m\nb' } } }));
    const { stdout } = await cli(home, ['__complete', 'profile', 'use', '']);
    expect(stdout).toBe('dev\tgraph a [31m b\n');
  });
});

describe('profiles', () => {
  test('the default one is marked as such, whichever this call uses', async () => {
    const home = temporaryHome();
    write(configOf(home), JSON.stringify(PROFILES));
    const { stdout } = await cli(home, ['profile', 'list', '-o', 'json'], {
      env: { GRAPHCRED_PROFILE: 'prod' },
    });
    const { profiles } = JSON.parse(stdout) as { profiles: { name: string; default: boolean }[] };
    expect(profiles.filter((one) => one.default).map(({ name }) => name)).toEqual(['dev']);
  });

  test('profile use warns that a variable names another profile, and only then', async () => {
    const home = temporaryHome();
    write(configOf(home), JSON.stringify(PROFILES));
    const use = (GRAPHCRED_PROFILE: string) =>
      cli(home, ['profile', 'use', 'prod'], { env: { GRAPHCRED_PROFILE } });
    expect((await use('dev')).stderr).toContain('GRAPHCRED_PROFILE is set to another profile');
    expect((await use('prod')).stderr).toBe('');
  });

  test.each(['use', 'remove'])('profile %s without any config file is NOT_FOUND', async (word) => {
    expect((await cli(temporaryHome(), ['profile', word, 'dev'])).status).toBe(3);
  });

  test('profile use and profile remove give programs what they changed', async () => {
    const home = temporaryHome();
    write(configOf(home), JSON.stringify(PROFILES));
    const json = async (...argv: string[]) => JSON.parse((await cli(home, [...argv, '-o', 'json'])).stdout);
    const file = configOf(home);
    expect(await json('profile', 'use', 'prod')).toEqual({ schemaVersion: 1, defaultProfile: 'prod', file });
    expect(await json('profile', 'remove', 'prod', '--yes')).toEqual({
      schemaVersion: 1,
      removed: 'prod',
      file,
      forgotten: { tokens: 0, secrets: 0, passwords: 0 },
    });
  });

  test('profile remove does not say that the server knows a password that was saved here', async () => {
    const { run } = await bench();
    await run('login -p dev --save-password');
    expect((await run('profile remove dev --yes')).stdout).toMatch(/Forgot 1 password on this machine\.\n$/);
  });

  test.each([
    [{ username: 'tigergraph' }, {}, 'one', true],
    [{ username: 'tigergraph' }, {}, 'two', true],
    [{ username: 'tigergraph' }, { username: 'ann' }, 'one', false],
    [{ username: 'tigergraph' }, { username: 'tigergraph', gsqlUrl: 'http://a:1' }, 'one', false],
    [{ username: 'tigergraph' }, { gsqlUrl: 'http://a:1' }, 'one', false],
  ])('of %j and %j, profile remove of %s keeps the tokens: %s', async (one, two, name, keeps) => {
    const { run, json, home, sandbox } = await bench();
    await run('token get');
    const { restUrl, gsqlUrl } = sandbox;
    const profiles = { one: { restUrl, gsqlUrl, ...one }, two: { restUrl, gsqlUrl, ...two } };
    write(configOf(home), JSON.stringify({ profiles }));
    const { forgotten } = await json<{ forgotten: object }>(`profile remove ${name} --yes`);
    expect(forgotten).toEqual({ tokens: keeps ? 0 : 1, secrets: 0, passwords: 0 });
    expect((await json<{ tokens: unknown[] }>('token list')).tokens).toHaveLength(keeps ? 1 : 0);
  });

  test('profile remove spares what belongs to a user whom only a variable names', async () => {
    const { run, json, home, sandbox } = await bench();
    await run('token get');
    const { restUrl, gsqlUrl } = sandbox;
    const profiles = { old: { restUrl, gsqlUrl, username: 'somebody' } };
    write(configOf(home), JSON.stringify({ profiles }));
    expect((await run('profile remove old --yes')).status).toBe(0);
    expect((await json<{ tokens: unknown[] }>('token list')).tokens).toHaveLength(1);
  });
});

describe('config', () => {
  test('path prints a name as it is to a pipe, and on one line to a terminal', async () => {
    const home = temporaryHome();
    const file = path.join(home, 'odd\u001b[31mname.json');
    write(file, '{}');
    const run = (terminal: boolean) => cli(home, ['config', 'path', '--config', file], { terminal });
    expect((await run(false)).stdout).toBe(`${file}\n`);
    expect((await run(true)).stdout).toBe(`${path.join(home, 'odd [31mname.json')}\n`);
  });

  test('show says what a setting hides, and joins the words of a command', async () => {
    const home = temporaryHome();
    const file = path.join(home, 'own.json');
    write(file, JSON.stringify({ graph: 'inner', secretCommand: ['vault', 'get'] }));
    const env = { GRAPHCRED_GRAPH: 'outer', TG_GRAPHNAME: 'field' };
    const { stdout } = await cli(home, ['config', 'show', '--config', file], { env });
    expect(stdout).toMatch(/^graph +outer +GRAPHCRED_GRAPH +field \(TG_GRAPHNAME\), inner \(config file\)$/m);
    expect(stdout).toMatch(/^secretCommand +vault get +config file +-$/m);
  });

  test('path and trust give programs the file', async () => {
    const home = temporaryHome();
    const file = path.join(home, 'own.json');
    write(file, '{"profiles":{"dev":{}}}');
    const shown = `${JSON.stringify({ schemaVersion: 1, file, trusted: true })}\n`;
    for (const argv of [
      ['config', 'path', '--config', file],
      ['config', 'trust', file],
    ])
      expect(await cli(home, [...argv, '-o', 'json'])).toEqual({ status: 0, stdout: shown, stderr: '' });
    expect((await cli(home, ['config', 'trust', file])).stdout).toContain('(profiles: dev)');
  });

  test('trust is an error without a config file, and without a home folder to write to', async () => {
    expect((await cli(temporaryHome(), ['config', 'trust'])).status).toBe(3);
    expect(await cli(temporaryHome(), ['config', 'trust'], { homeless: true })).toEqual({
      status: 6,
      stdout: '',
      stderr:
        'graphcred: There is no home folder to write the approval to.\nhint: set HOME, or name the file in each call: --config FILE\n',
    });
  });

  test('trust approves no file that graphcred cannot use', async () => {
    const home = temporaryHome();
    const project = path.join(home, 'project');
    const file = path.join(project, '.graphcredrc.json');
    write(file, '{"profiles":7}');
    const before = fs.existsSync(path.join(home, '.config/graphcred'));
    expect((await cli(home, ['config', 'trust'], { cwd: project })).status).toBe(5);
    expect(fs.existsSync(path.join(home, '.config/graphcred'))).toBe(before);
  });
});

test('api reports an error also when its message is long', async () => {
  const { run, sandbox } = await bench();
  const body = `{"error":"true","message":"${'long '.repeat(200)}"}`;
  sandbox.addFault(parseFault(`route=/echo,action=status,status=200,body=${body}`));
  expect(await run('api /echo')).toMatchObject({ status: 8, stdout: `${body}\n` });
});

test('without a store nothing is remembered of the server', async () => {
  const { run, home } = await bench({ serverVersion: '4.1.2', lifetimeUnit: 'ms' });
  expect((await run('token get --store none')).status).toBe(0);
  expect(fs.existsSync(stateOf(home))).toBe(false);
});

test('doctor asks the server for its version, also when it is remembered', async () => {
  const { run, requests } = await bench();
  await run('token get');
  requests();
  await run('doctor');
  expect(requests().some((request) => request.endsWith('/version'))).toBe(true);
});

test('a token of this machine is listed once while the shared store is away', async () => {
  const { run, home } = await bench();
  const env = absentRedis(home);
  expect((await run('token get', { env })).status).toBe(0);
  const { stdout, stderr } = await run('token list -o json', { env });
  expect(JSON.parse(stdout).tokens).toHaveLength(1);
  expect(stderr).toContain('; this looks at the tokens of this machine only\n');
});

describe('login', () => {
  const login = async (serverVersion: string, ...before: string[]) => {
    const { run, home, sandbox } = await bench({ serverVersion, graphs: ['demo', 'other'] });
    for (const line of before) await run(line);
    const result = await run('login -p new');
    const config = JSON.parse(fs.readFileSync(configOf(home), 'utf8'));
    return { ...result, alias: config.profiles.new.secretAlias, sandbox };
  };

  test('takes the one secret that is saved here, and of several none', async () => {
    expect((await login('3.10.1', 'secret create ci --save')).alias).toBe('ci');
    const two = ['secret create ci --save', 'secret create nightly --save'];
    expect((await login('3.10.1', ...two)).alias).toBeUndefined();
  });

  test('takes a secret saved for another graph on 4.x, where it is valid for all, and not on 3.x', async () => {
    const elsewhere = 'secret create ci --save --graph other';
    expect((await login('3.10.1', elsewhere)).alias).toBeUndefined();
    expect((await login('4.1.2', elsewhere)).alias).toBe('ci');
  });
});

test.each([
  [
    '',
    'a secret with a generated name',
    'see the generated names: graphcred secret prune --dry-run; drop the one that is new: graphcred secret drop ALIAS; then make it again',
  ],
  ['ci', 'the secret ci', 'drop it, then make it again: graphcred secret drop ci --ignore-missing'],
])(
  'if the answer to secret create %j is lost, %s is named, and the hint is %j',
  async (alias, named, hint) => {
    const { run, sandbox } = await bench({ serverVersion: '4.1.2' });
    sandbox.addFault(parseFault('action=drop-after,route=POST /gsql/v1/secrets'));
    const { status, stderr } = await run(`secret create ${alias}`.trim());
    expect({ status, stderr }).toEqual({
      status: 7,
      stderr: expect.stringMatching(new RegExp(` So ${named} may have been made.*\\nhint: ${hint}\\n`)),
    });
  },
);

/** Starts a sandbox, and sends Ctrl-C to the command that makes a request to this path. */
async function interruptedAt(route: string) {
  const before = process.listeners('SIGINT');
  const ours = () => process.listeners('SIGINT').filter((listener) => !before.includes(listener));
  onTestFinished(() => {
    for (const listener of ours()) process.off('SIGINT', listener);
  });
  return bench({
    log: (line) => {
      if (JSON.parse(line).path === route)
        for (const listener of ours()) (listener as NodeJS.SignalsListener)('SIGINT');
    },
  });
}

test('after Ctrl-C a command that changes something ends with 130 and says what may have happened', async () => {
  const { run, sandbox } = await interruptedAt('/gsqlserver/gsql/file');
  sandbox.addFault(parseFault('action=status,status=500,route=/gsqlserver/gsql/file'));
  const { status, stdout } = await run('secret create ci');
  expect({ status, stdout }).toEqual({ status: 130, stdout: '' });
});

test('after Ctrl-C during the mint, exec --revoke does not start the command', async () => {
  const { run, home } = await interruptedAt('/requesttoken');
  const { status, stderr } = await run(['exec', '--revoke', '--', 'touch', path.join(home, 'ran')]);
  expect({ status, ran: fs.existsSync(path.join(home, 'ran')) }).toEqual({ status: 130, ran: false });
  expect(stderr).toContain('Interrupted');
});

test('doctor wraps its lines to the width of the terminal', async () => {
  const { run } = await bench();
  const lines = async (columns: number) =>
    (await run('doctor --no-color', { terminal: true, columns })).stdout.trimEnd().split('\n');
  expect((await lines(200)).length).toBeLessThan((await lines(60)).length);
  for (const line of await lines(60)) expect(line.length).toBeLessThanOrEqual(60);
});

test('doctor blames the REST server for an answer that it cannot read, and does not send to doctor', async () => {
  const { run, sandbox } = await bench();
  sandbox.addFault(parseFault('action=drop-before,route=GET /endpoints'));
  sandbox.addFault(parseFault('action=drop-before,route=GET /echo'));
  const { checks } = JSON.parse((await run('doctor -o json')).stdout);
  const verdicts = Object.fromEntries(checks.map(({ id, verdict }: Record<string, string>) => [id, verdict]));
  expect(verdicts).toMatchObject({ version: 'ok', 'rest-auth': 'fail' });
  sandbox.addFault(parseFault('action=drop-before'));
  const { stdout } = await run('doctor');
  expect(stdout).toMatch(/^fail +version .*check that the server is running/m);
  expect(stdout).not.toContain('graphcred doctor');
});

test('login with other ports keeps the host of the profile', async () => {
  const { run, home, sandbox } = await bench();
  const [gsqlPort, restPort] = [sandbox.gsqlUrl, sandbox.restUrl].map((url) => Number(new URL(url).port));
  write(
    configOf(home),
    JSON.stringify({ profiles: { p: { host: 'http://localhost', gsqlPort: 1, restPort: 2 } } }),
  );
  const env = { GRAPHCRED_GSQL_URL: undefined, GRAPHCRED_REST_URL: undefined };
  const line = `login -p p --gsql-port ${gsqlPort} --rest-port ${restPort}`;
  expect((await run(line, { env })).status).toBe(0);
  const { p } = JSON.parse(fs.readFileSync(configOf(home), 'utf8')).profiles;
  expect(p).toMatchObject({ host: 'http://localhost', gsqlPort, restPort });
});

test.each([
  ['4.1.2', 0],
  ['3.10.1', 5],
])(
  'on %s a password of the file is used with the REST URL that the file leads to, and with no other: exit %i',
  async (serverVersion, status) => {
    const { home, sandbox } = await bench({ serverVersion });
    const { gsqlUrl, restUrl, username, password } = sandbox;
    const profiles = { p: { gsqlUrl, username, password, graph: 'demo' } };
    write(configOf(home), JSON.stringify({ profiles }));
    const argv = ['token', 'get', '-p', 'p', '--store', 'none', '--rest-url', restUrl];
    expect((await cli(home, argv)).status).toBe(status);
  },
);

test('login with another REST port replaces the URL of the REST server and not that of the GSQL server', async () => {
  const { run, home, sandbox } = await bench();
  const { gsqlUrl } = sandbox;
  const file = path.join(home, '.config/graphcred/config.json');
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const profiles = { p: { gsqlUrl, restUrl: 'http://b.example:9000' } };
  fs.writeFileSync(file, JSON.stringify({ profiles }), { mode: 0o600 });
  const env = { GRAPHCRED_GSQL_URL: undefined, GRAPHCRED_REST_URL: undefined };
  const { port } = new URL(sandbox.restUrl);
  expect(await run(`login -p p --rest-port ${port}`, { env })).toMatchObject({ status: 0 });
  const { p } = JSON.parse(fs.readFileSync(file, 'utf8')).profiles;
  expect(p).toMatchObject({ gsqlUrl, restPort: Number(port) });
  expect(p).not.toHaveProperty('restUrl');
});

test('an unknown store is USAGE, and the hint names the known ones', async () => {
  const env = { GRAPHCRED_STORE: 'drawer' };
  expect(await cli(temporaryHome(), ['status', '--offline'], { env })).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/hint: choose one of: .*keychain.*file/),
  });
});

test('secret prune reads the secret on stdin once', async () => {
  const { run } = await bench({ serverVersion: '4.1.2' });
  await run('secret create');
  const stdin = (await run('secret create ci')).stdout;
  const { status, stdout } = await run('secret prune --yes --secret-stdin', {
    stdin,
    env: { GRAPHCRED_PASSWORD: undefined },
  });
  expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('AUTO_GENERATED_ALIAS_') });
});

test('an error at the first of the secrets to drop is reported as it is, unless others were not tried', async () => {
  const { run, sandbox } = await bench({ serverVersion: '4.1.2' });
  sandbox.addFault(parseFault('action=status,status=403,route=DELETE /gsql/v1/secrets*'));
  const alone = await run('secret drop ci');
  expect(alone).toMatchObject({ status: 4, stdout: '', stderr: expect.not.stringContaining('dropped') });
  const two = await run('secret drop ci other --yes');
  expect(two.stderr).toMatch(/ci was not dropped: .* Not tried: other\./);
  expect(two.stderr).toMatch(/graphcred secret list\n/);
  expect((await run('secret drop ci other --yes -o json')).stdout).toBe('');
});
