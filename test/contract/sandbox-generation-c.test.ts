import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/server.js';
import { basic, demo, LOGIN, NOW, play, READER, type Row, raw, SECRET } from './sandbox-raw.js';

/** Servers 4.x, played by 4.1.2: /gsql/v1 on the service port, JWTs. */
const ENVELOPE = '"version":{"edition":"enterprise","api":"v2","schema":0}';
const JSON_TYPE = { 'Content-Type': 'application/json' };
const SECOND = { Authorization: basic('second', 'pass:with:colons') };
const BY_JWT = { Authorization: 'Bearer {{j1}}' };

const TABLE: Row[] = [
  // Tokens
  {
    evidence: 'D',
    what: 'secret alone, no login; a week; the date as Java prints it',
    request: 'POST /gsql/v1/tokens',
    headers: JSON_TYPE,
    body: `{"secret":"${SECRET}"}`,
    status: 200,
    answer:
      '{"expiration":"Tue Nov 21 22:13:20 UTC 2023","error":false,"message":"Generate new JWT token successfully.","token":"{{j1}}"}',
    type: 'application/json',
  },
  {
    evidence: 'D',
    what: 'user, password and graph, lifetime as a string of seconds',
    request: 'POST /gsql/v1/tokens',
    headers: { ...LOGIN, ...JSON_TYPE },
    body: '{"graph":"demo_graph","lifetime":"86400"}',
    status: 200,
    answer:
      '{"expiration":"Wed Nov 15 22:13:20 UTC 2023","error":false,"message":"Generate new JWT token successfully.","token":"{{jgraph}}"}',
  },
  {
    evidence: 'D',
    what: 'no body at all',
    request: 'POST /gsql/v1/tokens',
    headers: SECOND,
    status: 200,
    answer:
      '{"expiration":"Tue Nov 21 22:13:20 UTC 2023","error":false,"message":"Generate new JWT token successfully.","token":"{{jsecond}}"}',
  },
  {
    evidence: 'D',
    what: 'a reader may ask for a token',
    request: 'POST /gsql/v1/tokens',
    headers: READER,
    body: '{"lifetime":600}',
    status: 200,
    answer:
      '{"expiration":"Tue Nov 14 22:23:20 UTC 2023","error":false,"message":"Generate new JWT token successfully.","token":"{{jreader}}"}',
  },
  {
    evidence: 'D',
    what: 'Authorization: GSQL-Secret is a login, too',
    request: 'POST /gsql/v1/tokens',
    headers: { Authorization: `GSQL-Secret ${SECRET}` },
    body: '{"lifetime":3600}',
    status: 200,
    answer:
      '{"expiration":"Tue Nov 14 23:13:20 UTC 2023","error":false,"message":"Generate new JWT token successfully.","token":"{{jhour}}"}',
  },
  {
    evidence: 'D',
    what: 'a token is a login since 4.1.2',
    request: 'POST /gsql/v1/tokens',
    headers: BY_JWT,
    body: '{"lifetime":60}',
    status: 200,
    answer:
      '{"expiration":"Tue Nov 14 22:14:20 UTC 2023","error":false,"message":"Generate new JWT token successfully.","token":"{{jminute}}"}',
  },
  {
    evidence: 'A',
    what: 'unknown secret',
    request: 'POST /gsql/v1/tokens',
    headers: JSON_TYPE,
    body: '{"secret":"s0000000000000000000000000000009"}',
    status: 401,
    answer: '{"error":true,"message":"Authentication failed."}',
  },
  {
    evidence: 'C',
    what: 'wrong password: 401, the words are assumed',
    request: 'POST /gsql/v1/tokens',
    headers: { Authorization: basic('demo_user', 'wrong') },
    body: '{}',
    status: 401,
    answer: '{"error":true,"message":"Authentication failed."}',
  },
  {
    evidence: 'F',
    what: 'a graph that is not there; the status is disputed',
    request: 'POST /gsql/v1/tokens',
    headers: JSON_TYPE,
    body: `{"secret":"${SECRET}","graph":"MyDatabase"}`,
    status: 400,
    answer: '{"error":true,"message":"Graph MyDatabase not found"}',
  },
  {
    evidence: 'A',
    what: 'a lifetime below zero',
    request: 'POST /gsql/v1/tokens',
    headers: JSON_TYPE,
    body: `{"secret":"${SECRET}","lifetime":-5}`,
    status: 400,
    answer: '{"error":true,"message":"The lifetime is invalid."}',
  },
  {
    evidence: 'A',
    what: 'GET is a slip of the docs',
    request: 'GET /gsql/v1/tokens',
    headers: LOGIN,
    status: 405,
    answer: '{"error":true,"message":"Method GET is not supported by /gsql/v1/tokens."}',
  },
  {
    evidence: 'D',
    what: 'check needs no login and echoes the token',
    request: 'POST /gsql/v1/tokens/check',
    headers: JSON_TYPE,
    body: '{"token":"{{j1}}"}',
    status: 200,
    answer: '{"error":false,"message":"The token {{j1}} verification succeed."}',
  },
  {
    evidence: 'C',
    what: 'check as pyTigerGraph 2.0 sends it: form-encoded under a JSON content type, with a login',
    request: 'POST /gsql/v1/tokens/check',
    headers: { ...LOGIN, ...JSON_TYPE },
    body: 'token={{j1}}',
    status: 200,
    answer: '{"error":false,"message":"The token {{j1}} verification succeed."}',
  },
  {
    evidence: 'A',
    what: 'check of nonsense',
    request: 'POST /gsql/v1/tokens/check',
    body: '{"token":"invalid.JWT.Token"}',
    status: 200,
    answer:
      '{"error":true,"message":"The token invalid.JWT.Token verification failed: the token is malformed."}',
  },
  {
    evidence: 'D',
    what: 'delete: a comma-separated string',
    request: 'DELETE /gsql/v1/tokens',
    headers: { ...LOGIN, ...JSON_TYPE },
    body: '{"tokens":"{{jhour}}, {{jminute}}"}',
    status: 200,
    answer: '{"error":false,"message":"Successfully dropped the specified JWT tokens"}',
  },
  {
    evidence: 'A',
    what: 'delete: a list',
    request: 'DELETE /gsql/v1/tokens',
    headers: LOGIN,
    body: '{"tokens":["{{jgraph}}"]}',
    status: 200,
    answer: '{"error":false,"message":"Successfully dropped the specified JWT tokens"}',
  },
  {
    evidence: 'A',
    what: 'check of a deleted token',
    request: 'POST /gsql/v1/tokens/check',
    body: '{"token":"{{jhour}}"}',
    status: 200,
    answer: '{"error":true,"message":"The token {{jhour}} verification failed: the token has been dropped."}',
  },
  {
    evidence: 'A',
    what: 'delete with the key token: an error',
    request: 'DELETE /gsql/v1/tokens',
    headers: LOGIN,
    body: '{"token":"{{j1}}"}',
    status: 400,
    answer: '{"error":true,"message":"The field tokens is required."}',
  },
  {
    evidence: 'A',
    what: "delete another user's token",
    request: 'DELETE /gsql/v1/tokens',
    headers: LOGIN,
    body: '{"tokens":"{{jsecond}}"}',
    status: 400,
    answer:
      '{"error":true,"message":"Failed to drop the specified JWT tokens: not a token of user demo_user."}',
  },
  {
    evidence: 'D',
    what: 'delete needs a login',
    request: 'DELETE /gsql/v1/tokens',
    body: '{"tokens":"{{j1}}"}',
    status: 401,
    answer: '{"error":true,"message":"Authentication failed."}',
  },
  {
    evidence: 'A',
    what: 'clear=true is refused by the sandbox',
    request: 'DELETE /gsql/v1/tokens?clear=true',
    headers: LOGIN,
    status: 403,
    answer:
      '{"error":true,"message":"The sandbox never clears a block list: on a real server that brings dropped tokens back to life."}',
  },
  // Secrets
  {
    evidence: 'D',
    what: 'create',
    request: 'POST /gsql/v1/secrets?alias=ci',
    headers: { ...LOGIN, ...JSON_TYPE },
    status: 200,
    answer: '{"error":false,"message":"","results":{"alias":"ci","value":"{{s1}}"}}',
  },
  {
    evidence: 'D',
    what: 'create with a value of one’s own; the empty userName is pyTigerGraph’s',
    request: 'POST /gsql/v1/secrets?userName=&alias=chosen&value=c0000000000000000000000000000002',
    headers: SECOND,
    status: 200,
    answer:
      '{"error":false,"message":"","results":{"alias":"chosen","value":"c0000000000000000000000000000002"}}',
  },
  {
    evidence: 'D',
    what: 'no alias: one is generated',
    request: 'POST /gsql/v1/secrets',
    headers: BY_JWT,
    status: 200,
    answer: '{"error":false,"message":"","results":{"alias":"{{a1}}","value":"{{s2}}"}}',
  },
  {
    evidence: 'A',
    what: 'create an alias that is taken',
    request: 'POST /gsql/v1/secrets?alias=ci',
    headers: LOGIN,
    status: 400,
    answer: '{"error":true,"message":"The secret with alias ci already exists."}',
  },
  {
    evidence: 'A',
    what: 'an alias that is no identifier',
    request: 'POST /gsql/v1/secrets?alias=not%20one',
    headers: LOGIN,
    status: 400,
    answer: '{"error":true,"message":"The alias not one is not a valid identifier."}',
  },
  {
    evidence: 'A',
    what: 'a reader may not create secrets',
    request: 'POST /gsql/v1/secrets?alias=mine',
    headers: READER,
    status: 403,
    answer: '{"error":true,"message":"You don\'t have permission to create a secret."}',
  },
  {
    evidence: 'C',
    what: 'list: a list, in plain text; a mint by password has left a generated one',
    request: 'GET /gsql/v1/secrets',
    headers: LOGIN,
    status: 200,
    answer: `{"error":false,"message":"","results":[{"alias":"demo_alias","value":"${SECRET}"},{"alias":"{{a2}}","value":"{{s3}}"},{"alias":"ci","value":"{{s1}}"},{"alias":"{{a1}}","value":"{{s2}}"}]}`,
  },
  {
    evidence: 'D',
    what: "a superuser sees another user's",
    request: 'GET /gsql/v1/secrets?userName=second',
    headers: LOGIN,
    status: 200,
    answer:
      '{"error":false,"message":"","results":[{"alias":"{{a3}}","value":"{{s4}}"},{"alias":"chosen","value":"c0000000000000000000000000000002"}]}',
  },
  {
    evidence: 'D',
    what: 'nobody else does; the words are assumed',
    request: 'GET /gsql/v1/secrets?userName=demo_user',
    headers: SECOND,
    status: 403,
    answer: '{"error":true,"message":"You don\'t have permission to manage the secrets of user demo_user."}',
  },
  {
    evidence: 'D',
    what: 'one secret',
    request: 'GET /gsql/v1/secrets/ci',
    headers: LOGIN,
    status: 200,
    answer: '{"error":false,"message":"","results":{"alias":"ci","value":"{{s1}}"}}',
  },
  {
    evidence: 'C',
    what: 'one secret that is not there: no HTTP error, or pyTigerGraph’s createNew never works',
    request: 'GET /gsql/v1/secrets/nobody',
    headers: LOGIN,
    status: 200,
    answer: '{"error":true,"message":"The secret with alias nobody does not exist."}',
  },
  {
    evidence: 'A',
    what: 'drop several: all or nothing',
    request: 'DELETE /gsql/v1/secrets',
    headers: LOGIN,
    body: '{"secrets":["ci","nobody"]}',
    status: 404,
    answer: '{"error":true,"message":"Failed to drop secrets: [nobody]."}',
  },
  {
    evidence: 'D',
    what: 'drop several, by value and by alias',
    request: 'DELETE /gsql/v1/secrets',
    headers: LOGIN,
    body: '{"secrets":["{{s1}}","{{a1}}"]}',
    status: 200,
    answer: '{"error":false,"message":"Successfully removed the secrets for user demo_user."}',
  },
  {
    evidence: 'D',
    what: 'the key as one page of the docs spells it',
    request: 'DELETE /gsql/v1/secrets?userName=second',
    headers: LOGIN,
    body: '{"secrests":["chosen"]}',
    status: 200,
    answer: '{"error":false,"message":"Successfully removed the secrets for user second."}',
  },
  {
    evidence: 'D',
    what: 'drop one',
    request: 'DELETE /gsql/v1/secrets/demo_alias',
    headers: LOGIN,
    status: 200,
    answer: '{"error":false,"message":"Successfully removed the secrets for user demo_user."}',
  },
  {
    evidence: 'A',
    what: 'drop one that is not there',
    request: 'DELETE /gsql/v1/secrets/demo_alias',
    headers: LOGIN,
    status: 404,
    answer: '{"error":true,"message":"Failed to drop secrets: [demo_alias]."}',
  },
  {
    evidence: 'A',
    what: 'the JWT of a dropped secret lives on',
    request: 'GET /restpp/echo',
    headers: BY_JWT,
    status: 200,
    answer: '{"error":false,"message":"Hello GSQL"}',
  },
  // GSQL transport
  {
    evidence: 'C',
    what: 'raw GSQL, no graph needed, no graph shown',
    request: 'POST /gsql/v1/statements',
    headers: { ...LOGIN, 'Content-Type': 'text/plain' },
    body: 'CREATE SECRET ci\nDROP SECRET {{a2}}\nSHOW SECRET',
    status: 200,
    answer:
      'The secret: {{s5}} has been created for user "demo_user".\nSuccessfully dropped secrets: [{{a2}}].\n    - Secret: {{x1}}\n      - Alias: ci\n',
    type: 'text/plain;charset=UTF-8',
  },
  {
    evidence: 'F',
    what: 'a missing graph is reported, and the rest still runs',
    request: 'POST /gsql/v1/statements',
    headers: { ...LOGIN, 'Content-Type': 'text/plain' },
    body: 'USE GRAPH nowhere\nDROP SECRET ci',
    status: 200,
    answer: "Graph 'nowhere' does not exist.\nSuccessfully dropped secrets: [ci].\n",
  },
  {
    evidence: 'D',
    what: 'a token is a login here as well',
    request: 'POST /gsql/v1/statements',
    headers: BY_JWT,
    body: 'USE GRAPH demo_graph',
    status: 200,
    answer: "Using graph 'demo_graph'\n",
  },
  {
    evidence: 'A',
    what: 'a reader may not create secrets in GSQL either',
    request: 'POST /gsql/v1/statements',
    headers: READER,
    body: 'CREATE SECRET mine',
    status: 200,
    answer: "Semantic Check Fails: You don't have permission to create a secret.\n",
  },
  {
    evidence: 'C',
    what: 'no login',
    request: 'POST /gsql/v1/statements',
    body: 'SHOW SECRET',
    status: 401,
    answer: '{"error":true,"message":"Authentication failed."}',
  },
  {
    evidence: 'F',
    what: 'the 3.x path is gone',
    request: 'POST /gsqlserver/gsql/file',
    headers: LOGIN,
    body: 'SHOW SECRET',
    status: 404,
    answer:
      '<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not Found</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n',
  },
  // The rest
  {
    evidence: 'D',
    what: 'version is told without login',
    request: 'GET /gsql/v1/version?verbose=true',
    status: 200,
    answer:
      'GSQL version: 4.1.2\nGSQL commit number: {{x2}}\nGSQL commit date: {{x3}}\nThis is the graphcred sandbox, an imitation.\n',
    type: 'text/plain;charset=UTF-8',
  },
  {
    evidence: 'C',
    what: 'who am I',
    request: 'GET /gsql/v1/auth/simple',
    headers: BY_JWT,
    status: 200,
    answer:
      '{"error":false,"message":"","results":{"privileges":{"1":{"privileges":["READ_SCHEMA","READ_DATA","WRITE_DATA"]},"demo_graph":{"privileges":["READ_SCHEMA","READ_DATA","WRITE_DATA"]},"other_graph":{"privileges":["READ_SCHEMA","READ_DATA","WRITE_DATA"]}},"roles":{"1":["superuser"],"demo_graph":["superuser"],"other_graph":["superuser"]}}}',
  },
  {
    evidence: 'A',
    what: 'drop-all is refused by the sandbox',
    request: 'GET /gsql/v1/drop-all',
    headers: LOGIN,
    status: 403,
    answer:
      '{"error":true,"message":"The sandbox never drops everything. On a real server this call wipes the whole database."}',
  },
  {
    evidence: 'D',
    what: 'a global token opens every graph',
    request: 'GET /restpp/graph/other_graph/vertices/City?limit=1',
    headers: BY_JWT,
    status: 200,
    answer: `{${ENVELOPE},"error":false,"message":"","results":[{"v_id":"Athens","v_type":"City","attributes":{"name":"Athens"}}]}`,
  },
  {
    evidence: 'F',
    what: 'a secret is no bearer token',
    request: 'GET /restpp/echo',
    headers: { Authorization: `Bearer ${SECRET}` },
    status: 403,
    answer: `{${ENVELOPE},"error":true,"message":"Access Denied because the input token = 's000****0001' is not in correct format","code":"REST-10016"}`,
  },
  {
    evidence: 'A',
    what: 'a deleted token',
    request: 'GET /restpp/echo',
    headers: { Authorization: 'Bearer {{jhour}}' },
    status: 403,
    answer: `{${ENVELOPE},"error":true,"message":"Access Denied because the input token = '{{xmask}}' is in the block list","code":"REST-10016"}`,
  },
  {
    evidence: 'C',
    what: 'the old token path: no expiration, or pyTigerGraph fails on it',
    request: 'POST /restpp/requesttoken',
    headers: { ...LOGIN, ...JSON_TYPE },
    body: '{"graph":"demo_graph"}',
    status: 200,
    answer: '{"error":false,"message":"Generate new token successfully.","token":"{{jold}}"}',
  },
  {
    evidence: 'D',
    what: 'no refresh on 4.x',
    request: 'PUT /restpp/requesttoken',
    headers: LOGIN,
    body: '{"token":"{{j1}}"}',
    status: 404,
    answer: `{${ENVELOPE},"error":true,"message":"Endpoint is not found from url = /requesttoken, please use GET /endpoints to list all valid endpoints.","code":"REST-1000"}`,
  },
];

