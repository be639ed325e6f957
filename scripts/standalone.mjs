// Builds graphcred as one file that needs no Node: dist-standalone/graphcred-<target> and SHA256SUMS.
// npm run build:standalone [-- [--target TARGET]... [--out FOLDER]]
// TARGET is a key of RUNTIMES below; the default is this machine's target.
// The runtime, bun, has about 50 MB, so it is no dependency: it is downloaded from the npm registry when it is needed, checked against the checksum
// below, and stored in node_modules/.cache. Exit status 69 means that npm said that the registry does not have it.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const BUN = '1.4.5';

/** For each target: its package @oven/bun-…, the checksum of that package, and keytar's folder of native modules. */
const RUNTIMES = {
  'linux-x64': [
    'linux-x64',
    'sha512-IWX9BELoGHAUtMonkeSaNaZwXzRk+oDw6Mk+HBFXd3KHYIBNBsIGRupMZPcgNoDbJpLu6gAJjIoIVPZtt1aJ1g==',
    'linux-x64',
  ],
  'linux-arm64': [
    'linux-aarch64',
    'sha512-4BXmsSKnjOrlGWqZV4x/oWa7AVoR+B6lCXddMzOAXBIm3t50eslg9wb66gmtW1AamEQ1l1CDvmmruysEhqOWMg==',
    'linux-arm64',
  ],
  'linux-x64-musl': [
    'linux-x64-musl',
    'sha512-10QoW/YfTgnURaGEaHpJCiXjLI2e5iTtfVDaA5JKcyUzaa1cq6cVUY9/Uq5XkYzvtRjHLRe9Oj/lTDIQcxy8HQ==',
    'linuxmusl-x64',
  ],
  'linux-arm64-musl': [
    'linux-aarch64-musl',
    'sha512-XCNc+WvvMAdNNb+OWTogpy+N9wm62fkVeEVLb6how0RZhW5LPi6c7BlkeVCuWps7XjEl2saFpHFa20/1E+PAHg==',
    'linuxmusl-arm64',
  ],
  'darwin-x64': [
    'darwin-x64',
    'sha512-qkLPMGHZM9NI6CeHTWwVezzmlo6cC4Ta7yUAjYIWXS366qQcOlcp75t2uZyiuVRBMPS0h9qE0tCcvCHGaFqjJg==',
    'darwin-x64',
  ],
  'darwin-arm64': [
    'darwin-aarch64',
    'sha512-4MIFXHmctH2EhAxLXm2/qxNtv17dFtLJylvaOCsrgq6KSqHTs6eW5YSrJjRbJxYUJaR901fsN8JfZOa+CsWpWQ==',
    'darwin-arm64',
  ],
  'windows-x64': [
    'windows-x64',
    'sha512-FNvply651vcE/GHgNWz6mZvhmkwBuu8Hw54oNzA+CQog+HW+542rXQmZqNHRkFxazD9L3xi+iTtvO3engAgJfw==',
    'win32-x64',
  ],
};

/** What npm says of a package or a version that the registry does not have or may not hand out. */
const NOT_THERE = new Set(['E403', 'E404', 'E451', 'ETARGET']);

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const cache = path.join(root, 'node_modules/.cache/graphcred-standalone');
const here = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
const { values } = parseArgs({
  options: {
    target: { type: 'string', multiple: true, default: [here] },
    out: { type: 'string', default: path.join(root, 'dist-standalone') },
  },
});
const out = path.resolve(values.out);

for (const target of [here, ...values.target]) {
  if (!Object.hasOwn(RUNTIMES, target)) {
    throw new Error(`There is no target ${target}; choose from ${Object.keys(RUNTIMES).join(', ')}.`);
  }
}
fs.mkdirSync(out, { recursive: true });
for (const target of values.target) console.log(build(target));
fs.copyFileSync(path.join(root, 'dist/THIRD-PARTY-NOTICES'), path.join(out, 'THIRD-PARTY-NOTICES'));
writeSums();

