// graphcred as it would be without care for its start: every `import()` a static one, all in one file.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

const importEverything = {
  name: 'import-everything',
  transform(code, id) {
    if (!id.startsWith(path.join(root, 'src')) || !code.includes('import(')) return null;
    const heads = [];
    const body = code.replace(/\bimport\((['"][^'"]+['"])\)/g, (_, name) => {
      heads.push(`import * as eager${heads.length} from ${name};`);
      return `Promise.resolve(eager${heads.length - 1})`;
    });
    return { code: `${heads.join('\n')}\n${body}`, map: null };
  },
};

/** Builds into `folder` and returns the script to run. */
export async function buildEager(folder) {
  const file = path.join(folder, 'eager.cjs');
  await build({
    input: path.join(root, 'src/cli/main.ts'),
    platform: 'node',
    external: ['keytar', 'typescript'],
    plugins: [importEverything],
    logLevel: 'silent',
    output: { file, format: 'cjs', exports: 'named', footer: 'run();' },
  });
  return file;
}
