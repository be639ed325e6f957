// Builds the command (one code-split CommonJS bundle) and the library (one CommonJS file, with its types and source map).
// What is there stays whole until the new build takes its place.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { generateDtsBundle } from 'dts-bundle-generator';
import { rolldown } from 'rolldown';
import { define } from './completion.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
/** `node scripts/build.mjs FOLDER` builds somewhere else. */
const place = path.resolve(process.argv[2] ?? path.join(root, 'dist'));
const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));

const dist = `${place}.${process.pid}`;
fs.mkdirSync(dist, { recursive: true });
process.on('exit', () => fs.rmSync(dist, { recursive: true, force: true }));

const shared = {
  platform: 'node',
  // keytar is native. Of the packages that npm installs, those are bundled that a cached or new token needs, because
  // finding their files costs more than running them. The last three are for loaders of cosmiconfig that are never called.
  external: [
    'keytar',
    'inquirer',
    'ioredis',
    'openid-client',
    'yaml',
    'typescript',
    'parse-json',
    'import-fresh',
  ],
  resolve: {
    alias: {
      // ofetch's own Node entry drags in a fetch polyfill and all of undici; this one is the same code without.
      ofetch: path.join(root, 'node_modules/ofetch/dist/index.mjs'),
      // The loaders without what finds and runs config files, and without what writes YAML.
      cosmiconfig: path.join(root, 'node_modules/cosmiconfig/dist/defaults.js'),
      'js-yaml': path.join(root, 'node_modules/js-yaml/lib/loader.js'),
    },
  },
  transform: { define: { __VERSION__: JSON.stringify(version), ...define } },
  logLevel: 'warn',
  // A module may be loaded late by one command and at once by another.
  checks: { ineffectiveDynamicImport: false },
};

/**
 * Gives our sources these modules of Node as they are. Otherwise the bundler would copy each of them, property by
 * property, in case it were an ES module. The files that `--version` needs import by name, which needs no copy.
 */
const BUILTINS = ['node:crypto', 'node:fs', 'node:path'];
const START = ['cli/process.ts', 'run/places.ts'].map((name) => path.join(root, 'src', name));
const plainBuiltins = {
  name: 'plain-builtins',
  resolveId: (source, importer = '') =>
    BUILTINS.includes(source) && importer.startsWith(path.join(root, 'src')) && !START.includes(importer)
      ? `\0${source}`
      : null,
  load: (id) =>
    id.startsWith('\0node:')
      ? `export default process.getBuiltinModule(${JSON.stringify(id.slice(1))});`
      : null,
};

/** commander can run other programs as commands, which no command of ours is; loading that part of Node takes time. */
const noPrograms = {
  name: 'no-programs',
  resolveId: (source, importer = '') =>
    source === 'node:child_process' && importer.includes('node_modules/commander') ? '\0no-programs' : null,
  load: (id) => (id === '\0no-programs' ? 'export default {};' : null),
};

/** What each module imports from the first, without waiting for a command to ask for it. */
const importsOf = new Map();
const noteImports = {
  name: 'note-imports',
  moduleParsed: ({ id, importedIds }) => void importsOf.set(id, importedIds),
};
/**
 * The files of the program that many commands load, and what each must contain. A module is in the first file that
 * needs it: `--version` loads only `start`, a cached token one file more, and a mint another.
 */
const PARTS = [
  ['start', ['cli/process']],
  ['cached-token', ['cli/print-token', 'auth/prompts', 'store/file']],
  [
    'new-token',
    [
      'app/tokens/new-token',
      'run/open-connection',
      'run/read',
      'core/connection',
      'run/listen-locally',
      'store/lock',
    ],
  ],
  // What talks to an identity provider is loaded by those calls alone.
  ['identity', ['auth/oidc/saved-login']],
  ['parse', ['cli/args/parse']],
];
const partOf = (id) => PARTS.find(([, modules]) => modules.some((name) => isNeededBy(name, id)))?.[0];
const needs = new Map();
function isNeededBy(name, id) {
  if (!needs.has(name)) needs.set(name, closure(path.join(root, `src/${name}.ts`), new Set()));
  return needs.get(name).has(id);
}
function closure(id, found) {
  if (found.has(id)) return found;
  found.add(id);
  for (const imported of importsOf.get(id) ?? []) closure(imported, found);
  return found;
}

/** The packages whose modules are in the bundles, as CycloneDX lists them: scanners look only at what npm installed. */
const bundled = new Map();
const noteBundled = {
  name: 'note-bundled',
  generateBundle(_options, bundle) {
    for (const id of Object.values(bundle).flatMap((chunk) => Object.keys(chunk.modules ?? {}))) {
      const folder = /^.*node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id.replace(/^\0/, ''))?.[0];
      if (folder === undefined) continue;
      const { name, version, license } = JSON.parse(
        fs.readFileSync(path.join(folder, 'package.json'), 'utf8'),
      );
      const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
      bundled.set(purl, { type: 'library', name, version, purl, licenses: [{ expression: license }] });
    }
  },
};

