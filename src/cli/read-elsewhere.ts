import path from 'node:path';
import { isInFile } from '../config/level.js';
import type { SourcedValue } from '../config/settings.js';
import type { Sensitive } from '../core/sensitive.js';
import { fromCommand, fromFile } from '../credentials/sources.js';
import { withoutCredentials } from './child-env.js';
import type { Session } from './session.js';

/** A credential that a setting names and does not hold: the path of a file, or the words of a command. */
export async function readElsewhere(
  { call, settings }: Session,
  { value, level }: SourcedValue,
  label: string,
): Promise<Sensitive> {
  const { ctx, report } = call;
  if (typeof value !== 'string')
    return fromCommand(value, label, { cwd: ctx.cwd, env: withoutCredentials(ctx.env), say: report.note });
  // A path in a config file is meant from where that file is.
  const from = isInFile(level) && settings.file ? path.dirname(settings.file.path) : ctx.cwd;
  return fromFile(
    path.resolve(from, value.startsWith('~/') ? path.join(ctx.home, value.slice(2)) : value),
    label,
  );
}
