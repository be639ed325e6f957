import type { Exchange, HttpRequest, Operation } from '../http/types.js';
import { upTo } from '../redact.js';

/** A row of the table. It applies when everything given in it fits the answer. */
interface Row {
  readonly means: string;
  readonly code?: string;
  readonly returnCode?: number;
  readonly status?: number;
  readonly on?: readonly Operation[];
  /** Matches a whole sentence without its full stop; `.*` stands for the names that users chose. */
  readonly sentence?: RegExp;
  /** Matches part of a sentence, after quoted words and the names of the request were removed. */
  readonly part?: RegExp;
}

/** The classes are documented, but only the sentence about the audience is; the words of the others are assumed. */
const JWT_CLASSES = [
  { means: 'jwt-audience', part: /\baudience\b/i },
  { means: 'jwt-issuer', part: /\bissuer\b/i },
  { means: 'jwt-signature', part: /\bsignature\b/i },
  { means: 'jwt-user', part: /\buser\b.*\b(?:exist|found|unknown)\b/i },
  { means: 'jwt-graph', part: /\bgraph\b.*\b(?:exist|found|unknown)\b/i },
  { means: 'jwt-graph-denied', part: /\b(?:graph\b.*\baccess(?:ible)?|access(?: to)? (?:the )?graph)\b/i },
] as const satisfies readonly Row[];

const ON_GIVEN_TOKEN = ['refresh', 'delete'] as const;
/** What a 3.x server says when no token came, as behind a proxy that removes the header. */
export const NO_TOKEN = /Access Denied because the input token = '' is .*/;

/**
 * The first row that applies counts: codes come first, then whole sentences, then parts of sentences, then the status
 * alone. Where a text is known from is written in the sandbox's `texts.ts`.
 */
