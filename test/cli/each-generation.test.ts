import { describe, expect, test } from 'vitest';
import { bench } from '../helpers/cli.js';

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

interface TokenDocument {
  token: string;
  expiresAt: string;
  expiresAtUnix: number;
  lifetimeSeconds: number;
  source: string;
}

describe.each(['3.2.0', '3.10.1', '4.1.2'])('the main job on %s', (serverVersion) => {
  // holds: C2.5, C2.6
  test('a secret is shown once, listed with a mask, and dropped', async () => {
    const { run, json } = await bench({ serverVersion });
    const created = await json<{ alias: string; secret: string }>('secret create ci');
    expect(created).toEqual({
      schemaVersion: 1,
      alias: 'ci',
      secret: expect.stringMatching(/^[a-z0-9]{32}$/),
    });
    const masked = `${created.secret.slice(0, 3)}****${created.secret.slice(-3)}`;
    const graph = serverVersion.startsWith('3') ? 'demo' : null;
    expect(await json('secret list')).toEqual({
      schemaVersion: 1,
      secrets: [{ alias: 'ci', masked, graph, saved: false }],
    });
    const table = await run('secret list');
    expect(table).toEqual({
      status: 0,
      stdout: expect.stringMatching(/^ALIAS +SECRET +GRAPH +SAVED\nci /),
      stderr: '',
    });
    expect(table.stdout).not.toContain(created.secret);
    expect(await json('secret drop ci')).toEqual({
      schemaVersion: 1,
      dropped: ['ci'],
      missing: [],
      dryRun: false,
    });
    expect(await json('secret list')).toEqual({ schemaVersion: 1, secrets: [] });
  });

  // holds: C2.14
  test('a token is minted once, found again without a request, and replaced with --fresh', async () => {
    const { json, run, requests } = await bench({ serverVersion });
    const minted = await json<TokenDocument>('token get --lifetime 1h');
    expect(minted).toEqual({
      schemaVersion: 1,
      token: expect.any(String),
      expiresAt: expect.stringMatching(ISO),
      expiresAtUnix: expect.any(Number),
      lifetimeSeconds: 3600,
      source: 'server',
      serverVersion,
      graph: 'demo',
      host: 'http://127.0.0.1',
    });
    expect(Math.abs(minted.expiresAtUnix - Date.now() / 1000 - 3600)).toBeLessThan(30);
    requests();
    const found = await json<TokenDocument>('token get --lifetime 1h');
    expect(found).toEqual({ ...minted, source: 'store' });
    expect(await run('token get --lifetime 1h')).toEqual({
      status: 0,
      stdout: `${minted.token}\n`,
      stderr: '',
    });
    expect(requests()).toEqual([]);
    expect((await json<TokenDocument>('token get --lifetime 1h --fresh')).source).toBe('server');
    expect((await json<TokenDocument>('token get --lifetime 2h')).source).toBe('server');
  });

  // holds: C2.17
  test('a cached token stays stored while the server cannot be reached', async () => {
    const { json, run, sandbox } = await bench({ serverVersion });
    await run('token get');
    await sandbox.close();
    expect((await run('token delete')).status).toBe(7);
    expect((await json<TokenDocument>('token get')).source).toBe('store');
  });

  // holds: C2.8
  test('secret drop drops what it can: exit 10 if some aliases were unknown, 3 if all were, 0 with --ignore-missing', async () => {
    const { run } = await bench({ serverVersion });
    await run('secret create one');
    expect(await run('secret drop one none -o json')).toMatchObject({
      status: 10,
      stdout: '{"schemaVersion":1,"dropped":["one"],"missing":["none"],"dryRun":false}\n',
    });
    expect((await run('secret drop none')).status).toBe(3);
    expect((await run('secret drop none --ignore-missing')).status).toBe(0);
  });

  // holds: C7.3
  test('REST authentication that is off is exit 8, and the error says how to turn it on', async () => {
    const { run } = await bench({ serverVersion, restAuth: 'off' });
    const { status, stdout, stderr } = await run('token get -o json');
    expect({ status, stdout }).toEqual({ status: 8, stdout: '' });
    const errors = stderr.trim().split('\n');
    expect(JSON.parse(errors.at(-1) as string).error).toMatchObject({
      code: 'REST_AUTH_DISABLED',
      hint: expect.stringContaining('gadmin'),
    });
  });

  test('if REST authentication is turned off later, token delete is exit 8 and keeps the token, and status says off', async () => {
    const before = await bench({ serverVersion });
    const { expiresAt, expiresAtUnix } = await before.json('token get');
    await before.sandbox.close();
    const port = (url: string) => Number(new URL(url).port);
    const { gsqlUrl, restUrl } = before.sandbox;
    const ports = {
      gsqlPort: port(gsqlUrl),
      ...(serverVersion.startsWith('3') ? { restPort: port(restUrl) } : {}),
    };
    await bench({ serverVersion, restAuth: 'off', ...ports });
    const deleted = await before.run('token delete --skip-missing -o json');
    expect({ status: deleted.status, stdout: deleted.stdout }).toEqual({ status: 8, stdout: '' });
    expect(JSON.parse(deleted.stderr).error.code).toBe('REST_AUTH_DISABLED');
    expect(await before.json('status')).toMatchObject({
      restAuth: 'off',
      token: { state: 'unverified', expiresAt, expiresAtUnix },
    });
  });
});
