import { type Dropping, dropEach } from '../../../app/drop-secrets.js';
import { openLogin } from '../../../app/gsql-login.js';
import {
  deleteSavedSecret,
  isNamed,
  noteLivingTokens,
  revokeTokensOf,
  savedForOwner,
} from '../../../app/saved-secrets.js';
import { GraphException, usageError } from '../../../core/errors.js';
import { isPlainAlias } from '../../../core/protocol/gsql.js';
import { maskSecret } from '../../../core/redact.js';
import type { Invocation, Session } from '../../command.js';
import { confirm } from '../../output/prompt.js';
import { printDropped } from '../../print-dropped.js';
import { openSession } from '../../session.js';

export async function run(invocation: Invocation): Promise<undefined> {
  const aliases = [...new Set(invocation.args)];
  if (aliases.some((alias) => !isSendable(alias)))
    throw noAlias('One of the aliases cannot be the name of a secret; nothing was dropped.');
  const session = await openSession(invocation, { isStepwise: true });
  const login = await openLogin(session);
  const { connection, credential } = login;
  const odd = aliases.filter((alias) => !isPlainAlias(alias));
  // A saved secret without a server alias is recognized by its mask, which must be read before the secret is dropped.
  const needsMasks = (await savedForOwner(login)).some((record) => !isNamed(login, record));
  const mayDropLogin = aliases.length > 1 && credential.kind === 'secret';
  const masks = new Map<string, string>();
  if (odd.length > 0 || needsMasks || mayDropLogin)
    for (const { alias, masked } of await connection.listSecrets()) masks.set(alias, masked);
  if (odd.some((alias) => !masks.has(alias)))
    throw noAlias('One of the aliases is neither well formed nor listed; nothing was dropped.');
  if (aliases.length > 1)
    await confirm(session, `Drop ${aliases.length} secrets: ${aliases.join(', ')}?`, 'Nothing was dropped.');
  if (session.flags.revoke === true)
    await revokeTokensOf(
      login,
      aliases.map((alias) => ({ alias, masked: masks.get(alias) })),
    );
  if (mayDropLogin) {
    // The others can be dropped only as long as this login works.
    const own = maskSecret((await credential.value()).reveal());
    aliases.sort((a, b) => Number(masks.get(a) === own) - Number(masks.get(b) === own));
  }
  const outcome = await dropEach(login, aliases);
  const { dropped, missing, failure, cause } = outcome;
  // A secret that the server does not know is of no use, so it is deleted from the store too.
  for (const alias of [...dropped, ...missing]) {
    const living = await deleteSavedSecret(login, { alias, masked: masks.get(alias) }).catch(() => {
      session.report.warn(`could not delete the saved value of ${alias}`);
      return [];
    });
    noteLivingTokens(login, alias, living);
  }
  printDropped(session.report, outcome, (names) => `Dropped: ${names.join(', ')}`);
  if (failure) throw aliases.length === 1 ? cause : failure;
  if (missing.length > 0) tellMissing(session, outcome);
}

function noAlias(message: string): GraphException {
  return usageError(message, 'see the names there are: graphcred secret list');
}

/** Whether this can be an alias on a server, and cannot change a GSQL statement. */
function isSendable(alias: string): boolean {
  return alias.length > 0 && alias.length <= 128 && /^[^\s;"'`\\\p{C}]+$/u.test(alias);
}

function tellMissing({ report, flags }: Session, { dropped, missing }: Dropping): void {
  if (flags['ignore-missing'] !== true)
    throw new GraphException(
      dropped.length > 0 ? 'PARTIAL' : 'NOT_FOUND',
      `No such secret: ${missing.join(', ')}.`,
      { hint: 'see the names there are: graphcred secret list; to ignore this: --ignore-missing' },
    );
  report.note(`not there: ${missing.join(', ')}`);
}
