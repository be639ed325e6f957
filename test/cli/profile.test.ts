import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { bench, cli, temporaryHome } from '../helpers/cli.js';

const write = (file: string, text: string) => {
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  fs.writeFileSync(file, text, { mode: 0o600 });
};

const configOf = (home: string) => path.join(home, '.config/graphcred/config.json');
const read = (home: string) => JSON.parse(fs.readFileSync(configOf(home), 'utf8'));

function homeWith(config: object): string {
  const home = temporaryHome();
  fs.mkdirSync(path.dirname(configOf(home)), { recursive: true, mode: 0o700 });
  fs.writeFileSync(configOf(home), JSON.stringify(config), { mode: 0o600 });
  return home;
}

const TWO = {
  defaultProfile: 'dev',
  profiles: {
    dev: { host: 'http://127.0.0.1' },
    prod: { host: 'https://graph.example.com', username: 'alice' },
  },
};

test('profile list hides a password that is part of an address', async () => {
  const home = homeWith({ profiles: { dev: { gsqlUrl: 'https://bob:hunter22@graph.example.com' } } });
  for (const format of ['text', 'json']) {
    const { status, stdout } = await cli(home, ['profile', 'list', '-o', format]);
    expect(status).toBe(0);
    expect(stdout).toContain('https://****@graph.example.com');
    expect(stdout).not.toContain('hunter22');
  }
  const completed = await cli(home, ['__complete', 'profile', 'use', '']);
  expect(completed.stdout).toBe('dev\thttps://****@graph.example.com\n');
});

test('profile list shows the REST server of a profile once the version of its server is known', async () => {
  const { home, run, sandbox } = await bench({ serverVersion: '4.2.0' });
  write(configOf(home), JSON.stringify({ profiles: { four: { gsqlUrl: sandbox.gsqlUrl } } }));
  const restUrl = async () => JSON.parse((await run('profile list -o json')).stdout).profiles[0].restUrl;
  expect(await restUrl()).toBeNull();
  await run('token get');
  expect(await restUrl()).toBe(`${sandbox.gsqlUrl}/restpp`);
  expect((await run('profile list')).stdout).toMatch(/four +http:\S+ +\/restpp /);
});

test('profile list works without any profile, and says how to make one', async () => {
  const { status, stdout, stderr } = await cli(temporaryHome(), ['profile', 'list']);
  expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  expect(stderr).toContain('graphcred login');
});

/** Makes a folder with a config file of its own, which the user trusts. */
async function trustedProject(home: string): Promise<{ project: string; file: string }> {
  const project = path.join(home, 'project');
  fs.mkdirSync(project);
  const file = path.join(project, '.graphcredrc');
  fs.writeFileSync(file, 'profiles: {team: {graph: demo}}', { mode: 0o600 });
  await cli(home, ['config', 'trust', file]);
  return { project, file };
}

test('a project file that hides the user’s profiles is named in the error', async () => {
  const home = homeWith(TWO);
  const { project, file } = await trustedProject(home);
  const missing = await cli(home, ['status', '--offline', '-p', 'prod'], { cwd: project });
  expect(missing.status).toBe(3);
  expect(missing.stderr).toContain(`${file} hides your own profiles in ${configOf(home)}`);
  const listed = await cli(home, ['profile', 'list'], { cwd: project });
  expect(listed.stdout).toContain('team');
  expect(listed.stderr).toContain(`--config ${configOf(home)}`);
  const used = await cli(home, ['profile', 'use', 'prod'], { cwd: project });
  expect(used).toMatchObject({ status: 0, stderr: expect.stringContaining(`${file} is in force`) });
});

test('profile remove removes the user’s own profile also in a folder with a project file', async () => {
  const home = homeWith(TWO);
  const { project } = await trustedProject(home);
  const removed = await cli(home, ['profile', 'remove', 'dev', '--yes'], { cwd: project });
  expect(removed).toMatchObject({ status: 0, stderr: expect.stringContaining('graphcred profile use prod') });
  expect(Object.keys(read(home).profiles)).toEqual(['prod']);
});

test('profile list and profile use work although the chosen profile does not exist', async () => {
  const env = { GRAPHCRED_PROFILE: 'gone' };
  const home = homeWith(TWO);
  expect((await cli(home, ['profile', 'list'], { env })).status).toBe(0);
  expect((await cli(home, ['profile', 'use', 'prod'], { env })).status).toBe(0);
  expect(read(home).defaultProfile).toBe('prod');
});

describe('profiles', () => {
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
    expect(forgotten).toEqual({ tokens: keeps ? 0 : 1, secrets: 0, passwords: 0, logins: 0 });
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
