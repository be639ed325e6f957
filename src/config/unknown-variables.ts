import { SETTINGS, type SettingsInput } from './keys.js';

/** Variables that are no settings. */
const OTHERS = 'CONFIG PROFILE EXEC STORE_KEY STORE_KEY_FILE OIDC_CLIENT_SECRET REDIS_PASSWORD';

/** Returns each variable that is named like one of graphcred's and is none. */
export function unknownVariables(env: SettingsInput['env']): string[] {
  const others = OTHERS.split(' ').map((name) => `GRAPHCRED_${name}`);
  const known = [...Object.values(SETTINGS).map(({ variable }) => variable), ...others];
  return Object.keys(env).filter((name) => name.startsWith('GRAPHCRED_') && !known.includes(name));
}

/** Names each of them, and where all variables are listed. */
export function noteUnknownVariables(env: SettingsInput['env'], note: (text: string) => void): void {
  for (const name of unknownVariables(env))
    note(`${name} is not read; for every variable: graphcred help environment`);
}
