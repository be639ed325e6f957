import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import type { Flags, SettingsInput } from '../config/keys.js';
import type { Ports } from '../run/ports.js';
import type { Places } from '../run/stores.js';

/** Everything outside the program: arguments, environment, streams, clock. Made in main.ts, and by the test helper. */
export interface Context
  extends Pick<Ports, 'env' | 'cwd' | 'home' | 'platform' | 'now' | 'startedAt' | 'keychainHelper'> {
  readonly argv: readonly string[];
  /** A home folder of another user, as under sudo. It counts as not set. */
  readonly foreignHome?: Places['foreign'] | undefined;
  readonly stdin: { readonly isTTY: boolean; readonly read: Ports['stdin']['read'] };
  readonly stdout: Output;
  readonly stderr: Output;
  /** The line that the standalone executable prints below its version; undefined in the npm package. */
  readonly build?: string;
  /** Resolves on the first SIGINT, SIGTERM, SIGHUP or Ctrl-Break. */
  stopped(): Promise<NodeJS.Signals>;
}

export interface Output {
  readonly isTTY: boolean;
  readonly columns: number | undefined;
  /**
   * To be called before a value is made that is shown once: a reader that has closed the pipe is an error from then on.
   * @throws GraphException USAGE when what is written would be lost
   */
  mustArrive(): void;
  /** Writes the whole content. @throws GraphException USAGE */
  write(content: string | Uint8Array): void;
}

/** The argument that starts this program as its own keychain helper. For internal use. */
export const KEYCHAIN_CHILD = '__keychain';

/** The argument by which the completion scripts of the shells ask for candidates. For internal use. */
export const COMPLETE = '__complete';

/** `CI` counts as set unless it is empty, `0` or `false`. */
export function inCi(env: Context['env']): boolean {
  return !/^(0|false|)$/i.test(env.CI ?? '');
}

/** Whether to paint: what says no goes before `FORCE_COLOR`, and that before what the stream is. */
export function wantsColour(env: Context['env'], flags: Flags, isTerminal: boolean): boolean {
  if (flags['no-color'] === true || env.NO_COLOR || env.CLICOLOR === '0') return false;
  if (env.FORCE_COLOR) return !/^(?:0|false)$/.test(env.FORCE_COLOR);
  return isTerminal && env.TERM !== 'dumb';
}

/** The variables that hold a credential, ours and those of other tools. Windows ignores case in names. */
const CREDENTIAL_VARIABLES =
  /^(GRAPHCRED_(PASSWORD|SECRET|STORE_KEY|REDIS_|JWT|OIDC_)|TG_(PASSWORD|SECRET|TOKEN|JWT_TOKEN|API_TOKEN)$)/i;

/**
 * Returns the environment for a program that graphcred starts, which shall not use a credential or mint with it. Without
 * the address of the Redis server that store cannot be used either.
 */
export function environmentWithoutCredentials(env: Context['env']): Record<string, string | undefined> {
  const given = Object.entries(env).filter(
    ([name, value]) => !CREDENTIAL_VARIABLES.test(name) && !(name === 'GRAPHCRED_STORE' && value === 'redis'),
  );
  return Object.fromEntries(given);
}

export function placesOf(ctx: Pick<Context, 'env' | 'home'> & Partial<Context>): Places {
  const { env, home } = ctx;
  let notUsed = ctx.foreignHome;
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
  const onWindows = ctx.platform === 'win32';
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

export function settingsInput({ ctx, flags }: { ctx: Context; flags: Flags }): SettingsInput & Places {
  return { flags, env: ctx.env, cwd: ctx.cwd, home: ctx.home, ...placesOf(ctx) };
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
