/**
 * What went wrong, by name. The names are the contract's (section 7); the exit status that belongs to each
 * is in cli/exit.ts.
 */
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

export interface ErrorDetails {
  /** The next thing to do, as a sentence or a command to type. */
  hint?: string;
  /** The server's own error code, for example `REST-3300`. */
  serverCode?: string;
  /** The server's own words, with control characters removed. Never holds a header or a request. */
  serverText?: string;
  /** HTTP status of the refusal. */
  status?: number;
  /** True when the request may have taken effect all the same (the connection broke after it was sent). */
  ambiguous?: boolean;
}

/**
 * The one error of graphcred. Nothing that holds a header, a body or a URL of a call with a credential is
 * ever attached to it, `cause` included.
 */
export class GraphException extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly serverCode: string | undefined;
  readonly serverText: string | undefined;
  readonly status: number | undefined;
  readonly ambiguous: boolean;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message);
    this.name = 'GraphException';
    this.code = code;
    this.hint = details.hint;
    this.serverCode = details.serverCode;
    this.serverText = details.serverText;
    this.status = details.status;
    this.ambiguous = details.ambiguous ?? false;
  }
}
