import { findTrustedConfig, loadUserConfig, type SettingsInput } from '../../config/settings.js';
import { maskLogin } from '../../core/redact.js';
import { listEntries } from '../../store/records.js';
import { type Context, placesOf } from '../context.js';

/** A completion of a word and its description, which may be empty. */
export type Candidate = readonly [word: string, description: string];

/** Aliases with characters that a shell interprets are not offered. A profile's name never has any. */
const PLAIN = /^[A-Za-z0-9_][A-Za-z0-9_.@-]*$/;

/**
 * Lists the names of profiles.
 * @param config the file that was typed; `own` for commands that use only the user's own file
 */
export async function profileNames(ctx: Context, config: string | undefined): Promise<Candidate[]> {
  const { env, cwd, home, uid } = ctx;
  const flags = config === undefined ? {} : { config };
  const input: SettingsInput = { flags, env, cwd, home, uid, ...placesOf(ctx) };
  // Names are offered only from a trusted file: an untrusted one would be refused when the command runs.
  const file = config === 'own' ? await loadUserConfig(input) : (await findTrustedConfig(input)).file;
  return [...(file?.config.profiles ?? [])].map(([name, { host, gsqlUrl, restUrl, graph }]) => [
    name,
    [maskLogin(String(gsqlUrl ?? host ?? restUrl ?? '')), graph && `graph ${graph}`]
      .filter(Boolean)
      .join(', '),
  ]);
}

export function savedAliases(ctx: Context): Candidate[] {
  const { stateDir } = placesOf(ctx);
  if (stateDir === undefined) return [];
  return listEntries(stateDir, () => {})
    .filter(({ record }) => record.kind === 'secret' && PLAIN.test(String(record.info.alias ?? '')))
    .map(({ record: { info } }) => [
      String(info.alias),
      [info.gsqlUrl, info.graph && `graph ${info.graph}`].filter(Boolean).join(', '),
    ]);
}
