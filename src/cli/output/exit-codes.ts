import type { ErrorCode } from '../../core/errors.js';

export interface ExitRow {
  readonly status: number;
  readonly codes: readonly ErrorCode[];
  readonly meaning: string;
  readonly retry: string;
}

/** All exit statuses: `help exit-codes`, docs/reference.md and the program use this table. */
export const EXITS: readonly ExitRow[] = [
  { status: 0, codes: [], meaning: 'done; an empty list is done', retry: '' },
  { status: 1, codes: ['INTERNAL'], meaning: 'a bug in graphcred', retry: 'no' },
  {
    status: 2,
    codes: ['USAGE', 'INPUT_REQUIRED'],
    meaning: 'bad flags, or a value missing and no terminal to ask',
    retry: 'no',
  },
  {
    status: 3,
    codes: ['NOT_FOUND'],
    meaning: 'no such alias, token, profile or graph; status: none or expired',
    retry: 'no',
  },
  {
    status: 4,
    codes: ['AUTH_FAILED', 'PERMISSION_DENIED'],
    meaning: 'credential refused or without the right; status, token check: rejected',
    retry: 'no',
  },
  {
    status: 5,
    codes: ['CONFIG_INVALID', 'CONFIG_UNTRUSTED', 'HOST_MISMATCH'],
    meaning: 'config file wrong or not trusted, or a credential made for another host',
    retry: 'no',
  },
  {
    status: 6,
    codes: ['STORE_UNAVAILABLE', 'STORE_LOCKED'],
    meaning: 'the store cannot be used',
    retry: 'after fixing',
  },
  {
    status: 7,
    codes: ['NETWORK', 'TIMEOUT', 'TLS', 'SERVER_UNAVAILABLE'],
    meaning: 'the server cannot be reached, or is still starting (502, 503, 504)',
    retry: 'yes',
  },
  {
    status: 8,
    codes: ['REST_AUTH_DISABLED', 'UNSUPPORTED', 'ALREADY_EXISTS', 'SERVER_ERROR', 'BAD_RESPONSE'],
    meaning: 'the server rejected the request or sent an invalid response',
    retry: 'see JSON',
  },
  { status: 9, codes: ['LOCK_TIMEOUT'], meaning: 'gave up waiting for another graphcred', retry: 'yes' },
  { status: 10, codes: ['PARTIAL'], meaning: 'some of several failed', retry: 'see JSON' },
  { status: 125, codes: [], meaning: 'exec: failed before the command ran; error.code says why', retry: '' },
  { status: 126, codes: [], meaning: 'exec: the command is not executable', retry: '' },
  { status: 127, codes: [], meaning: 'exec: the command was not found', retry: '' },
  { status: 128, codes: [], meaning: 'exec: 128 + n, the command was killed by signal n', retry: '' },
  { status: 130, codes: ['CANCELLED'], meaning: 'Ctrl-C, or a closed prompt', retry: 'no' },
];

export function exitStatus(code: ErrorCode): number {
  return EXITS.find((row) => row.codes.includes(code))?.status ?? 1;
}

/** Whether it is inquirer's error for a prompt that was closed by Ctrl-C or by the end of its input. */
export function isClosedPrompt(error: unknown): boolean {
  return /^(?:Exit|Abort)PromptError$/.test(String((error as { name?: unknown } | undefined)?.name));
}
