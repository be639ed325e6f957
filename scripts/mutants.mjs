// Tests the tests: `npm run test:mutants` puts each defect of test/mutants/ into a copy of the tree, one at a time, and reports which ones the tests
// notice. `--only ID`, `--room ROOM`, `--random N --seed S` select some of them. `--quick` runs only the test that an entry names; without it, all
// related tests run if that test notices nothing. `--fix-paths` updates files and tests in the list after they were moved, and runs no test.
import { fork } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { choose, fixPaths, laneOf, listErrors, readMutants, roomOf, root } from './mutants/list.mjs';

const WORKERS = 2;
const NEEDED = 0.95;
/** A defect for which the tests take longer than this counts as not noticed. */
const LIMIT_MS = 15 * 60_000;

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    room: { type: 'string', multiple: true },
    random: { type: 'string' },
    seed: { type: 'string' },
    quick: { type: 'boolean', default: false },
    'fix-paths': { type: 'boolean', default: false },
  },
});
if (values['fix-paths']) fixPaths();
const all = readMutants();
const broken = listErrors(all);
for (const error of broken) console.error(`test/mutants: ${error}`);
if (broken.length > 0 || values['fix-paths']) process.exit(broken.length > 0 ? 1 : 0);

const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const chosen = choose(all, { ...values, seed });
if (chosen.length === 0) {
  console.error('No defect of test/mutants/ has that name. The rooms: npm run test:mutants -- --room LIST');
  console.error([...new Set(all.map(roomOf))].join(' '));
  process.exit(1);
}
if (values.random !== undefined) console.log(`${chosen.length} of ${all.length} at random, --seed ${seed}`);

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-mutants-'));
const started = Date.now();
const queue = [...chosen];
const results = [];
const children = new Set();
const stop = () => {
  for (const child of children) killGroup(child);
  fs.rmSync(folder, { recursive: true, force: true });
};
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    stop();
    process.exit(130);
  });
}

await Promise.all(
  Array.from({ length: Math.min(WORKERS, chosen.length) }, (_, index) =>
    work(path.join(folder, `worker-${index}`)),
  ),
);
stop();
process.exitCode = report() ? 0 : 1;

/** Runs the defects in one copy of the tree, with one process that keeps vitest loaded. */
async function work(copy) {
  copyTree(copy);
  let child;
  for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
    child ??= startWorker(copy);
    const begun = Date.now();
    const answer = await ask(child, mutant);
    if (answer.outcome === undefined) {
      killGroup(child);
      child = undefined;
      // The last run may have left changes in the copy.
      fs.rmSync(copy, { recursive: true, force: true });
      copyTree(copy);
    }
    const result = { outcome: 'survived', ...answer, mutant };
    results.push(result);
    const seconds = ((Date.now() - begun) / 1000).toFixed(1);
    const security = mutant.security ? ' security' : '';
    console.log(
      `${result.outcome.padEnd(9)} ${mutant.id} (${roomOf(mutant)}, ${laneOf(mutant)}${security}, ${seconds} s)${result.by ? `: ${result.by}` : ''}`,
    );
  }
  if (child !== undefined) killGroup(child);
}

function startWorker(copy) {
  const child = fork(path.join(root, 'scripts/mutants/worker.mjs'), {
    cwd: copy,
    detached: true,
    stdio: ['ignore', 'ignore', process.env.GRAPHCRED_MUTANTS_DEBUG ? 'inherit' : 'ignore', 'ipc'],
  });
  children.add(child);
  return child;
}

function ask(child, mutant) {
  return new Promise((resolve) => {
    const answered = (answer) => {
      clearTimeout(timer);
      child.off('exit', gone).off('message', answered);
      resolve(answer);
    };
    const gone = () => answered({ by: 'the process that ran the tests ended' });
    const timer = setTimeout(
      () => answered({ by: `nothing failed within ${LIMIT_MS / 60_000} minutes` }),
      LIMIT_MS,
    );
    child.on('message', answered).on('exit', gone);
    child.send({ mutant, quick: values.quick });
  });
}

/** Kills a worker with the tests it is running, and the processes that these started. */
function killGroup(child) {
  children.delete(child);
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}

function copyTree(copy) {
  const left = new Set(['node_modules', '.git', 'coverage'].map((name) => path.join(root, name)));
  fs.cpSync(root, copy, { recursive: true, verbatimSymlinks: true, filter: (from) => !left.has(from) });
  fs.symlinkSync(fs.realpathSync(path.join(root, 'node_modules')), path.join(copy, 'node_modules'));
}

/** Prints the figures, and returns whether enough defects were noticed. */
function report() {
  const count = (of, outcome) => of.filter((result) => result.outcome === outcome).length;
  const line = (name, of) => {
    const [killed, survived, unfit] = ['killed', 'survived', 'unfit'].map((outcome) => count(of, outcome));
    console.log(
      `${name.padEnd(16)} ${String(killed).padStart(4)} killed ${String(survived).padStart(4)} survived ${String(unfit).padStart(4)} not applicable`,
    );
  };
  console.log('');
  for (const room of [...new Set(results.map(({ mutant }) => roomOf(mutant)))].sort()) {
    line(
      room,
      results.filter(({ mutant }) => roomOf(mutant) === room),
    );
  }
  const security = results.filter(({ mutant }) => mutant.security);
  line('security', security);
  line('all', results);
  const share = count(results, 'killed') / results.length;
  console.log(
    `${(100 * share).toFixed(1)} % killed in ${Math.round((Date.now() - started) / 1000)} s; needed: ${100 * NEEDED} %, and each one of security`,
  );
  for (const { outcome, mutant, by } of results.filter((result) => result.outcome !== 'killed'))
    console.log(`${outcome}: ${mutant.id} in ${mutant.file}${by ? ` (${by})` : ''}`);
  return share >= NEEDED && security.every(({ outcome }) => outcome === 'killed');
}
