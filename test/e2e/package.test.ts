import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire, SourceMap } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { defined } from '../helpers/defined.js';

let folder: string;
let tarball: string;
/** Why the package could not be installed, if this machine is the reason and not the package. */
let noRegistry: string | undefined;
const root = process.cwd();
const npm = (args: string[], cwd: string) =>
  execFileSync('npm', args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_fetch_retries: '0',
    },
  });
const node = (...args: string[]) => execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });

beforeAll(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-package-'));
  npm(['pack', '--ignore-scripts', '--pack-destination', folder], root);
  tarball = path.join(folder, defined(fs.readdirSync(folder)[0]));
  fs.writeFileSync(path.join(folder, 'package.json'), '{"private":true}');
  try {
    npm(['install', '--ignore-scripts', '--prefer-offline', tarball], folder);
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    const code = /code (ENOTFOUND|EAI_AGAIN|ECONN\w+|ENETUNREACH|E?TIMEDOUT|ENOTCACHED|E50\d)\b/.exec(
      stderr,
    )?.[1];
    if (code === undefined) throw error;
    noRegistry = `npm cannot install the dependencies, no registry answers: ${code}`;
  }
}, 180_000);
beforeEach(({ skip }) => skip(noRegistry !== undefined, noRegistry));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

test('installs in an empty folder and runs as a command', () => {
  const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
  expect(
    execFileSync(path.join(folder, 'node_modules/.bin/graphcred'), ['--version'], { encoding: 'utf8' }),
  ).toBe(`${version}\n`);
});

test('is one library for import and require', () => {
  const file = path.join(folder, 'use.mjs');
  fs.writeFileSync(
    file,
    `import { createRequire } from 'node:module';
import { GraphConnection } from 'graphcred';
const { GraphException } = createRequire(import.meta.url)('graphcred');
new GraphConnection().dropSecret([]).catch((e) => console.log(e instanceof GraphException, e.code));
`,
  );
  expect(node(file)).toBe('true USAGE\n');
});

// holds: C9.7
test.each([
  ['esbuild', 'esm'],
  ['esbuild', 'cjs'],
  ['rolldown', 'esm'],
  ['rolldown', 'cjs'],
] as const)(
  '%s bundles a program that uses the library as %s, and the bundle runs alone',
  (bundler, format) => {
    const program = path.join(folder, 'program.mjs');
    fs.writeFileSync(
      program,
      `import { GraphConnection, GraphException } from 'graphcred';
new GraphConnection().dropSecret([]).catch((e) => console.log(e instanceof GraphException, e.code));
`,
    );
    const alone = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-bundle-'));
    onTestFinished(() => fs.rmSync(alone, { recursive: true, force: true }));
    const bundle = path.join(alone, format === 'esm' ? 'bundle.mjs' : 'bundle.cjs');
    const words = {
      esbuild: ['--bundle', `--outfile=${bundle}`],
      rolldown: ['--file', bundle],
    }[bundler];
    // esbuild is a script or, where npm may run its installation, a binary.
    execFileSync(
      path.join(root, 'node_modules/.bin', bundler),
      [program, '--platform=node', `--format=${format}`, ...words],
      { cwd: folder },
    );
    expect(node(bundle)).toBe('true USAGE\n');
  },
);

// holds: C9.7
test('has the library in one file under 100 kB, in lines and with its names, and its source map', () => {
  const library = path.join(folder, 'node_modules/graphcred/dist/lib');
  expect(fs.readdirSync(library).sort()).toEqual(['index.d.ts', 'index.js', 'index.js.map']);
  const text = fs.readFileSync(path.join(library, 'index.js'), 'utf8');
  expect(text.length).toBeLessThan(100_000);
  expect(text).not.toMatch(/\brequire\(|\bimport\(/);
  const lines = text.split('\n');
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(2000);
  for (const [name, value] of Object.entries(createRequire(import.meta.url)(library)))
    expect(value).toHaveProperty('name', name);
  const map = new SourceMap(JSON.parse(fs.readFileSync(path.join(library, 'index.js.map'), 'utf8')));
  const at = lines.findIndex((line) => line.startsWith('var GraphConnection'));
  expect(map.findEntry(at, defined(lines[at]).indexOf('class'))).toHaveProperty(
    'originalSource',
    '../../src/core/connection.ts',
  );
});

// holds: C9.1
test.each([
  ['.cts', 'node16'],
  ['.mts', 'node16'],
  ['.cts', 'nodenext'],
  ['.mts', 'nodenext'],
  ['.ts', 'bundler'],
])('has types for %s under %s, which need no others', (extension, resolution) => {
  const file = path.join(folder, `use${extension}`);
  const text =
    "import { GraphConnection, GraphException } from 'graphcred';\nexport const made: Promise<string> = new GraphConnection({ graph: 'demo' }).createSecret('a');\nexport const wrong = (e: GraphException): string => e.code;\n";
  fs.writeFileSync(file, text);
  const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
  const module = resolution === 'bundler' ? 'preserve' : resolution;
  const strictly = [
    tsc,
    '--noEmit',
    '--strict',
    '--module',
    module,
    '--moduleResolution',
    resolution,
    '--lib',
    'es2023',
  ];
  expect(node(...strictly, file)).toBe('');
  fs.writeFileSync(file, text.replace('Promise<string>', 'Promise<number>'));
  expect(() => node(...strictly, file)).toThrow();
});

test('holds no sources or tests, has at most 900 kB, and lists what is bundled', () => {
  const packed = path.join(folder, 'node_modules/graphcred');
  const files = fs.readdirSync(packed, { recursive: true }).map(String);
  expect(files.filter((file) => /^(src|test|bench|docs)\b/.test(file))).toEqual([]);
  expect(files).toContain('dist/man/graphcred.1.gz');
  const stats = files.map((file) => fs.statSync(path.join(packed, file))).filter((stat) => stat.isFile());
  expect(stats.reduce((sum, { size }) => sum + size, 0)).toBeLessThanOrEqual(900_000);
  const sbom = JSON.parse(fs.readFileSync(path.join(packed, 'dist/sbom.cdx.json'), 'utf8'));
  expect(sbom.components.map(({ name }: { name: string }) => name)).toEqual(
    expect.arrayContaining(['chalk', 'cosmiconfig', 'js-yaml', 'ofetch']),
  );
});

test('carries the licence of each package that it is made of or comes with', () => {
  const packed = path.join(folder, 'node_modules/graphcred/dist');
  const read = (file: string) => fs.readFileSync(path.join(packed, file), 'utf8');
  const sections = read('THIRD-PARTY-NOTICES').split(/\n-{78}\n\n/);
  const { dependencies } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
  const parts = JSON.parse(read('sbom.cdx.json')).components.map(({ name }: { name: string }) => name);
  for (const name of [...parts, ...Object.keys(dependencies), 'jose', 'destr', '@inquirer/core']) {
    const section = sections.find((text) => text.startsWith(`${name} `));
    expect(section, name).toMatch(/copyright|permission/i);
  }
});
