import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parseCommandLine } from '../../src/cli/args/parse.js';
import type { Context } from '../../src/cli/context.js';

const FOLDERS = ['../transcripts', '../e2e/screens'].map((name) => path.join(import.meta.dirname, name));
const SOURCE = path.join(import.meta.dirname, '../../src');
/** Where a printed command ends and the sentence goes on. */
const END = / {2}|[;,)"`]|\. | or | then | prints | says | needs /;

/** Every command that a session prints, except in its help, with the command line that was typed before it. */
const printed = FOLDERS.flatMap((folder) => fs.readdirSync(folder).map((name) => path.join(folder, name)))
  .filter((file) => file.endsWith('.txt'))
  .flatMap((file) => {
    let typed = '';
    return fs
      .readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line) => {
        if (line.startsWith('$ ')) typed = line;
        if (/^[#$@<>%?]/.test(line) || /\b(help|completion|__complete)\b/.test(typed)) return [];
        const ends = [...line.matchAll(/\bgraphcred (?=(?:[a-z]+ )?[a-z]+)(.*?)(?= graphcred |$)/g)];
        return ends.map(([, text = '']) => ({ typed, command: (text.split(END)[0] as string).trim() }));
      });
  })
  .filter(({ command }) =>
    /^(secret|token|config|profile) [a-z]+|^(log(in|out)|status|doctor|exec|api)\b/.test(command),
  );

// holds: C2.37
test('every command that a hint prints works when it is typed', async () => {
  expect(printed.length).toBeGreaterThan(300);
  const ctx = { stdout: { write: () => {} } } as unknown as Context;
  for (const command of new Set(printed.map((one) => one.command)))
    await expect(parseCommandLine(ctx, command.split(' '), ''), command).resolves.not.toThrow();
});

// holds: C2.37
test.each([
  ['profile', / (?:-p|--profile) (\S+)/, /^(profile|config trust)/],
  ['config file', / --config (\S+)/, /^(login|profile|config trust)/],
  ['owner', / --owner (\S+)/, /^(?!secret (list|create|drop|rotate))/],
])('and is about the %s that was typed', (_, option, without) => {
  const lost = printed.filter(
    ({ typed, command }) =>
      option.test(typed) && !without.test(command) && option.exec(command)?.[1] !== option.exec(typed)?.[1],
  );
  expect(lost).toEqual([]);
});

test('and a path in it is one word, whatever the shell would read into it', () => {
  const unquoted = fs
    .readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) =>
      fs
        .readFileSync(path.join(SOURCE, name), 'utf8')
        .split('\n')
        .filter((line) =>
          /\b(?:chmod [\w+-]+|chown \S+|ls -l|rm) \$\{(?!shellWord)|chmod \d+ it\b/.test(line),
        ),
    );
  expect(unquoted).toEqual([]);
});
