// Tests the door of `graphcred proxy`, with the built command between a real client and the sandbox.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/server.js';
import { certificate } from '../helpers/certificate.js';
import { cli, temporaryHome } from '../helpers/cli.js';
import { block, unused } from '../helpers/docs.js';
import { put } from '../helpers/home.js';
import { freePort } from '../helpers/ports.js';
import { endOf, putCommand, sandboxFor, start } from '../helpers/process.js';

async function served(options: SandboxOptions = {}, ...argv: string[]) {
  const home = temporaryHome();
  const log: { path: string; status: number }[] = [];
  const { sandbox, env } = await sandboxFor(home, { ...options, log: (line) => log.push(JSON.parse(line)) });
  const mints = () => log.filter(({ path: at }) => /\/(requesttoken|tokens)$/.test(at)).length;
  const refused = () => log.filter(({ path: at, status }) => at === '/echo' && status !== 200);
  const { child, ended } = start(['proxy', '--store', 'none', ...argv], env, 'open', home);
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout?.once('data', (text) => resolve(String(text)));
    ended.then(({ stderr }) => reject(new Error(stderr)), reject);
  });
  const door = JSON.parse(line) as { restUrl: string; gsqlUrl: string; key: string };
  const ask = (target: string, init: RequestInit = {}) =>
    fetch(door.restUrl + target, {
      ...init,
      headers: { authorization: `Bearer ${door.key}`, ...init.headers },
    });
  return { sandbox, home, mints, refused, child, ended, door, ask };
}

/** Sends bytes to the door, and returns all that it answers. */
function raw(url: string, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = net.connect(Number(new URL(url).port), '127.0.0.1', () => socket.end(text));
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(answer));
  });
}

// holds: C8.9
test.each(['3.10.1', '4.1.2'])(
  'a command on %s gets the door, the key, and no token, and what it stores or learns is for the door alone',
  async (serverVersion) => {
    const home = temporaryHome();
    const { sandbox, env } = await sandboxFor(home, { serverVersion });
    const script =
      'curl -sS -H "Authorization: Bearer $TG_API_TOKEN" "$TG_HOST:$TG_RESTPP_PORT$AT/echo"; graphcred api /echo; graphcred config show --gsql-url http://other.example; graphcred token check 2>&1; env; exit 7';
    const AT = serverVersion.startsWith('4') ? '/restpp' : '';
    const { status, stdout } = await start(['proxy', '--store', 'none', '-q', '--', 'sh', '-c', script], {
      ...env,
      AT,
      TG_TGCLOUD: 'true',
      PATH: `${putCommand(home)}:${process.env.PATH}`,
    }).ended;
    expect({ status, stdout }).toMatchObject({
      status: 7,
      stdout: expect.stringMatching(/Hello GSQL[\s\S]*Hello GSQL/),
    });
    const checked = AT ? 'is a graphcred proxy, and this request lacks' : 'The server accepts the token.';
    expect(stdout).toContain(checked);
    expect(stdout).toMatch(/^TG_API_TOKEN=[a-z0-9]{32}$/m);
    expect(stdout).not.toContain('TG_TGCLOUD');
    expect(stdout).toMatch(/^serverVersion +auto /m);
    expect(stdout).toMatch(/^GRAPHCRED_STORE=none$/m);
    // On 3.x token check asks this path too.
    const asked = { status: 200, login: 'bearer' };
    const echoes = sandbox.requests.filter(({ path: at }) => at.endsWith('/echo'));
    expect(echoes).toMatchObject([asked, asked, ...(AT ? [] : [asked])]);
  },
);

test.each([
  [{}, '127.0.0.1', '127.0.0.1'],
  [{ NO_PROXY: 'a.example' }, 'a.example,127.0.0.1', 'a.example,127.0.0.1'],
  [{ NO_PROXY: '*', no_proxy: 'b.example' }, '*', '*'],
])('a command with %j reaches the door and these hosts without an HTTP proxy', async (own, upper, lower) => {
  const { env } = await sandboxFor(temporaryHome());
  const argv = ['proxy', '--store', 'none', '-q', '--', 'sh', '-c', 'echo "$NO_PROXY" "$no_proxy"'];
  expect((await start(argv, { ...env, ...own }).ended).stdout).toBe(`${upper} ${lower}\n`);
});

