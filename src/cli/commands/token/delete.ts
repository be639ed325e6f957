import { pluralize } from '../../../app/format.js';
import { deleteTokens, type Targets } from '../../../app/tokens/delete-tokens.js';
import { GraphException } from '../../../core/errors.js';
import type { Invocation } from '../../command.js';
import { openRun, skipsMissing } from '../../session.js';

export async function execute(invocation: Invocation): Promise<undefined> {
  const { report } = invocation;
  const targets = targetsOf(invocation);
  const run = await openRun(invocation);
  const skipMissing = skipsMissing(invocation);
  const { deleted, ended, missing, failure, notFound } = await deleteTokens(run, targets, {
    skipMissing,
  });
  // What an earlier run has ended, or time, is no part that is left to do.
  const isMissing = !skipMissing && deleted === 0;
  if (report.json && (failure || !isMissing || ended + missing > 0))
    report.document({ deleted, missing, ended });
  else if (deleted > 0) report.result(`Deleted ${pluralize(deleted, 'token')}.`);
  if (failure) throw failure;
  if (isMissing)
    throw new GraphException('NOT_FOUND', notFound ?? 'The token is gone already.', {
      hint: ['to ignore this: --skip-missing; to delete others, see their ids', { command: 'token list' }],
    });
  if (!report.json && deleted === 0) report.note('there was no token to delete');
  if (targets === 'every graph' || targets === 'everything') await run.stores.requireAllRead();
}

function targetsOf({ args, flags }: Invocation): Targets {
  const isNamed = args.length > 0;
  if ([isNamed, flags.everything, flags.all, flags['token-stdin']].filter(Boolean).length > 1)
    throw new GraphException('USAGE', 'ID, --all, --everything and --token-stdin name different tokens.', {
      hint: ['give one of them', { command: 'token delete ID' }],
    });
  if (isNamed) return args;
  if (flags.everything === true) return 'everything';
  return flags.all === true ? 'every graph' : 'one graph';
}
