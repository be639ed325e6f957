// Tries a release here: npm run release -- --dry-run
// It runs the steps of .github/workflows/release.yml on a clone of the last commit, as the runner would: it builds and tests the files, packs the
// package, makes the manifests, the tags and the notes. npm publishes with its option for a dry run, git pushes to a folder, and gh prints what it would do.
// Not run: the jobs of ci.yml (npm run check does most of that), and the actions that need the forge. Of the executables it runs this machine's.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';

const { values } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } });
if (!values['dry-run']) {
  console.error(
    'A release is made by the workflow Release on the forge (RELEASING.md). Try it here: npm run release -- --dry-run',
  );
  process.exit(2);
}

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-release-'));
const at = (...names) => path.join(folder, ...names);
const git = (...words) =>
  execFileSync('git', ['-c', 'advice.detachedHead=false', ...words], { stdio: 'inherit' });
const { jobs } = parse(fs.readFileSync(path.join(root, '.github/workflows/release.yml'), 'utf8'));
/** The values of the expressions that the steps use. */
const known = { 'matrix.target': `linux-${process.arch}`, 'github.token': 'none' };

try {
  git('clone', '--quiet', '--bare', root, at('origin'));
  for (const name of ['artifacts', 'programs']) fs.mkdirSync(at(name));
  fs.writeFileSync(at('programs/gh'), '#!/bin/sh\necho "gh $*"\n', { mode: 0o755 });
  for (const [name, job] of Object.entries(jobs)) play(name, job.steps ?? []);
  console.log('\nA release would upload:');
  for (const file of fs.readdirSync(at('artifacts/release')).sort()) console.log(`  ${file}`);
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}

/** Runs the steps of one job in a folder of its own. */
function play(job, steps) {
  const cwd = at(job);
  fs.mkdirSync(cwd);
  for (const step of steps) {
    console.log(`\n${job}: ${step.name ?? step.uses}`);
    const [action] = (step.uses ?? '').split('@');
    if (step.run) run(step, cwd);
    else if (action === 'actions/checkout') git('clone', '--quiet', at('origin'), cwd);
    else if (action === 'actions/upload-artifact') {
      const from = step.with.path.trim().split('\n');
      // The artifact has the files below the folder that all of them are in.
      for (const one of from)
        fs.cpSync(path.join(cwd, one), at('artifacts', step.with.name, from.length > 1 ? one : ''), {
          recursive: true,
        });
    } else if (action === 'actions/download-artifact')
      fs.cpSync(at('artifacts', step.with.name), path.join(cwd, step.with.path ?? ''), { recursive: true });
    else console.log('not run here');
  }
}

function run({ run: script, env = {}, id }, cwd) {
  const filled = Object.entries(env).map(([name, value]) => [
    name,
    value.replace(/\$\{\{ ([\w.]+) \}\}/g, (_, expression) => {
      if (known[expression] === undefined)
        throw new Error(`release.yml uses ${expression}, which scripts/release.mjs does not know.`);
      return known[expression];
    }),
  ]);
  const output = at('output');
  execFileSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
    cwd,
    stdio: 'inherit',
    env: {
      ...process.env,
      PATH: `${at('programs')}:${process.env.PATH}`,
      npm_config_dry_run: /npm publish/.test(script) ? 'true' : 'false',
      GITHUB_OUTPUT: output,
      ...Object.fromEntries(filled),
    },
  });
  if (!id || !fs.existsSync(output)) return;
  for (const [, name, value] of fs.readFileSync(output, 'utf8').matchAll(/^(\w+)=(.*)$/gm)) {
    known[`steps.${id}.outputs.${name}`] = value;
    known[`needs.build.outputs.${name}`] = value;
  }
}
