// What no answer of the sandbox shows: how much it keeps, how long it waits, when it writes its file, where it listens.
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { newToken } from '../../src/sandbox/3x/tokens.js';
import { parseBody } from '../../src/sandbox/call.js';
import { parseFault } from '../../src/sandbox/faults/faults.js';
import { listen } from '../../src/sandbox/http.js';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/server.js';
import { emptyState, loadState, stateWriter } from '../../src/sandbox/state.js';
import type { World } from '../../src/sandbox/world.js';
import { temporaryHome } from '../helpers/cli.js';
import { basic, demo, LOGIN, NOW, raw, SECRET, start } from './sandbox-raw.js';

const send = async (sandbox: Sandbox, request: string, body: unknown = '', headers: object = LOGIN) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const reply = await raw(sandbox.gsqlUrl, request, headers as Record<string, string>, text);
  expect([request, reply.status]).toEqual([request, 200]);
  return reply.body;
};

it('a fault that cannot be read is shown with its first thirty characters', () => {
  const spec = `when=${'x'.repeat(40)}`;
  expect(() => parseFault(spec)).toThrow(`near "when=${'x'.repeat(25)}" there is none`);
});

it('a body that Python wrote keeps its truth values', () => {
  expect(parseBody("{'a': False, 'b': True, 'c': None, 'd': FALSE}")).toEqual({
    a: false,
    b: true,
    c: null,
    d: false,
  });
});

it('the oldest token goes when there are more than 50,000', () => {
  const state = emptyState();
  const by = { user: { name: 'ann', password: 'one', role: 'admin' } as const, secret: null };
  const make = () => newToken({ state } as World, by, 'g').value;
  const [first, second] = [make(), make()];
  const other = { value: '', user: '', graph: '', secret: null, expiresAt: 0 };
  for (let i = 2; i < 49_999; i++) state.tokens.set(`${i}`, other);
  make();
  expect([state.tokens.size, state.tokens.has(first)]).toEqual([50_000, true]);
  make();
  expect([state.tokens.size, state.tokens.has(first), state.tokens.has(second)]).toEqual([
    50_000,
    false,
    true,
  ]);
});

