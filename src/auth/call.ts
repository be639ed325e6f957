import path from 'node:path';
import {
  type ConfigKey,
  isInFile,
  type Level,
  type Settings,
  type SourcedValue,
  type Target,
} from '../config/keys.js';
import type { TlsOptions } from '../core/http/types.js';
import type { ServerVersion } from '../core/protocol/types.js';
import type { Sensitive } from '../core/sensitive.js';
import type { Deadline } from '../core/time.js';
import type { StoreName } from '../store/store.js';
import type { Interruption, Ports } from './ports.js';

/** The folders of this user's files. Without a home folder they are undefined, and nothing is stored or read. */
export interface Places {
  /** `$XDG_CONFIG_HOME/graphcred` */
  readonly configDir: string | undefined;
  /** `$XDG_STATE_HOME/graphcred` */
  readonly stateDir: string | undefined;
  /** The folder that is not used although it is set. */
  readonly foreign?: ForeignFolder | undefined;
}

/** A folder that belongs to another user. */
export interface ForeignFolder {
  readonly path: string;
  /** The variable that names it. */
  readonly variable: string;
  /** Why it is not used, as in `belongs to another user`. */
  readonly why: string;
}

/** The settings of one call, without anything that concerns a server. */
export interface LocalCall extends Places {
  readonly ports: Ports;
  /** Tells about Ctrl-C; undefined while a signal ends the process at once. */
  readonly interruption?: Interruption | undefined;
  /** Where each value comes from, for messages and for `config show`. */
  readonly settings: Settings;
  /** Whether a person can be asked. */
  readonly canPrompt: boolean;
  /** Whether this runs in a CI job. */
  readonly inCi: boolean;
  /** Why nobody can be asked, for messages. */
  readonly whyNotAsked: string;
  /** The credential or token that standard input holds. */
  readonly fromStdin: 'password' | 'secret' | 'jwt' | 'token' | undefined;
  /** The store of this call, and where that was set; undefined for the default. */
  readonly store: {
    readonly name: StoreName;
    readonly setAt: Level | undefined;
    /** Whether a login recorded it. */
    readonly isRecorded?: boolean;
  };
}

/** The settings of one run that talks to a database, read and checked once. */
export interface Call extends LocalCall {
  readonly target: Target;
  /** The graph that was set, or that a person has typed since. */
  graph: string | undefined;
  readonly username: string | undefined;
  readonly secretAlias: string | undefined;
  /** The label of the token (`--label`), which replaces the owner in its identity. */
  readonly principal: string | undefined;
  /** Whose secrets are managed (`--owner`); undefined for those of the login. */
  readonly secretsOf: string | undefined;
  /** `auto`, `3`, `4` or a number such as `3.10.1`. */
  readonly serverVersion: string;
  /** The token lifetime to ask for, in seconds. */
  readonly lifetime: number;
  /** Seconds of life that a cached token must have left. */
  readonly minTtl: number;
  readonly timeoutMs: number;
  /** How long to wait for a server that is not up yet. */
  readonly waitMs: number;
  /** Whether server certificates are not verified. */
  readonly insecure: boolean;
  /** Whether the command does not cut its requests when its time is over, but ends between two steps, if at all. */
  readonly isStepwise: boolean;
  /** The text that the spinner shows during a request, if it is not the default one. */
  readonly progress: { text?: string };
  /** Values that are fetched, read or made at most once in a run. */
  readonly learned: {
    version?: Promise<ServerVersion>;
    tls?: Promise<TlsOptions>;
    /** The time by the clock of the server, as its last answer told it, in seconds since 1970. */
    serverTimeUnix?: number;
    /** Runs a program for its credential, once for each reference. */
    answer?: (reference: string, run: () => Promise<Sensitive>) => Promise<Sensitive>;
    /** That of all requests together. */
    deadline?: Deadline;
    /** That of all commands for the Redis server together. */
    redisDeadline?: Deadline;
  };
}

/** Returns the absolute path of the file that a setting names. */
export function pathSetting(call: LocalCall, key: ConfigKey): string | undefined {
  const [set] = call.settings.all[key];
  return set && pathOf(call, set);
}

/** Returns the absolute path that a value names. A relative path in a config file is relative to that file. */
export function pathOf(
  { settings, ports }: Pick<LocalCall, 'settings' | 'ports'>,
  { value, level }: Pick<SourcedValue, 'value' | 'level'>,
): string {
  const { cwd, home } = ports;
  const name = String(value);
  if (name.startsWith('~/') && home !== undefined) return path.join(home, name.slice(2));
  const base = isInFile(level) && settings.file ? path.dirname(settings.file.path) : cwd;
  return path.resolve(base, name);
}
