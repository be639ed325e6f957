// Checks the packages that come with graphcred: `node scripts/licences.mjs [FOLDER]`. From package-lock.json and node_modules it checks three things:
// every package that users install has a licence that requires no more than its notice; every package has a checksum; no package except those named
// below runs a script when it is installed, and neither does graphcred itself.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Python-2.0',
  'Unlicense',
]);
/**
 * These are the keychain's native module, whose script looks for a prebuilt binary, and a bundler of the tests. Both work
 * without running their scripts.
 */
const MAY_RUN_SCRIPTS = new Set(['@github/keytar', 'esbuild']);
const INSTALL_SCRIPTS = [
  'preinstall',
  'install',
  'postinstall',
  'prepublish',
  'preprepare',
  'prepare',
  'postprepare',
];

const root = process.argv[2] ?? path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const read = (file) => JSON.parse(fs.readFileSync(path.join(root, file), 'utf8'));
const problems = [];
const found = new Map();

/** Understands `MIT`, `(MIT OR GPL-3.0)`, of which one must be allowed, and `MIT AND ISC`, of which both must be allowed. Nothing else is allowed. */
function isAllowed(licence) {
  const inner = licence.trim().replace(/^\((.*)\)$/, '$1');
  if (/ OR /.test(inner)) return inner.split(' OR ').some(isAllowed);
  if (/ AND /.test(inner)) return inner.split(' AND ').every(isAllowed);
  return ALLOWED.has(inner);
}

/** Returns the licence that the installed package names. A package for another system is not installed, so the lockfile is used. */
function licenceOf(place, locked) {
  const installed = fs.existsSync(path.join(root, place, 'package.json'))
    ? read(`${place}/package.json`)
    : undefined;
  if (!installed) return locked.license ?? 'unknown';
  const said = installed.license ?? installed.licenses?.map(({ type }) => type).join(' OR ');
  return typeof said === 'object' ? (said.type ?? 'unknown') : (said ?? 'unknown');
}

const { packages } = read('package-lock.json');
for (const [place, locked] of Object.entries(packages)) {
  if (place === '' || locked.link) continue;
  const name = locked.name ?? place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const what = `${name} ${locked.version}`;
  if (!/^sha512-/.test(locked.integrity ?? '')) problems.push(`${what} has no checksum in package-lock.json`);
  if (locked.hasInstallScript && !MAY_RUN_SCRIPTS.has(name))
    problems.push(`${what} runs a script when it is installed`);
  if (locked.dev) continue;
  const licence = licenceOf(place, locked);
  found.set(licence, (found.get(licence) ?? 0) + 1);
  if (!isAllowed(licence))
    problems.push(`${what} has the licence ${licence}, which is not one of those allowed`);
}
for (const script of INSTALL_SCRIPTS) {
  // `prepare` builds a checkout. npm never runs it when the package is installed.
  if (script === 'prepare') continue;
  if (read('package.json').scripts?.[script]) problems.push(`graphcred itself has a script ${script}`);
}

for (const problem of problems) console.error(`licences: ${problem}`);
if (problems.length > 0) process.exit(1);
const list = [...found].sort(([, a], [, b]) => b - a).map(([licence, count]) => `${licence} ${count}`);
console.log(`licences of what users install: ${list.join(', ')}`);
