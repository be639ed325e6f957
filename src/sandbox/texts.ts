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

/**
 * Why a JWT is refused: what RESTPP answers, and the class that `/gsql/v1/tokens/check` tells. Only the names of the
 * classes are documented.
 */
export const JWT_PROBLEMS = {
  malformed: ['malformedToken', 'the token is malformed'],
  signature: ['badSignature', 'the signature does not match'],
  issuer: ['wrongIssuer', 'the issuer does not match'],
  audience: ['wrongAudience', 'the audience does not match'],
  expired: ['expiredToken', 'the token is expired'],
  user: ['tokenUserGone', 'the user does not exist'],
  graph: ['tokenGraphGone', 'the graph does not exist'],
  access: ['tokenGraphClosed', 'the graph is not accessible'],
  blocked: ['blockedToken', 'the token has been dropped'],
} as const satisfies Record<string, readonly [TextId, string]>;
