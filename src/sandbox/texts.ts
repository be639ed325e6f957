import { TEXTS_3 } from './3x/texts.js';
import { SECRETS_4, TOKENS_4 } from './4x/texts.js';
import { GSQL } from './gsql/texts.js';
import { RESTPP } from './restpp/texts.js';
import type { Text } from './wording.js';

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
