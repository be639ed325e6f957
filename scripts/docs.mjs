// Writes the pages of docs/ that are made from the program's own tables: node scripts/docs.mjs [FOLDER]
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { fidelityPage } from './fidelity-page.mjs';
import { fleetPage } from './fleet-page.mjs';
import { libraryPage } from './library-page.mjs';
import { manPage } from './man.mjs';
import { sandboxPage } from './sandbox-page.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const folder = path.resolve(process.argv[2] ?? path.join(root, 'docs'));

const tables = [
  'cli/args/catalogue',
  'cli/args/options',
  'cli/args/help-topics',
  'cli/output/exit-codes',
  'core/protocol/refusal-table',
  'sandbox/texts',
  'sandbox/switches',
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
  for (const name of Object.keys(all.TOPICS))
    fs.writeFileSync(path.join(folder, `${name}.md`), all.topicPage(name));
  const page = fs.readFileSync(path.join(root, 'docs/sandbox.md'), 'utf8');
  fs.writeFileSync(path.join(folder, 'sandbox.md'), sandboxPage(page, all));
  fs.writeFileSync(path.join(folder, 'fidelity.md'), fidelityPage(all));
  const fleet = fs.readFileSync(path.join(root, 'docs/fleet.md'), 'utf8');
  fs.writeFileSync(path.join(folder, 'fleet.md'), fleetPage(fleet));
  fs.writeFileSync(path.join(folder, 'library.md'), libraryPage(root));
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
