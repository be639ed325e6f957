import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { redisOptions } from '../../src/auth/redis.js';
import { COMMANDS } from '../../src/cli/args/catalogue.js';
import type { CommandSpec } from '../../src/cli/command.js';
import { type Context, placesOf } from '../../src/cli/context.js';
import { createReport } from '../../src/cli/output/report.js';
import { openLocalSession } from '../../src/cli/session.js';
import { absentRedis, bench, cli, temporaryHome } from '../helpers/cli.js';

const stateOf = (home: string) => path.join(home, '.local/state/graphcred');
const writeConfig = (home: string, config: object) => {
  const file = path.join(home, '.config/graphcred/config.json');
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  fs.writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return path.dirname(file);
};

test('completion offers the names of saved secrets only, and not of what has no name', async () => {
  const { run, home } = await bench();
  await run('token get');
  await run('login --save-password');
  expect((await cli(home, ['__complete', 'secret', 'drop', 'u'])).stdout).toBe('');
});

test('a credential on the command line is refused, whatever else has the name sandbox', async () => {
  for (const line of [
    ['token', 'get', '-p', 'sandbox', '--password=hunter22'],
    ['secret', 'create', 'sandbox', '--secret=hunter22'],
  ]) {
    const { status, stderr } = await cli(temporaryHome(), line);
    expect(status).toBe(2);
    expect(stderr).toContain('is refused: other users can read a command line');
  }
});

test('token refresh replaces the token that it refreshed, leaves others, and keeps no lock', async () => {
  const { run, json, home } = await bench();
  await run('token get --lifetime 1h');
  await run('token get --lifetime 2h');
  expect((await run('token refresh --lifetime 3h')).status).toBe(0);
  const { tokens } = await json<{ tokens: { secondsLeft: number }[] }>('token list');
  expect(tokens.map(({ secondsLeft }) => Math.round(secondsLeft / 3600))).toEqual([3, 1]);
  expect(fs.readdirSync(stateOf(home)).filter((name) => name.includes('.lock'))).toEqual([]);
});

test('prune spares the secrets in files that profiles name, below the home folder and beside the config file', async () => {
  const { run, json, home } = await bench();
  const values: string[] = [];
  for (let n = 0; n < 3; n++) values.push((await json<{ secret: string }>('secret create')).secret);
  const folder = writeConfig(home, {
    profiles: { one: { secretFile: '~/one.secret' }, two: { secretFile: 'two.secret' } },
  });
  fs.writeFileSync(path.join(home, 'one.secret'), `${values[0]}\n`, { mode: 0o600 });
  fs.writeFileSync(path.join(folder, 'two.secret'), `${values[1]}\n`, { mode: 0o600 });
  expect((await run('secret prune --dry-run')).status).toBe(0);
  expect((await json<{ dropped: string[] }>('secret prune --dry-run')).dropped).toHaveLength(1);
});

test('no token is minted when a file of GitHub Actions cannot be written', async () => {
  const { run, requests, home } = await bench();
  const file = path.join(home, 'output');
  fs.writeFileSync(file, '');
  for (const env of [{ GITHUB_OUTPUT: '/none/output' }, { GITHUB_OUTPUT: home }]) {
    expect((await run('token get -o github', { env })).status).toBe(2);
    expect(requests()).toEqual([]);
  }
  expect((await run('token get -o github', { env: { GITHUB_OUTPUT: file } })).status).toBe(0);
});

test('two profiles that share only the GSQL server each keep their own password', async () => {
  const { run, sandbox } = await bench({ serverVersion: '3.10.1' });
  for (const [name, restUrl] of [
    ['one', sandbox.restUrl],
    ['two', 'http://127.0.0.1:1'],
  ])
    expect((await run(`login -p ${name} --save-password --rest-url ${restUrl}`)).status).toBe(0);
  const clear = {
    GRAPHCRED_REST_URL: undefined,
    GRAPHCRED_GSQL_URL: undefined,
    GRAPHCRED_PASSWORD: undefined,
  };
  for (const name of ['one', 'two'])
    expect((await run(`secret list -p ${name}`, { env: clear })).status).toBe(0);
});

