import { getToken } from '../../app/get-token.js';
import { mintFor } from '../../app/mint-token.js';
import type { CachedToken } from '../../app/token-cache.js';
import { findCredential } from '../../auth/choose.js';
import { connect } from '../../auth/connect.js';
import { Interrupted, type Interruption } from '../../auth/ports.js';
import { chooseStore } from '../../auth/stores.js';
import { GraphException, usageError } from '../../core/errors.js';
import { BoundCredential } from '../../core/sensitive.js';
import { isoSeconds } from '../../core/time.js';
import { childEnvironment, runToEnd } from '../child.js';
import type { Invocation, Session } from '../command.js';
import type { Context } from '../context.js';
import { errorOf, untilInterrupted } from '../output/report.js';

/** How long revoking may take, even if requests are in progress. */
const REVOKE_MS = 10_000;

export async function run(invocation: Invocation): Promise<number> {
  const { flags, report, ctx } = invocation;
  const args = invocation.args.length > 0 ? invocation.args : shellOf(ctx);
  return runToEnd(invocation, args, async (session) => {
    if (ctx.env.GRAPHCRED_EXEC === '1')
      report.note('this runs inside another graphcred exec; the command gets a token of its own');
    const minted = flags.revoke === true ? await mintInterruptibly(session) : undefined;
    const held = minted?.held ?? (await getToken(session, { fresh: false }));
    const env = childEnvironment(session, held);
    if (args !== invocation.args)
      report.note(`this is ${args[0]} with a token in TG_API_TOKEN; to leave it: exit`);
    return { env, finish: async () => minted?.revoke() };
  });
}

/** Returns the user's shell. @throws GraphException USAGE without a terminal, where nobody can type into it */
function shellOf({ env, platform, stdin }: Context): readonly string[] {
  if (!stdin.isTTY) throw usageError('The command is missing.', 'see: graphcred exec --help');
  return [platform === 'win32' ? env.COMSPEC || 'cmd.exe' : env.SHELL || '/bin/sh'];
}

/**
 * Mints a token, and revokes it when a signal arrived meanwhile.
 * @throws Interrupted when a signal came before the command was started
 */
function mintInterruptibly(session: Session) {
  return untilInterrupted(session.ports.listen(), async (interruption) => {
    const minted = await mintForThisCall(session, interruption);
    if (interruption.status === undefined) return minted;
    throw new Interrupted(interruption.status, await minted.revoke(), 'Interrupted; the token is revoked.');
  });
}

/** Mints a token for this run alone. It is not taken from the store or stored, and is revoked at the end. */
async function mintForThisCall(session: Session, interruption: Interruption) {
  const { report } = session;
  const credential = await findCredential(session, 'mint', () => chooseStore(session, { needed: true }));
  if (credential.kind === 'jwt')
    throw new GraphException('USAGE', `A JWT (${credential.label}) cannot be revoked: nothing is minted.`, {
      hint: 'leave --revoke out',
    });
  await credential.value();
  interruption.begin();
  const minted = await mintFor({ ...session, interruption }, credential, true);
  const held: CachedToken = { ...minted, source: 'server' };
  const revoke = async () => {
    try {
      // Revoking has a time limit of its own, however long minting took.
      const { connection, version } = await connect(session, credential, REVOKE_MS);
      const token = new BoundCredential(held.token, held.servers);
      await connection.deleteToken(undefined, { token, skipNA: true });
      if (version.revocationFillsBlockList)
        report.note('the token is revoked; on 4.x it uses 1 of 20 entries of the user’s token block list');
      return undefined;
    } catch (error) {
      const { message } = errorOf(error);
      return new GraphException(
        'PARTIAL',
        `the token could not be revoked (${message.replace(/\.$/, '')}); it lives until ${isoSeconds(held.expiresAtUnix)}`,
        { hint: 'let the next one end sooner: graphcred exec --revoke --lifetime 15m' },
      );
    }
  };
  return { held, revoke };
}