describe('the state file', () => {
  it('is written after a write that failed, for those who waited behind it', async () => {
    const folder = join(temporaryHome(), 'folder');
    const stateFile = join(folder, 'state.json');
    const save = stateWriter(stateFile, emptyState());
    const first = save();
    const mended = first.catch(() => mkdirSync(folder));
    const second = save();
    await expect(first).rejects.toThrow('ENOENT');
    await Promise.all([mended, second]);
    expect(loadState(stateFile)).toMatchObject({ secrets: [] });
  });

  it('is whole when the sandbox is closed in the middle of a write, and no other file is left', async () => {
    const folder = temporaryHome();
    const stateFile = join(folder, 'state.json');
    let atAnswer = () => {};
    const now = () => {
      atAnswer();
      return NOW * 1000;
    };
    const sandbox = await demo({ stateFile, now });
    let closed: Promise<void> | undefined;
    atAnswer = () => {
      closed ??= sandbox.close();
    };
    await raw(sandbox.restUrl, 'POST /requesttoken', {}, `{"secret":"${SECRET}"}`).catch(() => {});
    await closed;
    expect(loadState(stateFile)?.tokens.size).toBe(1);
    expect(readdirSync(folder)).toEqual(['state.json']);
  });

  /** Plays calls one after another, and returns which of them wrote the file before they were answered. */
  async function written(
    options: SandboxOptions,
    calls: readonly (readonly [string, (unknown | (() => unknown))?, object?])[],
  ) {
    const stateFile = join(temporaryHome(), 'state.json');
    let clock = NOW;
    const sandbox = await start({ stateFile, now: () => clock * 1000, ...options });
    const writers: string[] = [];
    const file = () => `${statSync(stateFile).ino} ${readFileSync(stateFile, 'utf8')}`;
    let token = '';
    for (const [request, given, headers = LOGIN] of calls) {
      if (request === 'later') {
        clock += 60;
        continue;
      }
      const before = file();
      const body = JSON.stringify(given ?? '').replaceAll('TOKEN', token);
      const answer = await send(
        sandbox,
        request,
        given === undefined ? '' : typeof given === 'string' ? given : body,
        headers,
      );
      token = /"token":"([^"]+)"/.exec(answer)?.[1] ?? token;
      if (file() !== before) writers.push(typeof given === 'string' ? `${request} ${given}` : request);
    }
    return writers;
  }

  it('of 3.x is written by what changes something, and by nothing else', async () => {
    expect(
      await written({}, [
        ['POST /restpp/requesttoken', { secret: SECRET, lifetime: 60 }],
        ['PUT /restpp/requesttoken', { secret: SECRET, token: 'TOKEN', lifetime: 70 }],
        ['PUT /restpp/requesttoken', { secret: SECRET, token: 'unknown' }],
        ['DELETE /restpp/requesttoken', { secret: SECRET, token: 'TOKEN' }],
        ['DELETE /restpp/requesttoken', { secret: SECRET, token: 'TOKEN' }],
        ['POST /restpp/requesttoken', { secret: 'unknown' }],
        ['POST /gsqlserver/gsql/authtoken?graph=demo_graph'],
        ['POST /gsqlserver/gsql/authtoken?graph=unknown'],
        ['POST /gsqlserver/gsql/file', 'USE GRAPH demo_graph SHOW SECRET SHOW USER'],
        ['POST /gsqlserver/gsql/file', 'USE GRAPH demo_graph CREATE SECRET a'],
        ['POST /gsqlserver/gsql/file', 'USE GRAPH demo_graph CREATE SECRET a DROP SECRET b'],
        ['POST /gsqlserver/gsql/file', 'USE GRAPH demo_graph DROP SECRET a'],
        ['POST /restpp/requesttoken', { secret: SECRET, lifetime: 60 }],
        ['later'],
        ['DELETE /expiredtoken'],
        ['GET /gsqlserver/gsql/simpleauth'],
      ]),
    ).toEqual([
      'POST /restpp/requesttoken',
      'PUT /restpp/requesttoken',
      'DELETE /restpp/requesttoken',
      'POST /gsqlserver/gsql/authtoken?graph=demo_graph',
      'POST /gsqlserver/gsql/file USE GRAPH demo_graph CREATE SECRET a',
      'POST /gsqlserver/gsql/file USE GRAPH demo_graph DROP SECRET a',
      'POST /restpp/requesttoken',
      'DELETE /expiredtoken',
    ]);
  });

  it('of 4.x is written by what changes something, and a token by secret changes nothing', async () => {
    const second = { Authorization: basic('second', 'pass:with:colons') };
    expect(
      await written({ serverVersion: '4.2.0' }, [
        ['POST /gsql/v1/tokens', { secret: SECRET }],
        ['DELETE /gsql/v1/tokens', { tokens: 'TOKEN' }],
        ['POST /gsql/v1/tokens/check', { token: 'TOKEN' }],
        ['POST /gsql/v1/tokens', {}, second],
        ['POST /gsql/v1/tokens', { lifetime: 9 }, second],
        ['POST /gsql/v1/secrets?alias=a'],
        ['GET /gsql/v1/secrets'],
        ['DELETE /gsql/v1/secrets/a'],
        ['POST /gsql/v1/statements', 'CREATE SECRET b'],
        ['POST /gsql/v1/statements', 'SHOW SECRET'],
        ['DELETE /gsql/v1/secrets', { secrets: ['b'] }],
      ]),
    ).toEqual([
      'DELETE /gsql/v1/tokens',
      'POST /gsql/v1/tokens',
      'POST /gsql/v1/secrets?alias=a',
      'DELETE /gsql/v1/secrets/a',
      'POST /gsql/v1/statements CREATE SECRET b',
      'DELETE /gsql/v1/secrets',
    ]);
  });
});

describe('the addresses', () => {
  const refused = async (host: string) => {
    const probe = createServer();
    return new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(true));
      probe.listen(0, host, () => probe.close(() => resolve(false)));
    });
  };

  it('of IPv6 stand in brackets, on both ports', async () => {
    if (await refused('::1')) return console.log('this machine has no IPv6');
    const sandbox = await start({ host: '::1' });
    for (const url of [sandbox.restUrl, sandbox.gsqlUrl]) expect(url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    const { status } = await fetch(`${sandbox.gsqlUrl}/api/ping`);
    expect(status).toBe(200);
    const port = new URL(sandbox.gsqlUrl).port;
    await expect(start({ host: '::1', gsqlPort: Number(port) })).rejects.toThrow(
      `Port ${port} on ::1 is taken`,
    );
  });

  it('keep the name localhost, which is 127.0.0.1', async () => {
    const sandbox = await start({ host: 'localhost' });
    const port = new URL(sandbox.gsqlUrl).port;
    expect([sandbox.restUrl, sandbox.gsqlUrl]).toEqual([
      expect.stringMatching(/^http:\/\/localhost:\d+$/),
      `http://localhost:${port}`,
    ]);
    expect((await fetch(`http://127.0.0.1:${port}/api/ping`)).status).toBe(200);
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

  it('stay open for the pooled connections of clients, and a server closes all of them', async () => {
    const sandbox = await start();
    const reply = await raw(sandbox.gsqlUrl, 'GET /api/ping', { Connection: 'keep-alive' });
    expect(reply.headers['keep-alive']).toBe('timeout=120');
  });
});
