import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { stageEntry } from '../../src/store/records.js';
import { absentRedis, bench } from '../helpers/cli.js';

interface List {
  tokens: { graph: string; store: string; secondsLeft: number }[];
}

test('token list shows expired tokens too, the longest-lived first, and asks for no credential', async () => {
  const { run, json, requests } = await bench({ graphs: ['demo', 'social'] });
  await run('token get --lifetime 1h');
  await run('token get --lifetime 2h --graph social');
  requests();
  const env = { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' };
  const { tokens } = await json<List>('token list', { env });
  expect(tokens.map(({ graph }) => graph)).toEqual(['social', 'demo']);
  const later = () => Date.now() + 90 * 60_000;
  const { tokens: ended } = await json<List>('token list', { env, now: later });
  expect(ended.map(({ secondsLeft }) => secondsLeft > 0)).toEqual([true, false]);
  expect(ended[1]?.secondsLeft).toBe(0);
  expect((await run('token list', { env, now: later })).stdout).toContain('expired');
  expect(requests()).toEqual([]);
});

test.each([0o620, 0o602])('token list ignores a record that others can write (mode %o)', async (mode) => {
  const { run, json, home } = await bench();
  await run('token get');
  const folder = path.join(home, '.local/state/graphcred');
  for (const name of fs.readdirSync(folder).filter((file) => /^token-.*\.json$/.test(file)))
    fs.chmodSync(path.join(folder, name), mode);
  expect((await json<List>('token list')).tokens).toEqual([]);
});

test('token list without a chosen store shows the tokens of every store of this machine', async () => {
  const { run, home } = await bench();
  await run('token get');
  const now = Math.floor(Date.now() / 1000);
  const info = { host: 'http://old.example', graph: null, principal: 'user:ann' };
  const record = { v: 1, kind: 'token', key: 'old', store: 'keychain', createdAtUnix: now, info } as const;
  const entry = { record: { ...record, expiresAtUnix: now + 60 } };
  stageEntry(path.join(home, '.local/state/graphcred'), entry).commit();
  const { stdout } = await run('token list', { env: { GRAPHCRED_STORE: undefined } });
  expect(stdout).toMatch(/^[0-9a-f]{8} +127\.0\.0\.1:\d+ +demo +user:tigergraph +file /m);
  // This record does not name the GSQL server.
  expect(stdout).toMatch(/^[0-9a-f]{8} +http:\/\/old\.example +- +user:ann +keychain /m);
  expect((await run('token list')).stdout).not.toContain('keychain');
});

test('token list without a home folder is empty', async () => {
  const { run } = await bench();
  const result = await run('token list -o json', { env: { GRAPHCRED_STORE: undefined }, homeless: true });
  expect(result).toEqual({ status: 0, stdout: '{"schemaVersion":1,"tokens":[]}\n', stderr: '' });
});

// holds: C2.36
test.each(['token list', 'logout'])('%s names records that it cannot read, and is PARTIAL', async (line) => {
  const { run, home } = await bench();
  await run('token get');
  const [name = ''] = fs
    .readdirSync(path.join(home, '.local/state/graphcred'))
    .filter((one) => /^token-/.test(one));
  const file = path.join(home, '.local/state/graphcred', name);
  fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file, 'utf8')), v: 2 }), {
    mode: 0o600,
  });
  const { status, stderr } = await run(line);
  expect(status).toBe(10);
  expect(stderr).toContain(`${file} is passed over: a newer graphcred wrote it`);
  expect(fs.existsSync(file)).toBe(true);
});

test('a token of this machine is listed once while the shared store is away', async () => {
  const { run, home } = await bench();
  const env = absentRedis(home);
  expect((await run('token get', { env })).status).toBe(0);
  const { stdout, stderr } = await run('token list -o json', { env });
  expect(JSON.parse(stdout).tokens).toHaveLength(1);
  expect(stderr).toContain('; this looks at the tokens of this machine only\n');
});
