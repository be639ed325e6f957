import { openLogin } from '../../../app/gsql-login.js';
import { rotateSecret } from '../../../app/secrets/rotate-secret.js';
import { expected, GraphException, usageError } from '../../../core/errors.js';
import { isPlainAlias } from '../../../core/protocol/gsql.js';
import type { Sensitive } from '../../../core/sensitive.js';
import type { Invocation } from '../../command.js';
import { requireOutput } from '../../context.js';
import { openRun } from '../../session.js';

export async function execute(invocation: Invocation): Promise<undefined> {
  const { flags } = invocation;
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
      if (saved && flags.print !== true) invocation.report.done({ alias, saved }, `Secret ${alias} ${news}.`);
      else print(invocation, { alias, saved, news, value });
    },
  });
}

interface Shown {
  readonly alias: string;
  readonly saved: boolean;
  readonly news: string;
  readonly value: Sensitive;
}

function print({ ctx, report }: Invocation, { alias, saved, news, value }: Shown): void {
  const secret = value.reveal();
  try {
    requireOutput(ctx);
    if (!report.json) report.note(`secret ${alias} ${news}; this is the only time it is shown`);
    report.show({ alias, saved, secret }, secret, true);
  } catch (error) {
    const { code, message } = expected(error);
    throw new GraphException(code, message, {
      hint: [
        `the new value of ${alias} is saved here; to see another`,
        { command: `secret rotate ${alias} --print` },
      ],
    });
  }
}
