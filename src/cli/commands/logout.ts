import fs from 'node:fs';
import { pluralize, stored } from '../../app/format.js';
import { logOut, planLogout } from '../../app/login/log-out.js';
import { expected } from '../../core/errors.js';
import { shellWord } from '../../files/shell-word.js';
import type { Run } from '../../run/run.js';
import type { StoreEntry } from '../../run/stores.js';
import { isSecret } from '../../store/ownership.js';
import type { Invocation } from '../command.js';
import { confirm, requireYes } from '../output/prompt.js';
import type { Report } from '../output/report.js';
import { openRun } from '../session.js';

export async function execute(invocation: Invocation): Promise<undefined> {
  const run = await openRun(invocation);
  const { flags, report } = invocation;
  const everything = flags.all === true;
  const revoke = flags.revoke === true;
  const look = ['look first', { command: 'token list' }, 'then confirm it with --yes'];
  if (everything) requireYes(invocation, run.ports, 'Deleting everything', look);
  const plan = await planLogout(run, everything, revoke).catch((error) => {
    if (everything && expected(error).code === 'NOT_FOUND') noteWhatStays(run, report);
    throw error;
  });
  const whose = everything ? 'all servers and database users' : run.target.gsqlUrl;
  const question = `${revoke ? 'Revoke the tokens, and delete' : 'Delete'} ${stored(plan.tokens.length, plan.credentials.length)} from this machine (${whose})?`;
  if (everything) await confirm(invocation, run.ports, question, 'Nothing was deleted.');
  const { tokens, ended, credentials, failure } = await logOut(run, plan);
  const what = stored(tokens - ended, credentials, revoke ? 'revoked token' : 'token');
  // Those that the server did not know any more were not revoked now.
  const gone = [ended > 0 && `${pluralize(ended, 'token')} that had ended`, what]
    .filter(Boolean)
    .join(' and ');
  const done = `Deleted ${gone} from this machine (${whose}).`;
  const revoked = revoke && tokens > 0 && ended === 0 && !failure;
  report.done({ forgotten: tokens + credentials, tokens, revoked }, done);
  const isJwt = ({ record }: StoreEntry) => record.kind === 'token' && record.info.issuedBy === 'provider';
  if ([...plan.tokens, ...plan.credentials].some(isJwt))
    report.note('a JWT of an identity provider stays valid until it expires; no server can revoke it');
  if (!plan.tokens.every(isJwt) && tokens > 0 && !revoke && !run.stores.areShared)
    report.note(
      'the server accepts the deleted tokens until they expire; next time, logout --revoke revokes them first',
    );
  if (failure) throw failure;
  await run.stores.requireReadable();
  const secrets = plan.credentials.filter(isSecret).map(({ record: { info } }) => info);
  const notes = secrets.flatMap((one) =>
    one.alias
      ? `the secret "${one.alias}" was not dropped at ${one.gsqlUrl}; only secret drop does that`
      : [],
  );
  for (const note of [...new Set(notes)].sort()) report.note(note);
  if (everything) noteWhatStays(run, report);
}

function noteWhatStays(run: Run, report: Report): void {
  const dirs = [run.stores.configDir, run.stores.stateDir].filter((dir) => dir && fs.existsSync(dir));
  const remove = dirs.map((dir) => `rm -r ${shellWord(`${dir}`)}`).join('; ');
  if (dirs.length > 0)
    report.note(
      `profiles, the key that encrypts what is stored, and facts about servers stay here; to remove them: ${remove}`,
    );
  report.note('secrets stay at their servers until somebody drops them there');
  report.note('a completion script of your shell, if you saved one, stays: graphcred completion --help');
}
