import { ask, type Question } from './question.js';

const { everywhere, on3, on4, tokenRequest } = ask;
const TOKENS = { server: 'gsql', path: '/gsql/v1/tokens' } as const;
const CHECK = { server: 'gsql', path: '/gsql/v1/tokens/check', method: 'POST', login: 'password' } as const;
const REST = { server: 'rest', method: 'GET' } as const;
const SECRET = { secret: '{secret1}' };
/** The documented maximum of a block list is 20 tokens, and this is one more. */
const BLOCK_LIST = 21;

const ON_3: readonly Question[] = [
  ...tokenRequest({
    id: 'bad-secret',
    about: 'token from an unknown secret',
    method: 'POST',
    fields: { secret: '{badSecret}' },
  }),
  ...tokenRequest({
    id: 'bad-secret-gsql',
    about: 'token from an unknown secret, at the GSQL server',
    server: 'gsql',
    method: 'POST',
    fields: { secret: '{badSecret}' },
  }),
  ...tokenRequest({
    id: 'token-60',
    about: 'token with a lifetime of 60',
    method: 'POST',
    fields: { ...SECRET, lifetime: '60' },
    learn: { token: 'token1' },
  }),
  ...tokenRequest({
    id: 'token-default',
    about: 'token with the default lifetime',
    method: 'POST',
    fields: SECRET,
    learn: { token: 'token2' },
  }),
  ...tokenRequest({
    id: 'token-password',
    about: 'token from a password',
    method: 'POST',
    login: 'password',
    fields: { graph: '{graph}', lifetime: '60' },
    learn: { token: 'token3' },
  }),
  ...tokenRequest({
    id: 'token-no-graph',
    about: 'token from a password without a graph',
    method: 'POST',
    login: 'password',
    fields: { lifetime: '60' },
  }),
  ...tokenRequest({
    id: 'token-unknown-graph',
    about: 'token for an unknown graph',
    method: 'POST',
    login: 'password',
    fields: { graph: '{noGraph}', lifetime: '60' },
  }),
  ...['soon', '-1', '315360000'].flatMap((lifetime) =>
    tokenRequest({
      id: `token-lifetime-${lifetime}`,
      about: `token with a lifetime of ${lifetime}`,
      method: 'POST',
      fields: { ...SECRET, lifetime },
    }),
  ),
  ...tokenRequest({
    id: 'refresh',
    about: 'token refreshed',
    method: 'PUT',
    fields: { ...SECRET, token: '{token1}', lifetime: '90' },
  }),
  ...tokenRequest({
    id: 'refresh-unknown',
    about: 'unknown token refreshed',
    method: 'PUT',
    fields: { ...SECRET, token: '{badToken}', lifetime: '60' },
  }),
  ...tokenRequest({
    id: 'refresh-bad-secret',
    about: 'token refreshed with an unknown secret',
    method: 'PUT',
    fields: { secret: '{badSecret}', token: '{badToken}', lifetime: '60' },
  }),
  ...tokenRequest({
    id: 'delete-bad-secret',
    about: 'token deleted with an unknown secret',
    method: 'DELETE',
    fields: { secret: '{badSecret}', token: '{badToken}' },
  }),
  ...tokenRequest({
    id: 'delete-unknown',
    about: 'unknown token deleted',
    method: 'DELETE',
    fields: { ...SECRET, token: '{badToken}' },
  }),
  ...tokenRequest({
    id: 'delete-unknown-gsql',
    about: 'unknown token deleted, at the GSQL server',
    server: 'gsql',
    method: 'DELETE',
    login: 'password',
    fields: { token: '{badToken}' },
  }),
  { ...on3({ id: 'token-by-get', about: 'token by GET', ...REST, path: '/requesttoken' }), only: ['3.5'] },
  {
    ...on3({
      id: 'token-bad-json',
      about: 'token with a body that is no JSON',
      server: 'rest',
      method: 'POST',
      path: '/requesttoken',
      text: '[',
    }),
    only: ['3.5'],
  },
];

