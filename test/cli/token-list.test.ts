import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { bench } from '../helpers/cli.js';

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

test('token list without tokens prints a note for people, and an empty list for programs', async () => {
  const { run } = await bench();
  expect(await run('token list')).toMatchObject({ status: 0, stdout: '' });
  for (const line of ['token list -o json', 'token list --store none -o json'])
    expect(await run(line)).toEqual({ status: 0, stdout: '{"schemaVersion":1,"tokens":[]}\n', stderr: '' });
});

test.each([0o620, 0o602])('token list ignores a record that others can write (mode %o)', async (mode) => {
  const { run, json, home } = await bench();
  await run('token get');
  const folder = path.join(home, '.local/state/graphcred');
  for (const name of fs.readdirSync(folder).filter((file) => /^token-.*\.json$/.test(file)))
    fs.chmodSync(path.join(folder, name), mode);
  expect((await json<List>('token list')).tokens).toEqual([]);
});
