import { tokenEnvironment } from '../../app/serve/environment.js';
import { mintForOneRun } from '../../app/serve/mint-for-one-run.js';
import { getToken } from '../../app/tokens/get-token.js';
import { usageError } from '../../core/errors.js';
import { runToEnd } from '../child.js';
import type { Invocation } from '../command.js';
import type { Context } from '../context.js';

export async function execute(invocation: Invocation): Promise<number> {
  const { flags, report, ctx } = invocation;
  const args = invocation.args.length > 0 ? invocation.args : shellOf(ctx);
  return runToEnd(invocation, args, async (run) => {
    const own = flags.revoke === true ? await mintForOneRun(run) : undefined;
    const { token } = own ?? (await getToken(run));
    if (args !== invocation.args)
      report.note(`this shell (${args[0]}) has a token in TG_API_TOKEN; to leave the shell: exit`);
    const env: Record<string, string | undefined> = { ...tokenEnvironment(run, token) };
    // A graphcred in the command finds the certificates in the profile that was typed.
    if (flags.profile !== undefined) env.GRAPHCRED_PROFILE = `${flags.profile}`;
    // The command may change its folder, where a relative path would name another file.
    if (flags.config !== undefined) env.GRAPHCRED_CONFIG = run.settings.file?.path ?? 'none';
    return { env, finish: async () => own?.revoke() };
  });
}

/** Returns the user's shell. @throws GraphException USAGE without a terminal, where nobody can type into it */
function shellOf({ env, platform, stdin }: Context): readonly string[] {
  if (!stdin.isTTY) throw usageError('The command is missing.', ['see', { command: 'exec --help' }]);
  return [platform === 'win32' ? env.COMSPEC || 'cmd.exe' : env.SHELL || '/bin/sh'];
}
