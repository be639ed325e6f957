import { openLogin } from '../../../app/gsql-login.js';
import { rotateSecret } from '../../../app/secrets/rotate-secret.js';
import { usageError } from '../../../core/errors.js';
import { isPlainAlias } from '../../../core/protocol/gsql.js';
import type { Invocation } from '../../command.js';
import { requireOutput } from '../../context.js';
import { printSecret } from '../../print-secrets.js';
import { openRun } from '../../session.js';

export async function execute(invocation: Invocation): Promise<undefined> {
  const { flags, report } = invocation;
  const alias = invocation.args[0] as string;
  if (!isPlainAlias(alias))
    throw usageError('A secret of this name cannot be made anew, so it is not rotated.', [
      'make one under a plain name, then drop this',
      { command: 'secret create NAME --save' },
    ]);
  if (flags.print === true) requireOutput(invocation.ctx);
  const login = await openLogin(await openRun(invocation, { isStepwise: true }));
  await rotateSecret(login, {
    alias,
    revoke: flags.revoke === true,
    show: (value, saved) => {
      const news = `has a new value${saved ? `, saved in the ${login.store.name} store` : ''}`;
      if (saved && flags.print !== true) return report.done({ alias, saved }, `Secret ${alias} ${news}.`);
      const another = { command: `secret rotate ${alias} --print` };
      return printSecret(invocation, { alias, saved }, value, {
        note: `secret ${alias} ${news}; this is the only time it is shown`,
        whenLost: [`the new value of ${alias} is saved here; to see another`, another],
      });
    },
  });
}
