import { isJwtSet } from '../../auth/choose.js';
import { expected, type Fix } from '../../core/errors.js';
import type { Run } from '../../run/run.js';
import { type Check, type Facts, gatherFacts, hasProvider, skipped } from './check.js';
import { checkConfig, checkIdentity, checkLoginPort, checkProvider, checkStore } from './machine.js';
import { checkClocks, checkCredential, checkRestAuth, checkServer, checkTls } from './servers.js';

interface CheckRow {
  readonly id: string;
  /** The check is skipped when this one has failed. */
  readonly needs?: readonly string[];
  /** Whether there is something to check; always where that is not said. */
  readonly isFor?: (run: Run) => boolean;
  /** An error that it throws is a failure. */
  readonly check: (facts: Facts) => Promise<Check>;
}

const hasJwt = (run: Run) => hasProvider(run) || isJwtSet(run);

const CHECKS: readonly CheckRow[] = [
  { id: 'config', check: checkConfig },
  { id: 'server', check: checkServer },
  { id: 'tls', needs: ['server'], check: checkTls },
  { id: 'rest-auth', needs: ['server'], check: checkRestAuth },
  // Without a config file that is ignored, the servers may be others.
  { id: 'credential', needs: ['server', 'config'], check: checkCredential },
  { id: 'clock', needs: ['server'], check: checkClocks },
  { id: 'store', check: checkStore },
  { id: 'provider', isFor: hasProvider, check: checkProvider },
  { id: 'login-port', isFor: hasProvider, needs: ['provider'], check: checkLoginPort },
  { id: 'identity', isFor: hasJwt, needs: ['server', 'config'], check: checkIdentity },
];

export async function examine(run: Run): Promise<readonly (Check & { readonly id: string })[]> {
  const facts = gatherFacts(run);
  const failures = new Set<string>();
  const found: (Check & { id: string })[] = [];
  for (const { id, needs = [], isFor, check } of CHECKS) {
    if (isFor && !isFor(run)) continue;
    const result = needs.some((one) => failures.has(one))
      ? skipped('an earlier check has to pass first')
      : await check(facts).catch(failed);
    if (result.verdict === 'fail') failures.add(id);
    found.push({ id, ...result });
  }
  return found;
}

export function failed(error: unknown): Check {
  const { code, message: cause, fix } = expected(error);
  // A hint to run doctor is left out, because this is doctor.
  const isOwn = (part: Fix) => typeof part === 'object' && 'command' in part && part.command === 'doctor';
  return { verdict: 'fail', cause, code, fix: fix.filter((part) => !isOwn(part)) };
}
