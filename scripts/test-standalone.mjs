// Runs the end-to-end tests on the standalone executable, with a PATH on which there is no Node:
// npm run test:standalone [-- arguments for vitest; test files among them are run instead of all]
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const words = process.argv.slice(2);
const all = ['test/e2e', 'test/pages', 'test/cli/exec.test.ts', 'test/cli/proxy.test.ts'];
const tests = words.some((word) => word.startsWith('test/')) ? [] : all;

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-standalone-'));
try {
  // The folder is outside the project, where no node_modules can be found.
  const bin = path.join(folder, 'graphcred');
  fs.copyFileSync(path.join(root, `dist-standalone/graphcred-${process.platform}-${process.arch}`), bin);
  const { status } = spawnSync(
    process.execPath,
    [
      path.join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      ...tests,
      '--exclude=test/e2e/{package,packaging,build,standalone,hot-path}.test.ts',
      ...words,
    ],
    { cwd: root, stdio: 'inherit', env: { ...process.env, PATH: pathWithoutNode(), GRAPHCRED_BIN: bin } },
  );
  process.exitCode = status ?? 1;
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}

/** Creates links to every program on the PATH except Node and the programs that come with it. */
function pathWithoutNode() {
  const links = path.join(folder, 'bin');
  fs.mkdirSync(links);
  for (const dir of (process.env.PATH ?? '').split(path.delimiter)) {
    for (const name of fs.existsSync(dir) ? fs.readdirSync(dir) : []) {
      if (/^(node|nodejs|npm|npx|corepack|bun|bunx)$/.test(name) || fs.existsSync(path.join(links, name)))
        continue;
      fs.rmSync(path.join(links, name), { force: true });
      fs.symlinkSync(path.join(dir, name), path.join(links, name));
    }
  }
  return links;
}
