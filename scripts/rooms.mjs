// Checks the structure of src/ and writes what it finds into docs/architecture.md. A room is a folder of src/ with a rule that says what it may
// import.
// node scripts/rooms.mjs           checks; fails if a rule is broken or the page is out of date
// node scripts/rooms.mjs --write   writes the page again
// The rules are the tables below. Imports are read with the compiler's own parser and resolved to files, so that neither an odd spelling of a path
// nor an import of types escapes. The linter forbids cycles, and packages in the wrong room.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { publicNames } from './library-page.mjs';
import { walk } from './walk.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const PAGE = 'docs/architecture.md';

const CORE = ['core/errors.ts', 'core/sensitive.ts'];
const BELOW_CLI = [
  'tokens',
  'credentials',
  'store',
  'store/lock',
  'config',
  'files',
  'core',
  'core/http',
  'core/protocol',
];

/**
 * Each room with the other rooms that it may import, and the single files of other rooms that it may import. A file belongs to the room with the
 * longest matching name.
 */
const ROOMS = {
  cli: {
    may: ['cli/args', 'cli/commands', 'cli/output', ...BELOW_CLI],
    files: ['store/keychain/helper-child.ts'],
  },
  'cli/args': {
    may: ['cli', 'cli/commands', 'config', 'core'],
    files: ['cli/output/exit-codes.ts', 'cli/output/table.ts', 'store/records.ts', 'store/store.ts'],
  },
  'cli/commands': {
    may: [
      'cli',
      'cli/doctor',
      'cli/login',
      'cli/token',
      'cli/secret',
      'cli/session',
      'cli/output',
      'sandbox',
      ...BELOW_CLI,
    ],
  },
  'cli/doctor': { may: ['cli', 'cli/token', 'cli/secret', 'cli/session', 'cli/output', ...BELOW_CLI] },
  'cli/token': { may: ['cli', 'cli/session', 'cli/output', ...BELOW_CLI] },
  'cli/secret': { may: ['cli', 'cli/token', 'cli/session', 'cli/output', ...BELOW_CLI] },
  'cli/login': { may: ['cli', 'cli/token', 'cli/secret', 'cli/session', 'cli/output', ...BELOW_CLI] },
  'cli/session': { may: ['cli', 'cli/output', ...BELOW_CLI], files: ['store/redis/url.ts'] },
  'cli/output': { may: ['cli', 'core'] },
  tokens: { may: ['store', 'store/lock', 'core', 'core/protocol'] },
  credentials: { may: ['files', 'store', 'core'] },
  config: { may: ['files'], files: CORE },
  store: { may: ['store/file', 'store/keychain', 'store/lock', 'store/redis', 'files'], files: CORE },
  'store/file': { may: ['store', 'store/lock', 'files'], files: [...CORE, 'store/keychain/store.ts'] },
  'store/keychain': { may: ['store', 'store/lock', 'files'], files: CORE },
  'store/redis': {
    may: ['store', 'store/file', 'store/lock', 'files'],
    files: [...CORE, 'core/endpoints.ts'],
  },
  'store/lock': { may: ['store', 'files'], files: CORE },
  files: { may: [], files: CORE },
  core: { may: ['core/http', 'core/protocol'] },
  'core/http': { may: ['core', 'core/protocol'] },
  'core/protocol': { may: ['core', 'core/http'] },
  sandbox: { may: [] },
  action: { may: ['core', 'core/http', 'core/protocol'] },
  'index.ts': { may: ['core', 'core/http', 'core/protocol'] },
};

