import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { tryLock } from '../../src/files/lock.js';
import { entryPath, listEntries, partsOf, recordPath } from '../../src/store/records.js';
import { type Bench, bench } from '../helpers/cli.js';
import { gate } from '../helpers/gate.js';
import { put, stateOf } from '../helpers/home.js';

interface Token {
  token: string;
  source: string;
}

/**
 * Creates a sandbox and a home, with a gate in front of the REST server. `meanwhile` runs once, after the server has answered the nth request that
 * matches and before the command gets the answer.
 */
async function slow(route: RegExp, meanwhile: (through: Bench) => Promise<unknown>, nth = 1): Promise<Bench> {
  const own = await bench();
  let seen = 0;
  const front = await gate(own.sandbox.restUrl, route, async () => {
    if (++seen === nth) await meanwhile(through);
  });
  const env = { GRAPHCRED_REST_URL: front };
  const through: Bench = {
    ...own,
    run: (line, more = {}) => own.run(line, { ...more, env: { ...env, ...more.env } }),
    json: (line, more = {}) => own.json(line, { ...more, env: { ...env, ...more.env } }),
  };
  return through;
}

// holds: C2.14
test('--fresh does not use a token that another process requested before this one began', async () => {
  let second: Promise<Token> | undefined;
  const { json } = await slow(/requesttoken/, async ({ json: ask }) => {
    // Both times are in whole milliseconds, so the second process must begin in a later millisecond.
    const asked = Date.now();
    await expect.poll(() => Date.now()).toBeGreaterThan(asked);
    // The result is not awaited here, because this process waits for the lock of the first one.
    second = ask<Token>('token get --fresh');
  });
  const first = await json<Token>('token get');
  expect((await second)?.source).toBe('server');
  expect((await second)?.token).not.toBe(first.token);
});

describe('a token minted while another command waits for the server stays stored', () => {
  const replaced = async ({ json }: Bench) => {
    const { token } = await json<Token>('token get --fresh');
    return token;
  };

  test.each([
    ['token delete', /^DELETE \/requesttoken/, 1, 0],
    ['logout --revoke', /^DELETE \/requesttoken/, 1, 0],
    ['token check', /^GET \/echo/, 1, 4],
    // The first request asks, without a token, whether the server requires one.
    ['status', /^GET \/echo/, 2, 4],
    ['api /echo', /^GET \/echo/, 1, 0],
  ])('is not deleted by %s', async (line, route, nth, status) => {
    let now = '';
    const { run, json } = await slow(
      route,
      async (through) => {
        now = await replaced(through);
      },
      nth,
    );
    const { token } = await json<Token>('token get');
    // The server no longer knows the token, but it is still in this machine's store.
    if (route.source.includes('echo')) await run('token delete --token-stdin --store none', { stdin: token });
    expect((await run(line)).status).toBe(status);
    expect(await json('token get')).toMatchObject({ token: now, source: 'store' });
  });
});

test('secret drop leaves what another command saves under the name before its answer comes', async () => {
  const { sandbox, run, json } = await bench();
  let front = '';
  const save = () => run('secret create ci --save', { env: { GRAPHCRED_GSQL_URL: front } });
  front = await gate(sandbox.gsqlUrl, /DROP SECRET/, save);
  const through = { env: { GRAPHCRED_GSQL_URL: front } };
  await save();
  expect((await run('secret drop ci', through)).status).toBe(0);
  expect(await json('secret list', through)).toMatchObject({ secrets: [{ alias: 'ci', saved: true }] });
});

test('a token is used without waiting for the slow passwordCommand of another process', async () => {
  const { run, json, env, home } = await bench();
  const [started, go] = [path.join(home, 'started'), path.join(home, 'go')];
  const script = `touch '${started}'; while [ ! -e '${go}' ]; do sleep 0.02; done; echo ${env.GRAPHCRED_PASSWORD}`;
  const { GRAPHCRED_REST_URL: restUrl, GRAPHCRED_GSQL_URL: gsqlUrl } = env;
  const config = put(home, 'own.json', { restUrl, gsqlUrl, passwordCommand: ['sh', '-c', script] });
  const waiting = run('token get -o json', { env: { GRAPHCRED_CONFIG: config, GRAPHCRED_PASSWORD: '' } });
  await expect.poll(() => fs.existsSync(started), { timeout: 10_000 }).toBe(true);
  const first = await json<Token>('token get', { env: { GRAPHCRED_TIMEOUT: '1' } });
  expect(first.source).toBe('server');
  fs.writeFileSync(go, '');
  // When the process has its password, the token is already in the store.
  expect(JSON.parse((await waiting).stdout)).toMatchObject({ token: first.token, source: 'store' });
});

// holds: C4.5
test('a cached token needs no credential, so no passwordCommand is run for it', async () => {
  const { run, json, env, home } = await bench();
  const ran = path.join(home, 'ran');
  const { GRAPHCRED_REST_URL: restUrl, GRAPHCRED_GSQL_URL: gsqlUrl } = env;
  const config = put(home, 'own.json', { restUrl, gsqlUrl, passwordCommand: ['touch', ran] });
  const { token } = await json<Token>('token get');
  const more = { env: { GRAPHCRED_CONFIG: config, GRAPHCRED_PASSWORD: '' } };
  expect((await run('token get', more)).stdout.trim()).toBe(token);
  expect(fs.existsSync(ran)).toBe(false);
});

test('a call waits for another process that mints 5 s longer than that may take, by its --timeout', async () => {
  const { run, home } = await bench({ serverVersion: '3.10.1' });
  expect((await run('token get')).status).toBe(0);
  const stateDir = stateOf(home);
  const key = listEntries(stateDir)[0]?.record.key ?? expect.fail('no token is stored');
  fs.rmSync(recordPath(stateDir, { kind: 'token', key, store: 'file' }));
  const holder = tryLock(entryPath(stateDir, 'token', partsOf(key).identity, 'lock'));
  expect(holder).toBeDefined();
  onTestFinished(() => {
    vi.restoreAllMocks();
    holder?.release();
  });
  // Each look at the clock is four seconds after the one before.
  let seconds = process.uptime();
  vi.spyOn(process, 'uptime').mockImplementation(() => (seconds += 4));
  const { status, stderr } = await run('token get --timeout 10');
  expect([status, stderr]).toEqual([9, expect.stringContaining('doing the same; waited 15 s')]);
});