test('no token is minted for a dotenv file in a folder that does not exist', async () => {
  const { run, requests } = await bench();
  expect((await run('token get -o gitlab --dotenv missing/token.env')).status).toBe(2);
  expect(requests().filter((request) => request.endsWith('/requesttoken'))).toEqual([]);
});

test('a secret with the longest name there is can be rotated', async () => {
  const { run } = await bench();
  const alias = 'a'.repeat(128);
  expect((await run(`secret create ${alias} --save`)).status).toBe(0);
  expect(await run(`secret rotate ${alias}`)).toMatchObject({ status: 0, stderr: '' });
});

test('status names --fresh after a token that the server rejects', async () => {
  const { run, json } = await bench();
  const { token } = await json<{ token: string }>('token get');
  await run('token delete --token-stdin --store none', { stdin: token });
  const { status, stdout } = await run('status');
  expect(status).toBe(4);
  expect(stdout).toMatch(/next +graphcred token get --fresh$/m);
});

test('status of all profiles shows the others of one that is malformed', async () => {
  const { home, sandbox } = await bench();
  const good = { restUrl: sandbox.restUrl, gsqlUrl: sandbox.gsqlUrl };
  writeConfig(home, { profiles: { bad: { host: 'nope' }, good } });
  const { stdout } = await cli(home, ['status', '--all-profiles', '--offline']);
  expect(stdout).toMatch(/^bad/m);
  expect(stdout).toContain(sandbox.gsqlUrl);
});

test('logout leaves the tokens that a fleet shares, and forgets those of this machine', async () => {
  const { run, home } = await bench();
  const env = absentRedis(home);
  await run('token get', { env });
  const { status, stdout, stderr } = await run('logout', { env });
  expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/^Forgot 1 token of /) });
  expect(stderr).toContain('stay for the other machines');
});

test('doctor says of a store key that is none that the store cannot be used', async () => {
  const { run } = await bench();
  const { status, stdout } = await run('doctor -o json', { env: { GRAPHCRED_STORE_KEY: 'short' } });
  const { checks } = JSON.parse(stdout) as { checks: { id: string; verdict: string }[] };
  expect(checks.find(({ id }) => id === 'store')?.verdict).toBe('fail');
  expect(status).toBe(6);
});

test('a saved password logs in, also when the profile names a secret for its tokens', async () => {
  const { run } = await bench();
  await run('login --save-password');
  const env = { GRAPHCRED_PASSWORD: undefined } as unknown as Record<string, string>;
  expect(await run('secret list --secret-alias ci', { env })).toMatchObject({ status: 0 });
});

test('the state of this machine lies where XDG_STATE_HOME says, and not where the config files are', () => {
  const env = { XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: '/s' };
  expect(placesOf({ env, home: '/h' })).toEqual({ configDir: '/c/graphcred', stateDir: '/s/graphcred' });
  const only = placesOf({ env: { XDG_CONFIG_HOME: '/c' }, home: '/h' });
  expect(only.stateDir).toBe('/h/.local/state/graphcred');
});

test('user and password of their own variables are taken before those in the address of the Redis server', async () => {
  const home = temporaryHome();
  const env = {
    GRAPHCRED_REDIS_URL: 'redis://inside:hunter1@127.0.0.1:1',
    GRAPHCRED_REDIS_USERNAME: 'job',
    GRAPHCRED_REDIS_PASSWORD: 'hunter2',
  };
  const output = { isTTY: false, columns: undefined, write: () => {} };
  const ctx = { argv: [], env, cwd: home, home, stdin: { isTTY: false }, stdout: output, stderr: output };
  const spec = COMMANDS.find(({ path: name }) => name === 'status') as CommandSpec;
  const real = ctx as unknown as Context;
  const session = await openLocalSession({
    ctx: real,
    flags: {},
    args: [],
    spec,
    report: createReport(real),
  });
  const options = await redisOptions(session, 1000);
  expect([options?.username, options?.password?.reveal()]).toEqual(['job', 'hunter2']);
});