/** Rules inside a room: files that match the pattern never import each other. */
const STRANGERS = [{ files: /^cli\/commands\//, why: 'commands never import commands' }];

/**
 * File names that several rooms use, each with the reason. Any other name is used once in src/ and once in test/. The files of commands are not
 * checked: `secret list` and `token list` are named by what a user types.
 */
const SHARED_NAMES = {
  'errors.ts': 'the errors of its room',
  'main.ts': 'an entry of the build',
  'mint.ts': 'mints a token; the one in cli gives it what it needs of the session',
  'options.ts': 'the options of its room: of the library, of the command line',
  'parse.ts': 'reads what its room is given: the command line, a config file',
  'store.ts': 'the interface, its implementations, and the choice between them',
  'types.ts': 'the types of its room',
};

/** The largest number of files in which a command may run a function. */
const WALKS = {
  'token get': { goal: 24, what: '`token get`, warm' },
  'secret create': { goal: 40, what: '`secret create`' },
  'exec --revoke': { goal: 40, what: '`exec --revoke`' },
  doctor: { goal: 45, what: '`doctor`' },
};

/** The largest number of lower files that may call back into the session. */
const MOST_WAYS_UP = 2;

const faults = [];
const files = sourceFiles(path.join(root, 'src'));
const modules = new Map(files.map((file) => [file, readModule(file)]));
for (const [file, { imports }] of modules) for (const { to } of imports) checkImport(file, to);
const named = [
  ...files.filter((file) => !file.startsWith('cli/commands/')).map((file) => `src/${file}`),
  ...sourceFiles(path.join(root, 'test')).map((file) => `test/${file}`),
];
checkNames(named);
checkDocumented();
const walks = await walk();
for (const [name, { goal }] of Object.entries(WALKS)) {
  const { files: opened, goesUp } = walks[name];
  if (opened.length > goal)
    faults.push(`${name} goes through ${opened.length} files, and may go through ${goal}: merge or shorten.`);
  if (goesUp.length > MOST_WAYS_UP)
    faults.push(
      `${name} goes back up to the session from ${goesUp.join(', ')}: pass on values, not functions.`,
    );
}

const written = fs.readFileSync(path.join(root, PAGE), 'utf8');
const page = [
  ['rooms', picture()],
  ['sizes', sizes()],
  ['walks', walkTable()],
].reduce(replaced, written);
if (process.argv.includes('--write')) fs.writeFileSync(path.join(root, PAGE), page);
else if (withoutCounts(page) !== withoutCounts(written))
  faults.push(`${PAGE} is out of date: run node scripts/rooms.mjs --write`);

const covered = page.slice(page.indexOf('<!-- coverage:'), page.indexOf('<!-- end of coverage -->'));
for (const room of Object.keys(ROOMS))
  if (!covered.includes(`| \`${room}\` |`))
    faults.push(`${PAGE} does not say what the tests run of ${room}: run npm run test:coverage -- --write`);

for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;

function checkImport(file, to) {
  const [from, room] = [roomOf(file), roomOf(to)];
  if (!modules.has(to)) faults.push(`${file} imports ${to}, which does not exist.`);
  else if (from === undefined || room === undefined)
    faults.push(`${file} or ${to} is in no room of scripts/rooms.mjs.`);
  else if (from !== room && !ROOMS[from].may.includes(room) && !ROOMS[from].files?.includes(to))
    faults.push(`${file} imports ${to}: ${from} may not import ${room}.`);
  for (const rule of STRANGERS)
    if (rule.files.test(file) && rule.files.test(to)) faults.push(`${file} imports ${to}: ${rule.why}.`);
}

function checkNames(paths) {
  const sharing = new Map();
  for (const file of paths) {
    const key = `${file.split('/')[0]}/${path.posix.basename(file)}`;
    sharing.set(key, [...(sharing.get(key) ?? []), file]);
  }
  const used = new Set();
  for (const [key, same] of sharing) {
    const [tree, name] = key.split('/');
    if (same.length === 1) continue;
    if (tree === 'src' && SHARED_NAMES[name] !== undefined) used.add(name);
    else faults.push(`${same.join(', ')} have the same name: say in each name what is in the file.`);
  }
  for (const name of Object.keys(SHARED_NAMES))
    if (!used.has(name))
      faults.push(`scripts/rooms.mjs lets several files be ${name}, and there is one: remove it there.`);
}

/** Checks that every name that the library exports, and every member of it, has a comment. */
function checkDocumented() {
  const undocumented = publicNames(root).flatMap(({ name, text, members }) => [
    ...(text === '' ? [name] : []),
    ...members.filter((member) => member.text === '').map((member) => `${name}.${member.name}`),
  ]);
  for (const name of undocumented) faults.push(`${name} is exported by src/index.ts and has no comment.`);
}

/** Draws a picture in Mermaid, which GitHub and GitLab render: the rooms, and an arrow for each pair of which one imports the other. */
function picture() {
  const whole = (file) => roomOf(file).replace(/^(core|store)\/.*/, '$1');
  const arrows = new Set();
  const lazy = new Set();
  const counts = new Map();
  for (const [file, { imports }] of modules) {
    const from = whole(file);
    counts.set(from, (counts.get(from) ?? 0) + 1);
    for (const one of imports) {
      const to = whole(one.to);
      // Every higher room uses the errors of core and the types of cli. Their arrows would hide the others.
      if (to === from || one.types || CORE.includes(one.to) || to === 'cli') continue;
      (one.lazy ? lazy : arrows).add(`${from} ${to}`);
    }
  }
  const id = (room) => room.replace(/\W/g, '_');
  const lines = [...counts].sort().map(([room, count]) => `  ${id(room)}["${room} (${count})"]`);
  for (const one of [...new Set([...arrows, ...lazy])].sort()) {
    const [from, to] = one.split(' ');
    lines.push(`  ${id(from)} ${arrows.has(one) ? '-->' : '-.->'} ${id(to)}`);
  }
  return `\`\`\`mermaid\nflowchart TD\n${lines.join('\n')}\n\`\`\``;
}

function sizes() {
  const rows = Object.keys(ROOMS).flatMap((room) => {
    const here = files.filter((file) => roomOf(file) === room);
    if (here.length === 0) return [];
    const { may, files: single = [] } = ROOMS[room];
    const named = [...may, ...single].map((name) => `\`${name}\``).join(', ');
    return [`| \`${room}\` | ${here.length} | ${named || 'nothing of ours'} |`];
  });
  return ['| room | files | may import |', '|---|---|---|', ...rows].join('\n');
}

function walkTable() {
  const rows = Object.entries(WALKS).map(
    ([name, { goal, what }]) =>
      `| ${what} | ${walks[name].files.length} | ${goal} | ${walks[name].goesUp.length} |`,
  );
  return [
    `| command | files | goal | goes back up (at most ${MOST_WAYS_UP}) |`,
    '|---|---|---|---|',
    ...rows,
  ].join('\n');
}

/** Removes the counts, which differ by a few files on another system or version of Node. The limits above hold for all of them. */
function withoutCounts(text) {
  return text.replace(/^(\| .*`.*\| )\d+( \| \d+ \| \d+ \|)$/gm, '$1…$2');
}

function replaced(text, [name, made]) {
  const [start, end] = [`<!-- ${name}: made by scripts/rooms.mjs -->`, `<!-- end of ${name} -->`];
  const [from, to] = [text.indexOf(start), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${PAGE} has no place for ${name}`);
  return `${text.slice(0, from + start.length)}\n${made}\n${text.slice(to)}`;
}

function roomOf(file) {
  return Object.keys(ROOMS)
    .filter((room) => file === room || file.startsWith(`${room}/`))
    .sort((a, b) => b.length - a.length)[0];
}

function sourceFiles(folder) {
  return fs
    .readdirSync(folder, { recursive: true })
    .map((name) => name.split(path.sep).join('/'))
    .filter((name) => name.endsWith('.ts'))
    .sort();
}

/** Returns what a file imports, as paths below src/. Packages and `node:` modules are checked by the linter. */
function readModule(file) {
  const text = fs.readFileSync(path.join(root, 'src', file), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const imports = [];
  const add = (specifier, kind) => {
    if (!specifier.startsWith('.')) return;
    const to = path.posix.join(path.posix.dirname(file), specifier).replace(/\.js$/, '.ts');
    imports.push({ to, ...kind });
  };
  const visit = (node) => {
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier) {
      add(node.moduleSpecifier.text, { types: onlyTypes(node), lazy: false });
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node.arguments[0].text, { types: false, lazy: true });
    } else if (ts.isImportTypeNode(node)) {
      add(node.argument.literal.text, { types: true, lazy: false });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { imports, lines: text.split('\n').length - 1 };
}

function onlyTypes(node) {
  if (ts.isExportDeclaration(node)) {
    const named = node.exportClause && ts.isNamedExports(node.exportClause) ? node.exportClause.elements : [];
    return node.isTypeOnly || (named.length > 0 && named.every((one) => one.isTypeOnly));
  }
  const clause = node.importClause;
  if (!clause) return false;
  if (clause.isTypeOnly) return true;
  const named =
    clause.namedBindings && ts.isNamedImports(clause.namedBindings) ? clause.namedBindings.elements : [];
  return !clause.name && named.length > 0 && named.every((one) => one.isTypeOnly);
}
