import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { bench, cli } from '../helpers/cli.js';

// holds: C2.23
test('status shows everything that the contract names', async () => {
  const { run, json, sandbox } = await bench();
  const before = await json('status');
  expect(before).toEqual({
    schemaVersion: 1,
    profile: 'default',
    host: 'http://127.0.0.1',
    restUrl: sandbox.restUrl,
    gsqlUrl: sandbox.gsqlUrl,
    graph: 'demo',
    username: 'tigergraph',
    provider: null,
    credential: { kind: 'password', source: 'GRAPHCRED_PASSWORD' },
    store: 'file',
    serverVersion: '3.10.1',
    restAuth: 'on',
    token: { state: 'none', expiresAt: null, expiresAtUnix: null },
  });
  const { token } = await json<{ token: string }>('token get');
  const after = await json('status');
  expect(after).toMatchObject({ token: { state: 'valid', expiresAtUnix: expect.any(Number) } });
  const { status, stdout } = await run('status');
  expect(status).toBe(0);
  expect(stdout).toContain(`GSQL server  ${sandbox.gsqlUrl}`);
  expect(stdout).toContain(`REST server  ${sandbox.restUrl}`);
  expect(stdout).toContain('credential   password (GRAPHCRED_PASSWORD)');
  expect(stdout).toMatch(/token +valid until \d{4}-\d\d-\d\d \d\d:\d\d\n +\[#{20}\] 30d left/);
  const half = () => Date.now() + 15 * 86_400_000;
  expect((await run('status --offline', { now: half })).stdout).toMatch(/ \[#{10}-{10}\] 15d left/);
  expect(stdout).toContain('next         graphcred exec -- COMMAND');
  expect(stdout).not.toContain(token);
});

test('status names the user of the saved secret if no setting names one', async () => {
  const { run, json } = await bench();
  await run('secret create ci --save');
  const env = { GRAPHCRED_USERNAME: undefined, GRAPHCRED_PASSWORD: undefined };
  expect(await json('status', { env })).toMatchObject({
    credential: { kind: 'secret', source: 'saved secret ci' },
    username: 'tigergraph',
  });
});

test('the expiry of a token is shown in local time', async () => {
  const zone = process.env.TZ;
  try {
    process.env.TZ = 'Asia/Kolkata';
    const { run, json } = await bench();
    const { expiresAtUnix } = await json<{ expiresAtUnix: number }>('token get');
    const there = new Date((expiresAtUnix + 5.5 * 3600) * 1000).toISOString();
    expect((await run('status')).stdout).toContain(`${there.slice(0, 10)} ${there.slice(11, 16)}`);
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});

test('profiles in different states are exit 10, and there are no colours in a pipe', async () => {
  const { sandbox, home } = await bench();
  const { restUrl, gsqlUrl, username } = sandbox;
  const file = path.join(home, '.config/graphcred/config.json');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const profiles = { one: { graph: 'demo' }, two: { graph: 'other' } };
  fs.writeFileSync(file, JSON.stringify({ restUrl, gsqlUrl, username, profiles }), { mode: 0o600 });
  const run = (line: string) =>
    cli(home, line.split(' '), { env: { GRAPHCRED_STORE: 'file', GRAPHCRED_PASSWORD: sandbox.password } });
  expect((await run('status --all-profiles')).status).toBe(3);
  expect((await run('token get -p one')).status).toBe(0);
  const { status, stdout } = await run('status --all-profiles');
  expect(stdout).not.toContain('(--profile)');
  expect(status).toBe(10);
  expect(stdout).toContain('valid');
  expect(stdout).not.toContain('\u001b');
});

test('the bar of a token’s life changes its colour twice as the life ends', async () => {
  const { run } = await bench();
  await run('token get --lifetime 1h');
  const colourAfter = async (minutes: number) => {
    const now = () => Date.now() + minutes * 60_000;
    const { stdout } = await run('status --offline', { terminal: true, columns: 100, now });
    return stdout.split('#')[0]?.slice(-6);
  };
  const colours = await Promise.all([1, 40, 50, 55, 58].map(colourAfter));
  expect(colours.map((colour) => colour?.slice(-3))).toEqual(['32m', '32m', '33m', '33m', '31m']);
});

test('status fits a narrow terminal', async () => {
  const { run } = await bench();
  await run('token get');
  const { stdout } = await run('status --offline --no-color', { terminal: true, columns: 38 });
  const lines = stdout.trimEnd().split('\n');
  expect(lines.find((line) => line.startsWith('  token '))).toMatch(/unverified until/);
  // The command to type is not cut.
  for (const line of lines.filter((text) => !text.includes('graphcred')))
    expect(line.length, line).toBeLessThanOrEqual(38);
});

test('status shows what is known also when the credential is for other servers', async () => {
  const { run } = await bench();
  const env = { GRAPHCRED_PASSWORD: undefined, TG_HOST: 'http://a.example', TG_PASSWORD: 'hunter22' };
  const { status, stdout, stderr } = await run('status -o json', { env });
  expect({ status, error: JSON.parse(stderr).error.code }).toEqual({ status: 5, error: 'HOST_MISMATCH' });
  expect(JSON.parse(stdout)).toMatchObject({
    username: 'tigergraph',
    credential: null,
    token: { state: 'none' },
  });
});

test('status finds the token of a user whose password is not at hand', async () => {
  const { run, json } = await bench();
  await run('token get');
  const env = { GRAPHCRED_PASSWORD: undefined };
  expect(await json('status --offline', { env })).toMatchObject({
    credential: null,
    token: { state: 'unverified' },
  });
});
