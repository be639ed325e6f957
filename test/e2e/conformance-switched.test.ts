import { describe, expect, it } from 'vitest';
import { questionsFor } from '../../scripts/conformance/ask.js';
import { compare } from '../../scripts/conformance/compare.js';
import { generationOf, recordSandbox } from '../../scripts/conformance/run.js';
import type { Switches } from '../../src/sandbox/switches.js';
import { ACCOUNT, recordFrom, type VERSIONS } from '../contract/conformance-support.js';

type Version = (typeof VERSIONS)[number];

const SWITCHED: readonly { version: Version; switches: Partial<Switches>; found: string }[] = [
  { version: '4.2.0', switches: { secretsShape: 'object' }, found: 'secrets-two' },
  { version: '4.2.0', switches: { fullBlockList: 'forget-oldest' }, found: 'block-list' },
  { version: '4.2.0', switches: { blockListLimit: 50 }, found: 'block-list' },
  { version: '3.10.1', switches: { maxLifetime: 3600 }, found: 'token-lifetime-315360000' },
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
});
