import { type ErrorCode, GraphException, type Remedy } from '../../core/errors.js';

/** The checks, in the order in which they are shown. */
export const IDS = [
  'config',
  'config-mode',
  'dns',
  'service-port',
  'rest-port',
  'tls',
  'proxy',
  'version',
  'rest-auth',
  'credential',
  'graph',
  'clock',
  'store',
] as const;

/** These checks run only with an identity provider. */
export const PROVIDER_IDS = ['provider', 'provider-clock', 'login-port', 'identity'] as const;

/** These checks run only with the store `redis`. */
export const SHARED_STORE_IDS = [
  'store-tls',
  'store-rights',
  'store-role',
  'store-clock',
  'store-key',
] as const;

export type CheckId = (typeof IDS | typeof SHARED_STORE_IDS | typeof PROVIDER_IDS)[number];

/** A smaller clock difference is normal. */
const SKEW_SECONDS = 30;

export interface Check {
  readonly verdict: 'ok' | 'warn' | 'fail' | 'skipped';
  /** What was found. Never a credential, never the content of a file. */
  readonly cause: string;
  /** What to do about it; empty when nothing is to be done. */
  readonly fix: string;
  /** The library's option and the remedies that `fix` is about. */
  readonly option?: string | undefined;
  readonly remedies?: readonly Remedy[];
  /** The error code of a failure, which decides the exit status. */
  readonly code?: ErrorCode;
}

/** The results of the checks made so far. */
export type Found = Partial<Record<CheckId, Check>>;

export const ok = (cause: string): Check => ({ verdict: 'ok', cause, fix: '' });
export const skipped = (cause: string): Check => ({ verdict: 'skipped', cause, fix: '' });
export const warn = (cause: string, fix: string): Check => ({ verdict: 'warn', cause, fix });
export const fail = (code: ErrorCode, cause: string, fix: string): Check => ({
  verdict: 'fail',
  cause,
  fix,
  code,
});

/** Turns a GraphException into a failed check; rethrows any other error. */
export function failed(error: unknown): Check {
  if (!(error instanceof GraphException)) throw error;
  const { code, message, hint = '', option, remedies } = error;
  // A hint to run doctor is left out, because this is doctor.
  const others = remedies.filter((remedy) => remedy !== 'examine');
  return { ...fail(code, message, hint), option, remedies: others };
}

/**
 * Compares the server's clock with this machine's.
 * @param server name of the server, as shown to people
 */
export function judgeClock(serverTime: number, nowMs: number, server: string): Check {
  const ahead = Math.round(serverTime - nowMs / 1000);
  if (Math.abs(ahead) <= SKEW_SECONDS) return ok('the clocks agree');
  const way = ahead > 0 ? 'ahead' : 'behind';
  return warn(`the ${server}'s clock is ${Math.abs(ahead)} s ${way}`, 'set both clocks by NTP');
}
