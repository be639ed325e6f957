import net from 'node:net';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Sensitive } from '../../src/core/sensitive.js';
import { temporaryHome } from '../helpers/cli.js';
import { freePort } from '../helpers/free-port.js';
import { array, bulk, startHostileRedis } from '../helpers/hostile-redis.js';
import { listenOnFreePort } from '../helpers/listening.js';
import { failureOf, openRedis } from '../helpers/redis-store.js';

const addressOf = ({ url }: { url: string }) => url.slice('redis://'.length);
const answering = () => startHostileRedis(([name]) => (name === 'PING' ? '+PONG\r\n' : '+OK\r\n'));
const refusing = (text: string) => startHostileRedis(() => `-${text}\r\n`);
/** A server that closes each connection, and makes the clock go on by this time. */
async function closing(elapsedMs: () => number) {
  let now = process.uptime();
  const clock = vi.spyOn(process, 'uptime').mockImplementation(() => now);
  let connections = 0;
  const server = net.createServer((socket) => {
    connections++;
    now += elapsedMs() / 1000;
    socket.on('error', () => {});
    socket.destroy();
  });
  onTestFinished(() => clock.mockRestore());
  return { address: `127.0.0.1:${await listenOnFreePort(server)}`, connections: () => connections };
}

describe('several addresses', () => {
  it('are tried in order, and the first that answers is used and kept', async () => {
    const [second, third] = [await answering(), await answering()];
    const { store } = openRedis(
      `redis://127.0.0.1:${await freePort()},${addressOf(second)},${addressOf(third)}`,
    );
    await store.check();
    await store.check();
    expect(second.connections()).toBe(1);
    expect(second.commands).toEqual(['PING', 'PING']);
    expect(third.connections()).toBe(0);
  });

  it('name a database, which is selected first if it is not the one that a server begins with', async () => {
    for (const [path, first] of [
      ['/0', []],
      ['/1', ['SELECT']],
    ] as const) {
      const server = await answering();
      await openRedis(`redis://${addressOf(server)}${path}`).store.check();
      expect(server.commands).toEqual([...first, 'PING']);
    }
  });

  it('are not tried after one that refused the login', async () => {
    const [first, second] = [await refusing('WRONGPASS no'), await answering()];
    const url = `redis://${addressOf(first)},${addressOf(second)}`;
    const failure = await failureOf(openRedis(url, { password: new Sensitive('sesame') }).store.check());
    expect(failure).toMatchObject({ serverCode: 'WRONGPASS' });
    expect(failure?.message).toContain(`${addressOf(first)}, ${addressOf(second)}`);
    expect(second.connections()).toBe(0);
  });
});

describe('a server that is out of reach', () => {
  it('is tried for the time of the call, and the error says why', async () => {
    const { store } = openRedis(`redis://127.0.0.1:${await freePort()}`, { timeoutMs: 120 });
    const begun = performance.now();
    const failure = await failureOf(store.check());
    expect(performance.now() - begun).toBeLessThan(1000);
    expect(failure?.message).toMatch(
      /^cannot reach the Redis server 127\.0\.0\.1:\d+: nothing listens there$/,
    );
    expect(failure?.hint).toContain('check GRAPHCRED_REDIS_URL');
    const socket = path.join(temporaryHome(), 'no.sock');
    const missing = await failureOf(openRedis(`unix://${socket}`, { timeoutMs: 60 }).store.check());
    expect(missing?.message).toBe(`cannot reach the Redis server ${socket}: there is no such socket`);
  });

  it.each([
    ['two seconds if it never answered', 900, {}, 2],
    ['six seconds if Sentinels may be replacing it', 1900, { sentinelMaster: 'tokens' }, 3],
  ])('is tried for %s', async (_what, elapsedMs, options, connections) => {
    const { address, connections: made } = await closing(() => elapsedMs);
    expect(await failureOf(openRedis(`redis://${address}`, options).store.check())).toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
    expect(made()).toBeGreaterThanOrEqual(connections);
    expect(made()).toBeLessThanOrEqual(connections + 1);
  });

  it('is tried for ten seconds if it answered before', async () => {
    let now = process.uptime();
    const clock = vi.spyOn(process, 'uptime').mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    const answers: (string | undefined)[] = ['+PONG\r\n'];
    const server = await startHostileRedis(() => {
      const answer = answers.shift();
      if (answer === undefined) now += 2.2;
      return answer ?? '-LOADING for a while\r\n';
    });
    const { store } = openRedis(server.url);
    await store.check();
    expect(await failureOf(store.check())).toMatchObject({ serverCode: 'LOADING' });
    expect(server.connections()).toBe(5);
  });
});

