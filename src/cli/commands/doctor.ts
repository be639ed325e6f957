import { type Check, examine, failed } from '../../app/doctor.js';
import type { Run } from '../../auth/run.js';
import { findUnread } from '../../config/find.js';
import { unknownVariables } from '../../config/keys.js';
import { othersCanReadCredential } from '../../config/settings.js';
import { type Fix, GraphException } from '../../core/errors.js';
import { accessOf, keepOthersOut } from '../../files/access.js';
import { shellWord } from '../../files/shell-word.js';
import type { Invocation } from '../command.js';
import { settingsInput } from '../context.js';
import { exitStatus } from '../output/exit-codes.js';
import { textOf } from '../output/hints.js';
import { singleLine, wrapped } from '../output/report.js';
import { colours } from '../output/table.js';
import { openRun, untrustedFile } from '../session.js';

/** The width of the columns before the text. */
const INDENT = 7 + 2 + 12 + 2;

export async function execute(invocation: Invocation): Promise<number> {
  const { report, ctx, flags } = invocation;
  const run = await openRun(invocation).catch(failed);
  const config = { id: 'config', ...('verdict' in run ? run : await checkConfig(invocation, run)) };
  const results = [config, ...('verdict' in run ? [] : await examine(run))];
  const checks = results.map(({ code: _, fix, ...check }) => ({ ...check, fix: textOf(fix, flags) }));
  const paint = await colours(invocation);
  const tones = { ok: paint.good, warn: paint.warn, fail: paint.bad, skipped: paint.dim };
  const room = Math.max(30, (ctx.stdout.columns ?? Number.POSITIVE_INFINITY) - INDENT);
  const lines = checks.map(({ id, verdict, cause, fix }) => {
    const column = wrapped(singleLine(cause), room).join(`\n${' '.repeat(INDENT)}`);
    // Only the terminal wraps what to do, so that a command in it can be copied whole.
    const next = fix && ` -> ${singleLine(fix)}`;
    return `${tones[verdict](verdict.padEnd(7))}  ${id.padEnd(12)}  ${column}${next}`;
  });
  if (report.json) report.document({ checks });
  else report.raw(lines.join('\n'));
  const code = results.find(({ verdict }) => verdict === 'fail')?.code;
  return code === undefined ? 0 : exitStatus(code);
}

/** Checks the config file, and names the files and variables that look like settings and are not read. */
async function checkConfig(invocation: Invocation, { settings }: Run): Promise<Check> {
  const { uid, env } = invocation.ctx;
  const { file, profile } = settings;
  const found: (readonly [what: string, fix: string])[] = [];
  if (file && accessOf(file.path, file.stat.mode, uid) === 'write')
    found.push(['other users can change it', keepOthersOut(file.path)]);
  else if (file && othersCanReadCredential(settings, uid))
    found.push(['other users can read the credential in it', keepOthersOut(file.path)]);
  const unread = findUnread(settingsInput(invocation));
  const places = [...new Set(unread.map(({ instead }) => instead))].join(', ');
  for (const { what } of unread) found.push([`${what} is not read`, `put the settings into ${places}`]);
  for (const name of unknownVariables(env))
    found.push([`${name} is not read`, 'see all variables: graphcred help environment']);
  const untrusted = await untrustedFile(invocation);
  const first = untrusted
    ? `${untrusted} is not trusted, so other commands refuse to run here`
    : file
      ? `${file.path}, profile ${profile.name}`
      : 'no config file; flags, variables and defaults';
  const cause = [first, ...found.map(([what]) => what)].join('; ');
  const hint: Fix[] = untrusted
    ? ['read it; if it is yours', { command: `config trust ${shellWord(untrusted)}` }, 'else: --config none']
    : [];
  const fix = [...hint, ...new Set(found.map(([, instead]) => instead))];
  if (untrusted) return failed(new GraphException('CONFIG_UNTRUSTED', cause, { fix }));
  return { verdict: found.length > 0 ? 'warn' : 'ok', cause, fix };
}