function build(target) {
  const [, , native] = RUNTIMES[target];
  const stage = fs.mkdtempSync(path.join(ensure(cache), 'stage-'));
  try {
    // The files are those of the npm package, so the results of its tests apply to the executable too. The stage is below
    // node_modules, where bun finds the packages that they load.
    fs.cpSync(path.join(root, 'dist/cli'), path.join(stage, 'cli'), { recursive: true });
    stageKeytar(path.join(stage, 'node_modules/keytar'), native);
    const line = `standalone ${target}, bun ${BUN}`;
    fs.writeFileSync(
      path.join(stage, 'graphcred.cjs'),
      // This signal would end the program; under Node it is ignored, because it would open the debugger.
      `process.on('SIGUSR1', () => {});\nrequire('./cli/start.cjs').run(${JSON.stringify(line)});\n`,
    );
    const name = `graphcred-${target}${target.startsWith('windows') ? '.exe' : ''}`;
    const file = path.join(out, name);
    // bun looks at the format of the runtime that it is given only if the target names another system.
    const runsOn = target === here ? 'bun' : `bun-${target}`;
    const words = [
      'build',
      './graphcred.cjs',
      '--compile',
      '--bytecode',
      '--format=cjs',
      `--target=${runsOn}`,
    ];
    // A file in the working directory must not add settings or code to this program.
    for (const source of ['dotenv', 'bunfig', 'tsconfig', 'package-json'])
      words.push(`--no-compile-autoload-${source}`);
    for (const unused of ['typescript', 'parse-json', 'import-fresh']) words.push(`--external=${unused}`);
    if (target !== here) words.push(`--compile-executable-path=${runtime(target)}`);
    words.push(`--outfile=${file}`);
    execFileSync(runtime(here), words, { cwd: stage, stdio: ['ignore', 'ignore', 'inherit'] });
    fs.chmodSync(file, 0o755);
    return `${path.relative(process.cwd(), file)}: ${Math.round(fs.statSync(file).size / 1e6)} MB`;
  } finally {
    fs.rmSync(stage, { recursive: true, force: true });
  }
}

/** keytar computes the name of its native module when it runs, so a bundler cannot find it. */
function stageKeytar(dir, native) {
  const from = path.join(root, 'node_modules/keytar');
  const text = fs.readFileSync(path.join(from, 'lib/keytar.js'), 'utf8');
  const looksFor = 'var keytar = loadNativeAddon();';
  if (!text.includes(looksFor))
    throw new Error('keytar has changed: look at stageKeytar in scripts/standalone.mjs');
  fs.mkdirSync(dir, { recursive: true });
  const [, after] = text.split(looksFor);
  fs.writeFileSync(path.join(dir, 'index.js'), `var keytar = require('./keytar.node');\n${after}`);
  fs.writeFileSync(path.join(dir, 'package.json'), '{"name":"keytar","main":"index.js"}\n');
  fs.copyFileSync(path.join(from, 'prebuilds', native, 'keytar.node'), path.join(dir, 'keytar.node'));
}

/** Returns the file of the runtime for a target, and downloads it if it is missing. */
function runtime(target) {
  const [name, integrity] = RUNTIMES[target];
  const dir = path.join(cache, `bun-${name}-${BUN}`);
  const file = path.join(dir, `package/bin/bun${target.startsWith('windows') ? '.exe' : ''}`);
  if (fs.existsSync(file)) return file;
  const fresh = fs.mkdtempSync(path.join(ensure(cache), 'fetch-'));
  try {
    pack(`@oven/bun-${name}@${BUN}`, fresh);
    const [packed] = fs.readdirSync(fresh);
    const tarball = path.join(fresh, packed);
    const sum = `sha512-${createHash('sha512').update(fs.readFileSync(tarball)).digest('base64')}`;
    if (sum !== integrity) throw new Error(`@oven/bun-${name}@${BUN} is not what it was: ${sum}`);
    execFileSync('tar', ['-xzf', path.basename(tarball)], { cwd: fresh });
    fs.rmSync(tarball);
    fs.renameSync(fresh, dir);
  } finally {
    fs.rmSync(fresh, { recursive: true, force: true });
  }
  return file;
}

/** Puts a package's tarball into an empty folder. What npm prints of it differs between its versions, so nothing of it is read. */
function pack(spec, to, triesLeft = 2) {
  const { status, error, stderr } = spawnSync(
    'npm',
    ['pack', '--prefer-offline', `--pack-destination=${to}`, spec],
    {
      encoding: 'utf8',
      shell: here.startsWith('windows'),
    },
  );
  if (status === 0) return;
  const said = error?.code ?? /^npm \S+ code (\w+)/m.exec(stderr)?.[1];
  if (!NOT_THERE.has(said)) {
    // A registry may falter for a moment.
    if (triesLeft > 0) return pack(spec, to, triesLeft - 1);
    throw new Error(`npm did not fetch ${spec}: ${said}`);
  }
  console.error(`The npm registry does not hand out ${spec}, the runtime of the standalone executable.`);
  process.exit(69);
}

function ensure(dir) {
  fs.mkdirSync(dir, { recursive: true });
  return dir;
}

function writeSums() {
  const lines = fs
    .readdirSync(out)
    .filter((name) => /^graphcred-[\w.-]+$/.test(name))
    .sort()
    .map(
      (name) =>
        `${createHash('sha256')
          .update(fs.readFileSync(path.join(out, name)))
          .digest('hex')}  ${name}\n`,
    );
  fs.writeFileSync(path.join(out, 'SHA256SUMS'), lines.join(''));
}
