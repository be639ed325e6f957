import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { printedCommands } from '../transcripts/player/printed-commands.js';

const FOLDER = path.join(import.meta.dirname, '../transcripts');
const SOURCE = path.join(import.meta.dirname, '../../src');
/** Every command that a session prints, except in its help, with the command line that was typed before it. */
const printed = fs
  .readdirSync(FOLDER)
  .filter((name) => name.endsWith('.txt'))
  .flatMap((file) => {
    let typed = '';
    return fs
      .readFileSync(path.join(FOLDER, file), 'utf8')
      .split('\n')
      .flatMap((line) => {
        if (line.startsWith('$ ')) typed = line;
        if (/^[#$@<>%?]/.test(line)) return [];
        return printedCommands(typed, line).map((command) => ({ typed, command }));
      });
  });

// holds: C2.37
test.each([
  ['profile', / (?:-p|--profile) (\S+)/, /^(help|profile|config trust)| --help$| --(?:host|gsql-url) /],
  ['config file', / --config (\S+)/, /^(help|login|profile|config trust)/],
  ['password file', / --password-file (\S+)/, /^(help|profile|config|token list)/],
  ['owner', / --owner (\S+)/, /^(?!secret (list|create|drop|rotate))/],
])('a printed command is about the %s that was typed', (_, option, without) => {
  const lost = printed.filter(
    ({ typed, command }) =>
      option.test(typed) && !without.test(command) && option.exec(command)?.[1] !== option.exec(typed)?.[1],
  );
  expect(printed.length).toBeGreaterThan(200);
  expect(lost).toEqual([]);
});

test('a path in a printed command is one word, whatever the shell would read into it', () => {
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
