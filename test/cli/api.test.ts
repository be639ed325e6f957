import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { tokenFromVariable } from '../../src/auth/given-token.js';
import { BoundCredential, Sensitive } from '../../src/core/sensitive.js';
import { parseFault } from '../../src/sandbox/faults/faults.js';
import { bench, cli, quietSession, temporaryHome } from '../helpers/cli.js';
import { RUN_BY } from '../helpers/code-blocks.js';
import { block, unused } from '../helpers/docs.js';

interface Token {
  token: string;
}

describe.each(['3.2.0', '3.10.1', '4.1.2'])('api on %s', (serverVersion) => {
  const prefix = serverVersion.startsWith('4') ? '/restpp' : '';

  test.each([
    [401, 'REST-10016', 'AUTH_FAILED'],
    [403, 'REST-10018', 'PERMISSION_DENIED'],
    [200, 'REST-10016', 'AUTH_FAILED'],
  ])(
    'for a token refused with %i %s: prints the answer on stdout and the error on stderr, and exits 4',
    async (...given) => {
      const [status, serverCode, code] = given;
      const { run, json, sandbox } = await bench({ serverVersion });
      const { token } = await json<Token>('token get --store none');
      const body = `{"error":true,"code":"${serverCode}","message":"no ${token} here"}`;
      sandbox.addFault(parseFault(`route=${prefix}/echo,action=status,status=${status},body=${body}`));
      const result = await run('api /echo -i -o json', { env: { TG_API_TOKEN: token } });
      expect(result.status).toBe(4);
      expect(result.stdout).toMatch(new RegExp(`^HTTP/1\\.1 ${status}\n`));
      // The token is removed from the body, because people share error messages.
      expect(result.stdout.endsWith(`\n\n${body.replace(token, '[redacted]')}\n`)).toBe(true);
      expect(JSON.parse(result.stderr).error).toMatchObject({ code, exitCode: 4 });
      expect(result.stderr).not.toContain(token);
    },
  );
});

