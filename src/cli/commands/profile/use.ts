import { shortPath } from '../../../app/format.js';
import { writeDefaultProfile } from '../../../config/write.js';
import { shellWord } from '../../../files/shell-word.js';
import type { Invocation } from '../../command.js';
import { openLocalRun, openOwnProfile } from '../../session.js';

export async function execute(invocation: Invocation): Promise<undefined> {
  const { report, args, ctx } = invocation;
  const [name = ''] = args;
  const { settings } = await openLocalRun(invocation, { anyProfile: true });
  const run = await openOwnProfile(invocation, name);
  const { file } = run.settings;
  const written = await writeDefaultProfile(run.stores.requireFolder('configDir'), name);
  const { GRAPHCRED_PROFILE } = ctx.env;
  if (GRAPHCRED_PROFILE && GRAPHCRED_PROFILE !== name)
    report.warn(
      `GRAPHCRED_PROFILE is set to another profile and overrides the default; to change that: unset GRAPHCRED_PROFILE`,
    );
  if (settings.file && settings.file.path !== file?.path)
    report.warn(
      `in this folder ${settings.file.path} is in force and hides your own profiles; to use those here: --config ${shellWord(written)}`,
    );
  const done = `The default profile is now ${name} (${shortPath(written, ctx.home)}).`;
  report.done({ defaultProfile: name, file: written }, done);
}
