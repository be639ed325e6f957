// Which files of src/ a command goes through: those of which at least one function runs when the command does its
// work against the sandbox. Measured, not guessed: each module is built as a file of its own, and V8 counts the calls.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** The walks, in the order in which they are made: what one leaves in the store is there for the next. */
const WALKS = [
  { name: 'secret create', args: ['secret', 'create', 'walk'] },
  { name: 'first token', args: ['token', 'get'] },
  { name: 'token get', args: ['token', 'get'] },
  { name: 'exec --revoke', args: ['exec', '--revoke', '--', 'true'] },
  { name: 'doctor', args: ['doctor'] },
];

/** For each walk the files below src/ that it went through, sorted. */
export async function walk() {
  const cache = path.join(root, 'node_modules/.cache');
  fs.mkdirSync(cache, { recursive: true });
  const folder = fs.mkdtempSync(path.join(cache, 'graphcred-walk-'));
  const bundle = await rolldown({
    input: { 'cli/main': path.join(root, 'src/cli/main.ts') },
    platform: 'node',
    external: /^[a-z@]/,
    logLevel: 'silent',
  });
  let sandbox;
  try {
    await bundle.write({ dir: folder, format: 'cjs', exports: 'named', preserveModules: true });
    const main = path.join(folder, 'run-it.cjs');
    fs.writeFileSync(main, `require(${JSON.stringify(findFile(folder, /(^|\/)main\.c?js$/))}).run();\n`);
    const env = environment(folder);
    sandbox = spawn(process.execPath, [main, 'sandbox', '--rest-port', '0', '--gsql-port', '0', '-q'], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ready = await new Promise((resolve, reject) => {
      createInterface({ input: sandbox.stdout }).once('line', (line) => resolve(JSON.parse(line)));
      sandbox.once('exit', (status) => reject(new Error(`the sandbox ended with ${status}`)));
    });
    const settings = {
      GRAPHCRED_REST_URL: ready.restUrl,
      GRAPHCRED_GSQL_URL: ready.gsqlUrl,
      GRAPHCRED_GRAPH: ready.graph,
      GRAPHCRED_USERNAME: ready.username,
      GRAPHCRED_PASSWORD: ready.password,
      GRAPHCRED_STORE: 'file',
    };
    return Object.fromEntries(
      WALKS.map(({ name, args }) => {
        const coverage = path.join(folder, 'coverage', name);
        const { status, stderr } = spawnSync(process.execPath, [main, ...args], {
          env: { ...env, ...settings, NODE_V8_COVERAGE: coverage },
          encoding: 'utf8',
        });
        if (status !== 0) throw new Error(`graphcred ${args.join(' ')} ended with ${status}: ${stderr}`);
        return [name, filesThatRan(coverage)];
      }),
    );
  } finally {
    sandbox?.kill('SIGTERM');
    await bundle.close();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

function environment(folder) {
  const own = Object.entries(process.env).filter(([name]) => !/^(GRAPHCRED_|TG_|CI$|NODE_)/.test(name));
  const home = path.join(folder, 'home');
  fs.mkdirSync(home, { mode: 0o700 });
  return {
    ...Object.fromEntries(own),
    HOME: home,
    XDG_CONFIG_HOME: path.join(home, 'config'),
    XDG_STATE_HOME: path.join(home, 'state'),
  };
}

function findFile(folder, pattern) {
  const [file] = fs.readdirSync(folder, { recursive: true }).filter((name) => pattern.test(name));
  return path.join(folder, file);
}

/** V8 names the code of a module itself with an empty name; only loading a file is not going through it. */
function filesThatRan(coverage) {
  const ran = new Set();
  for (const report of fs.readdirSync(coverage)) {
    const { result } = JSON.parse(fs.readFileSync(path.join(coverage, report), 'utf8'));
    for (const { url, functions } of result) {
      const file = sourceOf(url);
      if (file === undefined) continue;
      if (functions.some(({ functionName, ranges }) => functionName !== '' && ranges[0].count > 0))
        ran.add(file);
    }
  }
  return [...ran].sort();
}

function sourceOf(url) {
  if (!url.startsWith('file:')) return undefined;
  const built = fileURLToPath(url).split(path.sep).join('/');
  const [, name] = /graphcred-walk-[^/]+\/(?:src\/)?(.+)\.c?js$/.exec(built) ?? [];
  if (name === undefined) return undefined;
  return [`${name}.ts`, `cli/${name}.ts`].find((file) => fs.existsSync(path.join(root, 'src', file)));
}
