import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import type { Ports } from './ports.js';

/** The folders of this user's files. Without a home folder they are undefined, and nothing is stored or read. */
export interface Places {
  readonly configDir: string | undefined;
  readonly stateDir: string | undefined;
  /** A folder of another user, which is not used although the variable names it, and why: `belongs to another user`. */
  readonly foreign?: { readonly path: string; readonly variable: string; readonly why: string } | undefined;
}

type World = Pick<Ports, 'env' | 'home'> & Partial<Pick<Ports, 'platform'>>;

/** @param foreignHome a home folder of another user, which is not used either */
export function placesOf(world: World & { readonly foreignHome?: Places['foreign'] }): Places {
  const { env, home, platform } = world;
  let notUsed = world.foreignHome;
  const folder = (variables: readonly string[], ...fallback: string[]) => {
    // The standard says that a path that is not absolute is to be ignored.
    const variable = variables.find((name) => isAbsolute(env[name] ?? ''));
    const base = variable === undefined ? home : env[variable];
    if (base === undefined) return undefined;
    const parent = variable === undefined ? join(base, ...fallback) : base;
    const why = whyNotUsed(parent);
    if (why === undefined) return join(parent, 'graphcred');
    notUsed ??= { path: base, variable: variable ?? 'HOME', why };
    return undefined;
  };
  const onWindows = platform === 'win32';
  return {
    configDir: onWindows
      ? folder(['XDG_CONFIG_HOME', 'APPDATA'], 'AppData', 'Roaming')
      : folder(['XDG_CONFIG_HOME'], '.config'),
    stateDir: onWindows
      ? folder(['XDG_STATE_HOME', 'LOCALAPPDATA'], 'AppData', 'Local')
      : folder(['XDG_STATE_HOME'], '.local', 'state'),
    foreign: notUsed,
  };
}

export function ownHome(home: string | undefined) {
  const why = home && whyNotUsed(home);
  return why ? { home: undefined, foreignHome: { path: home, variable: 'HOME', why } } : { home };
}

/** Returns why a folder, or the one it would be made in, is not used. One of root's is when this user can enter it. */
function whyNotUsed(folder: string): string | undefined {
  const uid = process.geteuid?.();
  if (uid === undefined) return undefined;
  let stat: Stats | undefined;
  try {
    stat = statSync(folder, { throwIfNoEntry: false });
    if (stat === undefined) return folder === dirname(folder) ? undefined : whyNotUsed(dirname(folder));
    if (stat.uid === 0 && uid !== 0) accessSync(folder, constants.X_OK);
    else if (stat.uid !== uid) return `belongs to another user (uid ${stat.uid})`;
    return undefined;
  } catch (error) {
    if (stat !== undefined) return 'belongs to another user (uid 0)';
    return `cannot be reached (${(error as NodeJS.ErrnoException).code})`;
  }
}