// holds: C8.9
test.each(['SIGTERM', 'SIGHUP'] as const)(
  'without a command one line tells the address and the key, and %s ends it with 0',
  async (signal) => {
    const port = await freePort();
    const { child, ended, door, home } = await served({}, '--port', String(port), '--key-file', 'key');
    expect(door).toEqual({
      schemaVersion: 1,
      restUrl: `http://127.0.0.1:${port}`,
      gsqlUrl: expect.any(String),
    });
    const key = fs.readFileSync(path.join(home, 'key'), 'utf8').trim();
    expect(fs.statSync(path.join(home, 'key')).mode & 0o777).toBe(0o600);
    const service = await fetch(`${door.gsqlUrl}/gsqlserver/gsql/version`, { method: 'POST' });
    expect(service.status).toBe(401);
    const reply = await fetch(`${door.restUrl}/echo`, { headers: { authorization: `Bearer ${key}` } });
    expect(reply.status).toBe(200);
    // The connection is kept, so the answer comes after the signal was handled.
    child.kill('SIGUSR1');
    await fetch(`${door.restUrl}/echo`, { headers: { authorization: `Bearer ${key}` } });
    child.kill(signal);
    expect(await ended).toMatchObject({ status: 0, stderr: expect.not.stringContaining('Debugger') });
    expect(fs.existsSync(path.join(home, 'key'))).toBe(false);
  },
);

// holds: C8.9
test('a proxy that ends leaves the key file of the one that was started after it', async () => {
  const first = await served({}, '--key-file', 'key');
  const file = path.join(first.home, 'key');
  fs.writeFileSync(file, 'the key of the second\n');
  first.child.kill('SIGTERM');
  expect(await first.ended).toMatchObject({ status: 0 });
  expect(fs.readFileSync(file, 'utf8')).toBe('the key of the second\n');
});

// holds: C8.9
test.each([
  ['3.9.3', 'password'],
  ['3.9.3', 'secret'],
  ['4.1.2', 'secret'],
])('on %s a %s opens the door of the GSQL server', async (serverVersion, kind) => {
  const secret = 'k3v9q2m8x1c7b5n4l6h0g3f2d8s9a1p4';
  const secrets = [{ alias: 'ci', value: secret, user: 'tigergraph', graph: 'demo' }];
  const home = temporaryHome();
  const { sandbox, env } = await sandboxFor(home, { serverVersion, secrets });
  const login =
    kind === 'secret' ? { GRAPHCRED_SECRET: secret, GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' } : {};
  const [port, servicePort] = [await freePort(), await freePort()];
  const ports = ['--port', `${port}`, '--service-port', `${servicePort}`];
  const path = serverVersion.startsWith('4') ? '/gsql/v1/auth/simple' : '/gsqlserver/gsql/simpleauth';
  const script = `curl -sS --fail -u "$TG_USERNAME:$TG_PASSWORD" "$TG_HOST:$TG_GS_PORT${path}"; env`;
  const argv = ['proxy', '--store', 'none', '-v', ...ports, '--', 'sh', '-c', script];
  const { status, stdout, stderr } = await start(argv, { ...env, ...login }).ended;
  expect({ status, stdout, stderr }).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('"privileges"'),
  });
  const user = kind === 'secret' ? '__GSQL__secret' : 'tigergraph';
  expect(stdout).toMatch(new RegExp(`^TG_USERNAME=${user}$`, 'm'));
  expect(stdout).toContain(`TG_RESTPP_PORT=${port}\n`);
  expect(stdout).toContain(`TG_GS_PORT=${servicePort}\n`);
  expect(stdout + stderr).not.toContain(secret);
  expect(stderr).toMatch(/token in use since \S+Z, ends at \S+Z\n/);
  const by = kind === 'secret' && serverVersion === '4.1.2' ? 'gsql-secret' : 'basic';
  expect(sandbox.requests.at(-1)).toMatchObject({ path, status: 200, login: by });
});

