// Asks the registry for known vulnerabilities of the packages that users install: `node scripts/audit.mjs`. If the registry does not offer this, the
// script says so and exits with 0. A vulnerability that is high or critical makes it fail.
import { spawnSync } from 'node:child_process';

const { stdout, error } = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
  encoding: 'utf8',
  timeout: 120_000,
});
let answer = {};
try {
  answer = JSON.parse(stdout);
} catch {
  // The error is reported below.
}
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
  if (high + critical > 0) process.exit(1);
}
