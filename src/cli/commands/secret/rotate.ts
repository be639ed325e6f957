import { openLogin } from '../../../app/gsql-login.js';
import { type Rotated, rotateSecret } from '../../../app/rotate-secret.js';
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
  const rotated = await rotateSecret(login, {
    alias,
    revoke: flags.revoke === true,
    onUnsaved: (name, value) => printOnly(invocation, name, value),
  });
  if (rotated.isSaved) printSaved(invocation, alias, login.store.name, rotated);
  else {
    if (!report.json) report.note(`secret ${alias} has a new value; this is the only time it is shown`);
    const failure = printOnly(invocation, alias, rotated.value);
    if (failure) throw failure;
  }
  if (rotated.leavesTokens)
    report.note(`tokens minted from the old value of ${alias} stay valid until they expire`);
}

/** Says that the new value is saved, and prints it if the old one was not saved or `--print` is given. */
function printSaved(
  { report, flags }: Invocation,
  alias: string,
  store: string,
  { value, wasSaved }: Rotated,
): void {
  const show = flags.print === true || !wasSaved;
  const news = `has a new value, saved in the ${store} store`;
  if (show && !report.json) {
    report.note(`secret ${alias} ${news}; this is the only time it is shown`);
    report.result(value.reveal());
  } else
    report.done({ alias, saved: true, ...(show && { secret: value.reveal() }) }, `Secret ${alias} ${news}.`);
}

/**
 * Prints a value that is saved nowhere: on stderr, when stdout cannot take it.
 * @returns the error of stdout
 */
function printOnly({ ctx, report }: Invocation, name: string, value: Sensitive): GraphException | undefined {
  const secret = value.reveal();
  try {
    if (report.json) report.document({ alias: name, saved: false, secret }, true);
    else report.result(secret, true);
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