const program = await rolldown({
  ...shared,
  preserveEntrySignatures: 'allow-extension',
  input: { 'cli/start': path.join(root, 'src/cli/process.ts') },
  plugins: [noPrograms, plainBuiltins, noteImports, noteBundled],
});
await program.write({
  dir: dist,
  format: 'cjs',
  exports: 'named',
  minify: true,
  // Finding and reading many small files would take longer than all the rest.
  codeSplitting: {
    includeDependenciesRecursively: false,
    groups: PARTS.map(([name]) => ({ name, test: (id) => partOf(id) === name })),
  },
  entryFileNames: '[name].cjs',
  chunkFileNames: 'cli/[name]-[hash].cjs',
});
await program.close();

// One copy for `import` and `require`: two would know nothing of each other's classes. It is written in lines and with its
// names, since it is read in the stack traces of other programs.
const library = await rolldown({
  ...shared,
  external: [],
  input: path.join(root, 'src/index.ts'),
  plugins: [plainBuiltins, noteBundled],
});
await library.write({
  file: path.join(dist, 'lib/index.js'),
  format: 'cjs',
  exports: 'named',
  codeSplitting: false,
  minify: {
    compress: true,
    mangle: { toplevel: false, keepNames: true },
    codegen: { removeWhitespace: false },
  },
  comments: false,
  sourcemap: true,
  // The sources are not in the package; names and lines are what a stack trace needs.
  sourcemapExcludeSources: true,
  // They are named as seen from dist/lib, wherever the build writes to.
  sourcemapPathTransform: (source, map) =>
    path.join('../..', path.relative(root, path.resolve(path.dirname(map), source))),
});
await library.close();

const [types] = generateDtsBundle(
  [{ filePath: path.join(root, 'src/index.ts'), output: { noBanner: true } }],
  { preferredConfigPath: path.join(root, 'tsconfig.lib.json') },
);
fs.writeFileSync(path.join(dist, 'lib/index.d.ts'), types);

const sbom = {
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: { component: { type: 'application', name: 'graphcred', version } },
  components: [...bundled.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1)),
};
fs.writeFileSync(path.join(dist, 'sbom.cdx.json'), `${JSON.stringify(sbom)}\n`);

// The notices of what is in the bundles and of what comes with them: the executable holds all that npm installs for users.
const { packages } = JSON.parse(fs.readFileSync(path.join(root, 'package-lock.json'), 'utf8'));
const shipped = Object.entries(packages).filter(([folder, { dev }]) => folder !== '' && !dev);
const notices = shipped
  .map(([folder]) => path.join(root, folder))
  .filter((folder) => fs.existsSync(folder))
  .map(noticeOf);
fs.writeFileSync(
  path.join(dist, 'THIRD-PARTY-NOTICES'),
  [...new Set(notices)].sort().join(`\n${'-'.repeat(78)}\n\n`),
);

function noticeOf(folder) {
  const { name, version, license, author } = JSON.parse(
    fs.readFileSync(path.join(folder, 'package.json'), 'utf8'),
  );
  const texts = fs
    .readdirSync(folder)
    .filter((file) => /^(?:licen[cs]e|copying|notice)\b/i.test(file))
    .map((file) => fs.readFileSync(path.join(folder, file), 'utf8').replaceAll('\r', '').trim());
  if (texts.length === 0)
    texts.push(`By ${author?.name ?? author ?? 'its authors'}; the package holds no other text.`);
  return `${name} ${version} (${license})\n\n${texts.join('\n\n')}\n`;
}

// npm shows a manual page as it is or compressed, to a quarter of its size.
fs.mkdirSync(path.join(dist, 'man'));
const manual = fs.readFileSync(path.join(root, 'docs/man/graphcred.1'));
fs.writeFileSync(path.join(dist, 'man/graphcred.1.gz'), gzipSync(manual, { level: 9 }));

// Each step of action.yml is one file, which needs no node_modules.
for (const step of ['main', 'post']) {
  const action = await rolldown({ ...shared, input: path.join(root, `src/action/${step}.ts`) });
  await action.write({
    file: path.join(dist, 'action', `${step}.cjs`),
    format: 'cjs',
    codeSplitting: false,
    minify: true,
  });
  await action.close();
}

const old = `${dist}.old`;
if (fs.existsSync(place)) fs.renameSync(place, old);
fs.renameSync(dist, place);
fs.rmSync(old, { recursive: true, force: true });
