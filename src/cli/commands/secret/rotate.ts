import { openLogin } from '../../../app/gsql-login.js';
import { rotateSecret } from '../../../app/rotate-secret.js';
import { GraphException } from '../../../core/errors.js';
import { isPlainAlias } from '../../../core/protocol/gsql.js';
import type { Sensitive } from '../../../core/sensitive.js';
import type { Invocation } from '../../command.js';
import { openSession } from '../../session.js';

export async function run(invocation: Invocation): Promise<undefined> {
  const { report, flags } = invocation;
  const alias = invocation.args[0] as string;
  if (!isPlainAlias(alias)) {
    throw new GraphException('USAGE', 'A secret of this name cannot be made anew, so it is not rotated.', {
      hint: 'make one under a plain name, then drop this: graphcred secret create NAME --save',
    });
  }
  const login = await openLogin(await openSession(invocation, { isStepwise: true }));
  const { value, isSaved, wasSaved, leavesTokens } = await rotateSecret(login, {
    alias,
    revoke: flags.revoke === true,
    onUnsaved: (name, unsaved) => printOnly(invocation, name, unsaved),
  });
  const isShown = flags.print === true || !wasSaved || !isSaved;
  const news = `has a new value${isSaved ? `, saved in the ${login.store.name} store` : ''}`;
  if (isShown && !report.json) report.note(`secret ${alias} ${news}; this is the only time it is shown`);
  if (!isSaved) {
    const failure = printOnly(invocation, alias, value);
    if (failure) throw failure;
  } else if (isShown && !report.json) report.result(value.reveal());
  else {
    const document = { alias, saved: true, ...(isShown && { secret: value.reveal() }) };
    report.done(document, `Secret ${alias} ${news}.`);
  }
  if (leavesTokens) report.note(`tokens minted from the old value of ${alias} stay valid until they expire`);
}

/**
 * Prints a value that is saved nowhere: on stderr, when stdout cannot take it.
 * @returns the error of stdout
 */
function printOnly({ ctx, report }: Invocation, name: string, value: Sensitive): GraphException | undefined {
  const secret = value.reveal();
  try {
    report.show({ alias: name, saved: false, secret }, secret, true);
    if (ctx.stdout.isNull)
      report.warn(
        `the value of ${name} went to the null device and is lost; make another: graphcred secret rotate ${name} --print`,
      );
    return undefined;
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    ctx.stderr.write(`${secret}\n`);
    return new GraphException(error.code, error.message, {
      hint: `the value of the secret ${name} is the line before, and is shown nowhere else`,
    });
  }
}
