import type { Level, Settings } from '../../config/keys.js';
import type { Deadline } from '../../core/deadline.js';
import type { Endpoints } from '../../core/endpoints.js';
import type { TlsOptions } from '../../core/http/types.js';
import type { ServerVersion } from '../../core/protocol/types.js';
import type { StoreName } from '../../store/store.js';
import type { Invocation } from '../command.js';
import type { Places } from '../context.js';

/** The database: the addresses as set, and what follows from them without asking the server. */
export interface Target {
  readonly endpoints: Endpoints;
  /** Base URL of the GSQL server. */
  readonly gsqlUrl: string;
  /** Base URL of the REST server; undefined while it depends on the server's version. */
  readonly restUrl: string | undefined;
  /** Scheme and host name of the GSQL server, without port. */
  readonly host: string;
}

/** The settings of one call, without anything that concerns a server. */
export interface LocalSession extends Places {
  readonly invocation: Invocation;
  /** Where each value comes from, for messages and for `config show`. */
  readonly settings: Settings;
  /** The user's own config file, when another one is in force and hides it. */
  readonly hiddenConfig: string | undefined;
  /** Whether a person can be asked. */
  readonly canPrompt: boolean;
  readonly output: string;
  /** The store of this call, and where that was set; undefined for the default. */
  readonly store: { readonly name: StoreName; readonly setAt: Level | undefined };
}

/** The settings of one run that talks to a database, read and checked once. */
export interface Session extends LocalSession {
  readonly target: Target;
  /** The graph that was set, or that a person has typed since. */
  graph: string | undefined;
  readonly username: string | undefined;
  readonly secretAlias: string | undefined;
  /** The label of the token (`--label`), which replaces the owner in its identity. */
  readonly principal: string | undefined;
  /** `auto`, `3`, `4` or a number such as `3.10.1`. */
  readonly serverVersion: string;
  /** The token lifetime to ask for, in seconds. */
  readonly lifetime: number;
  /** Seconds of life that a cached token must have left. */
  readonly minTtl: number;
  readonly timeoutMs: number;
  /** How long to wait for a server that is not up yet. */
  readonly waitMs: number;
  readonly tls: TlsFiles;
  /** Whether the command does not cut its requests when its time is over, but ends between two steps, if at all. */
  readonly isStepwise: boolean;
  /** The text that the spinner shows during a request, if it is not the default one. */
  readonly progress: { text?: string };
  /** Values that are fetched, read or made at most once in a run; the deadline is that of all requests together. */
  readonly learned: { version?: Promise<ServerVersion>; tls?: Promise<TlsOptions>; deadline?: Deadline };
}

/** Absolute paths of PEM files. */
interface TlsFiles {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly insecure: boolean;
}

/** The version in the server cache, if there is one. */
export interface RememberedVersion {
  /** However old it is. */
  readonly any?: string;
  /** The same, if it is not older than a day. */
  readonly recent?: string;
}
