import fs from 'node:fs';
import { expect, test } from 'vitest';
import { entryOf, NOT_RUN, RUN_BY } from '../helpers/code-blocks.js';
import { blocksOf } from '../helpers/docs.js';

const PAGES = ['README.md', 'CONTRIBUTING.md', 'RELEASING.md', 'SECURITY.md', ...pagesOf('docs')];

function pagesOf(folder: string): string[] {
  return fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
}

const nameOfPage = (page: string) => (page.startsWith('docs/') ? page.slice('docs/'.length) : `../${page}`);

test('every code block of the pages is run by a test, or has a reason why it is not', () => {
  const found = PAGES.flatMap((page) => blocksOf(nameOfPage(page)).map(({ name }) => name));
  expect(found.filter((name) => entryOf(name) === undefined)).toEqual([]);
  const listed = [...Object.values(RUN_BY).flat(), ...Object.keys(NOT_RUN)];
  expect([...new Set(found.map((name) => entryOf(name)?.entry))].sort()).toEqual(listed.sort());
  expect(new Set(found).size).toBe(found.length);
});

test('the search for blocks finds every code fence in the pages', () => {
  for (const page of PAGES) {
    const fences = fs.readFileSync(page, 'utf8').match(/^ *(```|~~~)/gm) ?? [];
    expect([page, fences.length]).toEqual([page, 2 * blocksOf(nameOfPage(page)).length]);
  }
});

test.each(Object.entries(RUN_BY))('%s reads the pages whose blocks it runs', (file, names) => {
  // The blocks are counted where they run.
  const text = fs.readFileSync(file, 'utf8');
  expect(text).toContain(`unused('${file}')`);
  for (const name of names) expect(text).toContain(`'${nameOfPage(name.split(' / ')[0] as string)}'`);
});
