import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { afterEach, describe, expect, it } from 'vitest';
import { loopback } from '../../src/sandbox/http.js';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/server.js';
import { startSandbox } from '../../src/sandbox/server.js';
import { defined } from '../helpers/defined.js';
import { freePort } from '../helpers/free-port.js';
import { basic, demo, LOGIN, NOW, raw, SECRET } from './sandbox-raw.js';

const open: Sandbox[] = [];
const start = async (options: SandboxOptions = {}) => {
  const sandbox = await demo(options);
  open.push(sandbox);
  return sandbox;
};
const folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
afterEach(async () => {
  await Promise.all(open.splice(0).map((sandbox) => sandbox.close()));
});

const mint = (sandbox: Sandbox, lifetime = 600) =>
  raw(sandbox.restUrl, 'POST /requesttoken', {}, `{"secret":"${SECRET}","lifetime":${lifetime}}`);
const tokenOf = (body: string) => (JSON.parse(body) as { token: string }).token;

describe('the sandbox', () => {
  // holds: C2.31, C2.34
  it('prints one line with both URLs, on 4.x with the REST server under /restpp', async () => {
    const old = await start();
    expect(JSON.parse(old.readyLine())).toEqual({
      restUrl: old.restUrl,
      gsqlUrl: old.gsqlUrl,
      serverVersion: '3.10.1',
      username: 'demo_user',
      password: 'demo_pass',
      graph: 'demo_graph',
    });
    const newer = await startSandbox({ serverVersion: '4.1.2', gsqlPort: 0 });
    open.push(newer);
    expect(newer.restUrl).toBe(`${newer.gsqlUrl}/restpp`);
    expect(JSON.parse(newer.readyLine())).toMatchObject({
      username: 'tigergraph',
      password: 'tigergraph',
      graph: 'demo',
    });
  });

  // holds: C2.32
  it('is 3.10.1 with REST authentication, the user tigergraph and the graph demo by default', async () => {
    const sandbox = await startSandbox({ restPort: 0, gsqlPort: 0 });
    open.push(sandbox);
    expect(JSON.parse(sandbox.readyLine())).toMatchObject({
      serverVersion: '3.10.1',
      username: 'tigergraph',
      password: 'tigergraph',
      graph: 'demo',
    });
    expect((await raw(sandbox.restUrl, 'GET /echo')).status).toBe(403);
  });

  // holds: C2.30
  it('listens on loopback only', async () => {
    for (const host of ['0.0.0.0', '::', '192.168.1.5', 'example.com']) {
      await expect(startSandbox({ host, restPort: 0, gsqlPort: 0 })).rejects.toThrow(
        /loopback addresses only/,
      );
    }
    expect([loopback('localhost'), loopback('::1')]).toEqual(['127.0.0.1', '::1']);
    for (const host of [
      '127.0.0.1.example.com',
      '1127.0.0.1',
      'localhost.example.com',
      '::10',
      '128.0.0.1',
      '127.999.0.1',
      '127.1',
    ])
      expect(() => loopback(host), host).toThrow('use --host 127.0.0.1');
    const sandbox = await start({ host: '127.0.0.2' });
    expect(sandbox.gsqlUrl).toMatch(/^http:\/\/127\.0\.0\.2:\d+$/);
    expect((await raw(sandbox.gsqlUrl, 'GET /api/ping')).status).toBe(200);
  });

  it('names the port that is in use, and leaves no port open', async () => {
    const sandbox = await start();
    const port = Number(new URL(sandbox.gsqlUrl).port);
    await expect(startSandbox({ gsqlPort: 0, restPort: port })).rejects.toThrow(
      `Port ${port} on 127.0.0.1 is taken`,
    );
    await expect(startSandbox({ gsqlPort: port, restPort: 0 })).rejects.toThrow('choose another one');
    const free = await freePort();
    await expect(startSandbox({ gsqlPort: free, restPort: free })).rejects.toThrow('is taken');
    await expect(raw(`http://127.0.0.1:${free}`, 'GET /api/ping')).rejects.toThrow('ECONNREFUSED');
  });

  it('refuses versions it does not imitate', async () => {
    for (const serverVersion of ['2.6.0', '5.0', '3', 'latest', '3.10.1-rc']) {
      await expect(startSandbox({ serverVersion, gsqlPort: 0, restPort: 0 })).rejects.toThrow('3.x and 4.x');
    }
  });

  it('can run in several versions at once that share nothing', async () => {
    const [a, b, c] = await Promise.all([
      start({ serverVersion: '3.2.0' }),
      start({ serverVersion: '3.10.1' }),
      start({ serverVersion: '3.10.1' }),
    ]);
    const token = tokenOf((await mint(b)).body);
    const use = async (sandbox: Sandbox) =>
      (await raw(sandbox.restUrl, 'GET /echo', { Authorization: `Bearer ${token}` })).status;
    expect([await use(a), await use(b), await use(c)]).toEqual([403, 200, 403]);
  });

  it('answers an unknown path with 501 and a line for the person who runs it', async () => {
    const warnings: string[] = [];
    const sandbox = await start({ warn: (line) => warnings.push(line) });
    const token = tokenOf((await mint(sandbox)).body);
    const login = { Authorization: `Bearer ${token}` };
    expect((await raw(sandbox.restUrl, 'GET /graph/demo_graph/edges/x', login)).status).toBe(501);
    expect((await raw(sandbox.gsqlUrl, 'PUT /gsqlserver/gsql/file', LOGIN)).status).toBe(501);
    expect(sandbox.unknownRoutes).toEqual(['GET /graph/demo_graph/edges/x', 'PUT /gsqlserver/gsql/file']);
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toContain('GET /graph/demo_graph/edges/x');
    expect(warnings[0]).toContain('501');
  });

  it('says when it does not support a GSQL statement', async () => {
    const warnings: string[] = [];
    const sandbox = await start({ warn: (line) => warnings.push(line) });
    const reply = await raw(sandbox.gsqlUrl, 'POST /gsqlserver/gsql/file', LOGIN, 'CREATE GRAPH g()');
    expect(reply.body).toContain('Encountered "CREATE" at line 1, column 1.');
    expect(reply.body).toContain('__GSQL__RETURN__CODE__,211');
    expect(warnings).toEqual(['The sandbox does not imitate the GSQL statement that begins with CREATE.']);
  });

  it('closes at once, even with open connections', async () => {
    const sandbox = await startSandbox({
      gsqlPort: 0,
      restPort: 0,
      faults: [{ action: 'delay', ms: 60_000 }],
    });
    const waiting = raw(sandbox.gsqlUrl, 'GET /api/ping').catch((error: NodeJS.ErrnoException) => error.code);
    const idle = createConnection(Number(new URL(sandbox.restUrl).port), '127.0.0.1');
    await new Promise((resolve) => idle.once('connect', resolve));
    const cut = new Promise((resolve) => idle.once('close', resolve));
    const before = Date.now();
    await sandbox.close();
    await cut;
    expect(await waiting).toBe('ECONNRESET');
    expect(Date.now() - before).toBeLessThan(5000);
  });
});

