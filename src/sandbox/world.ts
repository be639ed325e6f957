import type { Throttle } from './login.js';
import type { State } from './state.js';
import type { ServerVersion } from './version.js';

/** Points on which the sources disagree; the defaults are the likelier side. See docs/sandbox.md. */
export interface Switches {
  /** `GET /gsql/v1/secrets` answers a list, or (docs) one object. */
  secretsShape: 'list' | 'object';
  /** REST-10016 on RESTPP: token missing, unknown or malformed. */
  badTokenStatus: 401 | 403;
  /** REST-10019. */
  expiredTokenStatus: 401 | 403;
  /** REST-10018. */
  privilegeStatus: 401 | 403;
  /** REST-1000 at the token endpoints while REST authentication is off. */
  restAuthOffStatus: 200 | 404;
  /** `Graph x not found` at `/gsql/v1/tokens`. */
  unknownGraphStatus: 400 | 404;
  /** Whether a 4.x server still serves `/requesttoken`. */
  requestTokenOn4: 'served' | 'gone';
  /** Whether 4.x takes a token deletion without login while the default account has its default password. */
  deleteWithoutLogin: 'default-password' | 'never';
  /** What a full block list does with one more token. */
  fullBlockList: 'refuse' | 'forget-oldest';
  /** Whether `__GSQL__` lines end the answers of `/gsql/v1/statements`. */
  trailersOn4: boolean;
  /** What a refresh says in `expiration` on 3.0–3.4: the lifetime, or the time. */
  refreshExpirationOnA: 'lifetime' | 'epoch';
  /** `GSQL.MaxAuthTokenLifeTimeSec`; 0 is no limit. Longer lifetimes are refused. */
  maxLifetime: number;
  /** `GSQL.Token.DropLimit`: how many tokens a block list holds. */
  blockListLimit: number;
  /** The zone of the date texts on 4.x. */
  zone: { readonly name: string; readonly offsetMinutes: number };
}

export const DEFAULT_SWITCHES: Switches = {
  secretsShape: 'list',
  badTokenStatus: 403,
  expiredTokenStatus: 401,
  privilegeStatus: 401,
  restAuthOffStatus: 404,
  unknownGraphStatus: 400,
  requestTokenOn4: 'served',
  deleteWithoutLogin: 'default-password',
  fullBlockList: 'refuse',
  trailersOn4: false,
  refreshExpirationOnA: 'lifetime',
  maxLifetime: 0,
  blockListLimit: 20,
  zone: { name: 'UTC', offsetMinutes: 0 },
};

/** What the handlers of one sandbox share. */
export interface World {
  readonly version: ServerVersion;
  readonly state: State;
  readonly switches: Switches;
  readonly restAuth: boolean;
  readonly lifetimeUnit: 's' | 'ms';
  readonly throttle: Throttle;
  /** The sandbox's own clock, epoch milliseconds. */
  now(): number;
  /** Call it after every change of `state`: the answer is sent once the change is kept. */
  changed(): void;
  /** A line for the person who runs the sandbox. */
  warn(line: string): void;
}

export function nowSeconds(world: World): number {
  return Math.floor(world.now() / 1000);
}
