import { obtainToken } from '../../app/get-token.js';
import { mintFor } from '../../app/mint-token.js';
import type { CachedToken } from '../../app/token-cache.js';
import { isoSeconds } from '../../app/words.js';
import { findCredential } from '../../auth/choose.js';
import { connect } from '../../auth/connect.js';
import { Interrupted, type Interruption } from '../../auth/ports.js';
import { chooseStore } from '../../auth/stores.js';
import { settingText } from '../../config/settings.js';
import { portOf, type Servers } from '../../core/endpoints.js';
import { GraphException } from '../../core/errors.js';
import { BoundCredential } from '../../core/sensitive.js';
import { inheritedDescriptors, runChild, watchWindow } from '../child.js';
import type { Invocation } from '../command.js';
import { type Context, environmentWithoutCredentials } from '../context.js';
import { exitStatus, isClosedPrompt } from '../output/exit-codes.js';
import { openSession, type Session } from '../session.js';

/** The exit status for a failure before the command ran; `error.code` gives the cause. */
const FAILED = 125;
/** How long revoking may take, even if requests are in progress. */
const REVOKE_MS = 10_000;
const MAX_STDIN_BYTES = 64 * 1024;
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

/** Runs `graphcred exec`. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, report, ctx } = invocation;
  const args = invocation.args.length > 0 ? invocation.args : shellOf(ctx);
  let session: Session;
  let env: Record<string, string | undefined>;
  let revoke: (() => Promise<GraphException | undefined>) | undefined;
  const inherited = inheritedDescriptors();
  try {
    session = await openSession(invocation);
    if (ctx.env.GRAPHCRED_EXEC === '1')
      report.note('this runs inside another graphcred exec; the command gets a token of its own');
    if (flags.revoke === true) {
      const minted = await mintInterruptibly(session);
      revoke = minted.revoke;
      env = environment(session, minted.held);
    } else {
      env = environment(session, await obtainToken(session, { fresh: false }));
    }
    // A cached token needs no credential, but the command must not find one on its standard input.
    if (['password-stdin', 'secret-stdin', 'jwt-stdin'].some((flag) => flags[flag] === true))
      await ctx.stdin.read({ maxBytes: MAX_STDIN_BYTES, timeoutMs: session.timeoutMs });
  } catch (error) {
    // Wrong options of exec itself keep exit status 2. Any other status could be mistaken for that of the command.
    if ((error instanceof GraphException && error.code === 'USAGE') || error instanceof Interrupted)
      throw error;
    report.error(named(error), FAILED);
    return FAILED;
  }
  if (invocation.args.length === 0)
    report.note(`this is ${args[0]} with a token in TG_API_TOKEN; to leave it: exit`);
  const endWithWindow = watchWindow(ctx);
  // Signals are ignored until this process ends, so that one after the command's end neither changes the exit status
  // nor leaves the token valid.
  const ignore = () => {};
  for (const signal of ENDING) process.on(signal, ignore);
  const status = await runChild(ctx, args, env, inherited).catch((error) =>
    notStarted({ args, report }, error),
  );
  const failure = await revoke?.();
  endWithWindow();
  if (failure === undefined) return status;
  if (status !== 0) {
    report.warn(failure.message);
    return status;
  }
  report.error(failure);
  return exitStatus(failure.code);
}

/** Returns the user's shell. @throws GraphException USAGE without a terminal, where nobody can type into it */
function shellOf({ env, platform, stdin }: Context): readonly string[] {
  if (!stdin.isTTY)
    throw new GraphException('USAGE', 'The command is missing.', { hint: 'see: graphcred exec --help' });
  return [platform === 'win32' ? env.COMSPEC || 'cmd.exe' : env.SHELL || '/bin/sh'];
}

