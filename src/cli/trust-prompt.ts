import { type ConfigText, notTrusted } from '../config/find.js';
import { isInFile, RUNS_OR_READS, type Settings, type SettingsInput } from '../config/keys.js';
import { loadConfig, resolveSettings } from '../config/settings.js';
import { targetOf } from '../config/target.js';
import { serversOf } from '../core/endpoints.js';
import { maskLogin } from '../core/redact.js';
import { shellWord } from '../files/shell-word.js';
import type { Invocation } from './command.js';
import { prompterOf, whyNotAsked } from './output/prompt.js';
import { singleLine } from './output/report.js';
import { shorten } from './output/table.js';

/** Asks on a terminal whether to use a config file. @throws GraphException CONFIG_UNTRUSTED if not; CONFIG_INVALID */
export async function askTrust(invocation: Invocation, input: SettingsInput, nearest: ConfigText) {
  const { ctx, report } = invocation;
  const refusal = notTrusted(nearest);
  if (nearest.place !== 'project' || !canAsk(invocation, input)) throw refusal;
  const file = await loadConfig(nearest);
  const settings = resolveSettings(input, file, { needsProfile: false });
  report.warn(`${nearest.path} is not trusted; before you use it, look at what it sets:`);
  for (const line of [...describeFile(nearest), ...describeUse(settings)]) ctx.stderr.write(`  ${line}\n`);
  if (await prompterOf(invocation).yes('Use it for this call?')) return file;
  throw refusal;
}

/** Whether a person can be asked. What a file says of that does not count before the file is trusted. */
export function canAsk(invocation: Invocation, input: SettingsInput): boolean {
  return whyNotAsked(invocation, resolveSettings(input, undefined, { needsProfile: false })) === undefined;
}

export function describeFile({ path: file, stat }: Pick<ConfigText, 'path' | 'stat'>): string[] {
  const mode = (stat.mode & 0o777).toString(8).padStart(4, '0');
  const owner = process.platform === 'win32' ? [] : [`owner            user ${stat.uid}, mode ${mode}`];
  return [`file             ${file}`, ...owner].map(asLine);
}

/** Describes what a config file decides: both addresses, and everything it runs or reads, a line for each. */
export function describeUse(settings: Settings): string[] {
  const { endpoints, gsqlUrl, restUrl } = targetOf(settings);
  const rest =
    restUrl ?? `${serversOf(endpoints, { restBehindGsql: false }).restUrl} (3.x) or ${gsqlUrl}/restpp (4.x)`;
  const keys = RUNS_OR_READS.flatMap((key) => {
    const [set] = settings.all[key];
    if (set === undefined || !isInFile(set.level)) return [];
    const text =
      typeof set.value === 'string' ? set.value : set.value.map((word) => shellWord(word)).join(' ');
    return [`${key.padEnd(15)}  ${key === 'redis.url' ? maskLogin(text) : text}`];
  });
  return [`GSQL server      ${gsqlUrl}`, `REST server      ${rest}`, ...keys].map(asLine);
}

/** Returns one line, whatever the file holds. A longer one would push the rest off the screen. */
function asLine(text: string): string {
  const escaped = (blank: string) => `\\u{${blank.codePointAt(0)?.toString(16)}}`;
  return shorten(singleLine(text.replace(/(?! )[\p{Z}\p{Cf}]/gu, escaped)), 400);
}
