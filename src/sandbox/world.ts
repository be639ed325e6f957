import type { Call, Reply } from './call.js';
import type { RequestLogEntry } from './request-log.js';
import type { ServerVersion } from './server-version.js';
import type { State } from './state.js';
import type { Switches } from './switches.js';
import type { TextId } from './texts.js';
import type { Wording } from './wording.js';

/** Failed logins by user name; only known users are counted. */
type Throttle = Map<string, { failures: number; waitSeconds: number; until: number }>;

/** An identity provider whose JWTs the server takes: the key of `Security.JWT`, and what is checked besides. */
export interface Provider {
  readonly key: string;
  readonly issuer?: string;
  readonly audience?: string;
}

/** What the handlers of one sandbox share. */
export interface World {
  readonly version: ServerVersion;
  readonly state: State;
  readonly switches: Switches;
  /** The texts that differ from the table's. */
  readonly texts: Map<TextId, Wording>;
  /** What became of the requests of `/gsql/v1/statements?async=true`, and whose they are. */
  readonly finished: Map<string, { user: string; reply: Reply }>;
  readonly restAuth: boolean;
  readonly lifetimeUnit: 's' | 'ms';
  readonly provider: Provider | undefined;
  readonly throttle: Throttle;
  /** The last 1,000 requests, oldest first. */
  readonly requests: RequestLogEntry[];
  /** `METHOD /path` of the last 100 calls that were answered 501. */
  readonly unknownRoutes: string[];
  /** How many seconds the sandbox's clock is ahead of the machine's. */
  clockOffset: number;
  /** Returns the time by the sandbox's own clock, in epoch milliseconds. */
  now(): number;
  /** Set it after every change of `state`: the answer is sent once the change is stored. */
  hasChanged: boolean;
  /** Writes a line for the person who runs the sandbox. */
  warn(line: string): void;
}

/** Answers a call; the parts are those of its path. */
export type Handler = (world: World, call: Call, ...parts: string[]) => Reply;

/** Returns the lifetime that is granted to who asks for this one. */
export function grantedSeconds({ switches }: World, asked: number): number {
  return switches.grantedAtMost > 0 ? Math.min(asked, switches.grantedAtMost) : asked;
}

export function nowSeconds(world: World): number {
  return Math.floor(world.now() / 1000);
}