function named(error: unknown): GraphException {
  if (error instanceof GraphException) return error;
  const { name } = error instanceof Error ? error : new Error();
  // A closed prompt is not a bug. Of any other error only the name is shown, because its text may quote a credential.
  if (isClosedPrompt(error)) return new GraphException('CANCELLED', 'Cancelled.');
  return new GraphException('INTERNAL', `graphcred ran into a bug (${name}).`, {
    hint: 'please report it, with the command you typed',
  });
}

function environment(
  { invocation, graph, settings }: Session,
  held: CachedToken,
): Record<string, string | undefined> {
  if (!isOneHost(held.servers))
    invocation.report.note(
      'the two servers are on two hosts: TG_HOST and TG_RESTPP_PORT are those of the REST server, and TG_GS_PORT is not set',
    );
  return {
    ...environmentWithoutCredentials(invocation.ctx.env),
    TG_API_TOKEN: held.token.reveal(),
    TG_HOST: hostOf(held.servers.restUrl),
    // The graph is set even if it is undefined, because with --profile typed a graph in the environment belongs to
    // another database.
    TG_GRAPHNAME: graph ?? settingText(settings, 'graph'),
    TG_RESTPP_PORT: portOf(held.servers.restUrl),
    // If the two servers have different hosts, no single TG_HOST is right for both: this one is the REST server's.
    TG_GS_PORT: isOneHost(held.servers) ? portOf(held.servers.gsqlUrl) : undefined,
    GRAPHCRED_EXEC: '1',
  };
}

function hostOf(url: string): string {
  const { protocol, hostname } = new URL(url);
  return `${protocol}//${hostname}`;
}

function isOneHost({ restUrl, gsqlUrl }: Servers): boolean {
  return hostOf(restUrl) === hostOf(gsqlUrl);
}

interface Minted {
  readonly held: CachedToken;
  readonly revoke: () => Promise<GraphException | undefined>;
}

/**
 * Mints a token, and revokes it when a signal arrived meanwhile.
 * @throws Interrupted when a signal came before the command was started
 */
async function mintInterruptibly(session: Session): Promise<Minted> {
  const interruption = session.ports.listen();
  try {
    const minted = await mintForThisCall(session, interruption);
    if (interruption.status === undefined) return minted;
    throw new Interrupted(interruption.status, await minted.revoke(), 'Interrupted; the token is revoked.');
  } catch (error) {
    if (interruption.status === undefined || error instanceof Interrupted) throw error;
    throw new Interrupted(interruption.status, error);
  } finally {
    interruption.stop();
  }
}

/** Mints a token for this run alone. It is not taken from the store or stored, and is revoked at the end. */
async function mintForThisCall(session: Session, interruption: Interruption): Promise<Minted> {
  const { report } = session.invocation;
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
      const { connection, version } = await connect(session, credential, { timeoutMs: REVOKE_MS });
      const token = new BoundCredential(held.token, held.servers);
      await connection.deleteToken(undefined, { token, skipNA: true });
      if (version.revocationFillsBlockList)
        report.note('the token is revoked; on 4.x it uses 1 of 20 entries of the user’s token block list');
      return undefined;
    } catch (error) {
      const { message } = named(error);
      return new GraphException(
        'PARTIAL',
        `the token could not be revoked (${message.replace(/\.$/, '')}); it lives until ${isoSeconds(held.expiresAtUnix)}`,
        { hint: 'a short lifetime limits the risk: graphcred exec --revoke --lifetime 15m' },
      );
    }
  };
  return { held, revoke };
}

function notStarted(
  { args, report }: Pick<Invocation, 'args' | 'report'>,
  error: NodeJS.ErrnoException,
): number {
  const [status, what, code, hint] =
    error.code === 'ENOENT'
      ? ([127, 'was not found', 'NOT_FOUND', 'check its name, and that it is on the PATH'] as const)
      : ([126, 'could not be started', 'USAGE', 'check its mode: ls -l'] as const);
  report.error(new GraphException(code, `The command ${what}: ${args[0]}`, { hint }), status);
  return status;
}
