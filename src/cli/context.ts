import type { Flags, SettingsInput } from '../config/keys.js';
import { type Places, placesOf } from '../run/places.js';
import type { Ports } from '../run/ports.js';

/** Everything outside the program: arguments, environment, streams, clock. Made in process.ts, and by the test helper. */
export interface Context
  extends Pick<Ports, 'env' | 'cwd' | 'home' | 'platform' | 'now' | 'startedAt' | 'keychainHelper'> {
  readonly argv: readonly string[];
  /** A home folder of another user, as under sudo. It counts as not set. */
  readonly foreignHome?: Places['foreign'] | undefined;
  readonly stdin: { readonly isTTY: boolean; readonly read: Ports['stdin']['read'] };
  readonly stdout: Output;
  readonly stderr: Output;
  /** What `--version` prints. The standalone executable adds a line on its build. */
  readonly version: string;
  /** Resolves on the first SIGINT, SIGTERM, SIGHUP or Ctrl-Break. */
  stopped(): Promise<NodeJS.Signals>;
}

export interface Output {
  readonly isTTY: boolean;
  readonly columns: number | undefined;
  /** Called before a value is made that is shown once. @throws GraphException USAGE when what is written would be lost */
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

export function settingsInput({ ctx, flags }: { ctx: Context; flags: Flags }): SettingsInput & Places {
  return { flags, env: ctx.env, cwd: ctx.cwd, home: ctx.home, ...placesOf(ctx) };
}
