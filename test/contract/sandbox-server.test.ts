// What no answer of the sandbox shows: where it listens, how much it keeps, what it logs, when it writes its file.
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createConnection, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newToken } from '../../src/sandbox/3x/tokens.js';
import { listen, loopback } from '../../src/sandbox/http.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { emptyState, loadState, stateWriter } from '../../src/sandbox/state.js';
import type { World } from '../../src/sandbox/world.js';
import { certificate } from '../helpers/certificate.js';
import { temporaryHome } from '../helpers/cli.js';
import { freePort, OWN_HOST } from '../helpers/ports.js';
import { demo, LOGIN, raw, SECRET, start } from './sandbox-raw.js';

const BY_SECRET = `{"secret":"${SECRET}"}`;
const tokenOf = (body: string) => (JSON.parse(body) as { token: string }).token;
const mint = async (sandbox: Sandbox) =>
  tokenOf((await raw(sandbox.restUrl, 'POST /requesttoken', {}, BY_SECRET)).body);
const echo = async ({ restUrl }: Sandbox, token: string) =>
  (await raw(restUrl, 'GET /echo', { Authorization: `Bearer ${token}` })).status;
const portOf = (url: string) => Number(new URL(url).port);

describe('the addresses', () => {
  // holds: C2.31, C2.34
  it('stand in one line, on 4.x with the REST server under /restpp', async () => {
    const old = await start();
    expect(JSON.parse(old.readyLine())).toEqual({
      restUrl: old.restUrl,
      gsqlUrl: old.gsqlUrl,
      serverVersion: '3.10.1',
      username: 'demo_user',
      password: 'demo_pass',
      graph: 'demo_graph',
    });
    const newer = await start({ serverVersion: '4.1.2' });
    expect(newer.restUrl).toBe(`${newer.gsqlUrl}/restpp`);
  });

  // holds: C2.32
  it('are by default those of a 3.10.1 with REST authentication, the user tigergraph and the graph demo', async () => {
    const sandbox = await startSandbox({ restPort: 0, gsqlPort: 0 });
    onTestFinished(() => sandbox.close());
    const ready = { serverVersion: '3.10.1', username: 'tigergraph', password: 'tigergraph', graph: 'demo' };
    expect(JSON.parse(sandbox.readyLine())).toMatchObject(ready);
    expect((await raw(sandbox.restUrl, 'GET /echo')).status).toBe(403);
  });

  // holds: C2.30
  it('are loopback only', async () => {
    const taken = ['127.0.0.1', 'localhost', '::1', '127.255.0.3'];
    expect(taken.map(loopback)).toEqual(['127.0.0.1', '127.0.0.1', '::1', '127.255.0.3']);
    const wild = [
      '0.0.0.0',
      '::',
      '192.168.1.5',
      'example.com',
      '127.0.0.1.example.com',
      '1127.0.0.1',
      '::10',
    ];
    for (const host of [...wild, '127.999.0.1', '127.1'])
      expect(() => loopback(host), host).toThrow('use --host 127.0.0.1');
    await expect(demo({ host: '0.0.0.0' })).rejects.toThrow('loopback addresses only');
  });

  it('name the port that is in use, and leave no port open', async () => {
    const sandbox = await start();
    const port = portOf(sandbox.gsqlUrl);
    await expect(demo({ restPort: port })).rejects.toThrow(`Port ${port} on 127.0.0.1 is taken`);
    const free = await freePort();
    await expect(demo({ gsqlPort: free, restPort: free })).rejects.toThrow('choose another one');
    await expect(raw(`http://127.0.0.1:${free}`, 'GET /api/ping')).rejects.toThrow('ECONNREFUSED');
  });

  it('have the REST server of 4.x on a port of its own if one is set', async () => {
    const restPort = await freePort();
    await start({ serverVersion: '4.2.0', restPort });
    const restUrl = `http://127.0.0.1:${restPort}`;
    const { body } = await raw(restUrl, 'POST /requesttoken', {}, BY_SECRET);
    expect((await raw(restUrl, 'GET /echo', { Authorization: `Bearer ${tokenOf(body)}` })).status).toBe(200);
    expect((await raw(restUrl, 'POST /gsql/v1/tokens', {}, '{}')).status).toBe(404);
  });

  it('have the ports of a real server unless others are given', async ({ skip }) => {
    if (process.platform !== 'linux') skip('only Linux has a loopback address of its own for this test');
    const sandbox = await startSandbox({ host: OWN_HOST });
    onTestFinished(() => sandbox.close());
    expect([sandbox.restUrl, sandbox.gsqlUrl]).toEqual([
      `http://${OWN_HOST}:9000`,
      `http://${OWN_HOST}:14240`,
    ]);
  });

  it('of IPv6 stand in brackets, and localhost keeps its name', async () => {
    const local = await start({ host: 'localhost' });
    expect(local.gsqlUrl).toMatch(/^http:\/\/localhost:\d+$/);
    const hasIPv6 = await new Promise<boolean>((resolve) => {
      const probe = createServer().once('error', () => resolve(false));
      probe.listen(0, '::1', () => probe.close(() => resolve(true)));
    });
    if (!hasIPv6) return console.log('this machine has no IPv6');
    const { gsqlUrl } = await start({ host: '::1' });
    expect(gsqlUrl).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await fetch(`${gsqlUrl}/api/ping`)).status).toBe(200);
  });

  it('of a port that may not be opened tell why', async () => {
    const server = createHttpServer();
    server.listen = () => {
      server.emit('error', Object.assign(new Error(), { code: 'EACCES' }));
      return server;
    };
    await expect(listen(server, 80, '127.0.0.1')).rejects.toThrow(
      'Port 80 on 127.0.0.1 cannot be opened (EACCES); choose another one, or 0 for any free port.',
    );
  });

  it('speak https with the given certificate', async () => {
    const { cert, key } = await certificate('127.0.0.1');
    const { restUrl, gsqlUrl } = await start({ tls: { cert, key } });
    for (const url of [restUrl, gsqlUrl]) {
      await expect(raw(url, 'GET /')).rejects.toThrow(/self-signed/);
      expect((await raw(url, 'GET /', {}, '', cert)).status).toBe(501);
    }
  });

  it('close at once with a connection in the middle of its TLS handshake', async () => {
    const { cert, key } = await certificate('127.0.0.1');
    const sandbox = await start({ tls: { cert, key } });
    const idle = createConnection(portOf(sandbox.restUrl), '127.0.0.1');
    const cut = new Promise((resolve) => idle.once('close', resolve));
    await new Promise((resolve) => idle.once('connect', resolve));
    await sandbox.close();
    await cut;
  });

  it('stay open for the pooled connections of clients, and close at once with all of them', async () => {
    const sandbox = await start({ faults: [{ action: 'delay', ms: 60_000, nth: 2 }] });
    const reply = await raw(sandbox.gsqlUrl, 'GET /api/ping', { Connection: 'keep-alive' });
    expect(reply.headers['keep-alive']).toBe('timeout=120');
    const waiting = raw(sandbox.gsqlUrl, 'GET /api/ping').catch((error: NodeJS.ErrnoException) => error.code);
    const idle = createConnection(portOf(sandbox.restUrl), '127.0.0.1');
    await new Promise((resolve) => idle.once('connect', resolve));
    const cut = new Promise((resolve) => idle.once('close', resolve));
    await sandbox.close();
    await cut;
    expect(await waiting).toBe('ECONNRESET');
  });
});

