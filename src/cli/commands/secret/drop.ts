import { GraphException } from '../../../core/errors.js';
import { isPlainAlias } from '../../alias.js';
import type { Call } from '../../call.js';
import { loggedIn } from '../../login.js';
import { mayAsk } from '../../may-ask.js';
import { printable } from '../../printable.js';
import { askYes } from '../../prompt.js';
import { forgetSecret } from '../../saved.js';

/** `graphcred secret drop` */
export async function run(call: Call): Promise<number | undefined> {
  const { args, flags, report, ctx } = call;
  const aliases = [...new Set(args)];
  if (aliases.some((alias) => !isSendable(alias))) {
    throw new GraphException(
      'USAGE',
      'One of the aliases cannot be the name of a secret; nothing was dropped.',
      {
        hint: 'see the names there are: graphcred secret list',
      },
    );
  }
  const login = await loggedIn(call);
  const { session, connection, version } = login;
  const odd = aliases.filter((alias) => !isPlainAlias(alias));
  if (odd.length > 0) {
    const listed = new Set((await connection.listSecrets()).map(({ alias }) => alias));
    const unknown = odd.find((alias) => !listed.has(alias));
    if (unknown !== undefined) {
      throw new GraphException(
        'USAGE',
        'One of the aliases is neither well formed nor listed; nothing was dropped.',
        {
          hint: 'see the names there are: graphcred secret list',
        },
      );
    }
  }
  if (aliases.length > 1 && flags.yes !== true && mayAsk(ctx, session.settings)) {
    if (!(await askYes(call, `Drop ${aliases.length} secrets: ${aliases.map(printable).join(', ')}?`))) {
      throw new GraphException('CANCELLED', 'Nothing was dropped.');
    }
  }
  const { dropped, missing, failed } = await connection.dropSecrets(aliases);
  // What the server does not know any more is of no use here either.
  for (const alias of [...dropped, ...missing]) {
    const forgotten = await forgetSecret(login, alias).catch(() => {
      report.warn(`what is kept here of ${printable(alias)} could not be removed`);
      return 0;
    });
    if (forgotten > 0 && version.generation === 'C')
      report.note(`tokens minted from ${printable(alias)} are forgotten here; they live on until they end`);
  }
  return tell(call, dropped, missing, failed);
}

/** Anything a server could list as an alias, and nothing a statement could be made of. */
function isSendable(alias: string): boolean {
  return alias.length > 0 && alias.length <= 128 && /^[^\s;"'`\\\p{C}]+$/u.test(alias);
}

function tell(
  call: Call,
  dropped: string[],
  missing: string[],
  failed?: { alias: string; error: unknown },
): number {
  const { report, flags } = call;
  const forgiven = flags['ignore-missing'] === true;
  // Nothing is known of any alias: there is no result, and none is printed.
  if (failed && dropped.length + missing.length === 0) throw failed.error;
  if (report.json) report.document({ dropped, missing, dryRun: false });
  else if (dropped.length > 0) report.result(`Dropped: ${dropped.map(printable).join(', ')}`);
  if (failed) {
    if (dropped.length === 0) throw failed.error;
    const why = failed.error instanceof Error ? failed.error.message : 'unknown error';
    throw new GraphException('PARTIAL', `${printable(failed.alias)} was not dropped: ${why}`, {
      hint: `dropped before it: ${dropped.join(', ')}`,
    });
  }
  if (missing.length === 0) return 0;
  if (forgiven) {
    report.note(`not there: ${missing.map(printable).join(', ')}`);
    return 0;
  }
  throw new GraphException(
    dropped.length > 0 ? 'PARTIAL' : 'NOT_FOUND',
    `No such secret: ${missing.map(printable).join(', ')}.`,
    {
      hint: 'see the names there are: graphcred secret list; --ignore-missing makes this no error',
    },
  );
}