describe('a server that accepts a connection and does not answer', () => {
  // This process has run for a while: what it waits for is a time, and not a point in time.
  beforeEach(() => {
    const uptime = process.uptime.bind(process);
    const clock = vi.spyOn(process, 'uptime').mockImplementation(() => uptime() + 500_000);
    onTestFinished(() => clock.mockRestore());
  });
  const password = new Sensitive('sesame');
  const silent = () => startHostileRedis(() => undefined);
  const fails = async ({ url }: { url: string }, sentinelMaster?: string) => {
    const options = { password, timeoutMs: 100, ...(sentinelMaster !== undefined && { sentinelMaster }) };
    const failure = await failureOf(openRedis(url, options).store.check());
    expect(failure?.message).toMatch(/^cannot reach the Redis server 127\.0\.0\.1:\d+: it does not answer$/);
  };
  /** A Sentinel that gives these answers one after the other, and then none. */
  const sentinel = (...answers: (string | Buffer)[]) => startHostileRedis(() => answers.shift());

  it('is given up with the time of the call, at the login too', async () => {
    const server = await silent();
    await fails(server);
    expect(server.commands[0]).toBe('AUTH');
  });

  it('is given up with the time of the call when it is a Sentinel, whatever it was asked', async () => {
    const noAuth = '-NOAUTH Authentication required.\r\n';
    for (const answers of [[], [noAuth], [noAuth, '+OK\r\n']]) {
      const asked = await sentinel(...answers);
      await fails(asked, 'tokens');
      expect(asked.commands.slice(0, answers.length + 1)).toEqual(
        ['SENTINEL', 'AUTH', 'SENTINEL'].slice(0, answers.length + 1),
      );
    }
  });

  it('leaves time for the address after it', async () => {
    const [first, second] = [await silent(), net.createServer()];
    second.on('connection', (socket) => {
      const answer = (text: Buffer) => socket.write(text.includes('PING') ? '+PONG\r\n' : '+OK\r\n');
      socket.on('error', () => {}).on('data', (text: Buffer) => setTimeout(answer, 60, text));
    });
    const port = await listenOnFreePort(second);
    const { store } = openRedis(`redis://${addressOf(first)},127.0.0.1:${port}`, {
      password,
      timeoutMs: 600,
    });
    await store.check();
    expect(first.connections()).toBe(1);
  });
});

it('two calls at once share one connection, also after one that failed', async () => {
  const refusals = ['-LOADING for a while\r\n'];
  const server = await startHostileRedis(() => refusals.shift() ?? '+PONG\r\n');
  const { store } = openRedis(server.url);
  await Promise.all([store.check(), store.check(), store.check()]);
  expect(server.connections()).toBe(2);
  expect(server.commands).toHaveLength(4);
});

it('a connection without an answer for two and a half seconds is replaced, since its server may be no master any more', async () => {
  const answers = ['+PONG\r\n', undefined];
  const server = await startHostileRedis(() => (answers.length > 0 ? answers.shift() : '+PONG\r\n'));
  const { store } = openRedis(server.url);
  await store.check();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  const asking = store.check();
  while (server.commands.length < 2) await turns(1);
  // The time is counted in ten steps.
  for (let step = 1; step <= 10; step++) {
    expect(server.connections()).toBe(1);
    vi.advanceTimersByTime(250);
    await turns(5);
  }
  while (server.connections() < 2) {
    await turns(1);
    // The pause before the next attempt.
    vi.advanceTimersByTime(10);
  }
  await asking;
  expect(server.commands).toHaveLength(3);
});

