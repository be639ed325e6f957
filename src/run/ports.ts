import path from 'node:path';
import { type ConfigKey, isInFile, type Settings, type SourcedValue } from '../config/keys.js';
import { millisecondsOf } from '../config/settings.js';
import type { Hint } from '../core/errors.js';
import type { ConnectionOptions } from '../core/options.js';
import type { Sensitive } from '../core/sensitive.js';
import { Deadline } from '../core/time.js';
import { type KeychainOptions, SHARED_STORES } from '../store/store.js';
import type { Interruption } from './interruption.js';

/** What the use cases need of the world around them. The command line makes it from a terminal and a process. */
export interface Ports extends Omit<KeychainOptions, 'mayPrompt'> {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The absolute path of the home folder; undefined where there is none. */
  readonly home: string | undefined;
  readonly inCi: boolean;
  readonly canPrompt: boolean;
  readonly whyNotAsked: string | undefined;
  /** Milliseconds since 1970. */
  now(): number;
  readonly startedAt: number;
  readonly stdin: {
    readonly holds: 'password' | 'secret' | 'jwt' | 'token' | undefined;
    /** Reads all of it, once. Throws USAGE when there is more than `maxBytes`, TIMEOUT. */
    read(limits: { readonly maxBytes: number; readonly timeoutMs: number }): Promise<Buffer>;
  };
  readonly reporter: Reporter;
  readonly prompter: Prompter;
  readonly interruption: Interruption;
}

export interface Reporter {
  note(text: Hint): void;
  warn(text: Hint): void;
  /** Says what a person has to do now; also with `-q`. */
  ask(text: Hint): void;
  /** Only with `-v`. */
  detail(text: string): void;
  /** Adds a finished step of a change to the list that a run which fails or is interrupted ends with: `revoked 01234567`. */
  did(step: string): void;
  /** A line that says what is waited for, on a terminal. */
  spinner(): Promise<{ start(text: string, maxSeconds?: number): void; stop(): void }>;
  /** Shows each request while it is under way, and with `-v` a line about it. */
  requests(text: string): Promise<Required<Pick<ConnectionOptions, 'onStart' | 'onRequest'>>>;
  /** Names what is done from now on, for the line that shows the requests: `dropping secret 2 of 3`. */
  doing(text: string): void;
}

export interface TextOptions {
  readonly suggestion?: string | undefined;
  /** Whether an empty answer is accepted, as an empty text. */
  readonly optional?: boolean;
  /** Returns what is wrong with the answer, which is then asked for again. */
  readonly refuse?: (text: string) => string | undefined;
}

export interface Prompter {
  text(question: string, options?: TextOptions): Promise<string>;
  hidden(question: string, options?: Pick<TextOptions, 'optional'>): Promise<Sensitive>;
  yes(question: string, options?: { proposed?: boolean }): Promise<boolean>;
}

/** The variables that hold a credential, ours and those of other tools. Windows ignores case in names. */
const CREDENTIAL_VARIABLES =
  /^(GRAPHCRED_(PASSWORD|SECRET|STORE_KEY|REDIS_|JWT|OIDC_)|TG_(PASSWORD|SECRET|TOKEN|JWT_TOKEN|API_TOKEN)$)/i;

/** Returns the environment for a program that graphcred starts: without credentials, and without what leads to Redis. */
export function environmentWithoutCredentials(env: Ports['env']): Record<string, string | undefined> {
  const given = Object.entries(env).filter(
    ([name, value]) =>
      !CREDENTIAL_VARIABLES.test(name) &&
      !(name === 'GRAPHCRED_STORE' && SHARED_STORES.includes(value ?? '')),
  );
  return Object.fromEntries(given);
}

/** Whether there is a desktop: it can open a browser, and ask for what unlocks a keychain. */
export function hasDesktop({ platform, env }: Pick<Ports, 'platform' | 'env'>): boolean {
  return ['darwin', 'win32'].includes(platform) || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
}

/** The time of a run: one limit for all its requests, and one for all its commands to the Redis server. */
export class Time {
  readonly #settings: Settings;
  readonly #cuts: boolean;
  #deadline: Deadline | undefined;
  #redisDeadline: Deadline | undefined;

  /** @param cuts whether a request ends when the time is over. A command of several changes ends between two of them */
  constructor(settings: Settings, cuts: boolean) {
    this.#settings = settings;
    this.#cuts = cuts;
  }

  /** A malformed limit is refused where it is needed: `config show` shows it. */
  get limitMs(): number {
    return millisecondsOf(this.#settings, 'timeout', 'allow at least one second, for example --timeout 30');
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

/** What a run has before its stores: they are opened with it. */
export interface BareRun {
  readonly settings: Settings;
  readonly ports: Ports;
  readonly time: Time;
}

export function pathSetting(run: BareRun, key: ConfigKey): string | undefined {
  const [set] = run.settings.all[key];
  return set && pathOf(run, set);
}

/** Returns the absolute path that a value names. A relative path in a config file is relative to that file. */
export function pathOf(run: BareRun, { value, level }: Pick<SourcedValue, 'value' | 'level'>): string {
  const { settings, ports } = run;
  const { cwd, home } = ports;
  const name = String(value);
  if (name.startsWith('~/') && home !== undefined) return path.join(home, name.slice(2));
  const base = isInFile(level) && settings.file ? path.dirname(settings.file.path) : cwd;
  return path.resolve(base, name);
}
