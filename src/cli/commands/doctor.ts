import fs from 'node:fs';
import { type Check, examine, type Found, fail, failed, ok, skipped, warn } from '../../app/doctor.js';
import { configsOf, othersCanReadCredential } from '../../config/settings.js';
import { GraphException } from '../../core/errors.js';
import { accessOf, askAccess, keepOthersOut } from '../../files/access-list.js';
import { shellWord } from '../../files/shell-word.js';
import type { Invocation, Session } from '../command.js';
import { settingsInput } from '../context.js';
import { exitStatus } from '../output/exit-codes.js';
import { hintOf, inPlace } from '../output/hints.js';
import { singleLine } from '../output/report.js';
import { colours, wrapped } from '../output/table.js';
import { openSession } from '../session.js';

/** The width of the columns before the text. */
const INDENT = 7 + 2 + 12 + 2;

export async function run(invocation: Invocation): Promise<number> {
  const { report, ctx, flags } = invocation;
  const found: Found = {};
  const session = await openQuietly(invocation, found);
  const results = await examine(session, found);
  const checks = results.map(({ id, verdict, cause, fix, option, remedies = [] }) => {
    const hint = hintOf({ hint: fix, option, remedies });
    return { id, verdict, cause: inPlace(cause, flags), fix: inPlace(hint, flags) };
  });
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
    report.result(lines.join('\n'));
  }
  const code = results.find(({ verdict }) => verdict === 'fail')?.code;
  return code === undefined ? 0 : exitStatus(code);
}

/** Opens the session like every command, except that an untrusted config file is a failed check and not an error. */
async function openQuietly(invocation: Invocation, found: Found): Promise<Session | undefined> {
  found['config-mode'] = judgeMode(invocation);
  try {
    // The output is often pasted into a ticket, so nothing is prompted for.
    const session = await openSession(invocation, { noInput: true });
    const { untrusted } = session;
    const { file, profile } = session.settings;
    if (untrusted !== undefined)
      found.config = fail(
        'CONFIG_UNTRUSTED',
        `${untrusted} is not trusted, so other commands refuse to run here`,
        `read it; if it is yours: graphcred config trust ${shellWord(untrusted)}; else: --config none`,
      );
    else if (!file) found.config = ok('no config file; flags, variables and defaults');
    else found.config = ok(`${file.path}, profile ${profile.name}`);
    if (file && othersCanReadCredential(session.settings, invocation.ctx.uid))
      found['config-mode'] = warn('other users can read the credential in it', keepOthersOut(file.path));
    return session;
  } catch (error) {
    // The error may be only about the mode: other users can write a file that holds a credential.
    const isAboutMode = error instanceof GraphException && error.setting === 'fileMode';
    found[isAboutMode ? 'config-mode' : 'config'] = failed(error);
    if (isAboutMode) found.config = ok('the config file can be read');
    return undefined;
  }
}

/** Judges who may change the config file that comes first, whether it is trusted or not. */
function judgeMode(invocation: Invocation): Check {
  const { uid } = invocation.ctx;
  try {
    const [found] = configsOf(settingsInput(invocation));
    if (found === undefined) return skipped('there is no config file');
    const { path: file } = found;
    const { mode } = fs.statSync(file);
    const access = uid === undefined ? askAccess(file) : accessOf(file, mode, uid);
    if (access === undefined) return skipped('nothing here tells who may change it');
    const shown = uid === undefined ? '' : `mode ${(mode & 0o777).toString(8).padStart(4, '0')}`;
    if (access === 'write')
      return warn(`${shown && `${shown}: `}other users can change it`, keepOthersOut(file));
    return ok(shown || (access === 'read' ? 'other users can read it' : 'no other user can read it'));
  } catch {
    // openSession reports this error with more detail.
    return skipped('there is no config file');
  }
}
