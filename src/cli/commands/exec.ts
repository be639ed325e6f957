import { GraphException } from '../../core/errors.js';
import type { HeldToken } from '../../tokens/find.js';
import type { Call } from '../call.js';
import { runChild, watchWindow } from '../child.js';
import { withoutCredentials } from '../child-env.js';
import { connect, secretOf } from '../connect.js';
import { findCredential } from '../credential.js';
import { isClosedPrompt } from '../exit.js';
import { openSession, type Session } from '../session.js';
import { chooseStore } from '../stores.js';
import { portOf } from '../target.js';
import { obtainToken } from '../token.js';

/** Failed before the command ran; the cause is in `error.code`. */
const FAILED = 125;

/** `graphcred exec` */
export async function run(call: Call): Promise<number> {
  const { args, flags, report, ctx } = call;
  let session: Session;
  let env: Record<string, string | undefined>;
  let revoke: (() => Promise<void>) | undefined;
  try {
    session = await openSession(call);
    if (ctx.env.GRAPHCRED_EXEC === '1')
      report.note('this runs inside another graphcred exec; the command gets a token of its own');
    if (flags.revoke === true) {
      const minted = await mintForThisCall(session);
      revoke = minted.revoke;
      env = environment(session, minted.held);
    } else {
      env = environment(session, await obtainToken(session, { fresh: false }));
    }
  } catch (error) {
    // Bad options of exec itself are the person's; anything else would look like the command's own status.
    if (error instanceof GraphException && error.code === 'USAGE') throw error;
    report.error(named(error), FAILED);
    return FAILED;
  }
  const endWithWindow = watchWindow(ctx);
  try {
    return await runChild(ctx, args, env);
  } catch (error) {
    return notStarted(call, error as NodeJS.ErrnoException);
  } finally {
    await revoke?.();
    endWithWindow();
  }
}

function named(error: unknown): GraphException {
  if (error instanceof GraphException) return error;
  const { name } = error instanceof Error ? error : new Error();
  // Closing a prompt is no bug. Of anything else only the kind is told: its text may quote what it worked on.
  if (isClosedPrompt(error)) return new GraphException('CANCELLED', 'Cancelled.');
  return new GraphException('INTERNAL', `graphcred ran into a bug (${name}).`, {
    hint: 'please report it, with the command you typed',
  });
}

function environment({ call, graph, target }: Session, held: HeldToken): Record<string, string | undefined> {
  return {
    ...withoutCredentials(call.ctx.env),
    TG_API_TOKEN: held.token.reveal(),
    TG_HOST: target.host,
    // Also when there is none: with --profile typed, a graph left in the environment belongs to another database.
    TG_GRAPHNAME: graph,
    TG_RESTPP_PORT: portOf(held.restUrl),
    TG_GS_PORT: portOf(target.gsqlUrl),
    GRAPHCRED_EXEC: '1',
  };
}

/** A token nobody else has: never from the store, never into it, and gone at the end. */
async function mintForThisCall(session: Session): Promise<{ held: HeldToken; revoke: () => Promise<void> }> {
  const { report } = session.call;
  const { mintFor } = await import('../mint.js');
  const credential = await findCredential(
    session,
    'mint',
    async () => (await chooseStore(session, { needed: true })).store,
  );
  const minted = await mintFor(session, credential, false, true);
  const held: HeldToken = { ...minted, source: 'server' };
  const revoke = async () => {
    try {
      // However long it took to get the token, giving it back has the whole time.
      session.timeLeft.ms = session.timeoutMs;
      const { connection, version } = await connect(session, credential, false);
      await connection.deleteToken(await secretOf(credential), { token: held.token, skipNA: true });
      if (version.generation === 'C')
        report.note('the token is revoked; on 4.x each one fills a place of the user’s block list of 20');
    } catch (error) {
      if (!(error instanceof GraphException)) throw error;
      report.warn(`the token could not be revoked (${error.message}); it lives until its end`);
    }
  };
  return { held, revoke };
}

function notStarted({ args, report }: Call, error: NodeJS.ErrnoException): number {
  const [status, what, code, hint] =
    error.code === 'ENOENT'
      ? ([127, 'was not found', 'NOT_FOUND', 'check its name, and that it is on the PATH'] as const)
      : ([126, 'could not be started', 'USAGE', 'check its mode: ls -l'] as const);
  report.error(new GraphException(code, `The command ${what}: ${args[0]}`, { hint }), status);
  return status;
}
