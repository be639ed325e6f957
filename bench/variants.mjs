// Builds scripts to compare graphcred with.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

const importEverything = {
  name: 'import-everything',
  transform(code, id) {
    if (!id.startsWith(path.join(root, 'src')) || !code.includes('import(')) return null;
    const heads = [];
    // keytar may be missing, and cannot be found from the folder of this file.
    const body = code.replace(/(?<!typeof )\bimport\((['"](?!keytar)[^'"]+['"])\)/g, (_, name) => {
      heads.push(`import * as eager${heads.length} from ${name};`);
      return `Promise.resolve(eager${heads.length - 1})`;
    });
    return { code: `${heads.join('\n')}\n${body}`, map: null };
  },
};

/** Builds graphcred as it would be without optimizing its start: every `import()` is static, and all code is in one file. */
export async function buildEager(folder) {
  const file = path.join(folder, 'eager.cjs');
  await build({
    input: path.join(root, 'src/cli/process.ts'),
    platform: 'node',
    external: ['keytar', 'typescript'],
    plugins: [importEverything],
    transform: { define: { __VERSION__: '"eager"' } },
    logLevel: 'silent',
    output: { file, format: 'cjs', exports: 'named', footer: 'run();' },
  });
  return file;
}

/** Builds the two parts of a read from the keychain, each as a script of its own. */
export async function buildKeychainParts(folder) {
  const entry = path.join(folder, 'probe.mjs');
  const source = JSON.stringify(path.join(root, 'src/store/keychain/secret-service.ts'));
  fs.writeFileSync(
    entry,
    `import { askKeychain } from ${source};\naskKeychain(process.env).then(({ state }) => process.stdout.write(state));\n`,
  );
  const probe = path.join(folder, 'probe.cjs');
  await build({ input: entry, platform: 'node', logLevel: 'silent', output: { file: probe, format: 'cjs' } });
  const native = path.join(folder, 'native.cjs');
  const keytar = JSON.stringify(path.join(root, 'node_modules/keytar'));
  fs.writeFileSync(
    native,
    `require(${keytar}).getPassword('graphcred', 'nobody').then((found) => process.stdout.write(String(found)));\n`,
  );
  return { probe, native };
}

/** Returns the executable that needs no Node, or why there is none. */
export function buildStandalone(folder) {
  const words = [path.join(root, 'scripts/standalone.mjs'), '--out', folder];
  const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  const made = fs.readdirSync(folder).find((name) => /^graphcred-[\w-]+(\.exe)?$/.test(name));
  if (status === 0 && made) return { file: path.join(folder, made) };
  if (status === 69) return { reason: stderr.trim() };
  throw new Error(`the standalone executable cannot be built: ${stderr}`);
}
