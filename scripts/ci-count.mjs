// Counts the results of the steps of .ci/run:
// node scripts/ci-count.mjs failed FILE.json   prints the test files that failed, one a line
// node scripts/ci-count.mjs total FOLDER       prints how long each step took, and then `N passed, N failed`
import fs from 'node:fs';
import path from 'node:path';

const [, , what, where] = process.argv;
if (what === 'failed') for (const { name } of filesOf(where).filter(hasFailed)) console.log(name);
else total(where);

function total(folder) {
  let passed = 0;
  let failed = 0;
  for (const line of fs.readFileSync(path.join(folder, 'steps'), 'utf8').trim().split('\n')) {
    const [name, seconds, status] = line.split(' ');
    const first = filesOf(path.join(folder, `${name}.json`));
    const again = filesOf(path.join(folder, `${name}.again.json`));
    const files = first.map((file) => again.find((other) => other.name === file.name) ?? file);
    for (const file of first.filter((one) => hasFailed(one) && !hasFailed(files[first.indexOf(one)])))
      console.log(
        `unsteady: ${path.relative(process.cwd(), file.name)} failed beside others and passed alone`,
      );
    const tests = files.flatMap((file) => file.assertionResults);
    // A test file that could not be loaded has no test of its own to count.
    const broken = files.filter((file) => hasFailed(file) && !file.assertionResults.some(isFailure));
    const failures = tests.filter(isFailure).length + broken.length;
    // The failure is not that of a test: it comes from the checks before the tests, or from a step without tests.
    const otherwise = Number(status) !== 0 && !first.some(hasFailed) ? 1 : 0;
    passed += tests.filter((test) => test.status === 'passed').length;
    failed += failures + otherwise;
    console.log(`${name}: ${seconds} s${failures + otherwise > 0 ? ', failed' : ''}`);
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}

function filesOf(file) {
  if (!fs.existsSync(file)) return [];
  return JSON.parse(fs.readFileSync(file, 'utf8')).testResults;
}

function hasFailed({ status }) {
  return status === 'failed';
}

function isFailure({ status }) {
  return status === 'failed';
}
