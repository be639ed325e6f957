// Lists what the sandbox assumes about real servers, and what these may do instead. The client must come to the same result.

import type { Switches } from '../../src/sandbox/switches.js';
import type { TextChoice, TextId } from '../../src/sandbox/texts.js';

const ANY = [200, 400, 401, 403, 404, 500] as const;
/** All statuses except 401 and 403, which alone would mean a refused login. */
const NO_LOGIN = [200, 400, 404, 500] as const;

/** Messages that neither the client nor the sandbox knows. */
const FOREIGN = ['', 'E-4711', 'Not today.', 'Operation could not be completed', 'エラー'] as const;
const FORBIDDEN = [
  "Semantic Check Fails: You don't have permission to do this on graph '{graph}'.",
  "User '{user}' does not have the permission to run the command. Required privilege on global: WRITE_SCHEMA.",
  'The user does not have enough privilege.',
  'Create secret failed: permission denied',
] as const;
const SUCCESS = ['', 'ok', 'Done.', 'The secret already exists no more, and no token failed.'] as const;

/** All variants and messages are tried with all statuses of the same entry. */
export interface Possible {
  readonly statuses?: readonly number[];
  readonly variants?: readonly string[];
  readonly messages?: readonly string[];
  readonly codes?: readonly (string | null)[];
}

const refusedToken: Possible = { statuses: ANY, messages: FOREIGN };
const refusedLogin3: readonly Possible[] = [{ statuses: ANY, variants: ['default', 'old'] }];
const refusedLogin4: readonly Possible[] = [
  { statuses: ANY, variants: ['default', 'old'] },
  { statuses: [401], messages: FOREIGN },
];

export const TEXTS_3: Partial<Record<TextId, readonly Possible[]>> = {
  generated3: [{ messages: SUCCESS }],
  generatedOld3: [{ messages: SUCCESS }],
  refreshed3: [{ messages: SUCCESS }],
  dropped3: [{ messages: SUCCESS }],
  // The client tells an unknown token from a bad secret, whichever of these messages each has.
  badSecret3: refusedLogin3,
  noLogin3: [{ statuses: ANY }],
  badLogin3: refusedLogin3,
  unknownToken3: [
    { statuses: ANY, variants: ['default', 'old'] },
    { statuses: ANY, codes: ['REST-3300'], messages: FOREIGN },
  ],
  refreshDenied3: [{ statuses: ANY }],
  dropDenied3: [{ statuses: ANY }],
  lifetimeTooLong3: [{ statuses: ANY }, { statuses: NO_LOGIN, messages: FOREIGN }],
  unknownGraph3: [
    {
      statuses: ANY,
      variants: ['default', 'old'],
      messages: ['Graph {graph} not found', "Semantic Check Fails: Graph '{graph}' could not be found."],
    },
  ],
  useGraphFailed: [
    { messages: ['Graph {graph} not found', "Semantic Check Fails: Graph '{graph}' does not exist."] },
  ],
  secretCreated: [{ messages: ['The secret: {secret} is ready.', 'The secret: {secret} '] }],
  aliasTaken: [
    { messages: ["Semantic Check Fails: '{alias}' already exists!", 'Secret {alias} already exists'] },
  ],
  secretDropped: [
    { messages: ['Successfully dropped secrets {alias}', 'Successfully dropped secrets: {alias}'] },
  ],
  secretNotDropped: [{ messages: ['Failed to drop secrets {alias}', 'Failed to drop secrets: "{alias}"'] }],
  noSecrets: [{ messages: ['', 'No secret.', 'The list is empty', 'User has no secrets on this graph'] }],
  mayNotCreate: [{ messages: FORBIDDEN }],
  unauthorized3: [{ statuses: [401], messages: FOREIGN }],
  version3: [{ messages: ['GSQL version {version}\n', 'GSQL version: v{version}\nGSQL commit number: 0\n'] }],
};

export const TEXTS_4: Partial<Record<TextId, readonly Possible[]>> = {
  generated4: [{ messages: SUCCESS }],
  tokensDropped4: [{ messages: SUCCESS }],
  secretsDropped4: [{ messages: SUCCESS }],
  checkPassed4: [{ messages: ['', 'The token {token} is good'] }],
  badLogin4: refusedLogin4,
  badSecret4: refusedLogin4,
  unknownGraph4: [{ statuses: ANY, variants: ['default', 'old'] }],
  lifetimeTooLong4: [{ statuses: ANY }],
  foreignToken4: [{ statuses: NO_LOGIN, messages: FOREIGN }],
  // The messages about a full block list, and about a token that is on it.
  blockListFull4: [
    { statuses: NO_LOGIN, messages: ['limit', 'Too many tokens: limit {limit}', 'Limite limit'] },
  ],
  blockedToken: [refusedToken],
  checkFailed4: [{ statuses: [200, 400, 404], messages: [...FOREIGN, 'The token {token} has been revoked'] }],
  aliasTaken4: [{ statuses: ANY, messages: ['already exists', "Alias '{alias}' already exists."] }],
  unknownAlias4: [{ statuses: [200, 400, 404], messages: FOREIGN }, { statuses: [200, 400, 401, 403, 404] }],
  mayNotCreate4: [
    { statuses: ANY, messages: FORBIDDEN },
    { statuses: [403], messages: FOREIGN },
  ],
  version4: [{ variants: ['default', 'no-colon'] }],
};

/** The REST server of 3.x and 4.x: its codes are known, its messages are not. */
export const TEXTS_REST: Partial<Record<TextId, readonly Possible[]>> = {
  noEndpoint: [refusedToken],
  noEndpoint4: [refusedToken],
  missingToken: [refusedToken],
  missingTokenOld: [refusedToken],
  unknownToken: [refusedToken],
  expiredToken: [refusedToken],
  noPrivilege: [refusedToken],
  unknownGraph: [refusedToken],
};

export const SWITCHES_4: { readonly [K in keyof Switches]?: readonly Switches[K][] } = {
  requestTokenOn4: ['served', 'gone', 'page'],
  deleteWithoutLogin: ['default-password', 'never'],
  passwordMintOn4: ['makes-secret', 'makes-none'],
  gsqlBodyOn4: ['plain', 'decoded'],
  globalTokenGraph: ['empty', 'absent'],
  plainTokensOn4: ['valid', 'refused'],
  blockListLimit: [2, 20, 50],
  trailersOn4: [false, true],
  zone: [
    { name: 'UTC', offsetMinutes: 0 },
    { name: 'HKT', offsetMinutes: 480 },
    { name: 'NST', offsetMinutes: -210 },
  ],
};

/** Returns every wording of an entry. */
export function wordings(possible: readonly Possible[]): TextChoice[] {
  return possible.flatMap(({ statuses = [undefined], variants = [], messages = [], codes = [undefined] }) => {
    const words = [...variants.map((variant) => ({ variant })), ...messages.map((message) => ({ message }))];
    return (words.length > 0 ? words : [{}]).flatMap((word) =>
      statuses.flatMap((status) =>
        codes.map((code) => ({
          ...word,
          ...(status !== undefined && { status }),
          ...(code !== undefined && { code }),
        })),
      ),
    );
  });
}
