import { describe, expect, it } from 'vitest';
import { parseSecret, parseUser, readTls } from '../../src/sandbox/args.js';
import { parseFault } from '../../src/sandbox/faults/faults.js';
import type { Fault, Sandbox } from '../../src/sandbox/server.js';
import { LOGIN, NOW, raw, SECRET, start } from './sandbox-raw.js';

const ask = (sandbox: Sandbox) => raw(sandbox.restUrl, 'POST /requesttoken', {}, `{"secret":"${SECRET}"}`);
const failure = (sandbox: Sandbox) =>
  ask(sandbox).then(
    () => 'none',
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  );
/** Returns how many tokens the secret has, as SHOW SECRET lists them. */
const minted = async (sandbox: Sandbox) => {
  const shown = await raw(
    sandbox.gsqlUrl,
    'POST /gsqlserver/gsql/file',
    LOGIN,
    'USE GRAPH demo_graph SHOW SECRET',
  );
  return shown.body.split('- Token').length - 1;
};

describe('faults', () => {
  it('apply to the route and the call that they name, and to no other', async () => {
    const sandbox = await start({
      faults: [parseFault('route=POST /requesttoken,nth=2,action=status,status=503,body=html')],
    });
    expect((await raw(sandbox.restUrl, 'PUT /requesttoken')).status).toBe(200);
    expect((await ask(sandbox)).status).toBe(200);
    const second = await ask(sandbox);
    expect([second.status, second.headers['content-type']]).toEqual([503, 'text/html']);
    expect(second.body).toContain('<html>');
    expect((await ask(sandbox)).status).toBe(200);
    expect(await minted(sandbox)).toBe(2);
    expect(sandbox.requests.map(({ status, faults }) => [status, ...faults])).toEqual([
      [200],
      [200],
      [503, 'status'],
      [200],
      [200],
    ]);
  });

  it('apply to the given number of calls, or to all; a star matches any ending', async () => {
    const sandbox = await start({
      faults: [parseFault('route=/api/*,times=2,action=status,status=500,body=empty')],
    });
    const ping = async () => {
      const reply = await raw(sandbox.gsqlUrl, 'GET /api/ping');
      return [reply.status, reply.body];
    };
    expect(await ping()).toEqual([500, '']);
    expect(await ping()).toEqual([500, '']);
    expect((await ping())[0]).toBe(200);
    sandbox.addFault({ action: 'status', body: 'json' });
    for (let i = 0; i < 3; i++) expect((await ping())[0]).toBe(500);
  });

  it('replace the answer by any text, even with commas and control characters', async () => {
    const body = '{"error":true,"message":"a, b=c \u001b[31mred\\nnext","code":"REST-1"}';
    const sandbox = await start({
      faults: [parseFault(`route=/requesttoken,action=status,status=200,header=X-Odd: yes,body=${body}`)],
    });
    const reply = await ask(sandbox);
    expect([reply.status, reply.body, reply.headers['x-odd']]).toEqual([200, body, 'yes']);
    expect(await minted(sandbox)).toBe(0);
  });

  it('can be a redirect', async () => {
    const sandbox = await start({
      faults: [parseFault('action=status,status=302,header=Location: http://127.0.0.1:1/,body=empty')],
    });
    const reply = await ask(sandbox);
    expect([reply.status, reply.headers.location]).toEqual([302, 'http://127.0.0.1:1/']);
  });

  it('can be a delay', async () => {
    const sandbox = await start({ faults: [{ action: 'delay', ms: 60 }] });
    const before = performance.now();
    expect((await ask(sandbox)).status).toBe(200);
    // A timer may fire slightly early.
    expect(performance.now() - before).toBeGreaterThan(55);
  });

  it('can be an HTML page, a sleeping workspace or a starting server', async () => {
    const sandbox = await start({
      faults: [
        { action: 'html', nth: 1 },
        { action: 'sleeping', nth: 2 },
        { action: 'starting', nth: 3 },
        { action: 'suspended', nth: 4 },
        { action: 'html', nth: 5, route: '*', status: 404, body: '<p>nothing</p>' },
      ],
    });
    const page = await ask(sandbox);
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html']);
    const asleep = await ask(sandbox);
    expect(asleep.status).toBe(502);
    expect(asleep.body).toContain('<title>Starting workspace</title>');
    const starting = await ask(sandbox);
    expect(starting.status).toBe(202);
    expect(starting.body).toContain('is starting');
    const suspended = await ask(sandbox);
    expect([suspended.status, suspended.headers['content-type']]).toEqual([500, 'text/html']);
    expect(suspended.body).toContain('Auto start is not enabled');
    const other = await ask(sandbox);
    expect([other.status, other.body]).toEqual([404, '<p>nothing</p>']);
    expect(await minted(sandbox)).toBe(0);
  });

  it('can be a truncated answer or malformed JSON, and the call still has its effect', async () => {
    const sandbox = await start({
      faults: [
        { action: 'truncate', nth: 1 },
        { action: 'malformed', nth: 2 },
      ],
    });
    expect(await failure(sandbox)).toBe('ECONNRESET');
    const reply = await ask(sandbox);
    expect(reply.status).toBe(200);
    expect(() => JSON.parse(reply.body) as unknown).toThrow(SyntaxError);
    expect(await minted(sandbox)).toBe(2);
  });

  it('can be any broken body, and half of a GSQL text has no end', async () => {
    const sandbox = await start({
      faults: [
        { action: 'malformed', nth: 1, body: '{"half' },
        { action: 'truncate', nth: 2, body: '' },
        { action: 'malformed', nth: 4 },
      ],
    });
    expect((await ask(sandbox)).body).toBe('{"half');
    expect(await failure(sandbox)).toBe('ECONNRESET');
    const run = () => raw(sandbox.gsqlUrl, 'POST /gsqlserver/gsql/file', LOGIN, 'SHOW USER');
    const whole = (await run()).body;
    expect(whole).toMatch(/__GSQL__RETURN__CODE__,0\n$/);
    const half = (await run()).body;
    expect(half).toHaveLength(Math.floor(whole.length / 2));
    expect(half).not.toContain('__GSQL__RETURN__CODE__');
  });

  it('can drop a connection, and only drop-after lets the call have its effect', async () => {
    const sandbox = await start({
      faults: [
        { action: 'drop-before', route: '/requesttoken', nth: 1 },
        { action: 'drop-after', route: '/requesttoken', nth: 2 },
      ],
    });
    expect(await failure(sandbox)).toBe('ECONNRESET');
    expect(sandbox.requests.at(-1)?.status).toBe(0);
    expect(await minted(sandbox)).toBe(0);
    expect(await failure(sandbox)).toBe('ECONNRESET');
    expect(await minted(sandbox)).toBe(1);
  });

  it('can set a wrong clock, which shows in the Date header and in the expiry of tokens', async () => {
    const sandbox = await start({ faults: [parseFault('action=clock,seconds=3600')] });
    const first = await ask(sandbox);
    expect(first.headers.date).toBe('Tue, 14 Nov 2023 23:13:20 GMT');
    expect(JSON.parse(first.body)).toMatchObject({ expiration: NOW + 3600 + 2_592_000 });
    sandbox.setClockOffset(-60);
    expect((await ask(sandbox)).headers.date).toBe('Tue, 14 Nov 2023 22:12:20 GMT');
  });

  it('can be added and removed over HTTP, on a path that no real server has', async () => {
    const sandbox = await start();
    const control = (line: string, body = '') => raw(sandbox.gsqlUrl, line, {}, body);
    await control(
      'POST /__sandbox/faults',
      'route=/requesttoken,action=status,status=503\n \naction=delay,ms=1\n',
    );
    await control('POST /__sandbox/faults', '[{"action":"status","route":"/api/ping","status":500}]');
    await control('POST /__sandbox/faults', '{"action":"delay","ms":2}');
    expect(JSON.parse((await control('GET /__sandbox/faults')).body)).toEqual({
      faults: [
        { action: 'status', route: '/requesttoken', status: 503 },
        { action: 'delay', ms: 1 },
        { action: 'status', route: '/api/ping', status: 500 },
        { action: 'delay', ms: 2 },
      ],
    });
    expect((await ask(sandbox)).status).toBe(503);
    expect((await control('GET /api/ping')).status).toBe(500);
    await control('DELETE /__sandbox/faults');
    expect((await ask(sandbox)).status).toBe(200);

    await control('POST /__sandbox/clock', '{"offset":86400}');
    expect((await ask(sandbox)).headers.date).toBe('Wed, 15 Nov 2023 22:13:20 GMT');
    const log = JSON.parse((await raw(sandbox.restUrl, 'GET /__sandbox/requests')).body) as {
      requests: { path: string }[];
    };
    expect(log.requests.map(({ path }) => path)).toEqual([
      '/requesttoken',
      '/api/ping',
      '/requesttoken',
      '/requesttoken',
    ]);
    for (const [line, body] of [
      ['POST /__sandbox/faults', 'action=explode'],
      ['POST /__sandbox/faults', '{"action":"status","status":42}'],
      ['POST /__sandbox/clock', '{"offset":"tomorrow"}'],
      ['POST /__sandbox/clock', '{"offset":"5"}'],
      ['POST /__sandbox/clock', '{"offset":100000000001}'],
      ['POST /__sandbox/clock', '{"offset":-100000000001}'],
      ['POST /__sandbox/clock', '{}'],
      ['POST /__sandbox/switches', 'null'],
      ['POST /__sandbox/switches', '[nonsense'],
    ] as const) {
      expect((await control(line, body)).status).toBe(400);
    }
    expect((await control('GET /__sandbox/')).status).toBe(404);
  });
});