describe('the request log', () => {
  it('has JSON lines without any credential', async () => {
    const lines: string[] = [];
    const sandbox = await start({ serverVersion: '3.2.0', log: (line) => lines.push(line) });
    const newer = await start({ serverVersion: '4.1.2', log: (line) => lines.push(line) });
    const minted = await raw(sandbox.restUrl, `GET /requesttoken?secret=${SECRET}&lifetime=60&note=hunter22`);
    const token = tokenOf(minted.body);
    const jwt = tokenOf(
      (await raw(newer.gsqlUrl, 'POST /gsql/v1/tokens', {}, `{"secret":"${SECRET}"}`)).body,
    );
    await raw(sandbox.gsqlUrl, 'POST /gsqlserver/gsql/file', LOGIN, `DROP SECRET ${SECRET}`);
    await raw(sandbox.gsqlUrl, `GET /${token}`, { Authorization: `Bearer ${token}` });
    await raw(newer.gsqlUrl, `GET /gsql/v1/nothing/${jwt}?${jwt}=1`, { Authorization: `Bearer ${jwt}` });
    await raw(newer.gsqlUrl, 'POST /gsql/v1/secrets?alias=ci&value=mysecret1', LOGIN);
    await raw(newer.gsqlUrl, 'GET /gsql/v1/secrets/mysecret1', LOGIN);
    await raw(newer.gsqlUrl, 'DELETE /gsql/v1/tokens', LOGIN, JSON.stringify({ tokens: jwt, [jwt]: 1 }));

    const text = lines.join('\n') + sandbox.unknownRoutes.join('\n') + newer.unknownRoutes.join('\n');
    for (const credential of [
      SECRET,
      token,
      jwt,
      'hunter22',
      'mysecret1',
      'demo_pass',
      LOGIN.Authorization,
    ]) {
      expect(text).not.toContain(credential);
    }
    const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(entries[0]).toMatchObject({
      time: '2023-11-14T22:13:20.000Z',
      server: 'rest',
      method: 'GET',
      path: '/requesttoken',
      query: { secret: '****', lifetime: '60' },
      login: 'none',
      status: 200,
    });
    expect(entries[1]).toMatchObject({ server: 'gsql', path: '/gsql/v1/tokens', fields: ['secret'] });
    expect(entries[5]).toMatchObject({ login: 'basic', query: { alias: 'ci', value: '****' } });
    expect(newer.requests.at(-1)).toMatchObject({
      method: 'DELETE',
      path: '/gsql/v1/tokens',
      fields: ['tokens'],
    });
  });

  it('keeps the last thousand', async () => {
    const sandbox = await start();
    for (let i = 0; i < 1005; i++) await raw(sandbox.gsqlUrl, `GET /api/ping?limit=${i}`);
    expect(sandbox.requests).toHaveLength(1000);
    expect(sandbox.requests[0]?.query).toEqual({ limit: '5' });
  });
});

