import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { stageEntry } from '../../src/store/records.js';
import { bench, cli, temporaryHome } from '../helpers/cli.js';

const configOf = (home: string) => path.join(home, '.config/graphcred/config.json');

const write = (file: string, text: string) => {
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  fs.writeFileSync(file, text, { mode: 0o600 });
};

/** Returns the candidates, each with its description after a tab. */
async function described(home: string, ...words: string[]): Promise<string[]> {
  const { status, stdout } = await cli(home, ['__complete', ...words]);
  expect(status).toBe(0);
  return stdout.split('\n').filter((line) => line !== '');
}

async function offered(home: string, ...words: string[]): Promise<(string | undefined)[]> {
  return (await described(home, ...words)).map((line) => line.split('\t')[0]);
}

test('commands, options, choices and profile names are each offered in their position', async () => {
  const home = temporaryHome();
  const dir = path.join(home, '.config/graphcred');
  fs.mkdirSync(dir, { recursive: true });
  fs.writeFileSync(path.join(dir, 'config.json'), '{"profiles":{"dev":{},"prod":{"graph":"x"}}}');
  expect(await offered(home, '')).toEqual(expect.arrayContaining(['token', 'secret', 'completion', 'help']));
  expect((await offered(home, 'secret', '')).sort()).toEqual(['create', 'drop', 'list', 'prune', 'rotate']);
  expect(await offered(home, 'secret', 'ro')).toEqual(['rotate']);
  expect(await offered(home, 'help', 'token', 'ge')).toEqual(['get']);
  expect(await offered(home, 'token', 'get', '--li')).toEqual(['--lifetime']);
  expect(await offered(home, 'token', 'get', '-o', 'g')).toEqual(['github', 'gitlab']);
  expect(await offered(home, 'token', 'get', '--output=j')).toEqual(['--output=json']);
  expect(await offered(home, 'token', 'get', '-p', '')).toEqual(['dev', 'prod']);
  expect(await offered(home, 'token', 'get', '--profile', 'p')).toEqual(['prod']);
  expect(await offered(home, 'completion', 'f')).toEqual(['fish']);
  expect(await offered(home, 'token', 'get', '')).toContain('--fresh');
  // bash splits the word at the equals sign.
  expect(await offered(home, 'token', 'get', '--output', '=', 'j')).toEqual(['json']);
  expect(await offered(home, 'token', 'get', '--store', '=')).toEqual(['file', 'keychain', 'none', 'redis']);
  const files = [
    ['status', '--config', ''],
    ['status', '--ca=/e'],
    ['config', 'trust', ''],
  ];
  for (const words of files) expect(await offered(home, ...words)).toEqual([':file']);
  for (const words of [
    ['status', '--graph', ''],
    ['api', '/'],
  ])
    expect(await offered(home, ...words)).toEqual([]);
});

test('an alias that a shell could interpret is not offered, and no profile is offered without a config file', async () => {
  const home = temporaryHome();
  const record = { v: 1, kind: 'secret', store: 'file', createdAtUnix: 1 } as const;
  for (const alias of ['plain', '$(touch pwned)', '-x', 'a b'])
    stageEntry(path.join(home, '.local/state/graphcred'), {
      record: { ...record, key: alias, info: { alias } },
    }).commit();
  expect(await offered(home, 'secret', 'drop', '')).toEqual(['plain']);
  expect(await offered(home, 'token', 'get', '-p', '')).toEqual([]);
});

test('completion offers the names of saved secrets only, and not of what has no name', async () => {
  const { run, home } = await bench();
  await run('token get');
  await run('login --save-password');
  expect((await cli(home, ['__complete', 'secret', 'drop', 'u'])).stdout).toBe('');
});

describe('completion', () => {
  test('offers the profiles of the config file that was typed', async () => {
    const home = temporaryHome();
    write(path.join(home, 'own.json'), '{"profiles":{"mine":{}}}');
    write(configOf(home), '{"profiles":{"usual":{}}}');
    const words = ['__complete', 'status', '--config', path.join(home, 'own.json'), '-p', ''];
    expect((await cli(home, words)).stdout).toBe('mine\n');
  });

  test('offers nothing that would steer the terminal', async () => {
    const home = temporaryHome();
    write(configOf(home), JSON.stringify({ profiles: { dev: { graph: 'a\u001b[31m\nb' } } }));
    const { stdout } = await cli(home, ['__complete', 'profile', 'use', '']);
    expect(stdout).toBe('dev\tgraph a [31m b\n');
  });
});
