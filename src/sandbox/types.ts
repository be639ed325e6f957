import type { Fault } from './faults/faults.js';
import type { Provider } from './jwt.js';
import type { RequestLogEntry } from './request-log.js';
import type { TextChoices } from './say.js';
import type { Role } from './state.js';
import type { Switches } from './switches.js';

export interface SandboxOptions {
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
  /** Default `tigergraph` / `tigergraph`, a superuser. */
  users?: readonly { name: string; password: string; role: Role }[];
  /** Default `demo`. */
  graphs?: readonly string[];
  secrets?: readonly { alias: string; value: string; user: string; graph: string }[];
  /** The file that stores secrets, tokens and block lists between runs. */
  stateFile?: string;
  /** The unit of `lifetime` at `/gsql/v1/tokens`. Default s. */
  lifetimeUnit?: 's' | 'ms';
  /** The identity provider whose JWTs are taken (3.10 and later; by the GSQL server from 4.1.2 on). */
  provider?: Provider;
  /** PEM texts. Both servers then speak https only. */
  tls?: { cert: string; key: string };
  faults?: readonly Fault[];
  /** Settings for behaviour on which the sources disagree; see docs/dev/sandbox.md. */
  switches?: Partial<Switches>;
  /** Answers that differ from the table of texts; see docs/dev/sandbox.md. */
  texts?: TextChoices;
  /** Called with one JSON line for each request, without credentials. */
  log?: (line: string) => void;
  /** Called with one line for a request that the sandbox does not imitate. */
  warn?: (line: string) => void;
  /** Returns the time in epoch milliseconds. */
  now?: () => number;
}

export interface Sandbox {
  readonly restUrl: string;
  readonly gsqlUrl: string;
  readonly serverVersion: string;
  readonly username: string;
  readonly password: string;
  readonly graph: string;
  /** The last 1,000 requests, oldest first. */
  readonly requests: readonly RequestLogEntry[];
  /** `METHOD /path` of the last 100 calls that were answered 501. */
  readonly unknownRoutes: readonly string[];
  addFault(fault: Fault): void;
  /** Sets how many seconds the servers' clock is ahead of the machine's. */
  setClockOffset(seconds: number): void;
  /** Resolves when both ports are closed; open connections are cut at once. */
  close(): Promise<void>;
  /** Returns the line that tells a script where the sandbox is. */
  readyLine(): string;
}
