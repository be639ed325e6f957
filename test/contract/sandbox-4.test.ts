import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/server.js';
import { temporaryHome } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';
import { basic, demo, LOGIN, NOW, raw, SECRET } from './sandbox-raw.js';

const claims = (token: string) =>
  JSON.parse(Buffer.from(defined(token.split('.')[1]), 'base64url').toString()) as Record<string, unknown>;

describe('servers 4.x, point by point', () => {
  const mint = async (sandbox: Sandbox, body: string, headers: Record<string, string> = {}) => {
    const reply = await raw(sandbox.gsqlUrl, 'POST /gsql/v1/tokens', headers, body);
    return (JSON.parse(reply.body) as { token: string }).token;
  };
  const use = async (sandbox: Sandbox, token: string, path = '/restpp/echo') => {
    const reply = await raw(sandbox.gsqlUrl, `GET ${path}`, { Authorization: `Bearer ${token}` });
    return [reply.status, (JSON.parse(reply.body) as { code?: string }).code];
  };

  it('[D] accepts a token for one graph only for that graph', async () => {
    const sandbox = await demo({ serverVersion: '4.2.0' });
    const token = await mint(sandbox, `{"secret":"${SECRET}","graph":"demo_graph"}`);
    expect(await use(sandbox, token, '/restpp/graph/demo_graph/vertices/City')).toEqual([200, undefined]);
    expect(await use(sandbox, token, '/restpp/graph/other_graph/vertices/City')).toEqual([401, 'REST-10018']);
    await sandbox.close();
  });

  it('[F] refuses an expired token and one signed with another key', async () => {
    let clock = NOW;
    const sandbox = await demo({ serverVersion: '4.1.2', now: () => clock * 1000 });
    const other = await demo({ serverVersion: '4.1.2' });
    const token = await mint(sandbox, `{"secret":"${SECRET}","lifetime":"60"}`);
    expect(await use(sandbox, token)).toEqual([200, undefined]);
    clock += 60;
    expect(await use(sandbox, token)).toEqual([401, 'REST-10019']);
    expect(await use(sandbox, await mint(other, `{"secret":"${SECRET}"}`))).toEqual([403, 'REST-10016']);
    await sandbox.close();
    await other.close();
  });

  it('[D] stores twenty tokens on the block list, and refuses the next', async () => {
    const sandbox = await demo({ serverVersion: '4.1.2' });
    const drop = async (lifetime: number) => {
      const token = await mint(sandbox, `{"secret":"${SECRET}","lifetime":${lifetime}}`);
      return raw(sandbox.gsqlUrl, 'DELETE /gsql/v1/tokens', LOGIN, JSON.stringify({ tokens: token }));
    };
    for (let i = 0; i < 20; i++) expect((await drop(100 + i)).status).toBe(200);
    const refused = await drop(500);
    expect(refused.status).toBe(400);
    expect(JSON.parse(refused.body)).toEqual({
      error: true,
      message: 'Failed to drop the specified JWT tokens: the limit of 20 is reached.',
    });
    await sandbox.close();
  });

  it('[C] refuses a bearer token on the GSQL server before 4.1.2', async () => {
    for (const [serverVersion, status] of [
      ['4.0.0', 401],
      ['4.1.0', 401],
      ['4.1.2', 200],
      ['4.2.0', 200],
    ] as const) {
      const sandbox = await demo({ serverVersion });
      const token = await mint(sandbox, `{"secret":"${SECRET}"}`);
      const login = { Authorization: `Bearer ${token}` };
      expect((await raw(sandbox.gsqlUrl, 'GET /gsql/v1/secrets', login)).status).toBe(status);
      expect((await raw(sandbox.gsqlUrl, 'GET /restpp/echo', login)).status).toBe(200);
      await sandbox.close();
    }
  });

  it('[A] refuses to mint, to check and to delete while REST authentication is off', async () => {
    const sandbox = await demo({ serverVersion: '4.1.2', restAuth: 'off' });
    for (const [method, path] of [
      ['POST', '/gsql/v1/tokens'],
      ['DELETE', '/gsql/v1/tokens'],
      ['POST', '/gsql/v1/tokens/check'],
      ['POST', '/restpp/requesttoken'],
    ] as const) {
      const reply = await raw(sandbox.gsqlUrl, `${method} ${path}`, LOGIN, '{}');
      expect(reply.status).toBe(404);
      expect(JSON.parse(reply.body)).toMatchObject({ error: true, code: 'REST-1000' });
    }
    expect((await raw(sandbox.gsqlUrl, 'GET /restpp/version')).status).toBe(200);
    await sandbox.close();
  });

  it('[A] deletes without login only while the default account has its default password', async () => {
    const users = [{ name: 'tigergraph', password: 'tigergraph', role: 'superuser' as const }];
    const lax = await demo({ serverVersion: '4.1.2', users, secrets: [] });
    const strict = await demo({
      serverVersion: '4.1.2',
      users,
      secrets: [],
      switches: { deleteWithoutLogin: 'never' },
    });
    for (const [sandbox, status] of [
      [lax, 200],
      [strict, 401],
    ] as const) {
      const token = await mint(sandbox, '{}', { Authorization: basic('tigergraph', 'tigergraph') });
      const reply = await raw(
        sandbox.gsqlUrl,
        'DELETE /gsql/v1/tokens',
        {},
        JSON.stringify({ tokens: token }),
      );
      expect(reply.status).toBe(status);
      await sandbox.close();
    }
  });

  it('[D] signs HS256 with the claims of the samples, and adds five seconds to the lifetime', async () => {
    const sandbox = await demo({ serverVersion: '4.1.2' });
    const all = await mint(sandbox, `{"secret":"${SECRET}"}`);
    expect(all.split('.')[0]).toBe(Buffer.from('{"alg":"HS256"}').toString('base64url'));
    const common = { sub: 'demo_user', iat: NOW - 5, iss: 'TigerGraph' };
    expect(claims(all)).toEqual({ ...common, exp: NOW + 604_800, graph: '' });
    const one = await mint(sandbox, `{"secret":"${SECRET}","graph":"demo_graph","lifetime":60}`);
    expect(claims(one)).toEqual({ ...common, exp: NOW + 60, graph: 'demo_graph' });
    expect(await use(sandbox, all, '/restpp/graph/other_graph/vertices/City')).toEqual([200, undefined]);
    await sandbox.close();
  });

  it('[D] leaves the graph out of a token for all graphs if the switch says so', async () => {
    const sandbox = await demo({ serverVersion: '4.1.2', switches: { globalTokenGraph: 'absent' } });
    const token = await mint(sandbox, `{"secret":"${SECRET}"}`);
    expect(Object.keys(claims(token))).toEqual(['sub', 'iat', 'exp', 'iss']);
    expect(await use(sandbox, token)).toEqual([200, undefined]);
    await sandbox.close();
  });

  it('[F] serves the REST server on its own port if one is set', async () => {
    const free = await demo({ serverVersion: '4.2.0' });
    const restPort = Number(new URL(free.gsqlUrl).port);
    await free.close();
    const sandbox = await demo({ serverVersion: '4.2.0', restPort });
    const restUrl = `http://127.0.0.1:${restPort}`;
    expect(sandbox.restUrl).toBe(`${sandbox.gsqlUrl}/restpp`);
    expect((await raw(restUrl, 'GET /version')).status).toBe(403);
    const minted = await raw(restUrl, 'POST /requesttoken', {}, `{"secret":"${SECRET}"}`);
    const { token } = JSON.parse(minted.body) as { token: string };
    expect((await raw(restUrl, 'GET /echo', { Authorization: `Bearer ${token}` })).status).toBe(200);
    expect((await raw(restUrl, 'POST /gsql/v1/tokens', {}, '{}')).status).toBe(404);
    await sandbox.close();
  });

  it('[D] accepts the tokens of a 3.x server after the upgrade until they expire', async () => {
    const folder = temporaryHome();
    const stateFile = join(folder, 'state.json');
    const old = await demo({ serverVersion: '3.10.1', stateFile });
    const minted = await raw(old.restUrl, 'POST /requesttoken', {}, `{"secret":"${SECRET}","lifetime":60}`);
    const { token } = JSON.parse(minted.body) as { token: string };
    const create = 'USE GRAPH demo_graph CREATE SECRET of_3';
    await raw(old.gsqlUrl, 'POST /gsqlserver/gsql/file', LOGIN, create);
    await old.close();

    let clock = NOW;
    const upgraded = await demo({ serverVersion: '4.1.2', stateFile, now: () => clock * 1000 });
    expect(await use(upgraded, token)).toEqual([200, undefined]);
    expect(await use(upgraded, token, '/restpp/graph/other_graph/vertices/City')).toEqual([
      401,
      'REST-10018',
    ]);
    const service = await raw(upgraded.gsqlUrl, 'GET /gsql/v1/secrets', { Authorization: `Bearer ${token}` });
    expect(service.status).toBe(401);
    await raw(upgraded.gsqlUrl, 'POST /__sandbox/switches', {}, '{"plainTokensOn4":"refused"}');
    expect(await use(upgraded, token)).toEqual([403, 'REST-10016']);
    await raw(upgraded.gsqlUrl, 'POST /__sandbox/switches', {}, '{"plainTokensOn4":"valid"}');

    const run = async (text: string) =>
      (await raw(upgraded.gsqlUrl, 'POST /gsql/v1/statements', LOGIN, text)).body;
    const shown = await run('SHOW SECRET');
    expect(shown).toContain('- Alias: of_3');
    // A secret of 4.x belongs to no graph.
    expect(shown).not.toContain('GraphName');
    expect(await run('CREATE SECRET of_3')).not.toContain('The secret: ');
    expect(await run('DROP SECRET of_3')).toContain('Successfully dropped secrets: [of_3]');

    clock += 60;
    expect(await use(upgraded, token)).toEqual([401, 'REST-10019']);
    expect((await raw(upgraded.gsqlUrl, 'DELETE /expiredtoken', LOGIN)).status).toBe(200);
    // The expired token was removed, so it is now refused as a text that is not a JWT.
    expect(await use(upgraded, token)).toEqual([403, 'REST-10016']);
    await upgraded.close();
  });
});
