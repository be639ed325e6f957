import { execFileSync, spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/args/catalogue.js';

const PAGE = 'docs/man/graphcred.1';

/** Programs that format manual pages and print warnings about mistakes. */
const READERS = [
  ['groff', '-man', '-Tutf8', '-ww', PAGE],
  ['man', '--warnings', '-l', PAGE],
  ['mandoc', '-Tlint', PAGE],
] as const;
const missing = (program: string) =>
  spawnSync(program, ['-h']).error && `${program} is not installed, so it does not read the manual page`;

test.for(READERS)('%s prints no warning about the manual page', ([program, ...args], { skip }) => {
  const problem = missing(program);
  skip(problem !== undefined, problem);
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { ...process.env, MANPAGER: 'cat', LC_ALL: 'C.UTF-8' },
  });
  const complaints = program === 'mandoc' ? stdout + stderr : stderr;
  expect({ program, status, complaints }).toEqual({ program, status: 0, complaints: '' });
});

test('the commands in the manual page can be typed as they are shown', ({ skip }) => {
  const problem = missing('groff');
  skip(problem !== undefined, problem);
  const shown = execFileSync('groff', ['-man', '-Tutf8', '-rLL=200n', '-P-cbou', PAGE], {
    encoding: 'utf8',
  });
  for (const { examples, options } of COMMANDS) {
    for (const line of examples) expect(shown).toContain(` ${line}\n`);
    for (const { name } of options) expect(shown).toContain(`--${name}`);
  }
  for (const section of ['EXAMPLES', 'ENVIRONMENT', 'FILES', 'EXIT STATUS', 'SEE ALSO'])
    expect(shown).toContain(`\n${section}\n`);
});
