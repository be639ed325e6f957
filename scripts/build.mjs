// Builds the command (one code-split CommonJS bundle) and the library (ESM and CommonJS, with types).
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
/** `node scripts/build.mjs FOLDER` builds somewhere else. */
const dist = path.resolve(process.argv[2] ?? path.join(root, 'dist'));
const require = createRequire(import.meta.url);
const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));

fs.rmSync(dist, { recursive: true, force: true });

const shared = {
  platform: 'node',
  // keytar is native; typescript is cosmiconfig's loader for .ts configs, which is never called.
  external: ['keytar', 'typescript'],
  resolve: {
    // ofetch's own Node entry drags in a fetch polyfill and all of undici; this one is the same code without.
    alias: { ofetch: path.join(root, 'node_modules/ofetch/dist/index.mjs') },
  },
  transform: { define: { __VERSION__: JSON.stringify(version) } },
  logLevel: 'warn',
};

/** commander asks for child_process when it is loaded, which costs as much as commander; it is used by no command here. */
const lazyChildProcess = {
  name: 'lazy-child-process',
  transform(code, id) {
    if (!/commander[\\/]lib[\\/]command\.js$/.test(id)) return null;
    const eager = "const childProcess = require('node:child_process');";
    if (!code.includes(eager))
      this.error('commander has changed: look at lazy-child-process in scripts/build.mjs');
    const lazy = "const childProcess = { get spawn() { return require('node:child_process').spawn; } };";
    return { code: code.replace(eager, lazy), map: null };
  },
};

/** What `import` of a built-in module becomes in CommonJS copies its hundred names one by one; this takes it as it is. */
const plainBuiltins = {
  name: 'plain-builtins',
  transform(code, id) {
    if (!id.startsWith(path.join(root, 'src')) || !code.includes("from 'node:")) return null;
    const taken = "const $1 = process.getBuiltinModule('$2');";
    return { code: code.replace(/^import (\w+) from '(node:[^']+)';/gm, taken), map: null };
  },
};

/** rolldown's own helpers are a file too, and the hot path calls none of them. */
const lazyRuntime = {
  name: 'lazy-runtime',
  renderChunk(code, chunk) {
    if (chunk.name !== 'hot') return null;
    const eager = /^const (\w+) = (require\("\.\/rolldown-runtime[^"]*"\));$/m;
    if (!eager.test(code))
      this.error('the runtime helpers have changed: look at lazy-runtime in scripts/build.mjs');
    return code.replace(eager, 'const $1 = { get __toESM() { return $2.__toESM; } };');
  },
};

/** Modules that `main.ts` and a warm `token get` load without `await import()`. */
const HOT = [
  'cli/main core/errors core/sensitive core/endpoints',
  'config/duration config/find config/parse config/schema config/settings config/trust',
  'credentials/resolve',
  'tokens/acquire tokens/expiry tokens/identity',
  'store/open store/records store/files store/file store/key',
  'cli/argv cli/commands cli/options cli/context cli/exit cli/output cli/fast cli/session cli/stores cli/credential',
  'cli/target cli/token cli/token-output cli/prompt cli/commands/token/get',
].flatMap((line) => line.split(' ').map((name) => path.join(root, 'src', `${name}.ts`)));
for (const file of HOT)
  if (!fs.existsSync(file)) throw new Error(`${file} is gone: mend HOT in scripts/build.mjs`);
const isHot = (id) => HOT.includes(id);

const cli = await rolldown({
  ...shared,
  input: { main: path.join(root, 'src/cli/main.ts') },
  plugins: [lazyChildProcess, plainBuiltins, lazyRuntime],
});
await cli.write({
  dir: path.join(dist, 'cli'),
  format: 'cjs',
  exports: 'named',
  minify: true,
  minifyInternalExports: false,
  codeSplitting: {
    groups: [
      // What a warm `token get` needs, in one file: each file more costs a quarter of a millisecond.
      { name: 'hot', test: isHot },
      {
        name: 'keychain',
        test: /store[\\/](keychain|keychain-vault|native|dbus-probe|dbus-message|split)\.ts$/,
      },
    ],
  },
  entryFileNames: '[name].cjs',
  chunkFileNames: ({ name }) => (name === 'hot' ? 'hot.cjs' : '[name]-[hash].cjs'),
});
await cli.close();

const library = await rolldown({ ...shared, input: { index: path.join(root, 'src/index.ts') } });
for (const [format, extension] of [
  ['esm', 'mjs'],
  ['cjs', 'cjs'],
]) {
  await library.write({
    dir: path.join(dist, 'lib'),
    format,
    exports: 'named',
    entryFileNames: `[name].${extension}`,
    chunkFileNames: `[name]-[hash].${extension}`,
  });
}
await library.close();

// Types once for each module system: what `import` and `require` find must call itself what it is.
const types = path.join(dist, 'types');
execFileSync(
  process.execPath,
  [require.resolve('typescript/bin/tsc'), '-p', path.join(root, 'tsconfig.lib.json'), '--outDir', types],
  {
    stdio: 'inherit',
  },
);
for (const file of fs.readdirSync(types, { recursive: true })) {
  const from = path.join(types, file);
  if (!fs.statSync(from).isFile()) continue;
  const text = fs.readFileSync(from, 'utf8');
  for (const extension of ['mjs', 'cjs']) {
    const to = path.join(dist, 'lib', file.replace(/\.d\.ts$/, extension === 'mjs' ? '.d.mts' : '.d.cts'));
    fs.mkdirSync(path.dirname(to), { recursive: true });
    fs.writeFileSync(to, text.replace(/(from\s+['"]\.[^'"]*)\.js(['"])/g, `$1.${extension}$2`));
  }
}
fs.rmSync(types, { recursive: true });
