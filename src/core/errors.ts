/** The codes of errors. docs/contract.md promises these names; cli/output/exit-codes.ts maps each to an exit status. */
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

/** What to do next: words, a command to type, or an option to change. Words that begin with a comma go on with the sentence. */
export type Fix = string | { readonly command: string } | { readonly setting: string };

const IN_DOUBT = 'The server may have carried out the request anyway.';

const RETRYABLE: readonly ErrorCode[] = ['NETWORK', 'TIMEOUT', 'TLS', 'SERVER_UNAVAILABLE', 'LOCK_TIMEOUT'];

/** The error class of graphcred. No header, body or URL of a request with a credential is attached to it. */
export class GraphException extends Error {
  /** The error's code. */
  readonly code: ErrorCode;
  /** The next thing to do, in the imperative and without a full stop. */
  readonly hint: string | undefined;
  /** The same for the command line, which prints its commands and options with what was typed. */
  readonly fix: readonly Fix[];
  /** The server's own error code, for example `REST-3300`. */
  readonly serverCode: string | undefined;
  /** The server's message without control characters. It never holds a header or a request. */
  readonly serverText: string | undefined;
  /** HTTP status of the refusal. */
  readonly status: number | undefined;
  /** True when the server may have carried out the request although no answer came. */
  readonly ambiguous: boolean;
  /** Whether the same call may succeed later without any change; decided by the code where that is not said. */
  readonly retryable: boolean;
  /** How long the server asks to wait before the next request (`Retry-After`), in seconds. */
  readonly retryAfterSeconds: number | undefined;
  /** The option that the hint is about, for example `lifetime`. */
  readonly option: string | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    const isSaid = !details.ambiguous || message.includes(IN_DOUBT);
    super(isSaid ? message : `${message} ${IN_DOUBT}`);
    Object.assign(this, details);
    this.name = 'GraphException';
    this.code = code;
    this.ambiguous = details.ambiguous ?? false;
    this.retryable = details.retryable ?? RETRYABLE.includes(code);
    this.fix = details.fix ?? [details.hint ?? []].flat();
    const words = this.fix.filter((part) => typeof part === 'string').join('; ');
    this.hint = words.replaceAll('; ,', ',') || undefined;
    this.option = this.fix.find((part) => typeof part === 'object' && 'setting' in part)?.setting;
  }

  /** With the message, which an Error leaves out of its JSON. */
  toJSON(): object {
    return Object.assign({ message: this.message }, this);
  }
}

/** What is known about an error besides code and message: fields of `GraphException`. The hint is given as it is printed. */
export type ErrorDetails = {
  -readonly [Field in Exclude<keyof GraphException, keyof Error | 'code' | 'toJSON' | 'hint' | 'option'>]?:
    | GraphException[Field]
    | undefined;
} & { hint?: Hint | undefined };

export type Hint = Fix | readonly Fix[];

/** What is told of a failure, and what to do. In the message `{name}` stands for a value. */
export type Explanation = readonly [code: ErrorCode, message: string, ...fix: Fix[]];

export function explained(
  [code, message, ...fix]: Explanation,
  values: Readonly<Record<string, string | undefined>>,
  details: ErrorDetails,
): GraphException {
  const told = message.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
  return new GraphException(code, told, { ...details, fix });
}

/** Creates the error for a call that the caller has to change. */
export function usageError(message: string, hint: Hint): GraphException {
  return new GraphException('USAGE', message, { hint });
}

/** Returns an error that the caller goes on with. Throws what is no GraphException: that is a bug. */
export function expected(error: unknown): GraphException {
  if (error instanceof GraphException) return error;
  throw error;
}

/** Returns the error of some work; undefined when it is done. Throws what is no GraphException. */
export function whyFailed(work: Promise<unknown>): Promise<GraphException | undefined> {
  return work.then(() => undefined, expected);
}

/** Whether a login is of no use: servers make a user wait after some wrong ones. A file may be replaced at any time. */
export function isLoginRefused(error: unknown): boolean {
  return error instanceof GraphException && error.code === 'AUTH_FAILED' && error.option !== 'jwtFile';
}
