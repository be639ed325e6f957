// Measures with V8 which part of each room (folder of src/) runs in `npm test`:
// npm run test:coverage              runs the fast tests and prints the table
// npm run test:coverage -- --write   also writes it into docs/architecture.md
// The figures are a map, not a goal: code that runs in a process of its own is not counted.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const PAGE = path.join(root, 'docs/architecture.md');
const [START, END] = ['<!-- coverage: made by scripts/coverage.mjs -->', '<!-- end of coverage -->'];

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-coverage-'));
try {
  const options = [
    'enabled',
    'provider=v8',
    'include=src/**',
    'reporter=json-summary',
    'reportOnFailure',
    `reportsDirectory=${folder}`,
  ];
  const words = ['run', '--project', 'fast', '--reporter=dot', ...options.map((one) => `--coverage.${one}`)];
  const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', ...words], {
    cwd: root,
    stdio: 'inherit',
  });
  const text = table(JSON.parse(fs.readFileSync(path.join(folder, 'coverage-summary.json'), 'utf8')));
  console.log(text);
  if (process.argv.includes('--write')) write(text);
  process.exitCode = status ?? 1;
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}

/** @param summary for each file, and for `total`, how many lines, branches and functions there are and ran */
function table(summary) {
  const rooms = new Map(roomsOfPage().map((room) => [room, []]));
  for (const [file, counts] of Object.entries(summary)) {
    const name = path.relative(path.join(root, 'src'), file).split(path.sep).join('/');
    const room = [...rooms.keys()]
      .filter((one) => name === one || name.startsWith(`${one}/`))
      .sort((a, b) => b.length - a.length)[0];
    if (file !== 'total' && room !== undefined) rooms.get(room).push(counts);
  }
  const percent = (files, kind) => {
    const sum = (what) => files.reduce((all, counts) => all + counts[kind][what], 0);
    return sum('total') === 0 ? '-' : `${Math.floor((100 * sum('covered')) / sum('total'))} %`;
  };
  const rows = [...rooms].map(([room, files]) =>
    row(`\`${room}\``, percent(files, 'lines'), percent(files, 'branches'), percent(files, 'functions')),
  );
  return [row('room', 'lines', 'branches', 'functions'), '|---|--:|--:|--:|', ...rows].join('\n');
}

function row(...cells) {
  return `| ${cells.join(' | ')} |`;
}

/** Returns the rooms as scripts/rooms.mjs wrote them into the page. */
function roomsOfPage() {
  const page = fs.readFileSync(PAGE, 'utf8');
  const sizes = page.slice(page.indexOf('<!-- sizes:'), page.indexOf('<!-- end of sizes -->'));
  return [...sizes.matchAll(/^\| `([^`]+)` \|/gm)].map(([, room]) => room);
}

function write(text) {
  const page = fs.readFileSync(PAGE, 'utf8');
  const [from, to] = [page.indexOf(START), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`${PAGE} has no place for the coverage`);
  fs.writeFileSync(PAGE, `${page.slice(0, from + START.length)}\n${text}\n${page.slice(to)}`);
}
