// mutants.mjs starts this process in a copy of the tree. It applies one defect after the other and answers with the results of the tests. One vitest
// stays loaded for all defects, so that each costs the run of one test file and not a start of vitest.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { createVitest } from 'vitest/node';
import { laneOf } from './list.mjs';

const copy = process.cwd();
/** Runs the test files in the given order (units first, commands last). vitest would sort them by size and earlier durations. */
class AsGiven {
  sort(files) {
    return files;
  }
  shard(files) {
    return files;
  }
}
const vitest = await createVitest('test', {
  root: copy,
  watch: false,
  bail: 1,
  maxWorkers: 1,
  reporters: [{}],
  sequence: { sequencer: AsGiven },
});
const specs = await vitest.globTestSpecifications();
/** Remembers for each test whether it passes without a defect. */
const sound = new Map();

process.on('message', async ({ mutant, quick }) => {
  let answer;
  try {
    answer = await judge(mutant, quick);
  } catch (error) {
    answer = { outcome: 'unfit', by: String(error?.message ?? error).split('\n')[0] };
  }
  process.send(answer);
});

async function judge(mutant, quick) {
  const source = path.join(copy, mutant.file);
  const text = fs.readFileSync(source, 'utf8');
  const write = (content) => {
    fs.writeFileSync(source, content);
    vitest.invalidateFile(source);
  };
  const restoreBuild = laneOf(mutant) === 'e2e' ? keepBuild() : () => {};
  let failed;
  try {
    write(text.split(mutant.find).join(mutant.replace));
    if (laneOf(mutant) === 'e2e') build();
    failed = await firstFailure(
      specs.filter(({ moduleId }) => moduleId === path.join(copy, mutant.test ?? '')),
    );
    if (failed === undefined && !quick && laneOf(mutant) === 'fast')
      failed = await firstFailure(await related(source));
  } finally {
    write(text);
    restoreBuild();
  }
  if (failed === undefined) return { outcome: 'survived' };
  const file = path.relative(copy, failed.spec.moduleId);
  if (!(await isSound(failed.spec))) {
    return { outcome: 'unfit', by: `${file} fails without any defect: ${failed.test}` };
  }
  return { outcome: 'killed', by: `${file} > ${failed.test}` };
}

/** Returns the fast tests that import the file, directly or indirectly. */
async function related(source) {
  vitest.config.related = [source];
  const found = await vitest.getRelevantTestSpecifications();
  vitest.config.related = undefined;
  const near = ['unit', 'contract', 'cli', 'smoke'];
  const rank = ({ moduleId }) => near.indexOf(path.relative(copy, moduleId).split(path.sep)[1]);
  return found.filter(({ project }) => project.name === 'fast').sort((a, b) => rank(a) - rank(b));
}

async function firstFailure(files) {
  if (files.length === 0) return undefined;
  // vitest returns the results of all earlier runs too, so they are removed first.
  vitest.state.filesMap.clear();
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(files);
  for (const module of testModules) {
    const [test] = [...module.children.allTests('failed')];
    const spec = files.find(({ moduleId }) => moduleId === module.moduleId);
    if (test !== undefined) return { spec, test: test.fullName };
    if (!module.ok() && module.errors().length > 0) return { spec, test: module.errors()[0].message };
  }
  return unhandledErrors.length > 0
    ? { spec: files[0], test: `an unhandled error: ${unhandledErrors[0].message}` }
    : undefined;
}

/** Whether a test passes without a defect. It is tried twice, because the other worker may use a port that it needs. */
async function isSound(spec) {
  if (!sound.has(spec.moduleId)) {
    const passes = async () => (await firstFailure([spec])) === undefined;
    sound.set(spec.moduleId, (await passes()) || (await passes()));
  }
  return sound.get(spec.moduleId);
}

function build() {
  execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'ignore' });
}

function keepBuild() {
  fs.cpSync('dist', 'dist.sound', { recursive: true });
  return () => {
    fs.rmSync('dist', { recursive: true, force: true });
    fs.renameSync('dist.sound', 'dist');
  };
}
