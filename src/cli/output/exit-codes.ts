import type { ErrorCode } from '../../core/errors.js';

function row(status: number, codes: readonly ErrorCode[], meaning: string, retry = '') {
  return { status, codes, meaning, retry };
}

/** All exit statuses: `help exit-codes`, docs/reference.md and the program use this table. */
export const EXITS = [
  row(0, [], 'success; an empty list is success too'),
  row(1, ['INTERNAL'], 'a bug in graphcred', 'no'),
  row(2, ['USAGE', 'INPUT_REQUIRED'], 'bad flags, or a value is missing and nobody can be asked', 'no'),
  row(3, ['NOT_FOUND'], 'no such alias, token, profile or graph; status: no token, or an expired one', 'no'),
  row(4, ['AUTH_FAILED', 'PERMISSION_DENIED'], 'credential or token refused, or without the right', 'no'),
  row(
    5,
    ['CONFIG_INVALID', 'CONFIG_UNTRUSTED', 'HOST_MISMATCH'],
    'config file wrong or not trusted, or a credential made for another host',
    'no',
  ),
  row(6, ['STORE_UNAVAILABLE', 'STORE_LOCKED'], 'the store cannot be used', 'after fixing'),
  row(
    7,
    ['NETWORK', 'TIMEOUT', 'TLS', 'SERVER_UNAVAILABLE'],
    'the server cannot be reached, or is still starting (502, 503, 504)',
    'yes',
  ),
  row(
    8,
    ['REST_AUTH_DISABLED', 'UNSUPPORTED', 'ALREADY_EXISTS', 'SERVER_ERROR', 'BAD_RESPONSE'],
    'the server rejected the request or sent an invalid response',
    'see JSON',
  ),
  row(9, ['LOCK_TIMEOUT'], 'gave up waiting for another graphcred process', 'yes'),
  row(10, ['PARTIAL'], 'some of several changes failed', 'see JSON'),
  row(125, [], 'exec, proxy: failed before the command ran; error.code says why'),
  row(126, [], 'exec, proxy: the command is not executable'),
  row(127, [], 'exec, proxy: the command was not found'),
  row(128, [], 'exec, proxy: 128 + n, the command was killed by signal n'),
  row(130, ['CANCELLED'], 'Ctrl-C, a closed prompt, or the answer no', 'no'),
];

export function exitStatus(code: ErrorCode | undefined): number {
  return code === undefined ? 0 : (EXITS.find((row) => row.codes.includes(code))?.status ?? 1);
}
