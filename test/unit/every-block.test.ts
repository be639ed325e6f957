import fs from 'node:fs';
import { expect, test } from 'vitest';

/** How many code blocks a page has, and the test that runs them. */
const RUN: Record<string, [blocks: number, by: string]> = {
  'README.md': [5, 'test/e2e/first-steps.test.ts'],
  'docs/first-steps.md': [8, 'test/e2e/first-steps.test.ts'],
  'docs/library.md': [20, 'test/cli/library-page.test.ts'],
  'docs/with-other-tools.md': [15, 'test/e2e/recipes.test.ts'],
  'docs/ci/github-actions.md': [4, 'test/e2e/recipes.test.ts'],
  'docs/ci/gitlab.md': [4, 'test/e2e/recipes.test.ts'],
  'docs/ci/jenkins.md': [2, 'test/e2e/recipes.test.ts'],
  'docs/ci/shell.md': [8, 'test/e2e/recipes.test.ts'],
};

/** Blocks that no test runs, and why. */
const NOT_RUN: Record<string, [blocks: number, why: string]> = {
  'README.md': [2, 'they install packages on the machine, and run the tests themselves'],
  'CONTRIBUTING.md': [1, 'it installs packages, and runs the tests themselves'],
  'docs/first-steps.md': [1, 'it installs on the machine'],
  'docs/architecture.md': [1, 'a picture, made and checked by scripts/rooms.mjs'],
  'docs/contract.md': [1, 'the list of commands, not something to type'],
  'docs/conformance.md': [
    3,
    'they ask a server; test/e2e/conformance-command.test.ts runs the same command lines',
  ],
  'docs/fleet.md': [
    4,
    'they need a Redis server at an address of its own; test/e2e/store-redis*.test.ts run these settings',
  ],
  'docs/library.md': [
    24,
    'declarations, made from the source by scripts/docs.mjs, which test/cli/help-topics.test.ts checks',
  ],
  'docs/performance.md': [1, 'it measures for minutes'],
  'docs/sandbox.md': [3, 'answers of servers; test/contract/sandbox-*.test.ts compare them'],
  'docs/standalone.md': [1, 'it fetches a runtime of 50 MB; npm run test:standalone runs it'],
  'docs/storage.md': [
    1,
    'it installs packages of the system; test/helpers/keyring.ts starts such a keychain',
  ],
};

const PAGES = ['README.md', 'CONTRIBUTING.md', 'RELEASING.md', 'SECURITY.md', ...pagesOf('docs')];

function pagesOf(folder: string): string[] {
  return fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
}

test('every code block of the pages is run by a test, or has a reason why it is not', () => {
  const counted = PAGES.flatMap((page) => {
    const blocks = (fs.readFileSync(page, 'utf8').match(/^ *```/gm) ?? []).length / 2;
    return blocks === 0 ? [] : [[page, blocks] as const];
  });
  const listed = [...new Set([...Object.keys(RUN), ...Object.keys(NOT_RUN)])];
  const expected = listed.map((page) => [page, (RUN[page]?.[0] ?? 0) + (NOT_RUN[page]?.[0] ?? 0)]);
  expect(Object.fromEntries(counted)).toEqual(Object.fromEntries(expected));
});

test.each(Object.entries(RUN))('the test that is to run the blocks of %s reads that page', (page, [, by]) => {
  const name = page === 'README.md' ? '../README.md' : page.slice('docs/'.length);
  expect(fs.readFileSync(by, 'utf8')).toContain(`'${name}'`);
});

test('every page in docs/ is in the index, and every link of the index leads to a page', () => {
  const index = fs.readFileSync('docs/README.md', 'utf8');
  const links = [...index.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link as string);
  for (const link of links) expect(fs.existsSync(`docs/${link}`), link).toBe(true);
  const pages = PAGES.filter((page) => page.startsWith('docs/') && !/decisions|docs\/README/.test(page));
  expect(pages.filter((page) => !links.includes(page.slice('docs/'.length)))).toEqual([]);
});

test('the promises of docs/contract.md have numbers of their own, in order', () => {
  const text = fs.readFileSync('docs/contract.md', 'utf8');
  const numbers = [...text.matchAll(/\*\*C(\d+)\.(\d+)\*\*/g)].map(([, section, number]) => [
    Number(section),
    Number(number),
  ]);
  expect(numbers.length).toBeGreaterThan(90);
  const inOrder = [...numbers].sort(([a = 0, b = 0], [c = 0, d = 0]) => a - c || b - d);
  expect(numbers).toEqual(inOrder);
  expect(new Set(numbers.map(String)).size).toBe(numbers.length);
});
