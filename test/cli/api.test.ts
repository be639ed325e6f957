import fs from 'node:fs';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { parseFault } from '../../src/sandbox/faults.js';
import { rawServer } from '../contract/core-support.js';
import { bench, cli, temporaryHome } from '../helpers/cli.js';
import { block, unused } from '../helpers/docs.js';
import { put, unremovable } from '../helpers/home.js';

test.each([
  [401, 'REST-10016', 'AUTH_FAILED'],
  [403, 'REST-10018', 'PERMISSION_DENIED'],
  [200, 'REST-10016', 'AUTH_FAILED'],
])(
  'for a token refused with %i %s: prints the answer on stdout and the error on stderr, and exits 4',
  async (status, serverCode, code) => {
    const { run, sandbox } = await bench({ serverVersion: '4.1.2' });
    const TG_API_TOKEN = 'canary-token';
    const body = `{"error":true,"code":"${serverCode}","message":"no ${TG_API_TOKEN} here"}`;
    sandbox.addFault({
      action: 'status',
      status,
      route: '/restpp/echo',
      header: `x-echo: ${TG_API_TOKEN}`,
      body,
    });
    const result = await run('api /echo -i -o json', { env: { TG_API_TOKEN } });
    expect(result.status).toBe(4);
    expect(result.stdout).toMatch(new RegExp(`^HTTP/1\\.1 ${status}\n`));
    // The token is removed from head and body, because people share error messages.
    expect(result.stdout).toContain('x-echo: [redacted]');
    expect(result.stdout.endsWith(`\n\n${body.replace(TG_API_TOKEN, '[redacted]')}\n`)).toBe(true);
    expect(JSON.parse(result.stderr).error).toMatchObject({ code, exitCode: 4 });
    expect(result.stderr).not.toContain(TG_API_TOKEN);
  },
);

test('an answer that is no JSON, or is long, is no error, and an error is one also with long lines', async () => {
  const { run, sandbox } = await bench();
  const long = 'long '.repeat(4000);
  for (const [body, status] of [
    ['plain text', 0],
    [`{"error":false,"results":"${long}"}`, 0],
    [`{"error":"true","message":"${long.slice(0, 1000)}\n"}`, 8],
  ] as const) {
    sandbox.addFault({ action: 'status', status: 200, route: '/echo', body, times: 1 });
    expect(await run('api /echo')).toMatchObject({ status, stdout: `${body}\n` });
  }
});

test.each(['3.10.1', '4.1.2'])(
  'an error at %s names a REST URL that is the GSQL server’s',
  async (serverVersion) => {
    const { run, sandbox } = await bench({ serverVersion });
    const env = { GRAPHCRED_REST_URL: sandbox.gsqlUrl, TG_API_TOKEN: 'token' };
    sandbox.addFault({ action: 'status', status: 404, route: 'GET /echo', body: '' });
    const { status, stderr } = await run('api /echo', { env });
    expect([status, stderr]).toEqual([3, expect.stringContaining('on 4.x add /restpp to the REST URL')]);
  },
);

test('a new token of a 4.x server whose REST URL is the GSQL server’s comes with a warning', async () => {
  const { run, sandbox } = await bench({ serverVersion: '4.1.2' });
  const { status, stderr } = await run('token get', { env: { GRAPHCRED_REST_URL: sandbox.gsqlUrl } });
  expect([status, stderr]).toEqual([0, expect.stringContaining('on 4.x add /restpp to the REST URL')]);
});

test('a body of more than 64 MB is refused before anything is sent', async () => {
  const { run, home, requests } = await bench();
  const bytes = 64 * 1024 * 1024 + 1;
  fs.writeFileSync(path.join(home, 'large'), '');
  fs.truncateSync(path.join(home, 'large'), bytes);
  expect(await run('api /echo -d @large')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('64 MB at most'),
  });
  expect((await run('api /echo -d -', { stdin: 'x'.repeat(bytes) })).status).toBe(2);
  expect(requests()).toEqual([]);
});

