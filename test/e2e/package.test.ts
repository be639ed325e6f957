import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
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

// holds: C9.1
test.each(['.cts', '.mts'])('has types for %s, which need no others', (extension) => {
  const file = path.join(folder, `use${extension}`);
  const text =
    "import { GraphConnection, GraphException } from 'graphcred';\nexport const made: Promise<string> = new GraphConnection({ graph: 'demo' }).createSecret('a');\nexport const wrong = (e: GraphException): string => e.code;\n";
  fs.writeFileSync(file, text);
  const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
  const strictly = [tsc, '--noEmit', '--strict', '--module', 'nodenext', '--lib', 'es2023'];
  expect(node(...strictly, file)).toBe('');
  fs.writeFileSync(file, text.replace('Promise<string>', 'Promise<number>'));
  expect(() => node(...strictly, file)).toThrow();
});

test('holds no sources, tests or maps, has at most 600 kB, and lists what is bundled', () => {
  const packed = path.join(folder, 'node_modules/graphcred');
  const files = fs.readdirSync(packed, { recursive: true }).map(String);
  expect(files.filter((file) => /\.map$|^(src|test|bench|docs)\b/.test(file))).toEqual([]);
  expect(files).toContain('dist/man/graphcred.1.gz');
  const stats = files.map((file) => fs.statSync(path.join(packed, file))).filter((stat) => stat.isFile());
  expect(stats.reduce((sum, { size }) => sum + size, 0)).toBeLessThanOrEqual(600_000);
  const sbom = JSON.parse(fs.readFileSync(path.join(packed, 'dist/sbom.cdx.json'), 'utf8'));
  expect(sbom.components.map(({ name }: { name: string }) => name)).toEqual(
    expect.arrayContaining(['chalk', 'cosmiconfig', 'js-yaml', 'ofetch']),
  );
});
