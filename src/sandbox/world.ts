import type { Call, Reply } from './call.js';
import type { ArmedFault, Fault } from './faults.js';
import type { RequestLogEntry } from './request-log.js';
import type { ServerVersion } from './server-version.js';
import type { Seeds, State } from './state.js';
import type { Switches } from './switches.js';

/** An identity provider whose JWTs the server takes: the key of `Security.JWT`, and what is checked besides. */
export interface Provider {
  readonly key: string;
  readonly issuer?: string;
  readonly audience?: string;
}

export interface SandboxOptions extends Seeds {
  /** `X.Y.Z`, 3.x or 4.x. Default 3.10.1. */
  serverVersion?: string;
  /** A loopback address. Default 127.0.0.1. */
  host?: string;
  /** 0 picks a free port. Default 9000; on 4.x the REST port is opened only when this is given. */
  restPort?: number;
  /** 0 picks a free port. Default 14240. */
  gsqlPort?: number;
  /** Default on. */
  restAuth?: 'on' | 'off';
  stateFile?: string;
  /** The unit of `lifetime` at `/gsql/v1/tokens`. Default s. */
  lifetimeUnit?: 's' | 'ms';
  /** The identity provider whose JWTs are taken (3.10 and later; by the GSQL server from 4.1.2 on). */
  provider?: Provider;
  /** PEM texts. Both servers then speak https only. */
  tls?: { cert: string; key: string };
  faults?: readonly Fault[];
  switches?: Partial<Switches>;
  /** Called with one JSON line for each request, without credentials. */
  log?: (line: string) => void;
  /** Called with one line for a request that the sandbox does not imitate. */
  warn?: (line: string) => void;
  /** In epoch milliseconds. */
  now?: () => number;
}

export interface World {
  readonly options: SandboxOptions;
  readonly version: ServerVersion;
  readonly state: State;
  readonly switches: Switches;
  readonly faults: ArmedFault[];
  /** Failed logins by the name of a user that there is: invented names cannot fill the memory. */
  readonly throttle: Map<string, { failures: number; waitSeconds: number; until: number }>;
  readonly requests: RequestLogEntry[];
  /** How many seconds the sandbox's clock is ahead of the machine's. */
  clockOffset: number;
  /** The time by the sandbox's own clock, in epoch milliseconds. */
  now(): number;
}

export type Handler = (world: World, call: Call, ...parts: string[]) => Reply;

export function nowSeconds(world: World): number {
  return Math.floor(world.now() / 1000);
}