const ON_4: readonly Question[] = [
  on4({
    id: 'bad-secret',
    about: 'token from an unknown secret',
    ...TOKENS,
    method: 'POST',
    json: { secret: '{badSecret}' },
  }),
  on4({
    id: 'old-path',
    about: '/requesttoken on 4.x, with an unknown secret',
    server: 'rest',
    method: 'POST',
    path: '/requesttoken',
    json: { secret: '{badSecret}' },
  }),
  on4({
    id: 'token-60',
    about: 'token with a lifetime of 60',
    ...TOKENS,
    method: 'POST',
    json: { ...SECRET, lifetime: '60' },
    learn: { token: 'token1' },
  }),
  on4({
    id: 'token-default',
    about: 'token with the default lifetime',
    ...TOKENS,
    method: 'POST',
    json: SECRET,
    learn: { token: 'token2' },
  }),
  on4({
    id: 'old-path-token',
    about: '/requesttoken on 4.x, with a good secret',
    server: 'rest',
    method: 'POST',
    path: '/requesttoken',
    json: { ...SECRET, lifetime: '60' },
  }),
  on4({
    id: 'token-graph',
    about: 'token for one graph',
    ...TOKENS,
    method: 'POST',
    json: { ...SECRET, graph: '{graph}', lifetime: '120' },
    learn: { token: 'token3' },
  }),
  on4({
    id: 'token-unknown-graph',
    about: 'token for an unknown graph',
    ...TOKENS,
    method: 'POST',
    json: { ...SECRET, graph: '{noGraph}', lifetime: '60' },
  }),
  ...['soon', '-1', '315360000'].map((lifetime) =>
    on4({
      id: `token-lifetime-${lifetime}`,
      about: `token with a lifetime of ${lifetime}`,
      ...TOKENS,
      method: 'POST',
      json: { ...SECRET, lifetime },
    }),
  ),
  on4({ id: 'token-by-get', about: 'token by GET', ...TOKENS, method: 'GET' }),
  on4({
    id: 'token-bad-json',
    about: 'token with a body that is no JSON',
    ...TOKENS,
    method: 'POST',
    text: '[',
  }),
  on4({ id: 'check', about: 'a good token checked', ...CHECK, json: { token: '{token1}' } }),
  on4({ id: 'check-unknown', about: 'an unknown token checked', ...CHECK, json: { token: '{badToken}' } }),
  on4({
    id: 'beyond-graph',
    about: "a graph's token beyond its graph",
    server: 'gsql',
    method: 'GET',
    path: '/gsql/v1/secrets/{alias1}',
    login: { bearer: 'token3' },
  }),
  on4({
    id: 'delete-unknown',
    about: 'unknown token deleted',
    ...TOKENS,
    method: 'DELETE',
    login: 'password',
    json: { tokens: '{badToken}' },
  }),
];

const USE: readonly Question[] = [
  everywhere({
    id: 'rest-version',
    about: 'version of the REST server',
    ...REST,
    path: '/version',
    login: { bearer: 'token1' },
  }),
  everywhere({
    id: 'rest-version-graph',
    about: 'version of the REST server, for a graph',
    ...REST,
    path: '/version/{graph}',
    login: { bearer: 'token1' },
  }),
  everywhere({
    id: 'rest-unknown-graph',
    about: 'REST server, an unknown graph',
    ...REST,
    path: '/version/{noGraph}',
    login: { bearer: 'token1' },
  }),
  everywhere({ id: 'rest-echo', about: 'echo', ...REST, path: '/echo', login: { bearer: 'token1' } }),
];

const DELETED: readonly Question[] = [
  ...tokenRequest({
    id: 'delete',
    about: 'token deleted',
    method: 'DELETE',
    fields: { ...SECRET, token: '{token2}' },
  }),
  on4({
    id: 'delete',
    about: 'token deleted',
    ...TOKENS,
    method: 'DELETE',
    login: 'password',
    json: { tokens: '{token2}' },
  }),
  everywhere({
    id: 'rest-deleted',
    about: 'REST server with a deleted token',
    ...REST,
    path: '/version',
    login: { bearer: 'token2' },
  }),
  on4({ id: 'check-deleted', about: 'a deleted token checked', ...CHECK, json: { token: '{token2}' } }),
  ...tokenRequest({
    id: 'delete-again',
    about: 'token deleted again',
    method: 'DELETE',
    fields: { ...SECRET, token: '{token2}' },
  }),
  on4({
    id: 'delete-again',
    about: 'token deleted again',
    ...TOKENS,
    method: 'DELETE',
    login: 'password',
    json: { tokens: '{token2}' },
  }),
  ...tokenRequest({
    id: 'token-1',
    about: 'token with a lifetime of 1',
    method: 'POST',
    fields: { ...SECRET, lifetime: '1' },
    learn: { token: 'expired' },
  }),
  on4({
    id: 'token-1',
    about: 'token with a lifetime of 1',
    ...TOKENS,
    method: 'POST',
    json: { ...SECRET, lifetime: '1' },
    learn: { token: 'expired' },
  }),
  everywhere({
    id: 'rest-expired',
    about: 'REST server with an expired token',
    ...REST,
    path: '/version',
    login: { bearer: 'expired' },
    after: 3,
  }),
  on4({ id: 'check-expired', about: 'an expired token checked', ...CHECK, json: { token: '{expired}' } }),
];

/** The tokens have a short life, so that the list is soon empty again. */
const FULL_LIST: readonly Question[] = [
  ...Array.from({ length: BLOCK_LIST }, (_, i) =>
    on4({
      id: `block-token-${i + 1}`,
      about: `token ${i + 1} for the block list`,
      ...TOKENS,
      method: 'POST',
      json: { ...SECRET, lifetime: String(120 + i) },
      learn: { token: `blocked${i + 1}` },
      fillsBlockList: true,
    }),
  ),
  on4({
    id: 'block-list',
    about: `${BLOCK_LIST} tokens deleted at once`,
    ...TOKENS,
    method: 'DELETE',
    login: 'password',
    json: { tokens: Array.from({ length: BLOCK_LIST }, (_, i) => `{blocked${i + 1}}`).join(',') },
    fillsBlockList: true,
  }),
  on4({
    id: 'block-list-first',
    about: 'the first of them checked',
    ...CHECK,
    json: { token: '{blocked1}' },
    fillsBlockList: true,
  }),
];

export const TOKEN_QUESTIONS: readonly Question[] = [...ON_3, ...ON_4, ...USE, ...DELETED, ...FULL_LIST];
