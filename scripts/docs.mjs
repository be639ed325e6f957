// Writes the pages of docs/ that are made from the program's own tables: node scripts/docs.mjs [FOLDER]
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const folder = path.resolve(process.argv[2] ?? path.join(root, 'docs'));

const bundle = await rolldown({
  input: path.join(root, 'src/cli/topics.ts'),
  platform: 'node',
  external: ['cosmiconfig'],
});
// Below the project, so that packages are found.
const cache = path.join(root, 'node_modules/.cache');
fs.mkdirSync(cache, { recursive: true });
const temporary = fs.mkdtempSync(path.join(cache, 'graphcred-docs-'));
try {
  await bundle.write({ dir: temporary, format: 'esm', entryFileNames: 'topics.mjs' });
  const { TOPICS, topicPage } = await import(path.join(temporary, 'topics.mjs'));
  for (const name of Object.keys(TOPICS)) fs.writeFileSync(path.join(folder, `${name}.md`), topicPage(name));
} finally {
  await bundle.close();
  fs.rmSync(temporary, { recursive: true });
}