// holds: C2.26
test('a gateway that answers with the code of a refused token ends no token that is stored', async () => {
  const { run, sandbox, json } = await bench();
  await run('token get');
  const body = '{"code":"REST-10016","message":"session unknown"}';
  sandbox.addFault({ action: 'status', status: 401, route: '/echo', body });
  expect((await run('api /echo')).status).toBe(4);
  expect((await json<{ tokens: object[] }>('token list')).tokens).toHaveLength(1);
});

test('503 from a gateway prints only an error, and exits 7', async () => {
  const { run, sandbox } = await bench();
  sandbox.addFault(parseFault('route=/echo,action=status,status=503,body=<h1>gateway</h1>'));
  const stderr = expect.stringContaining('HTTP 503');
  expect(await run('api /echo --include')).toMatchObject({ status: 7, stdout: '', stderr });
});

test('bytes that are no text are sent and printed unchanged, but for the cookie of the GSQL server', async () => {
  const sent: Buffer[] = [];
  const url = await rawServer(async (request, response) => {
    sent.push(await buffer(request));
    response.end(Buffer.from('\xff\n__GSQL__COOKIES__,{}\n\0\x80', 'latin1'));
  });
  const home = temporaryHome();
  const env = {
    GRAPHCRED_REST_URL: url,
    GRAPHCRED_GSQL_URL: url,
    GRAPHCRED_SERVER_VERSION: '3',
    TG_API_TOKEN: 'abc123',
  };
  const api = (data: string, stdin = '') => cli(home, ['api', '/x', '-d', data], { env, stdin });
  put(home, 'marked.csv', '\ufeffa,b\n');
  fs.writeFileSync(path.join(home, 'bytes'), Buffer.from([0xff, 0, 0x80]));
  for (const data of ['@marked.csv', '@bytes', '-'])
    expect(await api(data, 'a\r\nb')).toMatchObject({ status: 0, stdout: '\xff\n\0\x80' });
  expect(sent).toEqual([Buffer.from('\ufeffa,b\n'), Buffer.from([0xff, 0, 0x80]), Buffer.from('a\r\nb')]);
});

describe.each([
  ['3.10.1', 0],
  ['4.1.2', 1],
])('the recipe for a file of statements on %s', (serverVersion, at) => {
  const recipe = block('with-other-tools.md', 'A .gsql file', 'sh', at)
    .trim()
    .replace(/^graphcred /, '');
  // holds: C8.6
  test.each([
    ['USE GRAPH demo\nSHOW SECRET', 0, 'Using graph'],
    ['nonsense', 8, 'Encountered "nonsense"'],
    ['USE GRAPH demo\nDROP SECRET c%69', 8, 'c%69'],
  ])('%j ends with %i, and arrives as it was written', async (text, status, part) => {
    const { run, home, json } = await bench({ serverVersion });
    await run('secret create ci');
    fs.writeFileSync(path.join(home, 'schema.gsql'), `${text}\n`);
    const result = await run(recipe);
    expect(result).toMatchObject({ status, stdout: expect.stringContaining(part) });
    if (status !== 0) expect(result.stderr).toMatch(/^graphcred: A statement failed/);
    const { secrets } = await json<{ secrets: { alias: string }[] }>('secret list');
    expect(secrets.map(({ alias }) => alias)).toEqual(['ci']);
  });
});

test('the page is read', () => {
  expect(unused('test/cli/api.test.ts')).toEqual([]);
});

test('api says so when the token that the server refused cannot be forgotten', async () => {
  const { run, json } = await bench();
  const { token } = await json<{ token: string }>('token get');
  await run('token delete --token-stdin --store none', { stdin: token });
  unremovable('token');
  const { status, stderr } = await run('api /echo');
  expect(stderr).toContain('a token that the server refuses is still stored here');
  expect(status).toBe(0);
});
