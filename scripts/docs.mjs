// Writes the pages of docs/ that are made from the program's own tables, and .graphcredrc.example: node scripts/docs.mjs [FOLDER]
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { libraryPage } from './library-page.mjs';
import { manPage } from './man.mjs';
import { meaningOf, referencePage } from './reference-page.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const folder = path.resolve(process.argv[2] ?? path.join(root, 'docs'));

const tables = [
  'cli/args/catalogue',
  'cli/args/options',
  'cli/args/help-topics',
  'cli/output/exit-codes',
  'config/keys',
];
const bundle = await rolldown({
  input: Object.fromEntries(tables.map((name) => [path.basename(name), path.join(root, `src/${name}.ts`)])),
  platform: 'node',
  external: /^[a-z]/,
});
// The folder is inside the project, so that packages are found from there.
const cache = path.join(root, 'node_modules/.cache');
fs.mkdirSync(cache, { recursive: true });
const temporary = fs.mkdtempSync(path.join(cache, 'graphcred-docs-'));
try {
  await bundle.write({ dir: temporary, format: 'esm', entryFileNames: '[name].mjs' });
  const modules = await Promise.all(
    tables.map((name) => import(path.join(temporary, `${path.basename(name)}.mjs`))),
  );
  const all = Object.assign({}, ...modules);
  fs.writeFileSync(path.join(folder, 'reference.md'), referencePage(all));
  fs.writeFileSync(path.join(folder, 'library.md'), libraryPage(root));
  const example = path.join(root, '.graphcredrc.example');
  const examples = process.argv[2] === undefined ? example : path.join(folder, '.graphcredrc.example');
  fs.writeFileSync(examples, exampleFile(fs.readFileSync(example, 'utf8'), all));
  fs.mkdirSync(path.join(folder, 'man'), { recursive: true });
  fs.writeFileSync(path.join(folder, 'man/graphcred.1'), datedManPage(all));
} finally {
  await bundle.close();
  fs.rmSync(temporary, { recursive: true });
}

/** Returns the manual page. Its date changes only if something else in it changes. */
function datedManPage(all) {
  const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
  const file = path.join(root, 'docs/man/graphcred.1');
  const before = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
  const [, date = ''] = /^\.TH GRAPHCRED 1 "([^"]+)"/m.exec(before) ?? [];
  const same = manPage(all, { version, date });
  return same === before ? same : manPage(all, { version, date: new Date().toISOString().slice(0, 10) });
}

/** Returns the example of a config file with the list of every key, whose meaning is that of the option. */
function exampleFile(before, tables) {
  const rows = Object.entries(tables.SETTINGS).map(
    ([key, { flag }]) => `#   ${key.padEnd(21)} ${meaningOf(key, flag, tables)}`,
  );
  const head = before.slice(0, before.indexOf('# Every key'));
  const intro =
    '# Every key, at the top for all profiles or inside one of them. A dot is a table: tls: { ca: FILE }';
  return `${[head + intro, ...rows].join('\n')}\n`;
}
