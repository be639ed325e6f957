import { dropEach } from '../../../app/drop-secrets.js';
import { type Login, openLogin } from '../../../app/gsql-login.js';
import { secretsInUse } from '../../../app/secrets-in-use.js';
import type { Invocation } from '../../command.js';
import { confirm, requireYes } from '../../output/prompt.js';
import { singleLine } from '../../output/report.js';
import { printDropped } from '../../print-dropped.js';
import { openSession } from '../../session.js';

/** Matches the aliases that servers generate. */
const GENERATED_ALIAS = /^AUTO_GENERATED_ALIAS_/;

export async function run(invocation: Invocation): Promise<undefined> {
  const session = await openSession(invocation, { isStepwise: true });
  const { flags, report, ctx } = session;
  const dryRun = flags['dry-run'] === true;
  const login = await openLogin(session);
  const look = 'look first: graphcred secret prune --dry-run; then drop them with --yes';
  if (!dryRun) requireYes(session, 'Dropping secrets', look);
  const { litter, unknown } = await findGeneratedSecrets(login);
  if (litter.length > 0 && unknown.length > 0)
    report.warn(
      `one of these may be in use: the secretCommand of ${unknown.map((name) => `profile ${name}`).join(', ')} was not run`,
    );
  const names = litter.map(singleLine).join('\n');
  if (litter.length === 0 || dryRun) {
    if (report.json) report.document({ dropped: litter, missing: [], dryRun });
    else if (litter.length === 0) report.note('there are no generated secrets to drop');
    else report.result(names);
    return;
  }
  if (flags.yes !== true) {
    // The names are written even with -q, because a person must see them before confirming.
    ctx.stderr.write(`${names}\n`);
    const what = litter.length === 1 ? 'this secret' : `these ${litter.length} secrets`;
    const effect = login.version.tokensOutliveSecret ? '' : ', and their tokens end at once';
    report.warn(`programs that made a secret without a name use these${effect}`);
    await confirm(session, `Drop ${what}?`, 'Nothing was dropped.');
  }
  const outcome = await dropEach(login, litter);
  printDropped(report, outcome, (dropped) => `Dropped:\n${dropped.map(singleLine).join('\n')}`);
  if (login.version.tokensOutliveSecret && outcome.dropped.length > 0)
    report.note('tokens minted from dropped secrets stay valid until they expire');
  if (outcome.failure) throw outcome.failure;
}

/** Finds the generated aliases that this machine does not use. */
async function findGeneratedSecrets(login: Login): Promise<{ litter: string[]; unknown: readonly string[] }> {
  const generated = (await login.connection.listSecrets()).filter(({ alias }) => GENERATED_ALIAS.test(alias));
  if (generated.length === 0) return { litter: [], unknown: [] };
  const { aliases, masks, unknown } = await secretsInUse(login);
  const litter = generated
    .filter(({ alias, masked }) => !aliases.has(alias) && !masks.has(masked))
    .map(({ alias }) => alias)
    .sort();
  return { litter, unknown };
}
