import { shortPath } from '../../../app/format.js';
import { configDirOf } from '../../../auth/stores.js';
import { writeDefaultProfile } from '../../../config/write.js';
import { shellWord } from '../../../files/shell-word.js';
import type { Invocation } from '../../command.js';
import { openLocalSession, openOwnProfile } from '../../session.js';

export async function run(invocation: Invocation): Promise<undefined> {
  const { report, args, ctx } = invocation;
  const [name = ''] = args;
  const { settings } = await openLocalSession(invocation, { anyProfile: true });
  const session = await openOwnProfile(invocation, name, 'profile use');
  const { file } = session.settings;
  const written = await writeDefaultProfile(configDirOf(session), name);
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
