import { findCredential } from '../../auth/choose.js';
import { connect } from '../../auth/connect.js';
import type { ErrorCode, Fix } from '../../core/errors.js';
import { once } from '../../run/once.js';
import type { Run } from '../../run/run.js';
import { findVersion } from '../../run/server.js';
import { getToken } from '../tokens/get-token.js';

export interface Check {
  readonly verdict: 'ok' | 'warn' | 'fail' | 'skipped';
  /** Never holds a credential, or the content of a file. */
  readonly cause: string;
  readonly fix: readonly Fix[];
  /** The error code of a failure, which decides the exit status. */
  readonly code?: ErrorCode;
}

export const ok = (cause: string): Check => ({ verdict: 'ok', cause, fix: [] });
export const warn = (cause: string, ...fix: Fix[]): Check => ({ verdict: 'warn', cause, fix });
export const skipped = (cause: string, ...fix: Fix[]): Check => ({ verdict: 'skipped', cause, fix });

export const hasProvider = (run: Run) => run.settings.all['oidc.issuer'].length > 0;

export type Facts = ReturnType<typeof gatherFacts>;

/** Returns what several checks look at; each thing is asked for once. */
export function gatherFacts(run: Run) {
  /** Returns by how many seconds a clock is ahead of this machine's, which showed `nowMs` then. */
  const secondsAhead = (timeUnix: number | undefined, nowMs = run.ports.now()) =>
    timeUnix === undefined ? undefined : Math.round(timeUnix - nowMs / 1000);
  const server = once(async () => {
    await findVersion(run, true);
    const connected = await connect(run, undefined);
    // Compared at once, since a later check may wait for a program.
    return { ...connected, ahead: secondsAhead(await connected.connection.ping()) };
  });
  const credential = once(() => findCredential(run, 'mint'));
  /** The JWT in place of a credential, if it is one. It is checked before it is sent, and that of a program is cached. */
  const jwt = once(async () => ((await credential()).kind === 'jwt' ? getToken(run) : undefined));
  return { run, server, credential, jwt, secondsAhead, engine: once(() => run.stores.inspectShared()) };
}
