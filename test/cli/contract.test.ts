import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/args/catalogue.js';
import { bench } from '../helpers/cli.js';
import { EVERY_COMMAND } from '../helpers/every-command.js';

// Tests the promises of the contract that do not belong to one command.

const STDIN = ['--password-stdin', '--secret-stdin', '--token-stdin', '-d -'];

// holds: C4.9
test('two values from stdin are refused by every command that could read both', async () => {
  const { run, requests } = await bench();
  const done = new Set<string>();
  for (const { path, options } of COMMANDS) {
    if (path === 'config trust') continue; // This command reads no settings.
    const [words = ''] = EVERY_COMMAND.find((one) => one.path === path)?.lines ?? [];
    const takes = STDIN.filter((flag) =>
      options.some(({ name }) => `--${name}` === flag || (name === 'data' && flag === '-d -')),
    );
    for (const [at, first] of takes.entries())
      for (const second of takes.slice(at + 1)) {
        const line = `${path} ${first} ${second}${words.slice(path.length)}`;
        const { status, stdout, stderr } = await run(line, { stdin: 'value' });
        done.add(path);
        if (path === 'doctor') expect({ line, status }).toEqual({ line, status: 2 });
        else
          expect({ line, status, stdout, stderr }).toEqual({
            line,
            status: 2,
            stdout: '',
            stderr: expect.stringMatching(
              /^graphcred: Only one value can come from stdin, not 2\.\nhint: keep one of: /,
            ),
          });
      }
  }
  expect(done.size).toBeGreaterThan(15);
  expect(requests()).toEqual([]);
});

// holds: C6.4, C6.10, C6.11
test('the JSON documents have the keys of the table in the contract', async () => {
  const { run } = await bench();
  const page = fs.readFileSync('docs/contract.md', 'utf8');
  const promised = (command: string) => {
    const row = page.split('\n').find((line) => line.startsWith(`| \`${command}\``)) ?? '';
    return [...(row.split(' | ')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, key]) => key as string);
  };
  const lines: [string, string, string][] = [
    ['token get', 'token get', ''],
    ['token list', 'token list', 'tokens'],
    ['token check', 'token check', ''],
    ['secret create', 'secret create a', ''],
    ['secret create', 'secret create b --save', ''],
    ['secret list', 'secret list', 'secrets'],
    ['secret rotate', 'secret rotate b', ''],
    ['secret drop', 'secret drop a --yes', ''],
    ['status', 'status', ''],
    ['config show', 'config show', 'settings'],
    ['doctor', 'doctor', 'checks'],
    ['token delete', 'token delete', ''],
  ];
  for (const [command, line, list] of lines) {
    const { stdout } = await run(`${line} -o json`);
    const { schemaVersion, ...document } = JSON.parse(stdout);
    expect({ line, schemaVersion }).toEqual({ line, schemaVersion: 1 });
    const keys = [...Object.keys(document), ...Object.keys(list === '' ? {} : document[list][0])];
    expect(promised(command), line).toEqual(expect.arrayContaining(keys));
  }
  const { stderr } = await run('secret drop nobody --yes -o json');
  expect(stderr.trim()).toMatch(/^\{"error":\{.*\}\}$/);
  expect(Object.keys(JSON.parse(stderr).error)).toEqual(['code', 'message', 'hint', 'exitCode', 'retryable']);
});

// holds: C9.2
test('no file of the library uses the console, the environment, files, prompts or another process', () => {
  const files = fs
    .readdirSync('src/core', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.join('src/core', name));
  expect(files.length).toBeGreaterThan(20);
  for (const file of [...files, 'src/index.ts']) {
    const text = fs.readFileSync(file, 'utf8');
    expect({
      file,
      found: text.match(
        /\bconsole\.|\bprocess\.(?!versions?\b|getBuiltinModule\b|uptime\b)\w+|'node:(?:fs|readline|child_process|os|tty).*'/g,
      ),
    }).toEqual({
      file,
      found: null,
    });
  }
});
