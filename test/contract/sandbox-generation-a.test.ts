import { afterAll, beforeAll, describe, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/server.js';
import { demo, LOGIN, play, READER, type Row, SECRET } from './sandbox-raw.js';

/** Servers 3.0 to 3.4, played by 3.2.0: everything of a token travels in the query string. */
const GENERATED = 'Generate new token successfully.';
const TABLE: Row[] = [
  // Token endpoints
  {
    evidence: 'D',
    what: 'token from a secret; no content type before 3.6.3',
    server: 'rest',
    request: `GET /requesttoken?secret=${SECRET}&lifetime=1000000`,
    status: 200,
    answer: `{"code":"REST-0000","expiration":1701000000,"error":false,"message":"${GENERATED}","token":"{{t1}}"}`,
    type: null,
  },
  {
    evidence: 'D',
    what: 'the same under /restpp on the service port; about a month by default',
    request: `GET /restpp/requesttoken?secret=${SECRET}`,
    status: 200,
    answer: `{"code":"REST-0000","expiration":1702592000,"error":false,"message":"${GENERATED}","token":"{{t2}}"}`,
  },
  {
    evidence: 'D',
    what: 'the secret as the whole body',
    server: 'rest',
    request: 'POST /requesttoken?lifetime=1000000',
    body: `${SECRET}\n`,
    status: 200,
    answer: `{"code":"REST-0000","expiration":1701000000,"error":false,"message":"${GENERATED}","token":"{{t3}}"}`,
  },
  {
    evidence: 'F',
    what: 'token by password sits in results',
    server: 'rest',
    request: 'GET /requesttoken?graph=demo_graph',
    headers: LOGIN,
    status: 200,
    answer: `{"code":"REST-0000","expiration":1702592000,"error":false,"message":"${GENERATED}","results":{"token":"{{t4}}"}}`,
  },
  {
    evidence: 'C',
    what: 'JDBC before 3.5: authtoken',
    request: 'POST /gsqlserver/gsql/authtoken?graph=demo_graph',
    headers: { ...LOGIN, Accept: 'application/json; charset=UTF-8' },
    status: 200,
    answer: '{"error":false,"message":"","results":{"token":"{{t5}}"}}',
  },
  {
    evidence: 'C',
    what: 'authtoken has no words for a wrong password',
    request: 'POST /gsqlserver/gsql/authtoken?graph=demo_graph',
    headers: { Authorization: 'Basic ZGVtb191c2VyOndyb25n' },
    status: 401,
    answer: '{"error":true,"message":"","results":{}}',
  },
  {
    evidence: 'D',
    what: 'refresh echoes the lifetime',
    server: 'rest',
    request: `PUT /requesttoken?secret=${SECRET}&token={{t1}}&lifetime=15`,
    status: 200,
    answer:
      '{"code":"REST-0000","expiration":15,"error":false,"message":"Refresh token successfully.","token":"{{t1}}"}',
  },
  {
    evidence: 'A',
    what: 'delete',
    server: 'rest',
    request: `DELETE /requesttoken?secret=${SECRET}&token={{t3}}`,
    status: 200,
    answer:
      '{"code":"REST-0000","expiration":-1,"error":false,"message":"Drop token successfully.","token":"{{t3}}"}',
  },
  {
    evidence: 'C',
    what: 'unknown token: REST-3300, the words are assumed',
    server: 'rest',
    request: `DELETE /requesttoken?secret=${SECRET}&token={{t3}}`,
    status: 200,
    answer: '{"code":"REST-3300","error":true,"message":"The token does not exist."}',
  },
  {
    evidence: 'A',
    what: 'unknown secret',
    server: 'rest',
    request: 'GET /requesttoken?secret=s0000000000000000000000000000009',
    status: 200,
    answer: '{"code":"REST-3300","error":true,"message":"The secret is invalid."}',
  },
  {
    evidence: 'A',
    what: 'neither secret nor login',
    server: 'rest',
    request: 'GET /requesttoken?graph=demo_graph',
    status: 200,
    answer:
      '{"code":"REST-3300","error":true,"message":"Either a secret or a graph with user name and password is required."}',
  },
  {
    evidence: 'A',
    what: 'JSON is not understood yet: the body is taken for the secret',
    server: 'rest',
    request: 'POST /requesttoken',
    body: `{"secret":"${SECRET}"}`,
    status: 200,
    answer: '{"code":"REST-3300","error":true,"message":"The secret is invalid."}',
  },
  {
    evidence: 'D',
    what: 'nginx matches /requesttoken exactly on the REST port; RESTPP gets the rest',
    server: 'rest',
    request: `GET /requesttoken/?secret=${SECRET}`,
    status: 404,
    answer:
      '{"version":{"edition":"enterprise","api":"v2","schema":0},"error":true,"message":"Endpoint is not found from url = /requesttoken/, please use GET /endpoints to list all valid endpoints.","code":"REST-1000"}',
  },
  // GSQL transport
  {
    evidence: 'C',
    what: 'URL-encoded GSQL; the secret is followed by a space; code line last',
    request: 'POST /gsqlserver/gsql/file',
    headers: { ...LOGIN, 'Content-Type': 'application/x-www-form-urlencoded' },
    body: 'USE+GRAPH+demo_graph%0ACREATE+SECRET+ci',
    status: 200,
    answer:
      'Using graph \'demo_graph\'\nThe secret: {{s1}} has been created for user "demo_user".\n__GSQL__COOKIES__,{{xcookie}}\n__GSQL__RETURN__CODE__,0\n',
  },
  {
    evidence: 'D',
    what: 'SHOW SECRET masks, and shows live tokens after the alias',
    request: 'POST /gsqlserver/gsql/file',
    headers: LOGIN,
    body: 'USE GRAPH demo_graph SHOW SECRET',
    status: 200,
    answer:
      "Using graph 'demo_graph'\n    - Secret: s00****001\n      - Alias: demo_alias\n      - GraphName: demo_graph\n      - Token: {{t1}} expire at: 2023-11-14 22:13:35\n      - Token: {{t2}} expire at: 2023-12-14 22:13:20\n    - Secret: {{xmasked}}\n      - Alias: ci\n      - GraphName: demo_graph\n__GSQL__COOKIES__,{{xcookie2}}\n__GSQL__RETURN__CODE__,0\n",
  },
  {
    evidence: 'C',
    what: 'statements on one line, drop by alias',
    request: 'POST /gsqlserver/gsql/file',
    headers: LOGIN,
    body: 'USE GRAPH demo_graph DROP SECRET ci',
    status: 200,
    answer:
      "Using graph 'demo_graph'\nSuccessfully dropped secrets: [ci].\n__GSQL__COOKIES__,{{xcookie3}}\n__GSQL__RETURN__CODE__,0\n",
  },
  {
    evidence: 'C',
    what: 'alias taken: the words already exists, in a 200',
    request: 'POST /gsqlserver/gsql/file',
    headers: LOGIN,
    body: 'USE GRAPH demo_graph\nCREATE SECRET demo_alias',
    status: 200,
    answer:
      "Using graph 'demo_graph'\nThe secret with alias demo_alias already exists.\n__GSQL__COOKIES__,{{xcookie4}}\n__GSQL__RETURN__CODE__,212\n",
  },
  {
    evidence: 'C',
    what: 'unknown alias: Failed to drop secrets, in a 200',
    request: 'POST /gsqlserver/gsql/file',
    headers: LOGIN,
    body: 'USE GRAPH demo_graph\nDROP SECRET nobody',
    status: 200,
    answer:
      "Using graph 'demo_graph'\nFailed to drop secrets: [nobody].\n__GSQL__COOKIES__,{{xcookie5}}\n__GSQL__RETURN__CODE__,212\n",
  },
  {
    evidence: 'D',
    what: 'no graph in use: code 213, the words are assumed',
    request: 'POST /gsqlserver/gsql/file',
    headers: LOGIN,
    body: 'CREATE SECRET ci',
    status: 200,
    answer:
      'No graph is in use. Please run "USE GRAPH <graph>" first.\n__GSQL__COOKIES__,{{xcookie6}}\n__GSQL__RETURN__CODE__,213\n',
  },
  {
    evidence: 'A',
    what: 'missing graph',
    request: 'POST /gsqlserver/gsql/file',
    headers: LOGIN,
    body: 'USE GRAPH nowhere',
    status: 200,
    answer: "Graph 'nowhere' does not exist.\n__GSQL__COOKIES__,{{xcookie7}}\n__GSQL__RETURN__CODE__,212\n",
  },
  {
    evidence: 'A',
    what: 'a reader may not create secrets',
    request: 'POST /gsqlserver/gsql/file',
    headers: READER,
    body: 'USE GRAPH demo_graph\nCREATE SECRET mine',
    status: 200,
    answer:
      "Using graph 'demo_graph'\nSemantic Check Fails: You don't have permission to create a secret on graph 'demo_graph'.\n__GSQL__COOKIES__,{{xcookie8}}\n__GSQL__RETURN__CODE__,212\n",
  },
  {
    evidence: 'C',
    what: 'wrong password: 401, the only other status there is',
    request: 'POST /gsqlserver/gsql/file',
    headers: { Authorization: 'Basic ZGVtb191c2VyOndyb25n' },
    body: 'SHOW SECRET',
    status: 401,
    answer: '{"error":true,"message":"Authentication failed."}',
  },
  {
    evidence: 'C',
    what: 'version is told without login',
    request: 'POST /gsqlserver/gsql/version',
    body: 'v',
    status: 200,
    answer: 'GSQL version: 3.2.0\n',
  },
  {
    evidence: 'C',
    what: 'simpleauth: 200 for a good login',
    request: 'GET /gsqlserver/gsql/simpleauth',
    headers: READER,
    status: 200,
    answer:
      '{"error":false,"message":"","isSuperUser":false,"privileges":{"1":{"privileges":["READ_SCHEMA","READ_DATA"]},"demo_graph":{"privileges":["READ_SCHEMA","READ_DATA"]},"other_graph":{"privileges":["READ_SCHEMA","READ_DATA"]}},"roles":{"1":["queryreader"],"demo_graph":["queryreader"],"other_graph":["queryreader"]}}',
  },
  {
    evidence: 'C',
    what: '3.x has none of the 4.x paths',
    request: 'POST /gsql/v1/tokens',
    headers: LOGIN,
    body: '{}',
    status: 404,
    answer:
      '<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not Found</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n',
    type: 'text/html',
  },
  // The data server
  {
    evidence: 'D',
    what: 'ping: "false" is a string',
    request: 'GET /api/ping',
    status: 200,
    answer: '{"error":"false","message":"pong","results":{}}',
  },
  {
    evidence: 'D',
    what: 'no token: the words of 2020',
    server: 'rest',
    request: 'GET /version',
    status: 403,
    answer:
      '{"version":{"edition":"enterprise","api":"v2","schema":0},"error":true,"message":"Access Denied because the input token = \'\' is invalid.","code":"REST-10016"}',
  },
  {
    evidence: 'D',
    what: 'version with a token: raw line breaks, an empty third line before 3.9',
    server: 'rest',
    request: 'GET /version',
    headers: { Authorization: 'Bearer {{t2}}' },
    status: 200,
    answer:
      '{"error":"false", "message":"TigerGraph RESTPP: \n --- Version --- \n\nproduct              release_3.2.0_10-04-2023  559b6532eaf39c8e8074d2fa4960bb5158424aaa  2023-09-28 19:58:18 -0700\n{{x1}}\n{{x2}}\n{{x3}}\n"}',
  },
  {
    evidence: 'D',
    what: 'echo, with the trailing slash pyTigerGraph adds',
    server: 'rest',
    request: 'GET /echo/',
    headers: { Authorization: 'Bearer {{t2}}' },
    status: 200,
    answer: '{"error":false,"message":"Hello GSQL"}',
  },
  {
    evidence: 'D',
    what: 'a token opens the graph it was made for',
    server: 'rest',
    request: 'GET /graph/demo_graph/vertices/Person?limit=1',
    headers: { Authorization: 'Bearer {{t2}}' },
    status: 200,
    answer:
      '{"version":{"edition":"enterprise","api":"v2","schema":0},"error":false,"message":"","results":[{"v_id":"Ada","v_type":"Person","attributes":{"name":"Ada","age":25}}]}',
  },
  {
    evidence: 'F',
    what: 'and no other: REST-10018, the words are assumed',
    server: 'rest',
    request: 'GET /graph/other_graph/vertices/Person',
    headers: { Authorization: 'Bearer {{t2}}' },
    status: 401,
    answer:
      '{"version":{"edition":"enterprise","api":"v2","schema":0},"error":true,"message":"Access Denied because the input token = \'{{xmask}}\' has no privilege on graph \'other_graph\'.","code":"REST-10018"}',
  },
];

describe('generation A (3.2.0), raw HTTP', () => {
  let sandbox: Sandbox;
  const memory = new Map<string, string>();
  beforeAll(async () => {
    sandbox = await demo({ serverVersion: '3.2.0' });
  });
  afterAll(() => sandbox.close());

  for (const row of TABLE) {
    it(`[${row.evidence}] ${row.request.split('?')[0]}: ${row.what}`, () => play(sandbox, row, memory));
  }
});
