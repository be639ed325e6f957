import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SETTINGS } from '../../src/config/keys.js';
import { checkedConfig, parseConfig } from '../../src/config/parse.js';
import { BY_STATEMENT, graphFor, isPlainAlias, requirePlainAlias } from '../../src/core/protocol/gsql.js';
import { GraphException } from '../../src/index.js';
import { statementSession } from '../contract/core-support.js';
import { PROPERTY_MS, RUNS } from '../helpers/property.js';

/** Returns the error, which must have one of these codes; undefined when there was none. */
async function refusal(work: () => unknown, ...codes: string[]): Promise<GraphException | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    expect(codes).toContain(error.code);
    return error;
  }
}

describe('aliases', () => {
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_'];
  const plain = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/);

  // holds: C2.4
  test('an alias begins with a letter or _, continues with letters, digits and _, and has at most 128 characters', async () => {
    const digits = [...'0123456789'];
    const near = fc
      .tuple(plain, fc.string({ unit: 'binary', maxLength: 2 }), fc.nat(128))
      .map(([alias, other, at]) => alias.slice(0, at) + other + alias.slice(at));
    await fc.assert(
      fc.asyncProperty(fc.oneof(plain, near, fc.string({ unit: 'binary' })), async (alias) => {
        const [first = '', ...rest] = alias;
        const good =
          alias.length <= 128 &&
          letters.includes(first) &&
          rest.every((character) => letters.includes(character) || digits.includes(character));
        expect(isPlainAlias(alias)).toBe(good);
        expect((await refusal(() => requirePlainAlias(alias), 'USAGE')) === undefined).toBe(good);
      }),
      RUNS,
    );
  });

  test('whatever the name, one statement stays one statement', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(plain, fc.string({ unit: 'binary' })),
        fc.string({ unit: 'binary' }),
        async (alias, graph) => {
          const parts: unknown[] = [];
          const session = statementSession((_call, statement) => {
            parts.push(statement);
            throw new GraphException('NETWORK', 'nothing is sent');
          });
          await refusal(() => BY_STATEMENT.dropSecret(session, alias), 'USAGE', 'NETWORK');
          await refusal(() => parts.push(`USE GRAPH ${graphFor({ graph })}`), 'USAGE');
          if (isPlainAlias(alias))
            await refusal(() => BY_STATEMENT.createSecret(session, alias, false), 'NETWORK');
          for (const part of parts) {
            expect(part).toMatch(/^(SHOW SECRET|(DROP SECRET|CREATE SECRET|USE GRAPH) \S+)$/u);
            expect(part).not.toMatch(/[;'"`\\#\p{Cc}\p{Cf}]|\/\/|\/\*/u);
          }
        },
      ),
      RUNS,
    );
  });
});

describe('config files', () => {
  const CANARY = 'canaryPassw0rd';
  const word = fc.stringMatching(/^[A-Za-z0-9_./ :#{}&*!|>'"%@`,=-]{1,20}$/);
  const valueFor = {
    text: word,
    word,
    path: word,
    url: word,
    duration: fc.oneof(word, fc.nat()),
    port: fc.oneof(fc.nat(65_535), fc.nat(65_535).map(String)),
    boolean: fc.boolean(),
    list: fc.array(word, { minLength: 1, maxLength: 4 }),
  };
  const settings = fc.record(
    Object.fromEntries(Object.entries(SETTINGS).map(([key, { type }]) => [key, valueFor[type]])),
    { requiredKeys: [] },
  );

  /** Turns `tls.ca` into `tls: { ca: … }`. */
  function nested(flat: Record<string, unknown>): Record<string, unknown> {
    const written: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(flat)) {
      const [table = '', part] = key.split('.');
      written[table] = part === undefined ? value : Object.assign(written[table] ?? {}, { [part]: value });
    }
    return written;
  }

  test(
    'with any content are read or refused, and no error repeats the content',
    async () => {
      const broken = fc
        .tuple(settings, fc.string({ unit: 'binary', maxLength: 4 }), fc.nat(400), fc.nat(3))
        .map(([top, noise, at, cut]) => {
          const text = JSON.stringify({ password: CANARY, ...nested(top) }, null, 2);
          return text.slice(0, at) + noise + text.slice(at + cut);
        });
      const yaml = fc
        .array(
          fc.oneof(
            fc.constantFrom(
              'profiles:',
              '  dev:',
              `  password: ${CANARY}`,
              '- ',
              '&a *a',
              '<<: *a',
              '!!js/function',
              '? ',
              '|',
              '{',
              ']',
            ),
            word,
            fc.string({ unit: 'binary', maxLength: 8 }),
          ),
          { maxLength: 12 },
        )
        .map((lines) => lines.join('\n'));
      const file = fc.constantFrom('/x/.graphcredrc', '/x/.graphcredrc.json', '/x/.graphcredrc.yaml');
      await fc.assert(
        fc.asyncProperty(file, fc.oneof(broken, yaml, fc.string({ unit: 'binary' })), async (path, text) => {
          const refused = await refusal(() => parseConfig(path, text), 'CONFIG_INVALID');
          expect(`${refused?.message} ${refused?.hint}`).not.toContain(CANARY);
          expect(Object.keys(Object.prototype)).toEqual([]);
        }),
        RUNS,
      );
    },
    PROPERTY_MS,
  );

  test('of any shape are read or refused', async () => {
    const key = fc.oneof(
      fc.constantFrom(
        ...Object.keys(SETTINGS),
        'profiles',
        'tls',
        'defaultProfile',
        '__proto__',
        'constructor',
      ),
      fc.string(),
    );
    const shape = fc.letrec((tie) => ({
      value: fc.oneof({ depthSize: 'small' }, fc.jsonValue(), tie('table')),
      table: fc.dictionary(key, tie('value')),
    }));
    await fc.assert(
      fc.asyncProperty(fc.oneof(shape.table, fc.jsonValue()), async (data) => {
        await refusal(() => checkedConfig('/x/.graphcredrc', data), 'CONFIG_INVALID');
      }),
      RUNS,
    );
  });
});
