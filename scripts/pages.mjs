// Checks the pages: node scripts/pages.mjs. Those made from the program's tables are as scripts/docs.mjs writes them, the index of docs/ names every page,
// each link leads to a file and a heading, each npm script and each test that a page names exists, the version to install is the present one, and the
// promises of docs/contract.md have unique numbers in order.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const read = (file) => fs.readFileSync(file, 'utf8');
const filesIn = (folder) =>
  fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.join(parentPath, name));
const problems = [];
const check = (holds, problem) => holds || problems.push(problem);

const written = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-pages-'));
execFileSync(process.execPath, ['scripts/docs.mjs', written], { stdio: 'pipe' });
for (const file of filesIn(written)) {
  const page = path.join(file.endsWith('.example') ? '.' : 'docs', path.relative(written, file));
  check(read(file) === read(page), `${page} is out of date: node scripts/docs.mjs`);
}
fs.rmSync(written, { recursive: true });

const fidelity = 'docs/dev/fidelity.md';
for (const [, file, test] of read(fidelity).matchAll(/\| `(test\/\S+)`: (.+) \|$/gm))
  check(read(file).includes(test), `${fidelity}: ${file} has no test "${test}"`);

const pages = filesIn('docs').filter((file) => file.endsWith('.md'));
const all = ['README.md', 'CONTRIBUTING.md', 'RELEASING.md', 'SECURITY.md', 'CHANGELOG.md', ...pages];
/** The page without its code blocks: brackets in them are no links, and a # is no heading. */
const prose = (page) => read(page).replace(/^( *)(```|~~~)[\s\S]*?^\1\2$/gm, '');
const linksOf = (page) =>
  [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link).filter((link) => !/^\w+:/.test(link));
/** The anchors that GitHub gives the headings of a page. */
const anchorsOf = (page) =>
  [...prose(page).matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
for (const page of all)
  for (const link of linksOf(page)) {
    const [file, anchor] = link.split('#');
    const target = file === '' ? page : path.join(path.dirname(page), file);
    check(fs.existsSync(target), `${page}: there is no ${link}`);
    if (anchor !== undefined && fs.existsSync(target))
      check(anchorsOf(target).includes(anchor), `${page}: ${target} has no heading #${anchor}`);
  }
const indexes = ['README.md', 'docs/README.md'];
const index = indexes.flatMap((page) => linksOf(page).map((link) => path.join(path.dirname(page), link)));
for (const page of pages) check(index.includes(page), `neither README.md nor docs/README.md names ${page}`);

const { scripts, version } = JSON.parse(read('package.json'));
for (const page of all)
  for (const [text, named] of read(page).matchAll(/graphcred@(\d+\.\d+\.\d+)/g))
    check(named === version, `${page}: ${text} is not the version of package.json`);
for (const page of all)
  for (const [, name] of read(page).matchAll(/\bnpm run (?:--silent )?([a-z][\w:]*)/g))
    check(name in scripts, `${page}: there is no npm script ${name}`);

const numbers = [...read('docs/contract.md').matchAll(/\*\*C(\d+)\.(\d+)\*\*/g)].map(
  ([, section, number]) => Number(section) * 1000 + Number(number),
);
check(
  numbers.every((number, at) => at === 0 || number > numbers[at - 1]),
  'docs/contract.md: a number occurs twice or out of order',
);

for (const problem of problems) console.error(`pages: ${problem}`);
process.exitCode = problems.length > 0 ? 1 : 0;
