import path from 'node:path';
import { type ConfigKey, isInFile, type Settings, type SourcedValue, type Target } from '../config/keys.js';
import type { TlsOptions } from '../core/http/types.js';
import type { ServerVersion } from '../core/protocol/version.js';
import type { Sensitive } from '../core/sensitive.js';
import { Deadline } from '../core/time.js';
import { once } from './credential.js';
import type { Ports } from './ports.js';
import type { Stores } from './stores.js';

/** What the stores of a run are opened with. */
export interface BareRun {
  readonly settings: Settings;
  readonly ports: Ports;
  readonly time: Time;
}

/** What a command that talks to no database works with. Made once, and never changed. */
export interface LocalRun extends BareRun {
  readonly stores: Stores;
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

/** The time of a run: one limit for all its requests, and one for all its commands to the Redis server. */
export class Time {
  readonly #limit: () => number;
  readonly #cuts: boolean;
  #deadline: Deadline | undefined;
  #redisDeadline: Deadline | undefined;

  /**
   * @param limit returns the time limit in ms. It is asked when it is needed: `config show` shows a malformed one
   * @param cuts whether a request ends when the time is over. A command of several changes ends between two of them
   */
  constructor(limit: () => number, cuts: boolean) {
    this.#limit = limit;
    this.#cuts = cuts;
  }

  get limitMs(): number {
    return this.#limit();
  }

  /** It begins with the first request. */
  get deadline(): Deadline {
    this.#deadline ??= new Deadline(this.limitMs, this.#cuts);
    return this.#deadline;
  }

  get redisDeadline(): Deadline {
    this.#redisDeadline ??= new Deadline(this.limitMs);
    return this.#redisDeadline;
  }

  /** Gives what follows the whole limit again. */
  restart(): void {
    this.#deadline = undefined;
    this.#redisDeadline = undefined;
  }
}

/** What a run asks at most once: a person, a server, a file or a program. */
export class Asked {
  /** The graph that a person has typed. */
  graph: string | undefined;
  /** The time by the clock of the server, as its last answer told it, in seconds since 1970. */
  serverTimeUnix: number | undefined;
  /** The version of the server. */
  version: Promise<ServerVersion> | undefined;
  /** The certificates that the settings name. */
  tls: Promise<TlsOptions> | undefined;
  /** Runs a program for its credential, once for each reference. */
  readonly answer = once((_reference: string, run: () => Promise<Sensitive>) => run());

  constructor(graph?: string) {
    this.graph = graph;
  }
}

/** Returns the graph in force: the one that a person has typed, else the one that is set. */
export function graphOf({ asked, settings }: Run): string | undefined {
  return asked.graph ?? settings.graph;
}

/** Returns the absolute path of the file that a setting names. */
export function pathSetting(run: Omit<BareRun, 'time'>, key: ConfigKey): string | undefined {
  const [set] = run.settings.all[key];
  return set && pathOf(run, set);
}

/** Returns the absolute path that a value names. A relative path in a config file is relative to that file. */
export function pathOf(
  { settings, ports }: Omit<BareRun, 'time'>,
  { value, level }: Pick<SourcedValue, 'value' | 'level'>,
): string {
  const { cwd, home } = ports;
  const name = String(value);
  if (name.startsWith('~/') && home !== undefined) return path.join(home, name.slice(2));
  const base = isInFile(level) && settings.file ? path.dirname(settings.file.path) : cwd;
  return path.resolve(base, name);
}