test('a secret that does not log in leaves the GSQL door to requests with the token', async () => {
  const secret = 'k3v9q2m8x1c7b5n4l6h0g3f2d8s9a1p4';
  const secrets = [{ alias: 'ci', value: secret, user: 'tigergraph', graph: 'demo' }];
  const { env } = await sandboxFor(temporaryHome(), { serverVersion: '3.5.0', secrets });
  const at = '"$TG_HOST:$TG_GS_PORT/restpp/echo"';
  const script = `curl -sS -H "Authorization: Bearer $TG_API_TOKEN" ${at}; curl -sS -u "x:$TG_API_TOKEN" ${at}; env`;
  const login = { GRAPHCRED_SECRET: secret, GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' };
  const argv = ['proxy', '--store', 'none', '--', 'sh', '-c', script];
  const { status, stdout } = await start(argv, { ...env, ...login }).ended;
  expect({ status, stdout }).toMatchObject({ status: 0, stdout: expect.stringContaining('Hello GSQL') });
  expect(stdout).toContain('"code":"GRAPHCRED-403"');
  expect(stdout).not.toMatch(/^TG_(USERNAME|PASSWORD)=/m);
});

test('a port that is taken is exit 2', async () => {
  const { sandbox, env } = await sandboxFor(temporaryHome());
  const taken = new URL(env.GRAPHCRED_GSQL_URL ?? '').port;
  const options = ['--store', 'none', '--service-port', taken];
  expect(await start(['proxy', ...options], env).ended).toMatchObject({
    status: 2,
    stderr: expect.stringContaining(`Port ${taken} of 127.0.0.1 is taken.`),
  });
  expect(sandbox.requests).toEqual([]);
});

test('the door of the GSQL server logs in with the new value of a secret that was rotated', async () => {
  const home = temporaryHome();
  const { env: all } = await sandboxFor(home, { serverVersion: '4.1.2' });
  const env = { ...all, GRAPHCRED_STORE: 'file' };
  expect((await cli(home, ['secret', 'create', 'main', '--save'], { env })).status).toBe(0);
  const own = { ...env, GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' };
  const { child, ended } = start(['proxy'], own, 'open', home);
  const [line] = (await once(child.stdout as Readable, 'data')) as [Buffer];
  const { gsqlUrl, key } = JSON.parse(String(line));
  const authorization = `Basic ${Buffer.from(`x:${key}`).toString('base64')}`;
  const status = async () =>
    (await fetch(`${gsqlUrl}/gsql/v1/secrets`, { headers: { authorization } })).status;
  expect(await status()).toBe(200);
  expect((await cli(home, ['secret', 'rotate', 'main'], { env: own })).status).toBe(0);
  expect(await status()).toBe(200);
  child.kill('SIGTERM');
  await ended;
});

test('a key takes the place of no device, pipe, link or file of something else', async () => {
  const { env } = await sandboxFor(temporaryHome());
  const link = path.join(temporaryHome(), 'link');
  fs.symlinkSync('/dev/full', link);
  const notes = put(temporaryHome(), 'notes', 'mine');
  const secret = put(temporaryHome(), 'secret', `${'k3v9'.repeat(8)}\n`);
  for (const file of ['/dev/full', link, notes, secret])
    expect(await start(['proxy', '--key-file', file], env).ended).toMatchObject({ status: 2, stdout: '' });
  expect([fs.statSync('/dev/full').isCharacterDevice(), fs.readlinkSync(link)]).toEqual([true, '/dev/full']);
  expect(fs.readFileSync(notes, 'utf8')).toBe('mine');
});

test('a key that cannot be written to its file, or to a reader that is gone, ends the proxy', async () => {
  const { env, sandbox } = await sandboxFor(temporaryHome());
  const argv = ['proxy', '--store', 'none', '--key-file', '/dev/null/key'];
  expect(await start(argv, env).ended).toMatchObject({ status: 5, stdout: '' });
  const unread = start(['proxy', '--store', 'none'], env);
  unread.child.stdout?.destroy();
  expect(await unread.ended).toMatchObject({ status: 2, stderr: expect.stringContaining('EPIPE') });
  // Nobody would see the key, so no token is made for it.
  const before = sandbox.requests.length;
  expect(await cli(temporaryHome(), ['proxy'], { env, toNowhere: true })).toMatchObject({ status: 2 });
  expect(sandbox.requests.length).toBe(before);
});

// holds: C8.10
test('what is not a request of the door is refused, and nothing is sent on', async () => {
  const { sandbox, door } = await served();
  const before = sandbox.requests.length;
  const host = new URL(door.restUrl).host;
  const key = `Authorization: Bearer ${door.key}`;
  const request = (line: string, ...headers: string[]) =>
    raw(door.restUrl, [line, ...headers, 'Connection: close', '', ''].join('\r\n'));
  const cases: [number, ...string[]][] = [
    [401, 'GET /echo HTTP/1.1', `Host: ${host}`],
    [403, 'GET /echo HTTP/1.1', key],
    [403, 'CONNECT evil.example:80 HTTP/1.1', `Host: ${host}`, key],
    [501, 'POST /echo HTTP/1.1', `Host: ${host}`, key, 'Transfer-Encoding: gzip, chunked'],
    [401, 'GET /echo HTTP/1.1', `Host: ${host}`, 'Authorization: Bearer wrong'],
    [401, `GET /echo?key=${door.key} HTTP/1.1`, `Host: ${host}`],
    [403, 'GET /echo HTTP/1.1', 'Host: evil.example', key],
    [400, 'GET http://evil.example/echo HTTP/1.1', `Host: ${host}`, key],
    [400, 'GET /../echo HTTP/1.1', `Host: ${host}`, key],
    [400, 'GET /%2e%2e/echo HTTP/1.1', `Host: ${host}`, key],
    [400, 'GET /a/..%2fecho HTTP/1.1', `Host: ${host}`, key],
    [400, 'GET /a/..;b/echo HTTP/1.1', `Host: ${host}`, key],
    [400, 'POST /echo HTTP/1.1', `Host: ${host}`, key, 'Content-Length: 0', 'Content-Length: 1'],
    [400, 'POST /echo HTTP/1.1', `Host: ${host}`, key, 'Content-Length: 0', 'Transfer-Encoding: chunked'],
    [431, 'GET /echo HTTP/1.1', `Host: ${host}`, key, `X: ${'x'.repeat(20_000)}`],
    [403, 'GET /gsql/v1/DROP%2dall HTTP/1.1', `Host: ${host}`, key],
  ];
  for (const [status, ...lines] of cases)
    expect(await request(lines[0] as string, ...lines.slice(1)), lines.join('\n').slice(0, 200)).toMatch(
      new RegExp(`^HTTP/1.1 ${status} `),
    );
  expect(sandbox.requests.length).toBe(before);
});

test('a token that the GSQL server of 3.x never takes is not renewed for its refusal', async () => {
  const { door, mints } = await served();
  const headers = { authorization: `Bearer ${door.key}` };
  const { status } = await fetch(`${door.gsqlUrl}/gsqlserver/gsql/simpleauth`, { headers });
  expect([status, mints()]).toEqual([401, 1]);
});

// holds: C8.11
test.each(['3.10.1', '4.1.2'])(
  'a token revoked on %s amid 64 requests costs one mint and none of them',
  async (serverVersion) => {
    const { sandbox, ask, mints } = await served({ serverVersion });
    expect(mints()).toBe(1);
    sandbox.addFault({ action: 'revoke', route: '*', nth: 20 });
    const replies = await Promise.all(
      Array.from(
        { length: 64 },
        async (_, n) => (await ask('/echo', { method: 'POST', body: `{"n":${n}}` })).status,
      ),
    );
    expect(replies.filter((status) => status !== 200)).toEqual([]);
    expect(mints()).toBe(2);
  },
);

// holds: C8.11
test('a server whose tokens live 2 s is served for 8 s without a refusal, and the file of its CA read once', async () => {
  const tls = await certificate('127.0.0.1');
  const ca = put(temporaryHome(), 'ca.pem', tls.cert);
  const { ask, mints, refused } = await served({ switches: { grantedAtMost: 2 }, tls }, '--ca', ca);
  fs.rmSync(ca);
  const end = Date.now() + 8000;
  while (Date.now() < end) expect((await ask('/echo')).status).toBe(200);
  expect(mints()).toBeGreaterThan(3);
  expect(refused()).toEqual([]);
});

// holds: C8.11
test('without a valid token the answer is 503 and says why', async () => {
  const { sandbox, child, ended, ask } = await served({ switches: { grantedAtMost: 1 } });
  sandbox.addFault({ action: 'status', status: 503, route: '/requesttoken' });
  await expect.poll(async () => (await ask('/echo')).status, { timeout: 10_000 }).toBe(503);
  expect(await (await ask('/echo')).json()).toMatchObject({ error: true, code: 'SERVER_UNAVAILABLE' });
  child.kill('SIGINT');
  expect((await ended).stderr).toContain('there is no valid token');
});

test('a token that is being made when the command of a proxy ends is stored', async () => {
  const home = temporaryHome();
  const { sandbox, env } = await sandboxFor(home);
  sandbox.addFault({ action: 'revoke', route: '/echo', times: 1 });
  sandbox.addFault({ action: 'delay', ms: 1500, route: '/requesttoken', nth: 2 });
  const script =
    'curl -s -m 0.5 -H "Authorization: Bearer $TG_API_TOKEN" $TG_HOST:$TG_RESTPP_PORT/echo; exit 7';
  const { status } = await start(['proxy', '--store', 'file', '--', 'sh', '-c', script], env).ended;
  const { stdout } = await start(['token', 'list', '-o', 'json', '--store', 'file'], env).ended;
  const made = sandbox.requests.filter(({ path: at }) => at === '/requesttoken');
  expect([status, made.length, JSON.parse(stdout).tokens.length]).toEqual([7, 2, 2]);
});

test('the recipes of docs/proxy.md run', async () => {
  const home = temporaryHome();
  const { env } = await sandboxFor(home);
  const recipe = (heading: string, at = 0) => block('proxy.md', heading, 'sh', at);
  const bin = putCommand(home);
  // Stands for the notebook: it starts a Python process with a cell.
  fs.writeFileSync(path.join(bin, 'jupyter'), '#!/bin/sh\nexec python3 cell.py\n', { mode: 0o755 });
  fs.writeFileSync(path.join(home, 'cell.py'), block('proxy.md', 'A notebook', 'python'));
  const run = (script: string) => {
    const options = {
      cwd: home,
      env: { ...env, PATH: `${bin}:${process.env.PATH}`, GRAPHCRED_STORE: 'none', SHARED: home },
    };
    const shell = spawn('sh', ['-euc', script], options);
    return { shell, ended: endOf(shell) };
  };
  const answered = { status: 0, stdout: expect.stringContaining('Hello GSQL') };
  for (const script of [recipe('curl'), recipe('A notebook')])
    expect(await run(script).ended, script).toMatchObject(answered);
  const container = run(`exec ${recipe('A container beside it')}`);
  const address = path.join(home, 'address');
  await expect
    .poll(() => fs.existsSync(address) && fs.readFileSync(address, 'utf8'), { timeout: 60_000 })
    .toMatch(/"gsqlUrl"/);
  expect(await run(recipe('A container beside it', 1)).ended).toMatchObject(answered);
  container.shell.kill('SIGINT');
  expect(await container.ended).toMatchObject({ status: 0 });
  expect(unused('test/cli/proxy.test.ts')).toEqual([]);
});