describe('the state file', () => {
  it('preserves secrets, tokens, block lists and the signing key over a restart', async () => {
    const stateFile = join(folder, 'restart.json');
    const old = await start({ stateFile });
    const token = tokenOf((await mint(old)).body);
    await raw(old.gsqlUrl, 'POST /gsqlserver/gsql/file', LOGIN, 'USE GRAPH other_graph CREATE SECRET kept');
    await old.close();

    const again = await start({ stateFile, users: [], secrets: [], graphs: [] });
    const echo = await raw(again.restUrl, 'GET /echo', { Authorization: `Bearer ${token}` });
    expect(echo.status).toBe(200);
    const shown = await raw(
      again.gsqlUrl,
      'POST /gsqlserver/gsql/file',
      LOGIN,
      'USE GRAPH other_graph SHOW SECRET',
    );
    expect(shown.body).toContain('- Alias: kept');
    expect(statSync(stateFile).mode & 0o777).toBe(0o600);

    const jwtFile = join(folder, 'jwt.json');
    const first = await start({ serverVersion: '4.1.2', stateFile: jwtFile });
    const ask = (sandbox: Sandbox, lifetime: number) =>
      raw(sandbox.gsqlUrl, 'POST /gsql/v1/tokens', {}, `{"secret":"${SECRET}","lifetime":${lifetime}}`);
    const [kept, dropped] = [tokenOf((await ask(first, 60)).body), tokenOf((await ask(first, 90)).body)];
    await raw(first.gsqlUrl, 'DELETE /gsql/v1/tokens', LOGIN, JSON.stringify({ tokens: dropped }));
    await first.close();
    const second = await start({ serverVersion: '4.1.2', stateFile: jwtFile });
    const use = async (jwt: string) =>
      (await raw(second.gsqlUrl, 'GET /restpp/echo', { Authorization: `Bearer ${jwt}` })).status;
    expect([await use(kept), await use(dropped)]).toEqual([200, 403]);
  });

  it('contains every change before the answer is sent, and is always complete', async () => {
    const stateFile = join(folder, 'atomic.json');
    const sandbox = await start({ stateFile });
    const minted = await Promise.all(
      Array.from({ length: 100 }, async () => {
        const token = tokenOf((await mint(sandbox)).body);
        const saved = JSON.parse(readFileSync(stateFile, 'utf8')) as { tokens: { value: string }[] };
        return saved.tokens.some(({ value }) => value === token);
      }),
    );
    expect(minted).toEqual(Array.from({ length: 100 }, () => true));
    expect(existsSync(`${stateFile}.${process.pid}.tmp`)).toBe(false);
  });

  it('is not overwritten if it has other content', async () => {
    const stateFile = join(folder, 'foreign.json');
    const whole = { format: 1, users: [], graphs: [], secrets: [], tokens: [], blocked: {}, jwtKey: 'key' };
    for (const content of [
      '{"name":"my package"}',
      'not json',
      '{"format":1}',
      '[]',
      JSON.stringify({ ...whole, format: 2 }),
      JSON.stringify({ ...whole, users: {} }),
    ]) {
      writeFileSync(stateFile, content);
      await expect(demo({ stateFile })).rejects.toThrow('was not written by this sandbox');
      expect(readFileSync(stateFile, 'utf8')).toBe(content);
    }
    await expect(demo({ stateFile: folder })).rejects.toThrow('cannot be read');
    const nowhere = join(folder, 'no', 'such', 'folder.json');
    await expect(demo({ stateFile: nowhere })).rejects.toThrow(
      'cannot be written (ENOENT); name another file.',
    );
  });

  it('is not loaded with a secret whose user or graph does not exist', async () => {
    const secret = { alias: 'a', value: 'v'.repeat(32), user: 'demo_user', graph: 'demo_graph' };
    await expect(demo({ secrets: [{ ...secret, user: 'nobody' }] })).rejects.toThrow(
      'add --user nobody:password',
    );
    await expect(demo({ secrets: [{ ...secret, graph: 'nowhere' }] })).rejects.toThrow('add --graph nowhere');
    rmSync(folder, { recursive: true });
  });
});