describe('a node of a cluster', () => {
  it('is followed over several others', async () => {
    const last = await answering();
    let next = last;
    for (let step = 0; step < 5; step++) next = await refusing(`MOVED 7 ${addressOf(next)}`);
    await openRedis(next.url).store.check();
    expect(last.commands).toEqual(['PING']);
  });

  it('that names only the port of another one means the same host', async () => {
    const there = await answering();
    const port = addressOf(there).split(':')[1];
    const here = await refusing(`MOVED 7 :${port}`);
    await openRedis(here.url).store.check();
    expect(there.commands).toEqual(['PING']);
    expect(here.connections()).toBe(1);
  });

  it('is asked again in the place that was named, and not where the address leads', async () => {
    const there = await answering();
    const here = await refusing(`MOVED 7 ${addressOf(there)}`);
    const { store } = openRedis(here.url);
    await store.check();
    await store.check();
    expect(here.connections()).toBe(1);
    expect(there.connections()).toBe(1);
  });
});

describe('a Sentinel', () => {
  const sentinel = (answer: string | Buffer) => startHostileRedis(() => answer);
  const check = ({ url }: { url: string }) =>
    failureOf(openRedis(url, { sentinelMaster: 'tokens' }).store.check());

  it.each([
    ['one word', '+OK\r\n'],
    ['a host alone', array(bulk('127.0.0.1'))],
    ['a port behind a letter', array(bulk('127.0.0.1'), bulk('x6379'))],
    ['a number as the host', array(Buffer.from(':7\r\n'), bulk('6379'))],
  ])('that answers with %s is not followed', async (_what, answer) => {
    expect((await check(await sentinel(answer)))?.message).toContain('a Sentinel sent no address');
  });

  it('that refuses the question, and not for want of a login, is sent no password', async () => {
    const asked = await sentinel('-NOPERM no\r\n');
    const { store } = openRedis(asked.url, { sentinelMaster: 'tokens', password: new Sensitive('hidden') });
    expect((await failureOf(store.check()))?.message).toContain('it answered SENTINEL with NOPERM');
    expect(asked.commands).toEqual(['SENTINEL']);
  });

  it('that names a server which is away is not the one that the error is about', async () => {
    const port = await freePort();
    const named = await sentinel(array(bulk('127.0.0.1'), bulk(`${port}`)));
    const options = { sentinelMaster: 'tokens', timeoutMs: 100 };
    const failure = await failureOf(openRedis(named.url, options).store.check());
    expect(failure?.message).toBe(`cannot reach the Redis server 127.0.0.1:${port}: nothing listens there`);
  });

  it('that does not answer has the next one asked', async () => {
    const master = await answering();
    const [, port = ''] = addressOf(master).split(':');
    const second = await sentinel(array(bulk('127.0.0.1'), bulk(port)));
    const url = `redis://127.0.0.1:${await freePort()},${addressOf(second)}`;
    await openRedis(url, { sentinelMaster: 'tokens' }).store.check();
    expect(second.commands).toEqual(['SENTINEL']);
    expect(master.commands).toEqual(['PING']);
  });
});

it('only a server that is far away and speaks without TLS causes a warning, once', async () => {
  const server = await answering();
  const port = addressOf(server).split(':')[1];
  const far = openRedis(`redis://0.0.0.0:${port},0.0.0.0:${port}`);
  await far.store.check();
  const again = openRedis(`redis://0.0.0.0:${await freePort()},0.0.0.0:${port}`);
  await again.store.check();
  const near = openRedis(server.url);
  await near.store.check();
  const secured = openRedis(`rediss://0.0.0.0:${port}`, { timeoutMs: 100 });
  await failureOf(secured.store.check());
  expect([far, again, near, secured].map(({ warnings }) => warnings.length)).toEqual([1, 1, 0, 0]);
});
