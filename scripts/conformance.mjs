// Asks a server a list of questions and compares its answers with those of the sandbox: npm run conformance -- --help
// See docs/dev/fidelity.md. The program is TypeScript, in scripts/conformance/.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
// The folder is inside the project, so that packages are found from there.
const cache = path.join(root, 'node_modules/.cache');
fs.mkdirSync(cache, { recursive: true });
const temporary = fs.mkdtempSync(path.join(cache, 'graphcred-conformance-'));
try {
  const bundle = await rolldown({
    input: path.join(root, 'scripts/conformance/main.ts'),
    platform: 'node',
    external: /^[a-z]/,
  });
  await bundle.write({ file: path.join(temporary, 'main.mjs'), format: 'esm', codeSplitting: false });
  await bundle.close();
  const { main } = await import(path.join(temporary, 'main.mjs'));
  process.exitCode = await main(process.argv.slice(2));
} finally {
  fs.rmSync(temporary, { recursive: true, force: true });
}
