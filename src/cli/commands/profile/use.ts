import { shortPath } from '../../../app/format.js';
import { configDirOf } from '../../../auth/stores.js';
import { noSuchProfile } from '../../../config/errors.js';
import { writeDefaultProfile } from '../../../config/write.js';
import { shellWord } from '../../../files/shell-word.js';
import type { Invocation } from '../../command.js';
import { openLocalSession } from '../../session.js';

export async function run(invocation: Invocation): Promise<undefined> {
  const { report, args, ctx } = invocation;
  const [name = ''] = args;
  const session = await openLocalSession(invocation, { newProfile: true });
  const { file, profileNames } = session.settings;
  if (!profileNames.includes(name))
    throw noSuchProfile({ name, source: 'profile use' }, file?.path, profileNames);
  const written = await writeDefaultProfile(configDirOf(session), name);
  const { GRAPHCRED_PROFILE } = ctx.env;
  if (GRAPHCRED_PROFILE && GRAPHCRED_PROFILE !== name)
    report.warn(
      `GRAPHCRED_PROFILE is set to another profile and overrides the default; to change that: unset GRAPHCRED_PROFILE`,
    );
  const { settings } = await openLocalSession(invocation, { anyProfile: true });
  if (settings.file && settings.file.path !== file?.path)
    report.warn(
      `in this folder ${settings.file.path} is in force and hides your own profiles; to use those here: --config ${shellWord(written)}`,
    );
  const done = `The default profile is now ${name} (${shortPath(written, ctx.home)}).`;
  report.done({ defaultProfile: name, file: written }, done);
}
