import { GraphException } from '../../../core/errors.js';
import { maskSecret } from '../../../core/server-text.js';
import { listEntries } from '../../../store/records.js';
import type { Call } from '../../call.js';
import { secretOf } from '../../connect.js';
import { type LoggedIn, loggedIn } from '../../login.js';
import { mayAsk } from '../../may-ask.js';
import { printable } from '../../printable.js';
import { askYes } from '../../prompt.js';

/** Aliases that servers make up themselves. */
const LITTER = /^AUTO_GENERATED_ALIAS_/;

/** `graphcred secret prune` */
export async function run(call: Call): Promise<number | undefined> {
  const { flags, report, ctx } = call;
  const dryRun = flags['dry-run'] === true;
  const login = await loggedIn(call);
  const { session, connection, version } = login;
  const ask = mayAsk(ctx, session.settings);
  if (!dryRun && flags.yes !== true && !ask) {
    throw new GraphException(
      'INPUT_REQUIRED',
      'There is no terminal to ask whether secrets may be dropped.',
      {
        hint: 'look first: graphcred secret prune --dry-run; then drop them with --yes',
      },
    );
  }
  const litter = await findLitter(login);
  const names = litter.map(printable).join('\n');
  if (litter.length === 0 || dryRun) {
    if (report.json) report.document({ dropped: litter, missing: [], dryRun });
    else if (litter.length === 0) report.note('there are no generated secrets to drop');
    else report.result(names);
    return undefined;
  }
  if (flags.yes !== true) {
    // Also under -q: nobody can say yes to names that are not shown.
    ctx.stderr.write(`${names}\n`);
    const what = litter.length === 1 ? 'this secret' : `these ${litter.length} secrets`;
    if (!(await askYes(call, `Drop ${what}?`))) throw new GraphException('CANCELLED', 'Nothing was dropped.');
  }
  const { dropped, missing, failed } = await connection.dropSecrets(litter);
  if (failed && dropped.length === 0) throw failed.error;
  if (report.json) report.document({ dropped, missing, dryRun });
  else if (dropped.length > 0) report.result(`Dropped:\n${dropped.map(printable).join('\n')}`);
  if (version.generation === 'C' && dropped.length > 0)
    report.note('tokens minted from dropped secrets live on until they end');
  if (failed) {
    const why = failed.error instanceof Error ? failed.error.message : 'unknown error';
    throw new GraphException('PARTIAL', `${printable(failed.alias)} was not dropped: ${why}`, {
      hint: 'run it again: graphcred secret prune',
    });
  }
  return undefined;
}

/** Generated aliases, but none that is saved here for this host and not the secret this call logs in with. */
async function findLitter({ session, connection, credential }: LoggedIn): Promise<string[]> {
  const { stateDir, target, call } = session;
  // Whichever store keeps them: the one in force for this call is not the only one.
  const saved = new Set(
    listEntries(stateDir, (message) => call.report.detail(message))
      .filter(({ record }) => record.kind === 'secret' && record.info.host === target.host)
      .map(({ record }) => record.info.alias),
  );
  const own = await secretOf(credential);
  const ownMask = own && maskSecret(own.reveal());
  return (await connection.listSecrets())
    .filter(({ alias, masked }) => LITTER.test(alias) && !saved.has(alias) && masked !== ownMask)
    .map(({ alias }) => alias)
    .sort();
}
