import { describe, expect, it } from 'vitest';
import { questionsFor } from '../../scripts/conformance/ask.js';
import { compare } from '../../scripts/conformance/compare.js';
import { generationOf, recordSandbox } from '../../scripts/conformance/run.js';
import type { Switches } from '../../src/sandbox/switches.js';
import { TEXTS, type TextId } from '../../src/sandbox/texts.js';
import type { Text } from '../../src/sandbox/wording.js';
import { ACCOUNT, recordFrom, VERSIONS } from '../contract/conformance-support.js';

type Version = (typeof VERSIONS)[number];

const ON_3 = [
  ...['refreshed3', 'dropped3', 'badSecret3', 'noLogin3', 'badLogin3', 'unknownToken3'],
  ...['lifetimeNotNumber3', 'lifetimeNotPositive3', 'missingGraph3', 'unknownGraph3', 'noGraphInUse'],
  ...['unauthorized3', 'version3', 'unknownToken', 'expiredToken', 'unknownGraph', 'echo', 'version', 'ping'],
  'noSuchPage',
] as TextId[];
const FROM_3_5: TextId[] = [...ON_3, 'generated3', 'badBody3', 'methodGone3', 'missingToken'];
const ON_4: TextId[] = [
  ...(['generated4', 'generatedOld4', 'badLogin4', 'badSecret4', 'unknownGraph4', 'wrongScope4'] as const),
  ...(['lifetimeInvalid4', 'badBody4', 'methodGone4', 'tokensDropped4', 'foreignToken4'] as const),
  ...(['blockListFull4', 'checkPassed4', 'checkFailed4', 'version4', 'secretsDropped4'] as const),
  ...(['aliasTaken4', 'unknownAlias4', 'noSuchSecret4', 'missingToken', 'malformedToken'] as const),
  ...([
    'unknownGsqlSecret',
    'blockedToken',
    'expiredToken',
    'unknownGraph',
    'echo',
    'version',
    'ping',
  ] as const),
  'noSuchPage',
];

/** The texts that a server with the usual settings sends in answer to the questions. */
const REACHED: Readonly<Record<Version, readonly TextId[]>> = {
  '3.2.0': [...ON_3, 'generatedOld3', 'missingTokenOld'],
  '3.9.3': FROM_3_5,
  '3.10.1': [...FROM_3_5, 'unknownGsqlSecret'],
  '4.1.2': ON_4,
  '4.2.0': ON_4,
};

/** The texts with variants that a server never sends in answer to the questions. */
const NOT_REACHED: Partial<Record<TextId, string>> = {
  mayNotCreate: 'it takes a user without the right',
  mayNotCreate4: 'it takes a user without the right',
  mayNotCreateGlobal: 'it takes a user without the right',
  noPrivilege: 'it takes a second graph',
};

const SWITCHED: readonly { version: Version; switches: Partial<Switches>; found: string }[] = [
  { version: '4.2.0', switches: { secretsShape: 'object' }, found: 'secrets-two' },
  { version: '4.2.0', switches: { requestTokenOn4: 'gone' }, found: 'old-path' },
  { version: '4.2.0', switches: { requestTokenOn4: 'page' }, found: 'old-path' },
  { version: '4.2.0', switches: { versionLogin: 'wanted' }, found: 'version-4' },
  { version: '3.9.3', switches: { versionLogin: 'wanted' }, found: 'version-3' },
  { version: '4.2.0', switches: { globalTokenGraph: 'absent' }, found: 'token-60' },
  { version: '4.2.0', switches: { fullBlockList: 'forget-oldest' }, found: 'block-list' },
  { version: '4.2.0', switches: { blockListLimit: 50 }, found: 'block-list' },
  { version: '4.2.0', switches: { trailersOn4: true }, found: 'create' },
  { version: '3.2.0', switches: { refreshExpirationBefore35: 'epoch' }, found: 'refresh' },
  { version: '3.10.1', switches: { maxLifetime: 3600 }, found: 'token-lifetime-315360000' },
  { version: '4.2.0', switches: { maxLifetime: 3600 }, found: 'token-lifetime-315360000' },
];

async function differing(
  version: Version,
  options: Parameters<typeof recordFrom>[0],
  stock: Awaited<ReturnType<typeof recordSandbox>>,
): Promise<string[]> {
  const theirs = await recordFrom(options);
  const rows = compare(questionsFor(generationOf(version), true), { ...theirs, left: [] }, stock);
  return rows.filter(({ verdict }) => verdict === 'differs').map(({ id }) => id);
}

async function stockOf(version: Version) {
  return recordSandbox(await recordFrom({ serverVersion: version }), ACCOUNT);
}

describe.each(VERSIONS)('conformance with a %s server', (version) => {
  it('reports every other wording of a text that its questions get as an answer', async () => {
    const stock = await stockOf(version);
    const missed: string[] = [];
    for (const id of REACHED[version]) {
      const { variants }: Text = TEXTS[id];
      for (const variant of Object.keys(variants ?? {})) {
        const found = await differing(version, { serverVersion: version, texts: { [id]: variant } }, stock);
        if (found.length === 0) missed.push(`${id} ${variant}`);
      }
    }
    expect(missed).toEqual([]);
  }, 300_000);
});

describe('conformance', () => {
  it.each(SWITCHED)('reports the switch $switches of $version', async ({ version, switches, found }) => {
    expect(await differing(version, { serverVersion: version, switches }, await stockOf(version))).toContain(
      found,
    );
  });

  it('reports a server that counts lifetimes in milliseconds', async () => {
    const stock = await stockOf('4.2.0');
    const options = { serverVersion: '4.2.0', lifetimeUnit: 'ms' } as const;
    expect(await differing('4.2.0', options, stock)).toContain('token-60');
  });

  it('reports that the default password turns logins off', async () => {
    const options = {
      serverVersion: '4.2.0',
      users: [{ name: 'tigergraph', password: 'tigergraph', role: 'superuser' }],
    } as const;
    const stock = await recordSandbox(await recordFrom(options), ACCOUNT);
    const open = { ...options, switches: { defaultPassword: 'no-login' } } as const;
    expect(await differing('4.2.0', open, stock)).toEqual(
      expect.arrayContaining(['gsql-no-login', 'token-no-login']),
    );
  });

  it('lists for every text with variants whether its questions get it as an answer', () => {
    const reached = new Set<string>(Object.values(REACHED).flat());
    const open = Object.entries(TEXTS)
      .filter(([id, text]: [string, Text]) => text.variants && !reached.has(id))
      .map(([id]) => id);
    expect(open.sort()).toEqual(Object.keys(NOT_REACHED).sort());
  });
});
