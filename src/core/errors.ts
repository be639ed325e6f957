/** What went wrong, by name. docs/contract.md promises these names; cli/output/exit-codes.ts has the exit status of each. */
export type ErrorCode =
  | 'INTERNAL'
  | 'USAGE'
  | 'INPUT_REQUIRED'
  | 'NOT_FOUND'
  | 'AUTH_FAILED'
  | 'PERMISSION_DENIED'
  | 'CONFIG_INVALID'
  | 'CONFIG_UNTRUSTED'
  | 'HOST_MISMATCH'
  | 'STORE_UNAVAILABLE'
  | 'STORE_LOCKED'
  | 'NETWORK'
  | 'TIMEOUT'
  | 'TLS'
  | 'SERVER_UNAVAILABLE'
  | 'REST_AUTH_DISABLED'
  | 'UNSUPPORTED'
  | 'ALREADY_EXISTS'
  | 'SERVER_ERROR'
  | 'BAD_RESPONSE'
  | 'LOCK_TIMEOUT'
  | 'PARTIAL'
  | 'CANCELLED';

/** What to do next, for callers that have a command for it. */
export const REMEDIES = [
  'examine',
  'give-version',
  'list-secrets',
  'mint-from-secret',
  'new-token',
  'rotate-secret',
  'show-settings',
  'wait',
] as const;

/** What would help after a refusal, by name. */
export type Remedy = (typeof REMEDIES)[number];

/** What may be known of an error beside its code and message. Every field is absent when unknown. */
export interface ErrorDetails {
  /** The next thing to do. */
  hint?: string;
  /** The server's own error code, for example `REST-3300`. */
  serverCode?: string;
  /** The server's own words, with control characters removed. Never holds a header or a request. */
  serverText?: string;
  /** HTTP status of the refusal. */
  status?: number;
  /** True when the request may have taken effect all the same (the connection broke after it was sent). */
  ambiguous?: boolean;
  /** False when waiting does not help although the code says so. By the code when absent. */
  retryable?: boolean;
  /** The library's option that the hint is about, for example `lifetime`. */
  option?: string;
  /** What would help, by name, for callers that have a command for it. */
  remedies?: readonly Remedy[];
  /** The name of the setting at fault, for example `gsqlUrl`. */
  setting?: string;
  /** What is wrong with that setting, as the rest of a sentence: `must not have a port`. */
  problem?: string;
}

/**
 * The one error of graphcred. Nothing that holds a header, a body or a URL of a call with a credential is
 * ever attached to it, `cause` included.
 */
export class GraphException extends Error {
  /** What went wrong, by name. */
  readonly code: ErrorCode;
  /** What to do next. */
  readonly hint: string | undefined;
  /** The server's own error code, for example `REST-3300`. */
  readonly serverCode: string | undefined;
  /** The server's own words, with control characters removed. */
  readonly serverText: string | undefined;
  /** HTTP status of the refusal. */
  readonly status: number | undefined;
  /** True when the request may have taken effect all the same. */
  readonly ambiguous: boolean;
  /** False when waiting does not help although the code says so. By the code when absent. */
  readonly retryable: boolean | undefined;
  /** The option that the hint is about. */
  readonly option: string | undefined;
  /** What would help, by name; empty when nothing is known to. */
  readonly remedies: readonly Remedy[];
  /** The name of the setting at fault. */
  readonly setting: string | undefined;
  /** What is wrong with that setting, as the rest of a sentence. */
  readonly problem: string | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message);
    this.name = 'GraphException';
    this.code = code;
    this.hint = details.hint;
    this.serverCode = details.serverCode;
    this.serverText = details.serverText;
    this.status = details.status;
    this.ambiguous = details.ambiguous ?? false;
    this.retryable = details.retryable;
    this.option = details.option;
    this.remedies = details.remedies ?? [];
    this.setting = details.setting;
    this.problem = details.problem;
  }
}
