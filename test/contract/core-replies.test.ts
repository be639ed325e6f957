// Names that look like words of a server, and statements behind one that failed.
import { describe, expect, test } from 'vitest';
import type { GraphConnection } from '../../src/index.js';
import { answering, connect, connectionAt, refusalOf, sandbox, spilled } from './core-support.js';

const SECRET = 's3cret0000000000000000000000wxyz';

/** Starts a server that gives the same answer to everything, except for the paths and statements in `first`. */
async function saying(status: number, body: string, first: Readonly<Record<string, string>> = {}) {
  const asked: string[] = [];
  const { url } = await answering(({ line, body: sent }) => {
    const statement = decodeURIComponent(sent.replaceAll('+', ' '));
    asked.push(`${line} ${statement}`);
    const other = first[line.split('?', 1)[0] ?? ''] ?? first[statement];
    return other === undefined ? { status, body } : { body: other };
  });
  return { url, asked };
}

const CALLS: Record<'create' | 'drop', (conn: GraphConnection) => Promise<unknown>> = {
  create: (conn) => conn.createSecret('ci'),
  drop: (conn) => conn.dropSecret('ci', { ignoreErrors: false }),
};

describe('a failed USE GRAPH', () => {
  test.each(['3.2.0', '3.10.1'])('prevents %s, which would follow it', async (version) => {
    for (const operation of ['create', 'drop'] as const) {
      const { url, asked } = await saying(
        200,
        "Graph 'demo' does not exist.\nSuccessfully dropped secrets: [ci].\n",
      );
      const refused = await refusalOf(CALLS[operation](connectionAt(url, { serverVersion: version })));
      expect(refused).toMatchObject({ code: 'NOT_FOUND', ambiguous: false });
      expect(asked).toEqual(['POST /gsqlserver/gsql/file USE GRAPH demo']);
    }
  });

  test.each(['create', 'drop'] as const)(
    'between the check and %s counts as not done, and the error says that it may have been done',
    async (operation) => {
      const follows = `The secret: ${SECRET} has been created for user "ada".\nSuccessfully dropped secrets: [ci].\n__GSQL__RETURN__CODE__,0\n`;
      const { url } = await saying(200, `Graph 'demo' does not exist.\n${follows}`, {
        'USE GRAPH demo': "Using graph 'demo'\n",
      });
      const refused = await refusalOf(CALLS[operation](connectionAt(url)));
      expect(refused).toMatchObject({ code: 'NOT_FOUND', ambiguous: true });
      expect(refused.hint).toContain('look for the secret on the other graphs');
      expect(spilled(refused)).not.toContain(SECRET);
    },
  );

  test('is not repeated: a connection checks a graph once', async () => {
    const to = await sandbox({ serverVersion: '3.10.1' });
    const conn = connect(to, { serverVersion: '3.10.1' });
    for (const alias of ['a', 'b', 'c']) await conn.createSecret(alias);
    await conn.dropSecret(['a', 'b', 'c']);
    expect(to.requests.length).toBe(7);
  });
});

describe('names that look like error messages', () => {
  const NAMES = [
    'permission_sync',
    'permission',
    'denied',
    'privilege',
    'does_not_have',
    'already_exists',
    'not_found',
    'failed_to',
    'license_expired',
    'secret',
    'token',
    'graph',
    'invalid',
  ];

  test.each(['3.2.0', '3.10.1', '4.0.0', '4.1.2'])(
    'do not change the result as aliases and graphs on %s',
    async (serverVersion) => {
      const to = await sandbox({ serverVersion, graphs: NAMES });
      for (const name of NAMES) {
        const conn = connect(to, { graph: name });
        expect(await conn.dropSecret(name)).toBe(`Nothing dropped. There is no such secret: ${name}.`);
        await conn.createSecret(name);
        expect((await refusalOf(conn.createSecret(name))).code).toBe('ALREADY_EXISTS');
        expect(Object.keys(await conn.getSecrets())).toContain(name);
        expect(await conn.dropSecret(name)).toBe(`Dropped: ${name}.`);
        const elsewhere = connect(to, { password: 'wrong-password', graph: `${name}_2` });
        expect((await refusalOf(elsewhere.getSecrets())).code).toBe('AUTH_FAILED');
      }
    },
  );
});
