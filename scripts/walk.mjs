// Measures in which files of src/ at least one function runs when a command does its work against the sandbox. Each module is built as a file of its
// own, and V8 counts the calls. It also measures which files of lower rooms (config, credentials, tokens, store, core, files, cli/output) call back
// into cli/session: each function there records its caller.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import ts from 'typescript';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** The commands in the order in which they run: each finds in the store what the earlier ones left. */
const WALKS = [
  { name: 'secret create', args: ['secret', 'create', 'walk'] },
  { name: 'first token', args: ['token', 'get'] },
  { name: 'token get', args: ['token', 'get'] },
  { name: 'exec --revoke', args: ['exec', '--revoke', '--', 'true'] },
  { name: 'doctor', args: ['doctor'] },
];

const BELOW_SESSION = /^(config|credentials|tokens|store|core|files|cli\/output)\//;

/** Code that runs before the command: it records which files call the functions of cli/session. */
const NOTE_CALLERS = `
Error.stackTraceLimit = 50;
const { WALK_CALLERS } = process.env;
globalThis.noteCaller = () => {
  if (WALK_CALLERS === undefined) return;
  // The first lines of the stack are the error, this function, and the function of cli/session.
  const caller = new Error().stack.split('\\n').slice(3).find((line) => line.includes(__dirname) && !line.includes(__filename));
  if (caller) require('node:fs').appendFileSync(WALK_CALLERS, caller.replace(/^.*?\\(?((?:file:|\\/)[^)]*?):\\d+:\\d+\\)?$/, '$1') + '\\n');
};
`;

/** Returns for each command the files below src/ in which a function ran, sorted, and the files that called back into the session. */
export async function walk() {
  const cache = path.join(root, 'node_modules/.cache');
  fs.mkdirSync(cache, { recursive: true });
  const folder = fs.mkdtempSync(path.join(cache, 'graphcred-walk-'));
  const bundle = await rolldown({
    input: { 'cli/main': path.join(root, 'src/cli/main.ts') },
    platform: 'node',
    external: /^[a-z@]/,
    logLevel: 'silent',
    plugins: [{ name: 'note-callers', transform: noteCallers }],
  });
  let sandbox;
  try {
    await bundle.write({ dir: folder, format: 'cjs', exports: 'named', preserveModules: true });
    const main = path.join(folder, 'run-it.cjs');
    fs.writeFileSync(
      main,
      `${NOTE_CALLERS}require(${JSON.stringify(findFile(folder, /(^|\/)main\.c?js$/))}).run();\n`,
    );
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
        const callers = path.join(folder, `${name}.callers`);
        fs.writeFileSync(callers, '');
        const { status, stderr } = spawnSync(process.execPath, [main, ...args], {
          env: { ...env, ...settings, NODE_V8_COVERAGE: coverage, WALK_CALLERS: callers },
          encoding: 'utf8',
        });
        if (status !== 0) throw new Error(`graphcred ${args.join(' ')} ended with ${status}: ${stderr}`);
        return [name, { files: filesThatRan(coverage), goesUp: lowerCallers(callers) }];
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

/** Adds code to each function of cli/session that records its caller. */
function noteCallers(code, id) {
  if (!/\/src\/cli\/session\/[^/]+\.ts$/.test(id.split(path.sep).join('/'))) return null;
  const source = ts.createSourceFile(id, code, ts.ScriptTarget.Latest, true);
  const inserts = [];
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body) {
      if (ts.isBlock(node.body)) inserts.push([node.body.getStart() + 1, 'noteCaller();']);
      else inserts.push([node.body.getStart(), '(noteCaller(), '], [node.body.end, ')']);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  inserts.sort(([a], [b]) => b - a);
  return inserts.reduce((text, [at, insert]) => text.slice(0, at) + insert + text.slice(at), code);
}

/** Returns the files of lower rooms that called a function of cli/session, each once. */
function lowerCallers(list) {
  const lines = fs
    .readFileSync(list, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  const callers = lines.map((file) => sourceOf(file.startsWith('file:') ? file : pathToFileURL(file).href));
  return [...new Set(callers)].filter((file) => file !== undefined && BELOW_SESSION.test(file)).sort();
}

/** Returns the files in which a function ran. V8 lists the top level of a module under an empty name, and loading alone does not count. */
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
