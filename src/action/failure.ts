import { type ErrorCode, GraphException } from '../core/errors.js';

const TRY_AGAIN =
  'Check that the server is running and that this runner can reach it, then run the job again.';
const LOOK = 'Run graphcred doctor with the same settings to see what the server answers.';

/**
 * Messages for errors whose own message may quote the server. The log of a job must not show text that a server
 * chose.
 */
const SAFE_MESSAGES: Partial<Record<ErrorCode, string>> = {
  AUTH_FAILED: 'The server refused the credential',
  PERMISSION_DENIED: 'This user may not do that',
  NOT_FOUND: 'There is no such graph, or this user may not see it',
  REST_AUTH_DISABLED: 'REST authentication is not enabled on this server',
  SERVER_UNAVAILABLE: 'The server is not available',
  SERVER_ERROR: 'The server refused the request',
  ALREADY_EXISTS: 'The server refused the request',
  BAD_RESPONSE: 'The answer is not one of this kind of server',
  UNSUPPORTED: 'This version of the server is not supported, or it does not tell its version',
};

const NEXT: Partial<Record<ErrorCode, string>> = {
  AUTH_FAILED: 'Check the input secret, or username and password.',
  PERMISSION_DENIED: 'Ask an administrator of the database for the privilege.',
  NOT_FOUND: 'Check the input graph.',
  REST_AUTH_DISABLED: 'Ask an administrator to enable it; until then the server wants no token.',
  TLS: 'Check the address. For a CA of your own set NODE_EXTRA_CA_CERTS in the env of the job.',
  NETWORK: TRY_AGAIN,
  TIMEOUT: TRY_AGAIN,
  SERVER_UNAVAILABLE: TRY_AGAIN,
  SERVER_ERROR: LOOK,
  ALREADY_EXISTS: LOOK,
  BAD_RESPONSE: LOOK,
  UNSUPPORTED: LOOK,
};

/** Describes an error in one line of the log: what happened, and what to do next. It never quotes a server. */
export function describe(error: unknown): string {
  if (!(error instanceof GraphException)) {
    const { name } = error instanceof Error ? error : new Error();
    return `graphcred: INTERNAL: graphcred ran into a bug (${name}). Please report it with the version of the action.`;
  }
  const { code, status, hint, ambiguous } = error;
  const happened = SAFE_MESSAGES[code];
  const message = happened ? `${happened}${status === undefined ? '' : ` (HTTP ${status})`}.` : error.message;
  const doubt = ambiguous ? ' A token may have been made all the same; it lives until its end.' : '';
  return `graphcred: ${code}: ${message}${doubt} ${NEXT[code] ?? hint ?? ''}`.trim();
}
