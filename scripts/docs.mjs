// Writes the pages of docs/ that are made from the program's own tables: node scripts/docs.mjs [FOLDER]
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { manPage } from './man.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const folder = path.resolve(process.argv[2] ?? path.join(root, 'docs'));

const tables = ['commands', 'options', 'topics', 'exit'];
const bundle = await rolldown({
  input: tables.map((name) => path.join(root, `src/cli/${name}.ts`)),
  platform: 'node',
  external: /^[a-z]/,
});
// Below the project, so that packages are found.
const cache = path.join(root, 'node_modules/.cache');
fs.mkdirSync(cache, { recursive: true });
const temporary = fs.mkdtempSync(path.join(cache, 'graphcred-docs-'));
try {
  await bundle.write({ dir: temporary, format: 'esm', entryFileNames: '[name].mjs' });
  const modules = await Promise.all(tables.map((name) => import(path.join(temporary, `${name}.mjs`))));
  const all = Object.assign({}, ...modules);
  for (const name of Object.keys(all.TOPICS))
    fs.writeFileSync(path.join(folder, `${name}.md`), all.topicPage(name));
  fs.mkdirSync(path.join(folder, 'man'), { recursive: true });
  fs.writeFileSync(path.join(folder, 'man/graphcred.1'), datedManPage(all));
} finally {
  await bundle.close();
  fs.rmSync(temporary, { recursive: true });
}

/** The page keeps its date until something else in it changes. */
function datedManPage(all) {
  const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
  const file = path.join(root, 'docs/man/graphcred.1');
  const before = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
  const [, date = ''] = /^\.TH GRAPHCRED 1 "([^"]+)"/m.exec(before) ?? [];
  const same = manPage(all, { version, date });
  return same === before ? same : manPage(all, { version, date: new Date().toISOString().slice(0, 10) });
}
