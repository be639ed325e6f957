import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { bench } from '../helpers/cli.js';

const profilesOf = (home: string) =>
  JSON.parse(fs.readFileSync(path.join(home, '.config/graphcred/config.json'), 'utf8')).profiles;

const NOBODY = {
  GRAPHCRED_PASSWORD: '',
  GRAPHCRED_USERNAME: '',
  GRAPHCRED_REST_URL: '',
  GRAPHCRED_GSQL_URL: '',
};

test.each(['3.10.1', '4.1.2'])(
  'on %s --save-password lets secret commands work without a password',
  async (serverVersion) => {
    const { run } = await bench({ serverVersion });
    const login = await run('login -p dev --save-password');
    expect(login).toMatchObject({ status: 0, stdout: expect.stringContaining('The password is saved.') });
    const later = { env: NOBODY };
    expect(await run('secret create ci -p dev', later)).toMatchObject({ status: 0 });
    expect(await run('secret list -p dev', later)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('ci'),
    });
    expect(await run('logout -p dev', later)).toMatchObject({ status: 0 });
    const after = await run('secret list -p dev', later);
    expect(after).toMatchObject({ status: 2, stderr: expect.stringContaining('GRAPHCRED_PASSWORD') });
  },
);

test('without --save-password nothing is kept, and the note says how to keep it', async () => {
  const { run } = await bench();
  const { status, stderr } = await run('login -p dev');
  expect(status).toBe(0);
  expect(stderr).toContain('--save-password');
  expect((await run('secret list -p dev', { env: NOBODY })).status).toBe(2);
});

// holds: C2.22
test('--save-password without a persistent store is USAGE before the password is sent', async () => {
  const { run, sandbox } = await bench();
  const { status, stderr } = await run('login -p dev --save-password --store none');
  expect(status).toBe(2);
  expect(stderr).toContain('--save-password needs a persistent store');
  expect(sandbox.requests.filter(({ login }) => login !== 'none')).toEqual([]);
});

test('a secret given to login is saved, chosen by the profile, and used for a first token', async () => {
  const { run, home, json } = await bench();
  const secret = (await run('secret create mine')).stdout.trim();
  const login = await run('login -p dev --secret-stdin', { stdin: secret, env: { GRAPHCRED_PASSWORD: '' } });
  expect(login).toMatchObject({ status: 0, stderr: expect.stringContaining('next: graphcred token get') });
  expect(profilesOf(home).dev).toMatchObject({ secretAlias: 'login' });
  const { tokens } = await json<{ tokens: { principal: string }[] }>('token list');
  expect(tokens.map(({ principal }) => principal)).toEqual(['saved:tigergraph/login']);
  const get = await json('token get -p dev', { env: NOBODY });
  expect(get).toMatchObject({ source: 'store' });
});

// holds: C2.20
test.each(['3.10.1', '4.1.2', '4.2.0'])(
  'on %s a graph that does not exist is NOT_FOUND and writes no profile',
  async (serverVersion) => {
    const { run, home } = await bench({ serverVersion });
    const { status } = await run('login -p dev --graph nope');
    expect(status).toBe(3);
    expect(fs.existsSync(path.join(home, '.config/graphcred/config.json'))).toBe(false);
  },
);

test('proving the graph on 4.x leaves no generated secret behind', async () => {
  const { run, json } = await bench({ serverVersion: '4.1.2' });
  expect(await run('login -p dev')).toMatchObject({ status: 0 });
  expect(await json('secret list')).toMatchObject({ secrets: [] });
});

test.each(['two words', '-x', '..', 'a'.repeat(65)])(
  'profile name %j is USAGE before anybody is contacted',
  async (name) => {
    const { run, requests } = await bench();
    const { status } = await run(['login', `--profile=${name}`]);
    expect(status).toBe(2);
    expect(requests()).toEqual([]);
  },
);

test('a word too many hints at -p', async () => {
  const { run } = await bench();
  const { status, stderr } = await run('login prod');
  expect(status).toBe(2);
  expect(stderr).toContain('graphcred login -p NAME');
});
