import { SETTINGS, type SettingsInput } from './keys.js';

/** Variables that are no settings. */
const OTHERS = 'CONFIG PROFILE EXEC STORE_KEY STORE_KEY_FILE OIDC_CLIENT_SECRET REDIS_PASSWORD';

/** Describes each variable that is named like one of graphcred's and is none, with the most similar one. */
export function describeUnknownVariables(env: SettingsInput['env']): string[] {
  const others = OTHERS.split(' ').map((name) => `GRAPHCRED_${name}`);
  const known = [...Object.values(SETTINGS).flatMap(({ variable }) => variable ?? []), ...others];
  return Object.keys(env)
    .filter((name) => name.startsWith('GRAPHCRED_') && !known.includes(name))
    .map((name) => {
      const [nearest] = known.sort((a, b) => similarity(name, b) - similarity(name, a));
      return `${name} is not read; the nearest variable is ${nearest}`;
    });
}

/** Counts the pairs of neighbouring letters that two names share, in proportion to all of them. */
function similarity(a: string, b: string): number {
  const shared = [...a].filter((letter, at) => b.includes(letter + a[at + 1]));
  return shared.length / (a.length + b.length);
}
