import type { CachedToken } from '../app/token-cache.js';
import { Interrupted } from '../auth/ports.js';
import { settingText } from '../config/settings.js';
import { serverVariables } from '../core/endpoints.js';
import { GraphException } from '../core/errors.js';
import { runChild, watchWindow } from './child.js';
import type { Invocation, Report } from './command.js';
import { environmentWithoutCredentials } from './context.js';
import { exitStatus, isClosedPrompt } from './output/exit-codes.js';
import type { Session } from './session.js';

/** The exit status for a failure before the command ran; `error.code` gives the cause. */
const FAILED = 125;
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGBREAK'] as const;

interface Run {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly inherited: readonly number[];
  /** Called when the command has ended. Returns what went wrong. */
  finish(): Promise<GraphException | undefined>;
}

/** Runs a command to its end, whatever signals come, and returns its exit status. */
export async function runToEnd(
  { ctx, report }: Invocation,
  args: readonly string[],
  { env, inherited, finish }: Run,
): Promise<number> {
  const endWithWindow = watchWindow(ctx);
  // Signals are ignored until this process ends, so that one after the command's end neither changes the exit status
  // nor prevents what is left to do.
  const ignore = () => {};
  for (const signal of ENDING) process.on(signal, ignore);
  const status = await runChild(ctx, args, env, inherited).catch((error) =>
    notStarted({ args, ctx, report }, error),
  );
  const failure = await finish();
  endWithWindow();
  if (failure === undefined) return status;
  if (status !== 0) {
    report.warn(failure.message);
    return status;
  }
  report.error(failure);
  return exitStatus(failure.code);
}

/** Tells of an error before the command was started. Returns the exit status. */
export function failedBefore(report: Report, error: unknown): number {
  // Wrong options of graphcred itself keep exit status 2. Any other status could be mistaken for that of the command.
  if ((error instanceof GraphException && error.code === 'USAGE') || error instanceof Interrupted)
    throw error;
  report.error(errorOf(error), FAILED);
  return FAILED;
}

export function errorOf(error: unknown): GraphException {
  if (error instanceof GraphException) return error;
  const { name } = error instanceof Error ? error : new Error();
  // A closed prompt is not a bug. Of any other error only the name is shown, because its text may quote a credential.
  if (isClosedPrompt(error)) return new GraphException('CANCELLED', 'Cancelled.');
  return new GraphException('INTERNAL', `graphcred ran into a bug (${name}).`, {
    hint: 'please report it, with the command you typed',
  });
}

/** Returns the environment of a command that gets a token. */
export function childEnvironment(
  { invocation, graph, settings }: Session,
  held: Pick<CachedToken, 'token' | 'servers'>,
): Record<string, string | undefined> {
  const variables = serverVariables(held.servers);
  if (variables.TG_GS_PORT === undefined)
    invocation.report.note(
      'the two servers are on two hosts: TG_HOST and TG_RESTPP_PORT are those of the REST server, and TG_GS_PORT is not set',
    );
  return {
    ...environmentWithoutCredentials(invocation.ctx.env),
    TG_API_TOKEN: held.token.reveal(),
    ...variables,
    // The graph is set even if it is undefined, because with --profile typed a graph in the environment belongs to
    // another database.
    TG_GRAPHNAME: graph ?? settingText(settings, 'graph'),
    GRAPHCRED_EXEC: '1',
  };
}

function notStarted(
  { args, ctx, report }: Pick<Invocation, 'args' | 'ctx' | 'report'>,
  error: NodeJS.ErrnoException,
): number {
  if (error instanceof GraphException) {
    report.error(error);
    return exitStatus(error.code);
  }
  const onWindows = ctx.platform === 'win32';
  const [status, what, code, hint] =
    error.code === 'ENOENT'
      ? ([127, 'was not found', 'NOT_FOUND', 'check its name, and that it is on the PATH'] as const)
      : ([126, 'could not be started', 'USAGE', onWindows ? NO_PROGRAM : 'check its mode: ls -l'] as const);
  report.error(new GraphException(code, `The command ${what}: ${args[0]}`, { hint }), status);
  return status;
}

const NO_PROGRAM =
  'Windows starts .exe, .com, .cmd and .bat files; start another with its program: powershell -File FILE';
