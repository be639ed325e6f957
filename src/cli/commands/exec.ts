import type { ChildProcess } from 'node:child_process';
import os from 'node:os';
import { GraphException } from '../../core/errors.js';
import type { HeldToken } from '../../tokens/find.js';
import type { Call } from '../call.js';
import { connect, secretOf } from '../connect.js';
import { withoutCredentials } from '../context.js';
import { findCredential } from '../credential.js';
import { isClosedPrompt } from '../exit.js';
import { openSession, type Session } from '../session.js';
import { chooseStore } from '../stores.js';
import { portOf } from '../target.js';
import { obtainToken } from '../token.js';

/** Failed before the command ran; the cause is in `error.code`. */
const FAILED = 125;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;

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
  const terminals = [ctx.stdin, ctx.stdout, ctx.stderr].filter(({ isTTY }) => isTTY);
  try {
    return await runChild(args, env, call);
  } finally {
    await revoke?.();
    // On a window that was closed meanwhile Node would abort, and leave its memory to whoever reads core files.
    if (terminals.some(({ isTTY }) => !isTTY)) process.kill(process.pid, 'SIGHUP');
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

async function runChild(
  args: readonly string[],
  env: Record<string, string | undefined>,
  call: Call,
): Promise<number> {
  const { spawn } = await import('node:child_process');
  const [command = '', ...rest] = args;
  return new Promise((resolve) => {
    let child: ChildProcess;
    const fail = (status: number, what: string) => {
      const hint = status === 127 ? 'check its name, and that it is on the PATH' : 'check its mode: ls -l';
      call.report.error(
        new GraphException(status === 127 ? 'NOT_FOUND' : 'USAGE', `The command ${what}: ${command}`, {
          hint,
        }),
        status,
      );
      resolve(status);
    };
    const { stdin, stdout, stderr } = call.ctx;
    const onTerminal = stdin.isTTY || stdout.isTTY || stderr.isTTY;
    const pass = (signal: NodeJS.Signals) => {
      // Ctrl-C and Ctrl-\ reach the whole foreground group by themselves; passing them on would send them twice.
      if (!onTerminal || (signal !== 'SIGINT' && signal !== 'SIGQUIT')) child.kill(signal);
    };
    // Before the command starts: a signal in between would end graphcred alone and leave the command behind.
    for (const signal of SIGNALS) process.on(signal, pass);
    const done = () => {
      for (const signal of SIGNALS) process.off(signal, pass);
    };
    try {
      child = spawn(command, rest, { stdio: 'inherit', env: env as NodeJS.ProcessEnv, cwd: call.ctx.cwd });
    } catch {
      done();
      fail(126, 'could not be started');
      return;
    }
    child.on('error', (error: NodeJS.ErrnoException) => {
      done();
      if (error.code === 'ENOENT') fail(127, 'was not found');
      else fail(126, 'could not be started');
    });
    child.on('exit', (status, signal) => {
      done();
      resolve(status ?? 128 + (signal ? os.constants.signals[signal] : 0));
    });
  });
}
