import path from 'node:path';
import { expect, test } from 'vitest';
import { bench, cli, temporaryHome } from '../helpers/cli.js';
import { configOf, configure, profilesOf, put } from '../helpers/home.js';

const TWO = {
  defaultProfile: 'dev',
  profiles: {
    dev: { host: 'http://127.0.0.1' },
    prod: { host: 'https://graph.example.com', username: 'alice' },
  },
};

test('profile list hides a password that is part of an address', async () => {
  const home = temporaryHome();
  configure(home, { profiles: { dev: { gsqlUrl: 'https://bob:hunter22@graph.example.com' } } });
  for (const format of ['text', 'json']) {
    const { status, stdout } = await cli(home, ['profile', 'list', '-o', format]);
    expect(status).toBe(0);
    expect(stdout).toContain('https://****@graph.example.com');
    expect(stdout).not.toContain('hunter22');
  }
});

test('profile list shows the other profiles beside one with a server version that is not supported', async () => {
  const home = temporaryHome();
  const five = { host: 'http://five', serverVersion: '5.0' };
  configure(home, { profiles: { five, four: { host: 'http://four' } } });
  const { status, stdout } = await cli(home, ['profile', 'list']);
  expect(status).toBe(0);
  expect(stdout).toMatch(/five +http:\/\/five +-.*four +http/s);
});

test('profile list shows the REST server of a profile once the version of its server is known', async () => {
  const { home, run, sandbox } = await bench({ serverVersion: '4.2.0' });
  configure(home, { profiles: { four: { gsqlUrl: sandbox.gsqlUrl } } });
  const restUrl = async () => JSON.parse((await run('profile list -o json')).stdout).profiles[0].restUrl;
  expect(await restUrl()).toBeNull();
  await run('token get');
  expect(await restUrl()).toBe(`${sandbox.gsqlUrl}/restpp`);
  expect((await run('profile list')).stdout).toMatch(/four +http:\S+ +http:\S+\/restpp /);
});

test('a project file that hides the user’s profiles is named, and profile remove changes the user’s own', async () => {
  const home = temporaryHome();
  configure(home, TWO);
  const file = put(home, 'project/.graphcredrc', 'profiles: {team: {graph: demo}}');
  await cli(home, ['config', 'trust', file]);
  const run = (line: string) => cli(home, line.split(' '), { cwd: path.dirname(file) });
  const missing = await run('status --offline -p prod');
  expect(missing.status).toBe(3);
  expect(missing.stderr).toContain(`${file} is used in place of your own profiles in ${configOf(home)}`);
  expect((await run('profile list')).stderr).toContain(`--config ${configOf(home)}`);
  const removed = await run('profile remove dev --yes');
  expect(removed).toMatchObject({ status: 0, stderr: '' });
  expect(Object.keys(profilesOf(home))).toEqual(['prod']);
  put(home, '.config/graphcred/config.yaml', 'graph: demo');
  expect((await run('token list')).status).toBe(0);
});

test('profile list and profile use work although the chosen profile does not exist', async () => {
  const env = { GRAPHCRED_PROFILE: 'gone' };
  const home = temporaryHome();
  configure(home, TWO);
  for (const line of ['profile list', 'profile use prod'])
    expect((await cli(home, line.split(' '), { env })).status).toBe(0);
});

test.each([
  [{ one: { username: 'tigergraph' }, two: {} }, 'one', true],
  [{ one: { username: 'tigergraph' }, two: {} }, 'two', true],
  [{ one: { username: 'tigergraph' }, two: { username: 'ann' } }, 'one', false],
  [{ one: { username: 'tigergraph' }, two: { gsqlUrl: 'http://a:1' } }, 'one', false],
  // The user of the token is named by a variable alone.
  [{ one: { username: 'somebody' } }, 'one', true],
  // Whose the secret is, only its file tells.
  [{ one: { secretFile: 'secret.txt' } }, 'one', true],
])('of %j, profile remove of %s keeps the tokens: %s', async (profiles, name, keeps) => {
  const { run, json, home, sandbox } = await bench();
  await run('token get');
  const { restUrl, gsqlUrl } = sandbox;
  const here = Object.entries(profiles).map(([key, profile]) => [key, { restUrl, gsqlUrl, ...profile }]);
  configure(home, { profiles: Object.fromEntries(here) });
  expect(await json(`profile remove ${name} --yes`)).toMatchObject({ forgotten: { tokens: keeps ? 0 : 1 } });
  expect((await json<{ tokens: unknown[] }>('token list')).tokens).toHaveLength(keeps ? 1 : 0);
});

test('profile remove forgets what is stored for the profile’s server while a variable names another', async () => {
  const { run, json, home, sandbox } = await bench();
  await run('token get');
  const { restUrl, gsqlUrl } = sandbox;
  configure(home, { profiles: { one: { restUrl, gsqlUrl, username: 'tigergraph' } } });
  const env = { GRAPHCRED_GSQL_URL: 'http://other.example:14240' };
  expect(await json('profile remove one --yes', { env })).toMatchObject({ forgotten: { tokens: 1 } });
});