describe('the string forms of the options', () => {
  it('reads faults', () => {
    const good: [string, Fault][] = [
      ['action=sleeping', { action: 'sleeping' }],
      [
        'times=3, nth=2 ,action=drop-after,route=DELETE /gsql/v1/tokens',
        { times: 3, nth: 2, action: 'drop-after', route: 'DELETE /gsql/v1/tokens' },
      ],
      ['action=clock,seconds=-30', { action: 'clock', seconds: -30 }],
      ['action=clock,seconds=100000000000', { action: 'clock', seconds: 1e11 }],
      [' action=delay,ms=0', { action: 'delay', ms: 0 }],
      ['action=sleeping\n', { action: 'sleeping' }],
      ['action=status,status=599', { action: 'status', status: 599 }],
      ['action=status,header=X-Odd:', { action: 'status', header: 'X-Odd:' }],
      ['action=status,status=404,body=a=b,c', { action: 'status', status: 404, body: 'a=b,c' }],
    ];
    for (const [spec, fault] of good) expect(parseFault(spec)).toEqual(fault);
    for (const spec of [
      '',
      'delay',
      'action=later',
      'action=delay,ms=soon',
      'action=delay,ms=-1',
      'action=status,status=600',
      'action=status,status=100',
      'action=html,nth=0',
      'action=html,nth=1.5',
      'action=html,times=0',
      'action=status,status=199',
      'action=clock,seconds=100000000001',
      'action=clock,seconds=-100000000001',
      'action=status,header=X Odd: yes',
      'action=html,when=now',
      'action=status,header=no colon',
    ]) {
      expect(() => parseFault(spec), spec).toThrow(/^(A fault|In a fault)/);
    }
  });

  it('reads users', () => {
    expect(parseUser('ann:pw')).toEqual({ name: 'ann', password: 'pw', role: 'superuser' });
    expect(parseUser('ann:pw:reader')).toEqual({ name: 'ann', password: 'pw', role: 'reader' });
    expect(parseUser('ann:p:w:x')).toEqual({ name: 'ann', password: 'p:w:x', role: 'superuser' });
    expect(parseUser('ann:p:w:admin')).toEqual({ name: 'ann', password: 'p:w', role: 'admin' });
    expect(parseUser('ann:reader')).toEqual({ name: 'ann', password: 'reader', role: 'superuser' });
    for (const wrong of ['', 'ann', 'ann:', ':pw', ':pw:reader']) {
      expect(() => parseUser(wrong), wrong).toThrow('A user is written name:password');
    }
  });

  it('reads secrets, and never repeats one', () => {
    expect(parseSecret('ci:abc:ann:demo')).toEqual({ alias: 'ci', value: 'abc', user: 'ann', graph: 'demo' });
    for (const wrong of ['', 'ci:verysecret', 'ci:verysecret:ann', 'ci:verysecret:ann:demo:x']) {
      expect(() => parseSecret(wrong), wrong).toThrow(/^A secret is written alias:value:user:graph\.$/);
    }
  });

  it('reads certificates, and says what is wrong with them', () => {
    expect(() => readTls('only-one.pem')).toThrow('CERT:KEY');
    expect(() => readTls('/no/cert.pem:/no/key.pem')).toThrow('/no/cert.pem cannot be read (ENOENT)');
    expect(() => readTls(`${process.cwd()}/package.json:/no/key.pem`)).toThrow('is not a PEM file');
    expect(() => readTls('C:\\tls\\cert.pem:D:\\tls\\key.pem')).toThrow('C:\\tls\\cert.pem cannot be read');
  });
});
