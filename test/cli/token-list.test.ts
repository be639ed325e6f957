import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { bench, temporaryHome } from '../helpers/cli.js';
import { keyringSkipReason, withKeyring } from '../helpers/keyring.js';
import { sandboxFor, start } from '../helpers/process.js';

interface List {
  tokens: { graph: string; store: string; secondsLeft: number }[];
}

test('lists what ended too, the longest-lived first, and asks for no credential', async () => {
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

test('none is a note for people, an empty list for programs, and no error', async () => {
  const { run } = await bench();
  expect(await run('token list')).toMatchObject({ status: 0, stdout: '' });
  for (const line of ['token list -o json', 'token list --store none -o json'])
    expect(await run(line)).toEqual({ status: 0, stdout: '{"schemaVersion":1,"tokens":[]}\n', stderr: '' });
});

test('a record that others can write is passed over', async () => {
  const { run, json, home } = await bench();
  await run('token get');
  const folder = path.join(home, '.local/state/graphcred');
  for (const name of fs.readdirSync(folder).filter((file) => /^token-.*\.json$/.test(file)))
    fs.chmodSync(path.join(folder, name), 0o666);
  expect((await json<List>('token list')).tokens).toEqual([]);
});

const skip = keyringSkipReason();
if (skip !== undefined) console.log(`token list with a keychain is not tested: ${skip}`);

describe.skipIf(skip !== undefined)('tokens in the keychain', () => {
  test('are listed beside those in files, also when no keychain answers', async () => {
    await withKeyring({ state: 'unlocked' }, async (keyring) => {
      const { env } = await sandboxFor(keyring.home);
      const withBus = { ...keyring.env, ...env } as Record<string, string>;
      expect((await start(['token', 'get', '--store', 'keychain'], withBus).ended).status).toBe(0);
      expect(
        (await start(['token', 'get', '--store', 'file', '--lifetime', '1h'], withBus).ended).status,
      ).toBe(0);
      const bare = { HOME: keyring.home, XDG_RUNTIME_DIR: temporaryHome() };
      const stores = async (...more: string[]) => {
        const { status, stdout, stderr } = await start(['token', 'list', '-o', 'json', ...more], bare).ended;
        expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
        return (JSON.parse(stdout) as List).tokens.map(({ store }) => store).sort();
      };
      expect(await stores()).toEqual(['file', 'keychain']);
      expect(await stores('--store', 'keychain')).toEqual(['keychain']);
      expect(await stores('--store', 'file')).toEqual(['file']);
    });
  });
});