const claims = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>;

describe('generation C (4.1.2), raw HTTP', () => {
  let sandbox: Sandbox;
  const memory = new Map<string, string>();
  beforeAll(async () => {
    sandbox = await demo({ serverVersion: '4.1.2' });
  });
  afterAll(() => sandbox.close());

  for (const row of TABLE) {
    it(`[${row.evidence}] ${row.request.split('?')[0]}: ${row.what}`, () => play(sandbox, row, memory));
  }

  it('[D] signs HS256 with the claims of the samples: five seconds more than asked for', () => {
    expect(memory.get('j1')!.split('.')[0]).toBe(Buffer.from('{"alg":"HS256"}').toString('base64url'));
    expect(claims(memory.get('j1')!)).toEqual({
      sub: 'demo_user',
      iat: NOW - 5,
      exp: NOW + 604_800,
      iss: 'TigerGraph',
    });
    expect(claims(memory.get('jgraph')!)).toEqual({
      sub: 'demo_user',
      iat: NOW - 5,
      exp: NOW + 86_400,
      iss: 'TigerGraph',
      graph: 'demo_graph',
    });
  });
});

describe('generation C, point by point', () => {
  const mint = async (sandbox: Sandbox, body: string, headers: Record<string, string> = {}) => {
    const reply = await raw(sandbox.gsqlUrl, 'POST /gsql/v1/tokens', headers, body);
    return (JSON.parse(reply.body) as { token: string }).token;
  };
  const use = async (sandbox: Sandbox, token: string, path = '/restpp/echo') => {
    const reply = await raw(sandbox.gsqlUrl, `GET ${path}`, { Authorization: `Bearer ${token}` });
    return [reply.status, (JSON.parse(reply.body) as { code?: string }).code];
  };

  it('[D] keeps a token made for one graph to that graph', async () => {
    const sandbox = await demo({ serverVersion: '4.2.0' });
    const token = await mint(sandbox, `{"secret":"${SECRET}","graph":"demo_graph"}`);
    expect(await use(sandbox, token, '/restpp/graph/demo_graph/vertices/City')).toEqual([200, undefined]);
    expect(await use(sandbox, token, '/restpp/graph/other_graph/vertices/City')).toEqual([401, 'REST-10018']);
    await sandbox.close();
  });

  it('[F] refuses an expired token and one signed elsewhere', async () => {
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

  it('[D] holds twenty tokens on the block list, and refuses the next', async () => {
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

  it('[C] refuses a bearer token on the service server before 4.1.2', async () => {
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
});