it('can run several times at once, and the sandboxes share nothing', async () => {
  const [one, other] = await Promise.all([start(), start()]);
  const token = await mint(one);
  expect([await echo(one, token), await echo(other, token)]).toEqual([200, 403]);
  one.switches.blockListLimit = 1;
  expect(other.switches.blockListLimit).toBe(20);
});

it('streams GSQL text: each line and the trailer are chunks of their own', async () => {
  const sandbox = await start({ serverVersion: '3.2.0' });
  const body = 'USE GRAPH demo_graph SHOW SECRET';
  const client = createConnection(portOf(sandbox.gsqlUrl), '127.0.0.1');
  const head = ['POST /gsqlserver/gsql/file HTTP/1.1', 'Host: db', `Authorization: ${LOGIN.Authorization}`];
  client.write([...head, 'Connection: close', `Content-Length: ${body.length}`, '', body].join('\r\n'));
  let received = '';
  for await (const part of client) received += part;
  expect(received).toMatch(/^Transfer-Encoding: chunked\r$/m);
  expect(received).toMatch(/^[0-9a-f]+\r\n {6}- Alias: demo_alias\n\r\n/m);
  expect(received).toMatch(/\r\n[0-9a-f]+\r\n__GSQL__COOKIES__,.*\n__GSQL__RETURN__CODE__,0\n\r\n0/);
});