const REFUSALS = [
  { means: 'proxy-key', code: 'GRAPHCRED-401' },
  { means: 'rest-auth-off', code: 'REST-1000', on: ['mint', 'check', ...ON_GIVEN_TOKEN] },
  { means: 'token-without-privilege', code: 'REST-10018' },
  { means: 'token-expired', code: 'REST-10019' },
  { means: 'token-missing', code: 'REST-10016', sentence: NO_TOKEN },
  {
    means: 'token-malformed',
    code: 'REST-10016',
    sentence: /Access Denied because the input token = '.*' is not in correct format/,
  },
  ...JWT_CLASSES.map((row) => ({ ...row, code: 'REST-10016' })),
  { means: 'token-expired', code: 'REST-10016', part: /\bexpired\b/i },
  { means: 'token-refused', code: 'REST-10016' },
  { means: 'no-such-graph', code: 'REST-1004' },
  { means: 'lifetime-over-limit', code: 'REST-3101' },
  {
    means: 'no-such-graph',
    sentence: /Graph (?:'.*'|\S+) (?:does not exist|(?:is |could )?not (?:be )?found)/,
  },
  { means: 'no-such-user', sentence: /User .* does not exist/ },
  { means: 'no-such-graph', sentence: /No graph available\. Please create a graph first/ },
  { means: 'bad-login', sentence: /The secret '.*' is invalid\. Please enter a valid one/ },
  {
    means: 'bad-login',
    sentence:
      /The username or password is incorrect\. Please enter a valid one|(?:User a|A)uthentication failed/,
  },
  {
    means: 'unknown-token',
    on: ON_GIVEN_TOKEN,
    sentence: /The token '.*' is invalid, please provide a valid one/,
  },
  {
    means: 'no-permission',
    sentence:
      /(?:Refresh|Drop) token failed, Permission denied|User '.*' does not have the permission to run the command\. Required privilege on .*|You don't have (?:the )?permission .*/,
  },
  {
    means: 'token-of-other-graph',
    sentence: /Access Denied: The input token belongs to graph .*, but it is attempting operations on .*/,
  },
  { means: 'alias-taken', sentence: /The secret with alias .* already exists/ },
  { means: 'secrets-not-dropped', sentence: /Failed to drop secrets: \[.*\]/ },
  // Servers use this code for another case too, so the sentences above come before it.
  { means: 'unknown-token', code: 'REST-3300', on: ON_GIVEN_TOKEN },
  { means: 'bad-login', returnCode: 41 },
  { means: 'no-such-graph', returnCode: 213 },
  // Existing clients look only for these parts of sentences.
  ...JWT_CLASSES.map((row) => ({ ...row, on: ['check'] as const })),
  { means: 'token-expired', on: ['check'], part: /\btoken is expired\b/i },
  {
    means: 'password-login-off',
    part: /\bpassword (?:log-?in|authentication)\b.*\b(?:disabled|off|not (?:allowed|enabled|supported))\b/i,
  },
  { means: 'throttled', part: /\bplease re-?login after\b/i },
  { means: 'client-certificate', part: /\bclient certificate verification failed\b/i },
  { means: 'licence-expired', part: /\blicense expired\b/i },
  { means: 'alias-taken', part: /\balready exists\b/i },
  {
    means: 'no-permission',
    part: /\b(?:does not|do not|don't) have (?:the |enough |sufficient )?(?:permission|privilege)s?\b|\bpermission denied\b/i,
  },
  { means: 'syntax-error', part: /^Encountered / },
  { means: 'block-list-full', on: ['delete'], part: /\blimit of \d+ is reached\b/i },
  { means: 'bad-login', status: 401 },
  { means: 'no-permission', status: 403 },
] as const satisfies readonly Row[];

export type Meaning = (typeof REFUSALS)[number]['means'];

/** Whether a refusal is about the token, and not the login or the whole request. */
export function isAboutToken(means: Meaning | undefined): boolean {
  return /^(?:token|jwt)-/.test(means ?? '');
}

const ROWS: readonly (Row & { readonly means: Meaning })[] = REFUSALS.map((row) => {
  if (!('sentence' in row)) return row;
  const { source, flags } = row.sentence;
  return { ...row, sentence: new RegExp(`^(?:Semantic Check Fails: )?(?:${source})\\.?$`, flags) };
});

export interface ServerRefusal {
  /** For example REST-3300. */
  readonly code?: string | undefined;
  readonly returnCode?: number | undefined;
  /** The server's message, one sentence on each line. */
  readonly message: string;
}

/** The patterns take long for a long text. */
export const LONGEST_MESSAGE = 16_384;

export function meaningOf({ request, reply }: Exchange, refused: ServerRefusal): Meaning | undefined {
  const message = upTo(refused.message, LONGEST_MESSAGE);
  const sentences = [message, ...message.split(/[\r\n]+/)].map((one) =>
    one.replace(/[\p{Cc}\s]+/gu, ' ').trim(),
  );
  const bare = sentences.map((one) => withoutNames(one, request));
  const row = ROWS.find(
    ({ code, returnCode, status, on, sentence, part }) =>
      (code === undefined || code === refused.code) &&
      (returnCode === undefined || returnCode === refused.returnCode) &&
      (status === undefined || status === reply.status) &&
      (on === undefined || (request.operation !== undefined && on.includes(request.operation))) &&
      (sentence === undefined || sentences.some((one) => sentence.test(one))) &&
      (part === undefined || bare.some((one) => part.test(one))),
  );
  return row?.means;
}

/** Removes from a sentence what users chose: everything quoted or in brackets, and the names of this request. */
export function withoutNames(sentence: string, { names = [] }: HttpRequest): string {
  const unquoted = sentence.replace(/'[^']*'|\[[^\][]*\]/g, ' _ ');
  return names.reduce((text, name) => {
    const literal = name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
    return name === '' ? text : text.replace(new RegExp(`(?<![\\w-])${literal}(?![\\w-])`, 'gu'), '_');
  }, unquoted);
}
