import fs from 'node:fs';
import path from 'node:path';
import { approve } from '../../../config/approve.js';
import { findConfig } from '../../../config/find.js';
import { parseConfig } from '../../../config/parse.js';
import { GraphException } from '../../../core/errors.js';
import type { Call } from '../../call.js';
import { placesOf } from '../../session.js';

/** `graphcred config trust` */
export async function run(call: Call): Promise<undefined> {
  const { ctx, args, report } = call;
  const { configDir } = placesOf(call);
  const named = args[0] === undefined ? undefined : path.resolve(ctx.cwd, args[0]);
  const location = findConfig({ named, cwd: ctx.cwd, home: ctx.home, configDir });
  if (!location) {
    throw new GraphException('NOT_FOUND', 'There is no config file here.', {
      hint: 'name it: graphcred config trust FILE',
    });
  }
  let text: string;
  try {
    text = fs.readFileSync(location.path, 'utf8');
  } catch {
    throw new GraphException('CONFIG_INVALID', `${location.path} cannot be read.`, {
      hint: 'look at its owner and mode',
    });
  }
  // Checked first, so that what is approved is something graphcred can use.
  const { profiles } = await parseConfig(location.path, text);
  approve(location.path, text, configDir);
  if (report.json) report.document({ file: location.path, trusted: true });
  else
    report.result(
      `Trusted until its content changes: ${location.path} (profiles: ${[...profiles.keys()].join(', ') || 'none'})`,
    );
}
