import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { HttpReply, HttpRequest, Send } from '../../src/core/http/types.js';
import type { MintedToken } from '../../src/core/options.js';
import { BY_STATEMENT } from '../../src/core/protocol/gsql.js';
import type { Protocol, ServerCall, ServerSession } from '../../src/core/protocol/session.js';

import { V3 } from '../../src/core/protocol/v3.js';
import { V4 } from '../../src/core/protocol/v4.js';
import { versionOf } from '../../src/core/protocol/version.js';
import { Sensitive } from '../../src/core/sensitive.js';
import { BoundCredential, GraphException } from '../../src/index.js';
import { statementSession } from '../contract/core-support.js';
import { defined } from '../helpers/defined.js';
import { PROPERTY_MS, RUNS } from '../helpers/property.js';

const CANARIES = {
  password: 'canary-password-91f3',
  secret: 'canary0secret0canary0secret0cana',
  token: 'canary1token1canary1token1canary',
};
const REQUEST: HttpRequest = {
  server: 'service',
  base: 'http://127.0.0.1:14240',
  method: 'POST',
  path: '/gsqlserver/gsql/file',
};
const answered = (reply: HttpReply) => statementSession(() => ({ request: REQUEST, reply }));
const { listSecrets, createSecret, dropSecret } = BY_STATEMENT;
const SERVERS = { restUrl: 'http://127.0.0.1:9000', gsqlUrl: 'http://127.0.0.1:14240' };
const NOW = 1_700_000_000;
const replyOf = (body: string, status = 200): HttpReply => ({
  status,
  headers: {},
  body,
  serverTimeUnix: NOW,
});

/** Returns the value, or the error with which the call was refused. Any other exception fails the test. */
async function outcome<T>(work: () => T | Promise<T>): Promise<{ value: T } | { refused: GraphException }> {
  try {
    return { value: await work() };
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    return { refused: error };
  }
}

describe('GSQL texts', () => {
  const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,20}$/);
  const value = fc.stringMatching(/^[a-z0-9]{32}$/);
  const entry = fc.record({ alias: name, graph: name, value, tokens: fc.array(value, { maxLength: 2 }) });

  const line = fc.oneof(
    value.map((text) => `- Secret: ${text}`),
    name.map((text) => `  - Alias: ${text}`),
    value.map((text) => `The secret: ${text} has been created for user "tigergraph".`),
    fc.constantFrom(
      '- Secret:',
      '  - GraphName: ',
      'Successfully dropped secrets: [a].',
      'Failed to drop secrets: [a].',
      'Semantic Check Fails: no such alias',
      "Using graph 'demo'",
      '__GSQL__RETURN__CODE__,212',
      '__GSQL__RETURN__CODE__,0',
      '<html>',
    ),
    fc.string({ unit: 'binary' }),
  );
  // Lists are drawn often, because a random text is hardly ever read as a list.
  const list = fc
    .array(entry, { maxLength: 3 })
    .map((secrets) =>
      secrets.map((one) => `- Secret: ${one.value}\n- Alias: ${one.alias}\n- GraphName: ${one.graph}`),
    );
  const text = fc
    .tuple(list, fc.array(line, { maxLength: 8 }), fc.constantFrom('__GSQL__RETURN__CODE__,0', ''))
    .map(([secrets, lines, end]) => [...secrets, ...lines, end].join('\n'));

  test('with any content is parsed or refused, and no list shows a whole value', async () => {
    let shown = 0;
    await fc.assert(
      fc.asyncProperty(text, fc.constantFrom(200, 200, 400, 401, 403, 404, 500), async (body, status) => {
        const session = answered(replyOf(body, status));
        const list = await outcome(() => listSecrets(session));
        if ('value' in list) {
          for (const { alias, masked } of list.value) {
            shown++;
            expect(masked).toMatch(/^[\x21-\x7e]{0,4}\*{4}[\x21-\x7e]{0,4}$/);
            expect(alias).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
          }
        }
        const created = await outcome(() => createSecret(session, 'a', false));
        if ('value' in created) {
          const value = created.value.value.reveal();
          expect(value).toMatch(/^[\x21-\x7e]+$/);
          expect(body).toContain(`The secret: ${value}`);
        }
        const dropped = await outcome(() => dropSecret(session, 'a'));
        if ('value' in dropped && dropped.value === undefined) expect(body).toMatch(/successfully dropped/i);
      }),
      RUNS,
    );
    expect(shown).toBeGreaterThan(RUNS.numRuns / 5);
  });
});

