import { expect, test } from 'vitest';
import { bench } from '../helpers/cli.js';

test('status sends nobody back to a login that has kept nothing', async () => {
  const { run } = await bench();
  const env = { GRAPHCRED_PASSWORD: undefined, GRAPHCRED_STORE: 'none' };
  const login = await run('login --password-stdin', { env, stdin: 'tigergraph' });
  const advice = 'graphcred secret create NAME, and set GRAPHCRED_SECRET to its value';
  expect([login.status, login.stderr]).toEqual([0, expect.stringContaining(advice)]);
  const { status, stdout } = await run('status', { env });
  expect([status, stdout]).toEqual([3, expect.stringContaining(`next         ${advice}`)]);
});

test('where TG_API_TOKEN alone is set, status leads to what uses it, and token check names it if it is empty', async () => {
  const { run } = await bench();
  const env = { GRAPHCRED_USERNAME: undefined, GRAPHCRED_PASSWORD: undefined, TG_API_TOKEN: 'x' };
  expect((await run('status', { env })).stdout).toContain('next         graphcred token check\n');
  const { stderr } = await run('token check', { env: { ...env, TG_API_TOKEN: '' } });
  expect(stderr).toContain('TG_API_TOKEN is set but empty');
});

test('status says why the keychain is not used', async () => {
  const { run } = await bench();
  const noBus = { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent', XDG_RUNTIME_DIR: '/nonexistent' };
  const { stdout } = await run('status', { env: { ...noBus, GRAPHCRED_STORE: undefined } });
  expect(stdout).toContain(
    '  store        keychain, but there is no OS keychain: no session bus is running\n',
  );
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

test('status --offline names the credential, and asks no server for the version', async () => {
  const { json, run, requests } = await bench();
  const env = { GRAPHCRED_REST_URL: '' };
  const password = { kind: 'password', source: 'GRAPHCRED_PASSWORD' };
  expect(await json('status --offline', { env })).toMatchObject({
    restUrl: null,
    serverVersion: null,
    credential: password,
  });
  await run('token check', { env });
  requests();
  // What was learned counts for a day, and then the server would be asked again.
  const later = Date.now() + 2 * 86_400_000;
  expect(await json('status --offline', { env, now: () => later })).toMatchObject({
    serverVersion: '3.10.1',
    credential: password,
  });
  expect(requests()).toEqual([]);
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