test('an answer that is no JSON, or is long, is no error', async () => {
  const { run, sandbox } = await bench();
  for (const body of ['plain text', `{"error":false,"results":"${'long '.repeat(4000)}"}`]) {
    sandbox.addFault({ action: 'status', status: 200, route: '/echo', body, times: 1 });
    expect(await run('api /echo')).toEqual({ status: 0, stdout: `${body}\n`, stderr: '' });
  }
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

test.each([502, 503, 504])('%i from a gateway prints only an error, and exits 7', async (status) => {
  const { run, sandbox } = await bench();
  sandbox.addFault(parseFault(`route=/echo,action=status,status=${status},body=<h1>gateway</h1>`));
  const stderr = expect.stringContaining(`HTTP ${status}`);
  expect(await run('api /echo -i')).toMatchObject({ status: 7, stdout: '', stderr });
});

test('-i prints status and headers, but no cookie', async () => {
  const { run } = await bench();
  const { stdout } = await run('api --include --service /api/ping');
  expect(stdout).toMatch(/^HTTP\/1\.1 200\n(?:[a-z-]+: .*\n)+\n\{.*\n$/);
  expect(stdout).not.toMatch(/cookie/i);
});

test('a terminal gets no control characters, and a pipe gets the unchanged bytes', async () => {
  const { run, sandbox } = await bench();
  const body = '<h1>\u001b]0;owned\u0007 \u009b31m\u202e\r\n\tü</h1>';
  sandbox.addFault(parseFault(`route=/echo,action=status,status=403,body=${body}`));
  expect(await run('api /echo')).toMatchObject({ status: 4, stdout: `${body}\n` });
  expect(await run('api /echo', { terminal: true })).toMatchObject({
    status: 4,
    stdout: '<h1>\\u001b]0;owned\\u0007 \\u009b31m\\u202e\n\tü</h1>\n',
  });
});

test('-d sends a text, a file or stdin unchanged, by POST unless -X gives a method', async () => {
  const seen: string[] = [];
  const server = http.createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    sent = Buffer.concat(parts);
    seen.push(`${request.method} ${request.headers.authorization} ${sent}`);
    response.end('{"error":false}');
  });
  let sent: Buffer | undefined;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  const home = temporaryHome();
  const { port } = server.address() as AddressInfo;
  const env = {
    GRAPHCRED_REST_URL: `http://127.0.0.1:${port}`,
    GRAPHCRED_SERVER_VERSION: '3',
    TG_API_TOKEN: 'abc123',
  };
  fs.writeFileSync(path.join(home, 'body.json'), '{"a":"ü"}\n');
  fs.writeFileSync(path.join(home, 'marked.csv'), '\ufeffa,b\n');
  const api = (argv: readonly string[], stdin = '') => cli(home, ['api', '/x', ...argv], { env, stdin });
  const done = { status: 0, stdout: '{"error":false}\n', stderr: '' };
  expect(await api(['-d', '{"a":1}'])).toEqual(done);
  expect(await api(['-d', '@body.json'])).toEqual(done);
  expect(await api(['-d', '@marked.csv'])).toEqual(done);
  expect(await api(['-d', '-'], 'a\r\nb')).toEqual(done);
  expect(await api(['-X', 'put', '-d', ''])).toEqual(done);
  expect(await api(['-X', 'DELETE'])).toEqual(done);
  expect(await api([], 'not read')).toEqual(done);
  const login = 'Bearer abc123';
  expect(seen.splice(0)).toEqual([
    `POST ${login} {"a":1}`,
    `POST ${login} {"a":"ü"}\n`,
    `POST ${login} \ufeffa,b\n`,
    `POST ${login} a\r\nb`,
    `PUT ${login} `,
    `DELETE ${login} `,
    `GET ${login} `,
  ]);
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  fs.writeFileSync(path.join(home, 'bytes'), bytes);
  expect(await api(['-d', '@bytes'])).toEqual(done);
  expect(sent).toEqual(bytes);
  seen.splice(0);
  for (const argv of [
    ['-d', '@missing'],
    ['-d', '-', '--password-stdin'],
  ])
    expect(await api(argv)).toMatchObject({ status: 2, stdout: '' });
  expect(seen).toEqual([]);
});

describe('TG_API_TOKEN', () => {
  test('goes with the servers that the variables beside it name, so that no later answer can lead it elsewhere', async () => {
    const { sandbox, home } = await bench();
    const { gsqlUrl, restUrl } = sandbox;
    const session = await quietSession(home, {
      TG_API_TOKEN: 'canary',
      TG_HOST: 'http://127.0.0.1',
      TG_RESTPP_PORT: new URL(restUrl).port,
      TG_GS_PORT: new URL(gsqlUrl).port,
    });
    const given = await tokenFromVariable(session);
    expect(given).toEqual(new BoundCredential(new Sensitive('canary'), { gsqlUrl, restUrl }));
  });

  test('is used instead of a cached token, and no token is minted if the server refuses it', async () => {
    const { run, json, requests } = await bench();
    const { token } = await json<Token>('token get --store none');
    requests();
    expect((await run('api /echo --server-version 3', { env: { TG_API_TOKEN: token } })).status).toBe(0);
    expect(requests()).toEqual(['GET /echo']);
    const wrong = { TG_API_TOKEN: `${token.slice(1)}x` };
    expect(await run('api /echo --server-version 3', { env: wrong })).toMatchObject({ status: 4 });
    expect(requests()).toEqual(['GET /echo']);
    expect(await json('token list')).toEqual({ schemaVersion: 1, tokens: [] });
  });

  test.each(['api /echo', 'token check'])(
    'is not sent by %s to an address in an untrusted file',
    async (line) => {
      const { run, json, requests, sandbox, home } = await bench();
      const { token } = await json<Token>('token get --store none');
      requests();
      const folder = path.join(home, 'project');
      fs.mkdirSync(folder);
      const profile = {
        gsqlUrl: sandbox.gsqlUrl,
        restUrl: sandbox.restUrl,
        username: 'tigergraph',
        password: 'tigergraph',
      };
      fs.writeFileSync(
        path.join(folder, '.graphcredrc.json'),
        JSON.stringify({ profiles: { default: profile } }),
      );
      const env = {
        TG_API_TOKEN: token,
        GRAPHCRED_REST_URL: '',
        GRAPHCRED_GSQL_URL: '',
        GRAPHCRED_USERNAME: '',
        GRAPHCRED_PASSWORD: '',
      };
      expect(await run(line, { cwd: folder, env })).toMatchObject({
        status: 5,
        stdout: '',
        stderr: expect.stringContaining('config trust'),
      });
      expect(requests()).toEqual([]);
    },
  );
});

describe.each([
  ['3.2.0', 0],
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
    ['USE GRAPH other', 3, "Graph 'other'"],
    ['USE GRAPH demo\nCREATE SECRET a+=1', 8, 'a+=1'],
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
  expect(unused(RUN_BY['test/cli/api.test.ts'])).toEqual([]);
});

test('api says so when the token that the server refused cannot be forgotten', async () => {
  const { run, json } = await bench();
  const { token } = await json<{ token: string }>('token get');
  await run('token delete --token-stdin --store none', { stdin: token });
  const remove = fs.rmSync;
  vi.spyOn(fs, 'rmSync').mockImplementation((file, options) => {
    if (/token-[0-9a-f]+\.json$/.test(String(file)))
      throw Object.assign(new Error('read-only'), { code: 'EROFS' });
    remove(file, options);
  });
  const { status, stderr } = await run('api /echo');
  expect(stderr).toContain('the refused token could not be forgotten here');
  expect(status).toBe(0);
});

test('api reports an error also when its message is long', async () => {
  const { run, sandbox } = await bench();
  const body = `{"error":"true","message":"${'long '.repeat(200)}"}`;
  sandbox.addFault(parseFault(`route=/echo,action=status,status=200,body=${body}`));
  expect(await run('api /echo')).toMatchObject({ status: 8, stdout: `${body}\n` });
});