describe('what it keeps', () => {
  it('is the last thousand requests', async () => {
    const sandbox = await start();
    for (let i = 0; i < 1005; i++) await raw(sandbox.gsqlUrl, `GET /api/ping?limit=${i}`);
    expect(sandbox.requests).toHaveLength(1000);
    expect(sandbox.requests[0]?.query).toEqual({ limit: '5' });
  });

  it('is 50,000 tokens: the oldest goes', () => {
    const state = emptyState();
    const by = { user: { name: 'ann', password: 'one', role: 'admin' } as const };
    const make = () => newToken({ state, now: () => 0 } as World, by, 'g', 60).value;
    const [first, second] = [make(), make()];
    const other = { value: '', user: '', graph: '', secret: null, expiresAt: 0 };
    for (let i = 2; i < 49_999; i++) state.tokens.set(`${i}`, other);
    make();
    expect([state.tokens.size, state.tokens.has(first)]).toEqual([50_000, true]);
    make();
    expect([state.tokens.has(first), state.tokens.has(second), state.tokens.size]).toEqual([
      false,
      true,
      50_000,
    ]);
  });
});

it('logs JSON lines without any credential', async () => {
  const lines: string[] = [];
  const log = (line: string) => lines.push(line);
  const warnings: string[] = [];
  const warn = (line: string) => warnings.push(line);
  const old = await start({ serverVersion: '3.2.0', log, warn });
  const newer = await start({ serverVersion: '4.1.2', log, warn });
  const query = `secret=${SECRET}&lifetime=60&note=hunter22`;
  const token = tokenOf((await raw(old.restUrl, `GET /requesttoken?${query}`)).body);
  const jwt = tokenOf((await raw(newer.gsqlUrl, 'POST /gsql/v1/tokens', {}, `\n ${BY_SECRET}`)).body);
  await raw(old.gsqlUrl, 'POST /gsqlserver/gsql/file', LOGIN, `DROP SECRET ${SECRET}`);
  await raw(old.gsqlUrl, `GET /${token}`, { Authorization: `Bearer ${token}` });
  await raw(newer.gsqlUrl, `GET /gsql/v1/nothing/${jwt}?${jwt}=1`, { Authorization: `Bearer ${jwt}` });
  await raw(newer.gsqlUrl, 'POST /gsql/v1/secrets?alias=ci&value=mysecret1', LOGIN);
  await raw(newer.gsqlUrl, 'GET /gsql/v1/secrets/mysecret1?alias=mysecret1', LOGIN);
  await raw(newer.gsqlUrl, 'DELETE /gsql/v1/tokens', LOGIN, JSON.stringify({ tokens: jwt, [jwt]: 1 }));
  await raw(newer.gsqlUrl, `GET /${'x'.repeat(24)}/${'x'.repeat(23)}`, { Authorization: ' ' });
  await raw(newer.gsqlUrl, 'POST /gsql/v1/tokens', {}, JSON.stringify({ secret: 'x'.repeat(70_000) }));

  const text = lines.join('\n') + warnings.join('\n');
  const own = [SECRET, token, jwt, 'hunter22', 'mysecret1', 'demo_pass', LOGIN.Authorization];
  for (const credential of own) expect(text).not.toContain(credential);
  const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(entries[0]).toMatchObject({
    time: '2023-11-14T22:13:20.000Z',
    server: 'rest',
    path: '/requesttoken',
    query: { secret: '****', lifetime: '60', note: '****' },
    login: 'none',
  });
  expect(entries[1]).toMatchObject({ server: 'gsql', fields: ['secret'] });
  expect(entries[2]).toMatchObject({ statements: ['DROP SECRET'], login: 'basic' });
  expect(entries[5]).toMatchObject({ query: { alias: 'ci', value: '****' } });
  expect(entries[7]).toMatchObject({ fields: ['tokens'] });
  expect(entries[8]).toMatchObject({ path: `/****/${'x'.repeat(23)}`, login: 'none' });
  expect(entries[9]).toMatchObject({ fields: [] });
});

