import path from 'node:path';
import { findConfigs, readConfig } from '../../../config/find.js';
import { loadConfig, settingsOfFile } from '../../../config/settings.js';
import { approve } from '../../../config/trust.js';
import { GraphException } from '../../../core/errors.js';
import { shellWord } from '../../../files/shell-word.js';
import type { Invocation } from '../../command.js';
import { settingsInput } from '../../context.js';
import { describeFile } from '../../trust-prompt.js';

export async function execute(invocation: Invocation): Promise<undefined> {
  const { ctx, args, flags, report } = invocation;
  const config = args[0] ?? flags.config;
  const input = settingsInput({ ctx, flags: { config } });
  const { configDir } = input;
  if (configDir === undefined) {
    throw new GraphException('STORE_UNAVAILABLE', 'There is no home folder to write the approval to.', {
      hint: 'set HOME, or name the file in each call: --config FILE',
    });
  }
  const [location] = findConfigs(input);
  if (!location) {
    throw new GraphException('NOT_FOUND', 'There is no config file here.', {
      hint: ['name it', { command: 'config trust FILE' }],
    });
  }
  const read = await readConfig(location);
  // The file is checked first, so that only a file that graphcred can use is approved.
  const file = await loadConfig(
    { ...read, place: location.place === 'named' ? 'project' : location.place },
    ctx.uid,
  );
  const { profiles } = file.config;
  const shown = report.json ? [] : profiles.size === 0 ? [undefined] : profiles.keys();
  for (const profile of shown) {
    const settings = settingsOfFile(file, profile);
    if (profile !== undefined) report.note(`profile ${profile}`);
    for (const line of describeFile(file, settings)) report.note(line);
    const { passwordCommand, secretCommand, jwtCommand } = settings.all;
    const programs = [passwordCommand, secretCommand, jwtCommand].flatMap(([set]) => set?.value[0] ?? []);
    for (const program of programs.filter((one) => !path.isAbsolute(one)))
      report.note(
        `${shellWord(program)} is found when it runs: the program itself is no part of the approval`,
      );
  }
  approve(location.path, read.bytes, configDir);
  report.done(
    { file: location.path, trusted: true },
    `Trusted until its content changes: ${location.path} (profiles: ${[...profiles.keys()].join(', ') || 'none'})`,
  );
}
