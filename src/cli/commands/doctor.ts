import { type Check, examine, failed, ok, warn } from '../../app/doctor.js';
import type { Run } from '../../auth/run.js';
import { findUnread } from '../../config/find.js';
import { othersCanReadCredential } from '../../config/settings.js';
import { unknownVariables } from '../../config/unknown-variables.js';
import { GraphException } from '../../core/errors.js';
import { accessOf, keepOthersOut } from '../../files/access.js';
import { shellWord } from '../../files/shell-word.js';
import type { Invocation } from '../command.js';
import { settingsInput } from '../context.js';
import { exitStatus } from '../output/exit-codes.js';
import { textOf } from '../output/hints.js';
import { singleLine } from '../output/report.js';
import { colours, wrapped } from '../output/table.js';
import { openRun, untrustedFile } from '../session.js';

/** The width of the columns before the text. */
const INDENT = 7 + 2 + 12 + 2;

export async function execute(invocation: Invocation): Promise<number> {
  const { report, ctx, flags } = invocation;
  const { run, config } = await openQuietly(invocation);
  const results = await examine(run, config);
  const checks = results.map(({ id, verdict, cause, fix }) => ({
    id,
    verdict,
    cause,
    fix: textOf(fix, flags),
  }));
  if (report.json) report.document({ checks });
  else {
    const paint = await colours(invocation);
    const tones = { ok: paint.good, warn: paint.warn, fail: paint.bad, skipped: paint.dim };
    const lines = checks.map(({ id, verdict, cause, fix }) => {
      const advice = fix === '' ? '' : ` -> ${fix}`;
      const room = Math.max(30, (ctx.stdout.columns ?? Number.POSITIVE_INFINITY) - INDENT);
      const text = wrapped(singleLine(cause + advice), room).join(`\n${' '.repeat(INDENT)}`);
      return `${tones[verdict](verdict.padEnd(7))}  ${id.padEnd(12)}  ${text}`;
    });
    report.raw(lines.join('\n'));
  }
  const code = results.find(({ verdict }) => verdict === 'fail')?.code;
  return code === undefined ? 0 : exitStatus(code);
}

/** Opens the run like every command, and judges the config file: an untrusted one is a finding and not an error. */
async function openQuietly(invocation: Invocation): Promise<{ run?: Run; config: Check }> {
  try {
    // The output is often pasted into a ticket, so nothing is prompted for.
    const run = await openRun(invocation, { noInput: true });
    return { run, config: await withUnread(await judgeConfig(invocation, run), invocation) };
  } catch (error) {
    return { config: failed(error) };
  }
}

async function judgeConfig(invocation: Invocation, { settings }: Run): Promise<Check> {
  const { ctx } = invocation;
  const { file, profile } = settings;
  const untrusted = await untrustedFile(invocation);
  if (untrusted !== undefined)
    return failed(
      new GraphException(
        'CONFIG_UNTRUSTED',
        `${untrusted} is not trusted, so other commands refuse to run here`,
        {
          hint: [
            'read it; if it is yours',
            { command: `config trust ${shellWord(untrusted)}` },
            'else: --config none',
          ],
        },
      ),
    );
  if (!file) return ok('no config file; flags, variables and defaults');
  const cause = `${file.path}, profile ${profile.name}`;
  if (accessOf(file.path, file.stat.mode, ctx.uid) === 'write')
    return warn(`${cause}: other users can change it`, keepOthersOut(file.path));
  if (othersCanReadCredential(settings, ctx.uid))
    return warn(`${cause}: other users can read the credential in it`, keepOthersOut(file.path));
  return ok(cause);
}

/** Adds the files and variables that look like settings and are not read. */
async function withUnread(check: Check, invocation: Invocation): Promise<Check> {
  const unread = await findUnread(settingsInput(invocation));
  const unknown = unknownVariables(invocation.ctx.env);
  if (unread.length + unknown.length === 0) return check;
  const names = [...unread.map(({ what }) => what), ...unknown];
  const cause = [check.cause, ...names.map((what) => `${what} is not read`)].join('; ');
  const places = [...new Set(unread.map(({ instead }) => instead))].join(', ');
  const move = unread.length > 0 ? [`put the settings into ${places}`] : [];
  const list = unknown.length > 0 ? ['see all variables: graphcred help environment'] : [];
  const fix = [...check.fix, ...move, ...list];
  return { ...check, verdict: check.verdict === 'ok' ? 'warn' : check.verdict, cause, fix };
}
