import type { Settings, SettingsInput, Target } from '../config/keys.js';
import type { TlsOptions } from '../core/http/types.js';
import type { ServerVersion } from '../core/protocol/version.js';
import type { Sensitive } from '../core/sensitive.js';
import { once } from './once.js';
import type { BareRun } from './ports.js';
import type { Stores } from './stores.js';

/** What a command that talks to no database works with. Made once, and never changed. */
export interface LocalRun extends BareRun {
  readonly stores: Stores;
  /** What the settings were read from. */
  readonly search: SettingsInput;
  /** The nearer config file that is ignored because it is not trusted. */
  readonly untrusted: string | undefined;
}

/** What a command works with: every use case gets it, and its own input. */
export interface Run extends LocalRun {
  readonly settings: RunSettings;
  readonly target: Target;
  readonly asked: Asked;
}

/** The settings, read and checked. */
export interface RunSettings extends Settings {
  readonly graph: string | undefined;
  readonly username: string | undefined;
  readonly secretAlias: string | undefined;
  /** The name of the token (`--principal`), which replaces the owner in its identity. */
  readonly tokenLabel: string | undefined;
  /** Whose secrets are managed (`--owner`); undefined for those of the login. */
  readonly secretsOf: string | undefined;
  /** `auto`, `3`, `4` or a number such as `3.10.1`. */
  readonly serverVersion: string;
  /** The token lifetime to ask for, in seconds. */
  readonly lifetime: number;
  /** Seconds of life that a cached token must have left. */
  readonly minTtl: number;
  /** How long to wait for a server that is not up yet. */
  readonly waitMs: number;
  /** Whether server certificates are not verified. */
  readonly insecure: boolean;
}

/** What a run asks at most once: a person, a server, a file or a program. */
export class Asked {
  /** What a person has typed. */
  graph: string | undefined;
  username: string | undefined;
  /** The time by the clock of the server, as its last answer told it, in seconds since 1970. */
  serverTimeUnix: number | undefined;
  version: Promise<ServerVersion> | undefined;
  /** The certificates that the settings name. */
  tls: Promise<TlsOptions> | undefined;
  /** Runs a program for its credential, once for each reference. */
  readonly answer = once((_reference: string, run: () => Promise<Sensitive>) => run());
}

export function graphOf({ asked, settings }: Run): string | undefined {
  return asked.graph ?? settings.graph;
}

export function usernameOf({ asked, settings }: Run): string | undefined {
  return asked.username ?? settings.username;
}
