import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/server.js';
import { basic, demo, LOGIN, NOW, play, READER, type Row, raw, SECRET } from './sandbox-raw.js';

/** Servers 3.5 to 3.11, played by 3.10.1: JSON bodies at /requesttoken. */
const MESSAGE =
  'Generate new token successfully.\\nWarning: Tigergraph Support cannot restore access to secrets/tokens for security reasons. Please save your secret/token and keep it safe and accessible.';
const ENVELOPE = '"version":{"edition":"enterprise","api":"v2","schema":0}';
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };
const BY_SECRET = { Authorization: basic('__GSQL__secret', SECRET) };

const TABLE: Row[] = [
  // Token endpoints
  {
    evidence: 'D',
    what: 'secret, lifetime as a string, JSON under a form content type',
    server: 'rest',
    request: 'POST /requesttoken',
    headers: FORM,
    body: `{"secret":"${SECRET}", "lifetime":"100000"}`,
    status: 200,
    answer: `{"code":"REST-0000","expiration":1700100000,"error":false,"message":"${MESSAGE}","token":"{{t1}}"}`,
    type: 'application/json',
  },
  {
    evidence: 'C',
    what: 'lifetime as a number; graph beside the secret is allowed',
    request: 'POST /restpp/requesttoken',
    body: `{"secret":"${SECRET}","graph":"demo_graph","lifetime":100000}`,
    status: 200,
    answer: `{"code":"REST-0000","expiration":1700100000,"error":false,"message":"${MESSAGE}","token":"{{t2}}"}`,
  },
  {
    evidence: 'D',
    what: 'user and password: the token sits in results, about a month by default',
    server: 'rest',
    request: 'POST /requesttoken',
    headers: LOGIN,
    body: '{"graph":"demo_graph"}',
    status: 200,
    answer: `{"code":"REST-0000","expiration":1702592000,"error":false,"message":"${MESSAGE}","results":{"token":"{{t3}}"}}`,
  },
  {
    evidence: 'C',
    what: 'single-quoted pseudo-JSON',
    server: 'rest',
    request: 'POST /requesttoken',
    headers: LOGIN,
    body: "{'graph': 'demo_graph'}",
    status: 200,
    answer: `{"code":"REST-0000","expiration":1702592000,"error":false,"message":"${MESSAGE}","results":{"token":"{{t4}}"}}`,
  },
  {
    evidence: 'C',
    what: 'user __GSQL__secret with the secret as password',
    server: 'rest',
    request: 'POST /requesttoken',
    headers: BY_SECRET,
    body: '{"graph":"demo_graph"}',
    status: 200,
    answer: `{"code":"REST-0000","expiration":1702592000,"error":false,"message":"${MESSAGE}","results":{"token":"{{t5}}"}}`,
  },
  {
    evidence: 'D',
    what: 'allowExisting gives an existing token with a day left, made to last anew',
    server: 'rest',
    request: 'POST /requesttoken',
    body: `{"secret":"${SECRET}","lifetime":"200000","allowExisting":"true"}`,
    status: 200,
    answer: `{"code":"REST-0000","expiration":1700200000,"error":false,"message":"${MESSAGE}","token":"{{t1}}"}`,
  },
  {
    evidence: 'D',
    what: 'refresh with the secret: epoch, counted from now',
    server: 'rest',
    request: 'PUT /requesttoken',
    body: `{"secret":"${SECRET}","token":"{{t1}}","lifetime":"15000"}`,
    status: 200,
    answer:
      '{"code":"REST-0000","expiration":1700015000,"error":false,"message":"Refresh token successfully.","token":"{{t1}}"}',
  },
  {
    evidence: 'D',
    what: 'refresh with user and password',
    request: 'PUT /restpp/requesttoken',
    headers: LOGIN,
    body: '{"token":"{{t3}}","lifetime":21600}',
    status: 200,
    answer:
      '{"code":"REST-0000","expiration":1700021600,"error":false,"message":"Refresh token successfully.","token":"{{t3}}"}',
  },
  {
    evidence: 'A',
    what: "another user's token is not known",
    server: 'rest',
    request: 'PUT /requesttoken',
    headers: { Authorization: basic('second', 'pass:with:colons') },
    body: '{"token":"{{t3}}"}',
    status: 200,
    answer: '{"code":"REST-3300","error":true,"message":"The token does not exist."}',
  },
  {
    evidence: 'D',
    what: 'delete with the secret',
    server: 'rest',
    request: 'DELETE /requesttoken',
    body: `{"token":"{{t2}}","secret":"${SECRET}"}`,
    status: 200,
    answer:
      '{"code":"REST-0000","expiration":-1,"error":false,"message":"Drop token successfully.","token":"{{t2}}"}',
  },
  {
    evidence: 'C',
    what: 'delete an unknown token: REST-3300, the words are assumed',
    server: 'rest',
    request: 'DELETE /requesttoken',
    body: `{"token":"{{t2}}","secret":"${SECRET}"}`,
    status: 200,
    answer: '{"code":"REST-3300","error":true,"message":"The token does not exist."}',
  },
  {
    evidence: 'D',
    what: 'delete with user and password',
    server: 'rest',
    request: 'DELETE /requesttoken',
    headers: LOGIN,
    body: '{"token":"{{t4}}"}',
    status: 200,
    answer:
      '{"code":"REST-0000","expiration":-1,"error":false,"message":"Drop token successfully.","token":"{{t4}}"}',
  },
  {
    evidence: 'F',
    what: 'unknown secret: an error in a 200, the words are assumed',
    server: 'rest',
    request: 'POST /requesttoken',
    body: '{"secret":"s0000000000000000000000000000009"}',
    status: 200,
    answer: '{"code":"REST-3300","error":true,"message":"The secret is invalid."}',
  },
  {
    evidence: 'F',
    what: 'wrong password: an error in a 200, the words are assumed',
    server: 'rest',
    request: 'POST /requesttoken',
    headers: { Authorization: basic('demo_user', 'wrong') },
    body: '{"graph":"demo_graph"}',
    status: 200,
    answer: '{"code":"REST-3300","error":true,"message":"Authentication failed."}',
  },
  {
    evidence: 'A',
    what: 'a lifetime that is no number',
    server: 'rest',
    request: 'POST /requesttoken',
    body: `{"secret":"${SECRET}","lifetime":"soon"}`,
    status: 200,
    answer: '{"code":"REST-3300","error":true,"message":"The lifetime is invalid."}',
  },
  {
    evidence: 'A',
    what: 'a missing graph',
    server: 'rest',
    request: 'POST /requesttoken',
    headers: LOGIN,
    body: '{"graph":"nowhere"}',
    status: 200,
    answer: '{"code":"REST-3300","error":true,"message":"Graph \'nowhere\' does not exist."}',
  },
  {
    evidence: 'A',
    what: 'a password without a graph',
    server: 'rest',
    request: 'POST /requesttoken',
    headers: LOGIN,
    body: '{}',
    status: 200,
    answer:
      '{"code":"REST-3300","error":true,"message":"Either a secret or a graph with user name and password is required."}',
  },
  {
    evidence: 'D',
    what: 'GET is gone since 3.5; the answer is assumed, JSON that says error',
    server: 'rest',
    request: `GET /requesttoken?secret=${SECRET}&lifetime=1000000`,
    status: 405,
    answer: '{"error":true,"message":"Method GET is not supported by /requesttoken."}',
  },
  {
    evidence: 'C',
    what: 'the GSQL server answers the same on its own path',
    request: 'POST /gsqlserver/requesttoken',
    body: `{"secret":"${SECRET}","lifetime":"60"}`,
    status: 200,
    answer: `{"code":"REST-0000","expiration":1700000060,"error":false,"message":"${MESSAGE}","token":"{{t6}}"}`,
  },
  {
    evidence: 'A',
    what: 'expired tokens are dropped on demand',
    request: 'DELETE /gsqlserver/expiredtoken',
    headers: LOGIN,
    status: 200,
    answer: '{"error":false,"message":"Successfully dropped the expired tokens."}',
  },
  // GSQL transport and secrets
  {
    evidence: 'C',
    what: 'URL-encoded GSQL; the session sits in the cookie line, the code line is last',
    request: 'POST /gsqlserver/gsql/file',
    headers: {
      ...LOGIN,
      ...FORM,
      'GSQL-Cookie': '{"fromGsqlClient":true,"terminalWidth":100,"graph":"demo_graph"}',
    },
    body: 'CREATE+SECRET+ci%3B',
    status: 200,
    answer: `The secret: {{s1}} has been created for user "demo_user".\n__GSQL__COOKIES__,{"sessionId":"{{x1}}","serverId":"1_1600000000000","graph":"demo_graph","fromGsqlClient":true,"gShellTest":false,"terminalWidth":100,"compileThread":0,"fromGraphStudio":false,"fromGsqlServer":false,"sessionAborted":false,"loadingProgressAborted":false,"auth":"${LOGIN.Authorization}","metadataUpdateSeqId":0}\n__GSQL__RETURN__CODE__,0\n`,
    type: 'text/plain;charset=UTF-8',
  },
  {
    evidence: 'D',
    what: 'no alias: one is generated',
    request: 'POST /gsqlserver/gsql/file',
    headers: LOGIN,
    body: 'USE GRAPH other_graph\nCREATE SECRET\nSHOW SECRET',
    status: 200,
    answer:
      'Using graph \'other_graph\'\nThe secret: {{s2}} has been created for user "demo_user".\n    - Secret: {{x2}}\n      - Alias: {{a1}}\n      - GraphName: other_graph\n__GSQL__COOKIES__,{{x3}}\n__GSQL__RETURN__CODE__,0\n',
  },
  {
    evidence: 'C',
    what: 'drop by value; a failed statement does not stop the next',
    request: 'POST /gsqlserver/gsql/file',
    headers: LOGIN,
    body: 'USE GRAPH demo_graph\nDROP SECRET nobody\nDROP SECRET {{s1}}',
    status: 200,
    answer:
      "Using graph 'demo_graph'\nFailed to drop secrets: [nobody].\nSuccessfully dropped secrets: [{{s1}}].\n__GSQL__COOKIES__,{{x4}}\n__GSQL__RETURN__CODE__,212\n",
  },
  {
    evidence: 'C',
    what: 'alias taken',
    request: 'POST /gsqlserver/gsql/command',
    headers: LOGIN,
    body: 'USE GRAPH demo_graph CREATE SECRET demo_alias',
    status: 200,
    answer:
      "Using graph 'demo_graph'\nThe secret with alias demo_alias already exists.\n__GSQL__COOKIES__,{{x5}}\n__GSQL__RETURN__CODE__,212\n",
  },
  {
    evidence: 'D',
    what: 'syntax error: code 211, the words are assumed but for Encountered',
    request: 'POST /gsqlserver/gsql/file',
    headers: LOGIN,
    body: 'USE GRAPH demo_graph\nCREATE SECRET "two words"',
    status: 200,
    answer:
      'Using graph \'demo_graph\'\nEncountered "two words" at line 2, column 15.\n__GSQL__COOKIES__,{{x6}}\n__GSQL__RETURN__CODE__,211\n',
  },
  {
    evidence: 'D',
    what: 'Authorization: GSQL-Secret, since 3.10.1',
    request: 'POST /gsqlserver/gsql/file',
    headers: { Authorization: `GSQL-Secret ${SECRET}` },
    body: 'USE GRAPH demo_graph\nDROP SECRET nobody',
    status: 200,
    answer:
      "Using graph 'demo_graph'\nFailed to drop secrets: [nobody].\n__GSQL__COOKIES__,{{x7}}\n__GSQL__RETURN__CODE__,212\n",
  },
  {
    evidence: 'F',
    what: 'a bearer token is not taken by the GSQL server of 3.x',
    request: 'POST /gsqlserver/gsql/file',
    headers: { Authorization: 'Bearer {{t1}}' },
    body: 'SHOW SECRET',
    status: 401,
    answer: '{"error":true,"message":"Authentication failed."}',
  },
  {
    evidence: 'A',
    what: 'a reader may not create secrets',
    request: 'POST /gsqlserver/gsql/file',
    headers: READER,
    body: 'USE GRAPH demo_graph\nCREATE SECRET mine',
    status: 200,
    answer:
      "Using graph 'demo_graph'\nSemantic Check Fails: You don't have permission to create a secret on graph 'demo_graph'.\n__GSQL__COOKIES__,{{x8}}\n__GSQL__RETURN__CODE__,212\n",
  },
  {
    evidence: 'D',
    what: 'SHOW USER',
    request: 'POST /gsqlserver/gsql/file',
    headers: READER,
    body: 'SHOW USER',
    status: 200,
    answer:
      "  - Name: watcher\n    - Global Roles: \n    - Graph 'demo_graph' Roles: queryreader\n    - Graph 'other_graph' Roles: queryreader\n    - FailedAttempts: 0\n__GSQL__COOKIES__,{{x9}}\n__GSQL__RETURN__CODE__,0\n",
  },
  // The rest
  {
    evidence: 'C',
    what: 'every /gsql/v1 path is a 404',
    request: 'GET /gsql/v1/secrets',
    headers: LOGIN,
    status: 404,
    answer:
      '<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not Found</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n',
  },
  {
    evidence: 'D',
    what: 'no token at the data server',
    server: 'rest',
    request: 'GET /version',
    status: 403,
    answer: `{${ENVELOPE},"error":true,"message":"Access Denied because the input token = '' is empty or too short","code":"REST-10016"}`,
  },
  {
    evidence: 'F',
    what: 'a password is no token',
    server: 'rest',
    request: 'GET /version',
    headers: LOGIN,
    status: 403,
    answer: `{${ENVELOPE},"error":true,"message":"Access Denied because the input token = '' is empty or too short","code":"REST-10016"}`,
  },
  {
    evidence: 'D',
    what: 'the third line of /version since 3.9',
    server: 'rest',
    request: 'GET /version',
    headers: { Authorization: 'Bearer {{t1}}' },
    status: 200,
    answer:
      '{"error":"false", "message":"TigerGraph RESTPP: \n --- Version --- \nTigerGraph version: 3.10.1\nproduct              release_3.10.1_10-04-2023  559b6532eaf39c8e8074d2fa4960bb5158424aaa  2023-09-28 19:58:18 -0700\n{{x20}}\n{{x21}}\n{{x22}}\n"}',
  },
  {
    evidence: 'D',
    what: 'echo takes POST as well',
    request: 'POST /restpp/echo',
    headers: { Authorization: 'Bearer {{t1}}' },
    status: 200,
    answer: '{"error":false,"message":"Hello GSQL"}',
  },
  {
    evidence: 'D',
    what: 'GSQL-Secret opens the data server, too',
    server: 'rest',
    request: 'GET /graph/demo_graph/vertices/City?limit=1',
    headers: { Authorization: `GSQL-Secret ${SECRET}` },
    status: 200,
    answer: `{${ENVELOPE},"error":false,"message":"","results":[{"v_id":"Athens","v_type":"City","attributes":{"name":"Athens"}}]}`,
  },
  {
    evidence: 'D',
    what: 'unknown graph: REST-1004, the words are assumed',
    server: 'rest',
    request: 'GET /graph/nowhere/vertices/City',
    headers: { Authorization: 'Bearer {{t1}}' },
    status: 404,
    answer: `{${ENVELOPE},"error":true,"message":"Graph 'nowhere' is not found.","code":"REST-1004"}`,
  },
];