describe('TLS', () => {
  it('speaks https with the given certificate, on both ports', async () => {
    const pems = await generate([{ name: 'commonName', value: 'localhost' }], {
      keySize: 2048,
      algorithm: 'sha256',
      extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
    });
    const sandbox = await start({ tls: { cert: pems.cert, key: pems.private } });
    expect(sandbox.gsqlUrl).toMatch(/^https:/);
    for (const url of [sandbox.restUrl, sandbox.gsqlUrl]) {
      await expect(raw(url, 'GET /__sandbox/faults')).rejects.toThrow(/self-signed/);
      expect((await raw(url, 'GET /__sandbox/faults', {}, '', pems.cert)).status).toBe(200);
    }
    await expect(raw(sandbox.gsqlUrl.replace('https', 'http'), 'GET /api/ping')).rejects.toThrow();
    await expect(demo({ tls: { cert: pems.cert, key: randomBytes(32).toString('hex') } })).rejects.toThrow(
      'two PEM files that belong together',
    );
  });
});

describe('disputed points', () => {
  const jwtLife = async (sandbox: Sandbox, lifetime: string) => {
    const reply = await raw(
      sandbox.gsqlUrl,
      'POST /gsql/v1/tokens',
      {},
      `{"secret":"${SECRET}","lifetime":"${lifetime}"}`,
    );
    const claims = Buffer.from(defined(tokenOf(reply.body).split('.')[1]), 'base64url').toString();
    return (JSON.parse(claims) as { exp: number }).exp - NOW;
  };

  it('counts lifetimes in seconds by default, or in milliseconds', async () => {
    expect(await jwtLife(await start({ serverVersion: '4.1.2' }), '3600')).toBe(3600);
    expect(await jwtLife(await start({ serverVersion: '4.1.2', lifetimeUnit: 'ms' }), '3600000')).toBe(3600);
  });

  it('prints the switches, accepts valid values and refuses others', async () => {
    const sandbox = await start({ serverVersion: '4.1.2' });
    const set = (value: unknown) =>
      raw(sandbox.gsqlUrl, 'POST /__sandbox/switches', {}, JSON.stringify(value));
    expect((await raw(sandbox.gsqlUrl, 'GET /__sandbox/switches')).body).toContain('"secretsShape":"list"');

    await set({ secretsShape: 'object', trailersOn4: true });
    const secrets = await raw(sandbox.gsqlUrl, 'GET /gsql/v1/secrets', LOGIN);
    expect(JSON.parse(secrets.body)).toEqual({
      error: false,
      message: '',
      results: { alias: 'demo_alias', value: SECRET },
    });
    const text = await raw(sandbox.gsqlUrl, 'POST /gsql/v1/statements', LOGIN, 'DROP SECRET demo_alias');
    expect(text.body.endsWith('\n__GSQL__RETURN__CODE__,0\n')).toBe(true);

    await set({ zone: { name: 'HKT', offsetMinutes: 480 }, maxLifetime: 100 });
    const short = await raw(sandbox.gsqlUrl, 'POST /gsql/v1/tokens', LOGIN, '{"lifetime":100}');
    expect(JSON.parse(short.body)).toMatchObject({ expiration: 'Wed Nov 15 06:15:00 HKT 2023' });
    expect((await raw(sandbox.gsqlUrl, 'POST /gsql/v1/tokens', LOGIN, '{"lifetime":101}')).status).toBe(400);

    for (const wrongValue of [
      { nothing: 1 },
      { secretsShape: 'heap' },
      { trailersOn4: 'yes' },
      { maxLifetime: '100' },
      { zone: null },
      { toString: 1 },
    ]) {
      const before = (await raw(sandbox.gsqlUrl, 'GET /__sandbox/switches')).body;
      // If one value is not valid, none is set, not even the valid one beside it.
      expect((await set({ blockListLimit: 7, ...wrongValue })).status).toBe(400);
      expect((await raw(sandbox.gsqlUrl, 'GET /__sandbox/switches')).body).toBe(before);
    }
  });

  it('removes the oldest entry of a full block list if the switch says so', async () => {
    const sandbox = await start({
      serverVersion: '4.1.2',
      switches: { fullBlockList: 'forget-oldest', blockListLimit: 2 },
    });
    const tokens = await Promise.all(
      [60, 61, 62].map(async (lifetime) =>
        tokenOf(
          (
            await raw(
              sandbox.gsqlUrl,
              'POST /gsql/v1/tokens',
              {},
              `{"secret":"${SECRET}","lifetime":${lifetime}}`,
            )
          ).body,
        ),
      ),
    );
    for (const token of tokens) {
      await raw(sandbox.gsqlUrl, 'DELETE /gsql/v1/tokens', LOGIN, JSON.stringify({ tokens: token }));
    }
    const statuses = await Promise.all(
      tokens.map(
        async (token) =>
          (await raw(sandbox.gsqlUrl, 'GET /restpp/echo', { Authorization: `Bearer ${token}` })).status,
      ),
    );
    expect(statuses).toEqual([200, 403, 403]);
  });

  it('on 3.0 to 3.4 refreshes with a time instead of a lifetime', async () => {
    const sandbox = await start({ serverVersion: '3.1.2', switches: { refreshExpirationBefore35: 'epoch' } });
    const minted = await raw(sandbox.restUrl, `GET /requesttoken?secret=${SECRET}`);
    const refreshed = await raw(
      sandbox.restUrl,
      `PUT /requesttoken?secret=${SECRET}&token=${tokenOf(minted.body)}&lifetime=15`,
    );
    expect(JSON.parse(refreshed.body)).toMatchObject({ expiration: NOW + 15 });
  });

  it('does not throttle logins before 3.8, and tells 4.x clients to wait', async () => {
    const wrong = { Authorization: basic('demo_user', 'wrong') };
    const old = await start({ serverVersion: '3.7.0' });
    for (let i = 0; i < 6; i++) await raw(old.gsqlUrl, 'GET /gsqlserver/gsql/simpleauth', wrong);
    expect((await raw(old.gsqlUrl, 'GET /gsqlserver/gsql/simpleauth', LOGIN)).status).toBe(200);

    const newer = await start({ serverVersion: '4.1.2' });
    for (let i = 0; i < 6; i++) await raw(newer.gsqlUrl, 'GET /gsql/v1/secrets', wrong);
    const refused = await raw(newer.gsqlUrl, 'GET /gsql/v1/secrets', LOGIN);
    expect(refused.status).toBe(401);
    expect(refused.body).toContain('Please re-login after 10 seconds');
  });
});
