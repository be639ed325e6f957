import { type ErrorCode, GraphException } from '../../core/errors.js';

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

export type CheckId = (typeof IDS)[number];

export interface Check {
  readonly verdict: 'ok' | 'warn' | 'fail' | 'skipped';
  /** What was found. Never a credential, never the content of a file. */
  readonly cause: string;
  /** What to do about it; empty when nothing is to be done. */
  readonly fix: string;
  /** Of a failure: decides the exit status. */
  readonly code?: ErrorCode;
}

/** What is known so far. */
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

/** A refusal as a finding; anything else is a bug and goes on. */
export function failed(error: unknown): Check {
  if (!(error instanceof GraphException)) throw error;
  return fail(error.code, error.message, error.hint ?? '');
}
