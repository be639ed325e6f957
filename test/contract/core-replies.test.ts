// Tests each known answer of real servers, with every status and with every operation that may receive it.
import { describe, expect, test } from 'vitest';
import { type ConnectionOptions, GraphConnection } from '../../src/index.js';
import { type Operation, REPLIES, type Said, SECRET, STATUSES, TOKEN } from './core-replies-data.js';
import { answering, refusalOf, sandbox, spilled } from './core-support.js';

/** Starts a server that gives the same answer to everything, except for the paths and statements in `first`. */
async function saying(status: number, body: string, first: Readonly<Record<string, string>> = {}) {
  const asked: string[] = [];
  const { url } = await answering(({ line, body: sent }) => {
    if (line.endsWith('/version'))
      return { status: line.includes('/gsqlserver') ? 200 : 404, body: 'GSQL version: 3.2.0' };
    const statement = decodeURIComponent(sent.replaceAll('+', ' '));
    asked.push(`${line} ${statement}`);
    const other = first[line.split('?', 1)[0] ?? ''] ?? first[statement];
    return other === undefined ? { status, body } : { body: other };
  });
  return { url, asked };
}

function at(url: string, serverVersion: string, login: Said['login'], options: ConnectionOptions = {}) {
  const credential = login === 'secret' ? { secret: SECRET } : { username: 'ada', password: 'correct-horse' };
  return new GraphConnection({
    restUrl: url,
    gsqlUrl: url,
    graph: 'demo',
    serverVersion,
    ...credential,
    ...options,
  });
}

const CALLS: Record<Operation, (conn: GraphConnection, secret: string) => Promise<unknown>> = {
  list: (conn) => conn.getSecrets(),
  create: (conn) => conn.createSecret('ci'),
  drop: (conn) => conn.dropSecret('ci', { ignoreErrors: false }),
  mint: (conn, secret) => conn.getToken({ secret }),
  refresh: (conn, secret) => conn.refreshToken({ secret, token: TOKEN }),
  delete: (conn, secret) => conn.deleteToken(secret, { token: TOKEN }),
  check: (conn) => conn.checkToken(TOKEN),
};
/** Requests that come before: on 4.x a token is checked before it is deleted, and on 3.x a graph is chosen before a write. */
const BEFORE = {
  'POST /gsql/v1/tokens/check': '{"error":false,"message":"The token verification succeed."}',
};

const rows = REPLIES.flatMap((said) =>
  said.versions.flatMap((version) =>
    said.at.map((operation) => ({
      said,
      version,
      operation,
      title: `${said.name} at ${operation} on ${version} is ${said.code}`,
    })),
  ),
);

describe('an answer of a real server gives the right error, whatever its status:', () => {
  test.each(rows)('$title', async ({ said, version, operation }) => {
    const { body, code, login } = said;
    const isMissing = code === 'missing' && operation === 'delete';
    for (const status of typeof body === 'string' ? [200] : STATUSES) {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const { url } = await saying(status, text, operation === 'check' ? {} : BEFORE);
      const conn = at(url, version, login);
      const refused = await refusalOf(CALLS[operation](conn, login === 'secret' ? SECRET : ''));
      expect(refused.code, `HTTP ${status}`).toBe(code === 'missing' ? 'NOT_FOUND' : code);
      if (said.option !== undefined) expect(refused.option).toBe(said.option);
      if (said.shows !== undefined) expect(refused.message).toContain(said.shows);
      expect(spilled(refused)).not.toContain(SECRET);
      expect(spilled(refused)).not.toContain(TOKEN);
      if (isMissing) expect(await conn.deleteToken(SECRET, { token: TOKEN, skipNA: true })).toBe(true);
    }
  });
});

describe('a failed USE GRAPH', () => {
  test.each(['3.2.0', '3.10.1'])('prevents %s, which would follow it', async (version) => {
    for (const operation of ['create', 'drop'] as const) {
      const { url, asked } = await saying(
        200,
        "Graph 'demo' does not exist.\nSuccessfully dropped secrets: [ci].\n",
      );
      const refused = await refusalOf(CALLS[operation](at(url, version, 'password'), ''));
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
      const refused = await refusalOf(CALLS[operation](at(url, '3.10.1', 'password'), ''));
      expect(refused).toMatchObject({ code: 'NOT_FOUND', ambiguous: true });
      expect(refused.hint).toContain('look at the secrets of the others');
      expect(spilled(refused)).not.toContain(SECRET);
    },
  );

  test('is not repeated: a connection checks a graph once', async () => {
    const to = await sandbox({ serverVersion: '3.10.1' });
    const conn = at(to.gsqlUrl, '3.10.1', 'password', { username: 'tigergraph', password: 'tigergraph' });
    for (const alias of ['a', 'b', 'c']) await conn.createSecret(alias);
    await conn.dropSecrets(['a', 'b', 'c']);
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
        const conn = new GraphConnection({
          restUrl: to.restUrl,
          gsqlUrl: to.gsqlUrl,
          username: 'tigergraph',
          password: 'tigergraph',
          graph: name,
        });
        expect(await conn.dropSecret(name)).toBe(`Nothing dropped. Not found: ${name}.`);
        await conn.createSecret(name);
        expect((await refusalOf(conn.createSecret(name))).code).toBe('ALREADY_EXISTS');
        expect(Object.keys(await conn.getSecrets())).toContain(name);
        expect(await conn.dropSecret(name)).toBe(`Dropped: ${name}.`);
        const elsewhere = new GraphConnection({
          restUrl: to.restUrl,
          gsqlUrl: to.gsqlUrl,
          username: 'tigergraph',
          password: 'wrong-password',
          graph: `${name}_2`,
        });
        expect((await refusalOf(elsewhere.getSecrets())).code).toBe('AUTH_FAILED');
      }
    },
  );

  test.each(NAMES)('do not change the result as the alias %s in an unknown message', async (name) => {
    for (const words of [
      `Cannot drop ${name}`,
      `Cannot drop '${name}' now`,
      `Cannot drop [${name}, other]`,
      `You cannot have ${name}: it is ${name} and ${name}`,
    ]) {
      const { url } = await saying(400, JSON.stringify({ error: true, message: words }), {
        'GET /gsql/v1/secrets': JSON.stringify({ error: false, results: [{ alias: name, value: SECRET }] }),
      });
      const refused = await refusalOf(at(url, '4.1.2', 'password').dropSecret(name));
      expect(refused.code).toBe('SERVER_ERROR');
    }
  });
});