describe('answers to calls', () => {
  const jwt = fc
    .oneof(
      fc.jsonValue(),
      fc.record({ exp: fc.oneof(fc.double(), fc.integer()), iat: fc.integer() }, { requiredKeys: [] }),
    )
    .map(
      (claims) =>
        `eyJhbGciOiJFUzI1NiJ9.${Buffer.from(JSON.stringify(claims) ?? '').toString('base64url')}.c2ln`,
    );
  const known = {
    error: fc.oneof(fc.boolean(), fc.constantFrom('true', 'false', '', 'maybe'), fc.jsonValue()),
    code: fc.oneof(fc.constantFrom('REST-0000', 'REST-3300', 'REST-10016', 'REST-1000', ''), fc.jsonValue()),
    message: fc.oneof(fc.constant(`bad ${Object.values(CANARIES).join(' ')}`), fc.jsonValue()),
    token: fc.oneof(fc.stringMatching(/^[a-z0-9]{32}$/), jwt, fc.jsonValue()),
    expiration: fc.oneof(
      fc.integer(),
      fc.double(),
      fc.constantFrom('2027-01-01 00:00:00', { toString: {} }),
      fc.jsonValue(),
    ),
  };
  const result = fc.oneof(
    fc.record({ alias: fc.string(), value: fc.string(), token: known.token }, { requiredKeys: [] }),
    fc.jsonValue(),
  );
  const fields = fc.record(
    { ...known, results: fc.oneof(result, fc.array(result, { maxLength: 3 })) },
    { requiredKeys: [] },
  );
  const body = fc.oneof(
    fields.map((value) => JSON.stringify(value)),
    fields.map((value) => JSON.stringify(value, null, 1).replaceAll(' ', '\u0001')),
    fc.json(),
    fc.string({ unit: 'binary' }),
    fc.constant('<html><body>Bad Gateway</body></html>'),
  );
  const status = fc.constantFrom(200, 200, 200, 200, 201, 400, 401, 403, 404, 409, 429, 500);
  // Answers with a token are drawn often, because a random text is hardly ever read as one.
  const granted = fc
    .record({
      error: fc.constantFrom(false, 'false', ''),
      token: fc.oneof(fc.stringMatching(/^[a-z0-9]{32}$/), jwt),
      expiration: known.expiration,
    })
    .map((value) => JSON.stringify(value));
  const answer = fc.oneof(fc.tuple(granted, fc.constant(200)), fc.tuple(body, status));
  const replies = fc.array(answer, { minLength: 1, maxLength: 4 });

  const bound = (value: string) => new BoundCredential(new Sensitive(value), SERVERS);
  const password = bound(CANARIES.password);
  const secret = bound(CANARIES.secret);
  const token = bound(CANARIES.token);

  function sending(answers: readonly (readonly [string, number])[]): Send {
    let next = 0;
    return async () => {
      const [text, code] = defined(answers[next++ % answers.length]);
      return replyOf(text, code);
    };
  }

  const session = (version: ServerSession['version'], send: Send) =>
    ({
      version,
      servers: SERVERS,
      graph: 'demo',
      secretsOf: undefined,
      graphsSeen: new Set(),
      secretOr: () => undefined,
      token: () => token,
      basicLogin: () => ({ scheme: 'Basic', username: 'user', credential: password }),
      confirmVersion: async () => {},
      ask: async (call: ServerCall) => {
        const hide = [password, secret, token];
        const request = { ...call, base: SERVERS.gsqlUrl, servers: SERVERS, hide };
        return { request, reply: await send(request) };
      },
    }) as Partial<ServerSession> as ServerSession;

  const CALLS: Record<string, (protocol: Protocol, on: ServerSession) => Promise<unknown>> = {
    listSecrets: (protocol, on) => protocol.listSecrets(on),
    createSecret: (protocol, on) => protocol.createSecret(on, 'a', true),
    createGenerated: (protocol, on) => protocol.createSecret(on, '', true),
    dropSecret: (protocol, on) => protocol.dropSecret(on, 'a'),
    mintToken: (protocol, on) => protocol.mint(on, secret, 3600, 's'),
    refreshToken: async (protocol, on) => protocol.refreshToken?.(on, token, secret, 3600),
    deleteToken: (protocol, on) => protocol.deleteToken(on, token, secret),
    checkToken: (protocol, on) => protocol.checkToken(on, token),
  };

  test.each(['3.2.0', '3.10.1', '4.1.2'])(
    'of %s are understood or refused, and no refusal repeats a credential',
    async (version) => {
      const protocol = version.startsWith('4') ? V4 : V3;
      const names = [...Object.keys(CALLS), 'mintToken', 'mintToken', 'refreshToken'];
      let tokens = 0;
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...names), replies, async (name, answers) => {
          const on = session(versionOf(version), sending(answers));
          const came = await outcome(() => defined(CALLS[name])(protocol, on));
          if ('refused' in came) {
            const { message, hint, serverText, serverCode } = came.refused;
            for (const canary of Object.values(CANARIES))
              expect(JSON.stringify([message, hint, serverText, serverCode])).not.toContain(canary);
            return;
          }
          const issued = came.value as MintedToken | undefined;
          if (!['mintToken', 'refreshToken'].includes(name) || issued === undefined) return;
          tokens++;
          expect(issued.token).toMatch(/^[\x21-\x7e]+$/);
          expect(Number.isInteger(issued.expiresAtUnix)).toBe(true);
          expect(issued.expiresAtUnix).toBeGreaterThanOrEqual(0);
          expect(issued.expiresAtUnix).toBeLessThanOrEqual(253_402_300_799);
          expect(issued.grantedSeconds).toBeGreaterThanOrEqual(0);
        }),
        RUNS,
      );
      expect(tokens).toBeGreaterThan(RUNS.numRuns / 40);
    },
    PROPERTY_MS,
  );
});