describe('the state file', () => {
  const fileIn = (folder: string) => join(folder, 'state.json');

  it('is for its owner alone, and holds every change before the answer is sent', async () => {
    const folder = temporaryHome();
    const sandbox = await start({ stateFile: fileIn(folder) });
    const isSaved = async () => {
      const token = await mint(sandbox);
      const saved = JSON.parse(readFileSync(fileIn(folder), 'utf8')) as { tokens: { value: string }[] };
      return saved.tokens.some(({ value }) => value === token);
    };
    const all = await Promise.all(Array.from({ length: 100 }, isSaved));
    expect(all).not.toContain(false);
    expect(readdirSync(folder)).toEqual(['state.json']);
    expect(statSync(fileIn(folder)).mode & 0o777).toBe(0o600);
  });

  it('is not overwritten if it has other content', async () => {
    const stateFile = fileIn(temporaryHome());
    const whole = { format: 1, users: [], graphs: [], secrets: [], tokens: [], blocked: {}, jwtKey: 'key' };
    const odd = [{ ...whole, format: 2 }, { ...whole, users: {} }, { format: 1 }, []];
    for (const content of ['not json', ...odd.map((value) => JSON.stringify(value))]) {
      writeFileSync(stateFile, content);
      await expect(demo({ stateFile })).rejects.toThrow('was not written by this sandbox');
      expect(readFileSync(stateFile, 'utf8')).toBe(content);
    }
  });

  it('gets the options again: named users come first, and a secret replaces its own alias alone', async () => {
    const stateFile = fileIn(temporaryHome());
    const one = { alias: 'one', value: 'first', user: 'demo_user', graph: 'demo_graph' };
    const others = [
      { ...one, alias: 'two', value: 'a' },
      { ...one, user: 'second', value: 'b' },
      { ...one, graph: 'other_graph', value: 'c' },
    ];
    await (await demo({ stateFile, secrets: [one, ...others] })).close();
    const users = [{ name: 'later', password: 'pw', role: 'admin' as const }];
    const after = await demo({ stateFile, users, secrets: [{ ...one, value: 'new' }] });
    await after.close();
    expect(after.username).toBe('later');
    const state = loadState(stateFile);
    expect(state?.secrets.map(({ value }) => value)).toEqual(['a', 'b', 'c', 'new']);
    expect(state?.users.map(({ name }) => name)).toEqual(['later', 'demo_user', 'second', 'watcher']);
  });

  it('is written at the next change after a write that failed', () => {
    const folder = join(temporaryHome(), 'folder');
    const state = emptyState();
    const save = stateWriter(fileIn(folder), state);
    expect(save).toThrow('ENOENT');
    mkdirSync(folder);
    state.graphs.push('later');
    save();
    expect(loadState(fileIn(folder))).toMatchObject({ graphs: ['later'] });
  });

  it('that cannot be written is 500, and the person who runs the sandbox is told', async () => {
    const folder = temporaryHome();
    const warnings: string[] = [];
    const sandbox = await start({ stateFile: fileIn(folder), warn: (line) => warnings.push(line) });
    rmSync(folder, { recursive: true });
    const reply = await raw(sandbox.restUrl, 'POST /requesttoken', {}, BY_SECRET);
    expect({ status: reply.status, body: reply.body }).toEqual({ status: 500, body: '' });
    expect(warnings).toEqual([
      expect.stringMatching(/^The sandbox failed on POST \(The state file .* cannot be written \(ENOENT\)/),
    ]);
    expect((await raw(sandbox.gsqlUrl, 'GET /api/ping')).status).toBe(200);
  });

  it('is written by what changes something, and by nothing else', async () => {
    const stateFile = fileIn(temporaryHome());
    const sandbox = await start({ stateFile });
    const calls = [
      ['POST /restpp/requesttoken', `{"secret":"${SECRET}"}`],
      ['PUT /restpp/requesttoken', `{"secret":"${SECRET}","token":"unknown"}`],
      ['POST /gsqlserver/gsql/file', 'USE GRAPH demo_graph SHOW SECRET SHOW USER'],
      ['POST /gsqlserver/gsql/file', 'USE GRAPH demo_graph CREATE SECRET a'],
      ['POST /gsqlserver/gsql/file', 'USE GRAPH demo_graph CREATE SECRET a DROP SECRET b'],
    ] as const;
    const file = () => `${statSync(stateFile).ino} ${readFileSync(stateFile, 'utf8')}`;
    const hasWritten: boolean[] = [];
    for (const [request, body] of calls) {
      const before = file();
      await raw(sandbox.gsqlUrl, request, LOGIN, body);
      hasWritten.push(file() !== before);
    }
    expect(hasWritten).toEqual([true, false, false, true, false]);
  });
});

it('a client that leaves in the middle of its call is no failure of the sandbox', async () => {
  const warnings: string[] = [];
  const sandbox = await demo({ warn: (line) => warnings.push(line) });
  const client = createConnection(portOf(sandbox.gsqlUrl), '127.0.0.1');
  await new Promise<void>((resolve) =>
    client.write('POST /api/ping HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf', () => resolve()),
  );
  client.resetAndDestroy();
  await raw(sandbox.gsqlUrl, 'GET /api/ping');
  await sandbox.close();
  expect(warnings).toEqual([]);
});
