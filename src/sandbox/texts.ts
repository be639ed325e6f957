import { TEXTS_3 } from './3x/texts.js';
import { SECRETS_4, TOKENS_4 } from './4x/texts.js';
import { GSQL } from './gsql/texts.js';
import { RESTPP } from './restpp/texts.js';

/** One answer. `{name}` marks in the message are filled in. */
export interface Wording {
  /** The HTTP status; absent for a line of GSQL text, which always comes with 200. */
  readonly status?: number;
  /** The server's own error code. */
  readonly code?: string;
  /** The code that ends a GSQL text. */
  readonly returnCode?: number;
  /** With `body`, the whole body; otherwise the message in it. */
  readonly message: string;
  readonly body?: 'json' | 'text' | 'html';
  /** Further keys of the JSON object. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** A text of the tables. The comment above it says in which case a server sends it, and where that is known from. */
export interface Text extends Wording {
  /**
   * R recorded from a real server, D documented, C needed by a client that works on real servers, F field report; absent
   * when the text is assumed.
   */
  readonly evidence?: 'R' | 'D' | 'C' | 'F';
  /** Other wordings of the same case: what differs from the default. */
  readonly variants?: Readonly<Record<string, Partial<Wording>>>;
}

const ALL = { ...TEXTS_3, ...TOKENS_4, ...SECRETS_4, ...GSQL, ...RESTPP } satisfies Record<string, Text>;

export type TextId = keyof typeof ALL;

/**
 * Every text, code and status the sandbox answers with. When a real server answers with another text, correct the entry
 * and the transcript.
 */
export const TEXTS: Readonly<Record<TextId, Text>> = ALL;

/** The classes of refusal that `/gsql/v1/tokens/check` tells apart. Only the class names are documented. */
export const CHECK_REASONS = {
  malformed: 'the token is malformed',
  signature: 'the signature does not match',
  issuer: 'the issuer does not match',
  audience: 'the audience does not match',
  expired: 'the token is expired',
  user: 'the user does not exist',
  graph: 'the graph does not exist',
  access: 'the graph is not accessible',
  blocked: 'the token has been dropped',
} as const;
