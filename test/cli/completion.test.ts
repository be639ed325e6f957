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
