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

/** What a file imports from `flags`, `seldom`, `gsql` and rolldown's own helpers is loaded when it is first used, not with the file. */
const loadWhenUsed = {
  name: 'load-when-used',
  renderChunk(code, chunk) {
    const hot = /^(start|hot|keychain)$/.test(chunk.name);
    // What `import()` of a part of this file gives. Functions, which are there from the start.
    const plain = hot
      ? code.replace(
          /[\w$]+\.__exportAll\(\{([^}]*)\}\)/g,
          (_, names) => `({${names.replaceAll(': () => ', ': ')}})`,
        )
      : code;
    const others = `require\\("\\./(?:flags|seldom|gsql${hot ? '|rolldown-runtime' : ''})[^"]*"\\)`;
    let lazy = plain;
    for (const [line, name, load] of plain.matchAll(new RegExp(`^const (\\w+) = (${others});$`, 'gm'))) {
      // In parentheses: `new a().B()` would make an a.
      lazy = lazy
        .replace(line, `const ${name} = () => ${load};`)
        .replace(new RegExp(`\\bnew ${name}\\.(\\w+)`, 'g'), `new (${name}().$1)`)
        .replaceAll(`${name}.`, `${name}().`);
    }
    if (new RegExp(`= ${others}|${hot ? '__exportAll' : '^$'}`).test(lazy))
      this.error('what imports look like has changed: mend load-when-used in scripts/build.mjs');
    return lazy;
  },
};

/**
 * V8 skims a function when it loads the file, and reads it again when it is first called; one in parentheses it compiles
 * at once. Most of this file is called, once. Moved to the top, where functions are anyway before anything runs.
 */
const eagerFunctions = {
  name: 'eager-functions',
  renderChunk(code, chunk) {
    if (chunk.name === 'program') {
      // commander's own files, each in a function that runs once.
      const eager = code.replace(
        /__commonJSMin\(\(\((\w*(?:, \w+)?)\) => \{/g,
        '__commonJSMin((function($1) {',
      );
      if (eager === code) this.error('how a file of commander is wrapped has changed: mend eager-functions');
      return eager;
    }
    if (!/^(start|hot)$/.test(chunk.name)) return null;
    const functions = this.parse(code).body.filter(({ type }) => type === 'FunctionDeclaration');
    let rest = '';
    let end = 0;
    for (const one of functions) {
      rest += code.slice(end, one.start);
      end = one.end;
    }
    const eager = functions.map((one) => `var ${one.id.name} = (${code.slice(one.start, one.end)});`);
    return `${eager.join('\n')}\n${rest}${code.slice(end)}`;
  },
};

const modules = (...lines) => {
  const files = lines.flatMap((line) => line.split(' ').map((name) => path.join(root, 'src', `${name}.ts`)));
  for (const file of files)
    if (!fs.existsSync(file)) throw new Error(`${file} is gone: mend the lists in scripts/build.mjs`);
  return (id) => files.includes(id);
};
/** What a warm `token get` loads besides the start, which is loaded whatever was typed. */
const HOT = modules(
  'core/sensitive core/endpoints credentials/resolve',
  'config/duration config/find config/level config/parse config/schema config/settings config/trust',
  'tokens/acquire tokens/expiry tokens/find tokens/identity',
  'store/open store/records store/files store/file store/key store/sealed store/aes-gcm',
  'cli/session cli/stores cli/credential cli/target cli/token cli/token-output cli/may-ask cli/child-env cli/commands/token/get',
);
/** What reads flags without commander. */
const FLAGS = modules('cli/options cli/token-get cli/fast');
/** What all of these use only when something is wrong, or has to be told. */
const SELDOM = modules(
  'core/errors core/address-fault core/refusal config/faults config/approval store/key-faults credentials/read-small',
  'cli/exit cli/fail cli/moments cli/printable cli/refuse-address',
);
/** What is asked in the language of the database: all of 3.x, and secrets of the first 4.x. */
const GSQL = modules('core/protocol-v3 core/gsql-secrets core/gsql-text');
/** What a new token takes: the conversation with the server. */
const MINT = modules(
  'cli/mint cli/connect cli/require cli/spinner cli/words tokens/mint store/facts store/none store/write-files',
  'core/clock core/connection core/envelope core/failures core/http core/login',
  'core/protocol-v4 core/server-text core/token-reply core/transport core/version',
);

const cli = await rolldown({
  ...shared,
  input: { start: path.join(root, 'src/cli/main.ts') },
  plugins: [lazyChildProcess, plainBuiltins, loadWhenUsed, eagerFunctions],
});
await cli.write({
  dir: path.join(dist, 'cli'),
  format: 'cjs',
  exports: 'named',
  minify: true,
  minifyInternalExports: false,
  codeSplitting: {
    includeDependenciesRecursively: false,
    groups: [
      // Each file more costs a quarter of a millisecond, each twenty kilobytes one.
      { name: 'flags', test: FLAGS },
      { name: 'seldom', test: SELDOM },
      { name: 'hot', test: HOT },
      { name: 'gsql', test: GSQL },
      { name: 'mint', test: (id) => MINT(id) || /node_modules[\\/](ofetch|ufo|destr)[\\/]/.test(id) },
      {
        name: 'keychain',
        test: /store[\\/](keychain|keychain-vault|native|patience|dbus-probe|dbus-message|split)\.ts$/,
      },
    ],
  },
  entryFileNames: '[name].cjs',
  chunkFileNames: ({ name }) => (/^(start|hot)$/.test(name) ? '[name].cjs' : '[name]-[hash].cjs'),
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
