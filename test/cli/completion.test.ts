import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { savedAliases } from '../../src/cli/args/candidates.js';
import type { Context } from '../../src/cli/context.js';
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

test('a command with one argument is offered no second one, and a command with several arguments is', async () => {
  const home = temporaryHome();
  const config = path.join(home, '.config/graphcred');
  fs.mkdirSync(config, { recursive: true });
  fs.writeFileSync(path.join(config, 'config.json'), '{"profiles":{"dev":{},"prod":{}}}');
  expect(await offered(home, 'profile', 'use', '')).toEqual(['dev', 'prod']);
  expect(await offered(home, 'profile', 'use', '--no-color', '')).toEqual(['dev', 'prod']);
  for (const words of [
    ['profile', 'use', 'dev', 'p'],
    ['profile', 'use', 'dev', '-q', 'p'],
    ['profile', 'rm', 'dev', 'p'],
    ['completion', 'bash', 'f'],
  ])
    expect(await offered(home, ...words)).toEqual([]);
  expect(await offered(home, 'profile', 'remove', 'dev', '')).toContain('--yes');
});

test('options before the command are completed, and so is the command after them', async () => {
  const home = temporaryHome();
  fs.writeFileSync(path.join(home, '.graphcredrc'), '{"profiles":{"dev":{},"prod":{}}}', { mode: 0o600 });
  expect(await offered(home, '-p', '')).toEqual(['dev', 'prod']);
  expect(await offered(home, '-p', 'prod', 'stat')).toEqual(['status']);
  expect(await offered(home, '-p', 'prod', 'secret', 'ro')).toEqual(['rotate']);
  expect(await offered(home, '--prof')).toEqual(['--profile']);
});

test('the words of another program are left to the completion of that program', async () => {
  const home = temporaryHome();
  expect(await offered(home, 'exec', '--', 'gi')).toEqual([':command 2']);
  expect(await offered(home, 'exec', '--lifetime', '15m', '--revoke', '--', 'git', 'chec')).toEqual([
    ':command 5',
  ]);
  expect(await offered(home, 'exec', 'gi')).toEqual([':command 1']);
  expect(await offered(home, '-p', 'prod', 'exec', '--', 'gi')).toEqual([':command 4']);
  expect(await offered(home, 'sandbox', '--', 'gi')).toEqual([':command 2']);
  expect(await offered(home, 'exec', '--lif')).toEqual(['--lifetime']);
});

test('the options of sandbox are offered before its program, and nothing where nothing can follow', async () => {
  const home = temporaryHome();
  expect(await offered(home, 'sandbox', '')).toEqual(expect.arrayContaining(['--server-version', '--fault']));
  expect(await offered(home, 'sandbox', 'gi')).toEqual([':command 1']);
  expect(await offered(home, 'exec', '')).toEqual([':command 1']);
  expect(await offered(home, 'help', 'token', 'get', '')).toEqual([]);
  expect(await offered(home, 'status', '--no-such=x')).toEqual([]);
  expect(await offered(home, 'status', '--quiet=x')).toEqual([]);
});

test('an option that was typed is offered again only if it may be repeated', async () => {
  const home = temporaryHome();
  expect(await offered(home, 'status', '--quiet', '--q')).toEqual([]);
  expect(await offered(home, 'sandbox', '--graph', 'a', '--gr')).toEqual(['--graph']);
});

test('without a home folder no saved alias is offered', () => {
  expect(savedAliases({ env: {}, home: undefined } as unknown as Context)).toEqual([]);
});

test('the profiles of the config file that GRAPHCRED_CONFIG names are offered, unless another one was typed', async () => {
  const home = temporaryHome();
  for (const name of ['one', 'two'])
    fs.writeFileSync(path.join(home, `${name}.json`), `{"profiles":{"${name}":{}}}`, { mode: 0o600 });
  const offeredWith = async (...words: string[]) =>
    (await cli(home, ['__complete', 'status', ...words, '-p', ''], { env: { GRAPHCRED_CONFIG: 'one.json' } }))
      .stdout;
  expect(await offeredWith()).toBe('one\n');
  expect(await offeredWith('--config', 'two.json')).toBe('two\n');
});

test('help topics, profiles and short forms are offered, each with a description', async () => {
  const home = temporaryHome();
  const config = path.join(home, '.config/graphcred');
  fs.mkdirSync(config, { recursive: true });
  const profiles = { prod: { host: 'https://graph.example.com', graph: 'social' } };
  fs.writeFileSync(path.join(config, 'config.json'), JSON.stringify({ profiles }));
  expect(await described(home, 'help', 'exit')).toEqual(['exit-codes\tExit codes']);
  expect(await described(home, 'profile', 'rm', '')).toEqual([
    'prod\thttps://graph.example.com, graph social',
  ]);
  expect(await described(home, 'secret', 'li')).toEqual(['list\tmasked secrets, sorted by alias']);
  expect(await described(home, 'token', 'get', '--fr')).toEqual([
    '--fresh\ta token minted after this call began, never an older one',
  ]);
});

test('saved aliases are offered without a request', async () => {
  const { home, run, requests } = await bench();
  await run('secret create nightly --save');
  await run('secret create unsaved');
  requests();
  expect(await offered(home, 'secret', 'rotate', '')).toEqual(['nightly']);
  expect(await offered(home, 'secret', 'drop', 'n')).toEqual(['nightly']);
  expect(await offered(home, 'secret', 'drop', 'other', 'n')).toEqual(['nightly']);
  expect(await offered(home, 'token', 'get', '--secret-alias', '')).toEqual(['nightly']);
  const [line] = await described(home, 'secret', 'rm', 'n');
  expect(line).toMatch(/^nightly\thttp:\/\/127\.0\.0\.1:\d+, graph demo$/);
  expect(requests()).toEqual([]);
});

test('completion works although the config file is broken', async () => {
  const home = temporaryHome();
  fs.writeFileSync(path.join(home, '.graphcredrc'), '{ no');
  expect(await cli(home, ['__complete', 'status', '-p', ''])).toEqual({ status: 0, stdout: '', stderr: '' });
});

test('the script for PowerShell is printed', async () => {
  const { status, stdout } = await cli(temporaryHome(), ['completion', 'powershell']);
  expect(status).toBe(0);
  expect(stdout).toContain('Register-ArgumentCompleter -Native -CommandName graphcred');
  expect(stdout).toContain('graphcred __complete ');
});

test('an unknown shell is refused, and the error lists the known ones', async () => {
  expect(await cli(temporaryHome(), ['completion', 'tcsh'])).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining('bash, zsh, fish, powershell'),
  });
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

test('of two config files that were typed, the last one names the profiles', async () => {
  const home = temporaryHome();
  const files = ['one', 'two'].map((name) => path.join(home, `${name}.json`));
  for (const file of files)
    fs.writeFileSync(file, `{"profiles":{"${path.basename(file, '.json')}":{}}}`, { mode: 0o600 });
  const words = files.flatMap((file) => ['--config', file]);
  expect(await offered(home, 'status', ...words, '-p', '')).toEqual(['two']);
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
