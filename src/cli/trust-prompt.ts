import { type ConfigText, type findTrustedConfig, loadConfig } from '../config/find.js';
import { type LoadedFile, RUNS_OR_READS, type SettingsInput } from '../config/keys.js';
import { resolveSettings, settingsOfFile } from '../config/settings.js';
import { targetOf } from '../config/target.js';
import { serversOf } from '../core/endpoints.js';
import { maskLogin } from '../core/redact.js';
import { shellWord } from '../files/shell-word.js';
import type { Invocation } from './command.js';
import { prompterOf, whyNotAsked } from './output/prompt.js';

type Untrusted = Awaited<ReturnType<typeof findTrustedConfig>>['untrusted'][number];

/** Asks on a terminal whether to use a config file. @throws GraphException CONFIG_UNTRUSTED if not; CONFIG_INVALID */
export async function askTrust(invocation: Invocation, input: SettingsInput, { read, why }: Untrusted) {
  const { ctx, report } = invocation;
  if (read.place !== 'project' || !canAsk(invocation, input)) throw why;
  const file = await loadConfig(read);
  report.warn(`${read.path} is not trusted; before you use it, look at what it sets:`);
  for (const line of [...describeFile(read), ...describeUse(file)]) ctx.stderr.write(`  ${line}\n`);
  if (await prompterOf(invocation).yes('Use it for this call?')) return file;
  throw why;
}

/** Whether a person can be asked. What a file says of that does not count before the file is trusted. */
export function canAsk(invocation: Invocation, input: SettingsInput): boolean {
  return whyNotAsked(invocation, resolveSettings(input, undefined, false)) === undefined;
}

export function describeFile({ path: file, stat }: Pick<ConfigText, 'path' | 'stat'>): string[] {
  const mode = (stat.mode & 0o777).toString(8).padStart(4, '0');
  const owner = process.platform === 'win32' ? [] : [`owner            user ${stat.uid}, mode ${mode}`];
  return [`file             ${file}`, ...owner].map(asLine);
}

/** Describes all that a config file decides: the addresses of each profile, and everything it runs or reads, a line for each. */
export function describeUse(file: LoadedFile): string[] {
  const { config } = file;
  const names = [...config.profiles.keys()];
  const shown = names.includes(config.defaultProfile ?? 'default') ? names : [undefined, ...names];
  const servers = shown.flatMap((name) => {
    const { endpoints, gsqlUrl, restUrl } = targetOf(settingsOfFile(file, name));
    const old = serversOf(endpoints, { restBehindGsql: false }).restUrl;
    const rest = restUrl ?? `${old} on a 3.x server, ${gsqlUrl}/restpp on 4.x`;
    const title = name === undefined ? [] : [`profile          ${name}`];
    return [...title, `GSQL server      ${gsqlUrl}`, `REST server      ${rest}`];
  });
  const tables = [['', config.defaults] as const, ...config.profiles];
  const keys = tables.flatMap(([name, table]) =>
    RUNS_OR_READS.flatMap((key) => {
      const value = table[key];
      if (value === undefined) return [];
      const plain = key === 'redis.url' ? maskLogin(`${value}`) : `${value}`;
      const text = Array.isArray(value) ? value.map((word) => shellWord(word)).join(' ') : plain;
      return [`${key.padEnd(15)}  ${text}${name && ` (profile ${name})`}`];
    }),
  );
  // The addresses come last, however long a value is.
  return [...keys, ...servers].map(asLine);
}

/** Returns one line, whatever the file holds, in which nothing is hidden: what looks like a comment may not be one. */
function asLine(text: string): string {
  const escaped = (character: string) => `\\u{${character.codePointAt(0)?.toString(16)}}`;
  return text.replace(/(?! )[\p{Z}\p{C}]/gu, escaped);
}
