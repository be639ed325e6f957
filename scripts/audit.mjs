// Asks the registry for known vulnerabilities of the packages that users install, and whether it has signed all that are installed here: `node scripts/audit.mjs`. If the registry does not offer this, the
// script says so and exits with 0. A vulnerability that is high or critical makes it fail.
import { spawnSync } from 'node:child_process';

const { stdout, error } = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
  encoding: 'utf8',
  timeout: 120_000,
});
const answer = parsed(stdout);
const counts = answer.metadata?.vulnerabilities;
if (counts === undefined) {
  const why = answer.message ?? answer.error?.summary ?? error?.message ?? 'npm gave no answer';
  // The registry's address is removed, because it must not appear in a public log.
  const words = String(why).replace(/https?:\/\/\S+/g, '…');
  console.log(`audit: not done, because this registry does not offer it: ${words}`);
} else {
  const { high = 0, critical = 0, total = 0 } = counts;
  for (const [name, { severity }] of Object.entries(answer.vulnerabilities ?? {}))
    console.log(`audit: ${name}: ${severity}`);
  console.log(`audit: ${total} known faults, ${high + critical} of them high or critical`);
  if (high + critical > 0) process.exitCode = 1;
}

// A wrong signature fails; a registry that has no signatures, or does not answer, does not.
const signatures = spawnSync('npm', ['audit', 'signatures', '--json'], { encoding: 'utf8', timeout: 20_000 });
const { invalid } = parsed(signatures.stdout);
if (invalid === undefined) console.log('signatures: not checked, because this registry does not offer it');
else {
  for (const { name, version } of invalid) console.log(`signatures: ${name} ${version}: wrong`);
  console.log(`signatures: ${invalid.length} wrong`);
  if (invalid.length > 0) process.exitCode = 1;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