describe('generation B (3.10.1), raw HTTP', () => {
  let sandbox: Sandbox;
  const memory = new Map<string, string>();
  beforeAll(async () => {
    sandbox = await demo({});
  });
  afterAll(() => sandbox.close());

  for (const row of TABLE) {
    it(`[${row.evidence}] ${row.request.split('?')[0]}: ${row.what}`, () => play(sandbox, row, memory));
  }
});

describe('generation B, over time', () => {
  it('[D] refuses the tokens of a dropped secret, and an expired token by another code', async () => {
    let clock = NOW;
    const sandbox = await demo({ now: () => clock * 1000 });
    const mint = async () => {
      const reply = await raw(
        sandbox.restUrl,
        'POST /requesttoken',
        {},
        `{"secret":"${SECRET}","lifetime":60}`,
      );
      return (JSON.parse(reply.body) as { token: string }).token;
    };
    const use = (token: string) =>
      raw(sandbox.restUrl, 'GET /echo', { Authorization: `Bearer ${token}` }).then((reply) => [
        reply.status,
        (JSON.parse(reply.body) as { code?: string }).code,
      ]);

    const early = await mint();
    expect(await use(early)).toEqual([200, undefined]);
    clock += 60;
    expect(await use(early)).toEqual([401, 'REST-10019']);

    const late = await mint();
    expect(await use(late)).toEqual([200, undefined]);
    await raw(
      sandbox.gsqlUrl,
      'POST /gsqlserver/gsql/file',
      LOGIN,
      'USE GRAPH demo_graph\nDROP SECRET demo_alias',
    );
    expect(await use(late)).toEqual([403, 'REST-10016']);
    await sandbox.close();
  });

  it('[C] says REST-1000 with 404 while REST authentication is off, and everything else is open', async () => {
    const sandbox = await demo({ restAuth: 'off' });
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const reply = await raw(
        sandbox.restUrl,
        `${method} /requesttoken`,
        {},
        `{"secret":"${SECRET}","token":"x"}`,
      );
      expect(reply.status).toBe(404);
      expect(JSON.parse(reply.body)).toEqual({
        version: { edition: 'enterprise', api: 'v2', schema: 0 },
        error: true,
        message:
          'Endpoint is not found from url = /requesttoken, please use GET /endpoints to list all valid endpoints.',
        code: 'REST-1000',
      });
    }
    expect((await raw(sandbox.restUrl, 'GET /version')).status).toBe(200);
    expect((await raw(sandbox.gsqlUrl, 'GET /restpp/graph/demo_graph/vertices/Person')).status).toBe(200);
    await sandbox.close();
  });

  it('[D] takes a secret for a login only since the version that brought it', async () => {
    const forms = { header: { Authorization: `GSQL-Secret ${SECRET}` }, user: BY_SECRET };
    for (const [serverVersion, header, user] of [
      ['3.6.0', 401, 401],
      ['3.6.2', 401, 200],
      ['3.9.3', 401, 200],
      ['3.10.1', 200, 200],
    ] as const) {
      const sandbox = await demo({ serverVersion });
      const simple = async (login: Record<string, string>) =>
        (await raw(sandbox.gsqlUrl, 'GET /gsqlserver/gsql/simpleauth', login)).status;
      expect([serverVersion, await simple(forms.header), await simple(forms.user)]).toEqual([
        serverVersion,
        header,
        user,
      ]);
      const echo = await raw(sandbox.restUrl, 'GET /echo', forms.header);
      expect(echo.status).toBe(header === 200 ? 200 : 403);
      await sandbox.close();
    }
  });

  it('[C] names the session header as each version of the shell looks for it', async () => {
    for (const [serverVersion, name] of [
      ['3.1.0', 'Set-cookie'],
      ['3.2.0', 'Set-Cookie'],
      ['3.6.0', 'Set-Cookie'],
      ['3.6.2', 'Set-GSQL-Cookie'],
      ['3.9.3', 'Set-GSQL-Cookie'],
    ] as const) {
      const sandbox = await demo({ serverVersion });
      const reply = await raw(
        sandbox.gsqlUrl,
        'POST /gsqlserver/gsql/login',
        {},
        'ZGVtb191c2VyOmRlbW9fcGFzcw==',
      );
      expect(reply.rawHeaders).toContain(name);
      expect(JSON.parse(reply.rawHeaders[reply.rawHeaders.indexOf(name) + 1]!)).toMatchObject({
        auth: LOGIN.Authorization,
      });
      await sandbox.close();
    }
  });
});
