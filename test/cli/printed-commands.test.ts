import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parseCommandLine } from '../../src/cli/args/parse.js';
import type { Context } from '../../src/cli/context.js';

const FOLDER = path.join(import.meta.dirname, '../transcripts');
/** Where a printed command ends and the sentence goes on. */
const END = /[;,)"`]|\. | or | then | prints | says | needs /;

/** Every command that a session prints in a hint or note, with the command line that was typed before it. */
const printed = fs
  .readdirSync(FOLDER)
  .filter((name) => name.endsWith('.txt'))
  .flatMap((name) => {
    let typed = '';
    return fs
      .readFileSync(path.join(FOLDER, name), 'utf8')
      .split('\n')
      .flatMap((line) => {
        if (line.startsWith('$ ')) typed = line;
        if (!line.startsWith('! ')) return [];
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
test('and is about the profile that was typed', () => {
  const lost = printed.filter(
    ({ typed, command }) => / (-p|--profile) /.test(typed) && !/^(profile|config trust)| -p /.test(command),
  );
  expect(lost).toEqual([]);
});
