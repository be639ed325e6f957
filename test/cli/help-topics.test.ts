import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.js';
import { cli, temporaryHome } from '../helpers/cli.js';

test.each(COMMANDS.map(({ path }) => path))('help %s is what --help says', async (name) => {
  const home = temporaryHome();
  const words = name.split(' ');
  const help = await cli(home, ['help', ...words]);
  expect(help).toEqual(await cli(home, [...words, '--help']));
  expect(help).toMatchObject({ status: 0, stderr: '', stdout: expect.stringContaining(`graphcred ${name}`) });
});

test.each(['token', 'secret', 'config'])('help %s lists its commands', async (name) => {
  const { status, stdout } = await cli(temporaryHome(), ['help', name]);
  expect(status).toBe(0);
  for (const { path, summary } of COMMANDS.filter((spec) => spec.path.startsWith(`${name} `))) {
    expect(stdout).toContain(path.split(' ')[1]);
    expect(stdout.replace(/\s+/g, ' ')).toContain(summary);
  }
});

test.each([['bogus'], ['token', 'bogus'], ['hunter2'], ['toString']])(
  'help %j is exit 2, names the topics, and repeats nothing',
  async (...words) => {
    const { status, stdout, stderr } = await cli(temporaryHome(), ['help', ...words]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain('exit-codes, environment, formatting');
    expect(stderr).not.toMatch(/bogus|hunter2|toString/);
  },
);

test('scripts/docs.mjs writes the pages that are in docs/', () => {
  const folder = temporaryHome();
  execFileSync(process.execPath, ['scripts/docs.mjs', folder], { stdio: 'pipe' });
  const pages = fs.readdirSync(folder);
  expect(pages.sort()).toEqual(['environment.md', 'exit-codes.md', 'formatting.md']);
  for (const page of pages)
    expect(fs.readFileSync(`${folder}/${page}`, 'utf8')).toBe(fs.readFileSync(`docs/${page}`, 'utf8'));
});
