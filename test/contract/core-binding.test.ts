import { createServer } from 'node:http';
import { describe, expect, test } from 'vitest';
import { type HttpSettings, send } from '../../src/core/http/send.js';
import type { HttpRequest } from '../../src/core/http/types.js';
import {
  BoundCredential,
  type ConnectionOptions,
  Deadline,
  GraphConnection,
  Sensitive,
  type Servers,
} from '../../src/index.js';
import { defined } from '../helpers/defined.js';
import { listening, refusalOf, SERVERS, sandbox } from './core-support.js';

const VALUE = 'canary-0f1e2d3c4b5a69788796a5b4c3';
const VERSIONS = ['3.2.0', '3.10.1', '4.1.2'];

/** Starts two servers that answer every request with a token, and records what each received. */
async function twoServers() {
  const listen = async () => {
    const heard: string[] = [];
    const url = await listening(
      createServer((request, response) => {
        let body = '';
        request.on('data', (chunk) => {
          body += chunk;
        });
        request.on('end', () => {
          heard.push([request.method, request.url, JSON.stringify(request.headers), body].join(' '));
          const isVersion = request.url === '/gsqlserver/gsql/version';
          response.end(isVersion ? 'GSQL version: 3.2.0' : '{"error":false,"token":"abcdefgh"}');
        });
      }),
    );
    return { url, heard };
  };
  return { good: await listen(), evil: await listen() };
}

const bound = (servers: Servers) => new BoundCredential(new Sensitive(VALUE), servers);
const pair = (restUrl: string, gsqlUrl = restUrl): Servers => ({ restUrl, gsqlUrl });

const CALLS: Record<string, (conn: GraphConnection, credential: BoundCredential) => Promise<unknown>> = {
  'mintToken with a secret': (conn, secret) => conn.mintToken({ secret }),
  'refreshToken with a secret': (conn, secret) => conn.refreshToken({ secret, token: 'abcdefgh' }),
  'refreshToken of a token': (conn, token) => conn.refreshToken({ secret: 'abcdefgh', token }),
  'deleteToken with a secret': (conn, secret) => conn.deleteToken(secret, { token: 'abcdefgh' }),
  'deleteToken of a token': (conn, token) => conn.deleteToken('abcdefgh', { token }),
  'checkToken of a token': (conn, token) => conn.checkToken(token),
  'rest with a token': (conn, token) => {
    conn.apiToken = token;
    return conn.rest('GET', '/echo');
  },
};

const OPTIONS: Record<string, (credential: BoundCredential) => ConnectionOptions> = {
  password: (password) => ({ username: 'ada', password }),
  secret: (secret) => ({ secret }),
  apiToken: (apiToken) => ({ apiToken }),
  jwtToken: (jwtToken) => ({ jwtToken }),
};

describe.each(VERSIONS)('on %s a credential bound to another pair', (serverVersion) => {
  const on4 = serverVersion.startsWith('4');

  test.each(Object.keys(CALLS).filter((name) => !(on4 && name.startsWith('refresh'))))(
    'is HOST_MISMATCH for %s, and nothing of it is sent',
    async (name) => {
      const { good, evil } = await twoServers();
      const credential = bound(pair(good.url));
      // The second pair has one address in common with the pair that the credential belongs to.
      for (const servers of [pair(evil.url), pair(evil.url, good.url), pair(good.url, evil.url)]) {
        const conn = new GraphConnection({ ...servers, graph: 'demo', serverVersion });
        const refused = await refusalOf(defined(CALLS[name])(conn, credential));
        expect(refused.code).toBe('HOST_MISMATCH');
        expect(refused.message).toContain(good.url);
        expect(refused.message).toContain(evil.url);
      }
      expect([...good.heard, ...evil.heard].join()).not.toContain(VALUE);
    },
  );

  test.each(Object.keys(OPTIONS))('is HOST_MISMATCH if it is the option %s', async (name) => {
    const { good, evil } = await twoServers();
    const conn = new GraphConnection({
      ...pair(evil.url),
      graph: 'demo',
      serverVersion,
      ...defined(OPTIONS[name])(bound(pair(good.url))),
    });
    const call = name.endsWith('Token')
      ? conn.rest('GET', '/echo')
      : on4
        ? conn.getSecrets()
        : conn.getToken();
    expect((await refusalOf(call)).code).toBe('HOST_MISMATCH');
    expect(evil.heard).toEqual([]);
  });

  test('is sent to the pair it belongs to', async () => {
    const { good, evil } = await twoServers();
    const servers = pair(good.url, evil.url);
    const conn = new GraphConnection({ ...servers, graph: 'demo', serverVersion });
    await conn.mintToken({ secret: bound(servers) });
    expect([...good.heard, ...evil.heard].join()).toContain(VALUE);
  });
});

test.each(SERVERS)(
  'on $serverVersion plain credentials belong to the connection that they are given to',
  async (server) => {
    const box = await sandbox(server);
    const options = { restUrl: box.restUrl, gsqlUrl: box.gsqlUrl, graph: 'demo' };
    const conn = new GraphConnection({ ...options, username: 'tigergraph', password: 'tigergraph' });
    const secret = await conn.createSecret('ci');
    await new GraphConnection(options).getToken({ secret: new Sensitive(secret) });
    const servers = await conn.baseUrls();
    await new GraphConnection(options).getToken({
      secret: new BoundCredential(new Sensitive(secret), servers),
    });
  },
);

describe('at the socket', () => {
  const SETTINGS: HttpSettings = {
    tls: {},
    proxy: undefined,
    signal: undefined,
    onStart: undefined,
    onRequest: undefined,
  };
  const WAYS: Record<string, (credential: BoundCredential) => Partial<HttpRequest>> = {
    header: (credential) => ({ authorization: { scheme: 'Bearer', credential } }),
    'basic header': (credential) => ({ authorization: { scheme: 'Basic', username: 'ada', credential } }),
    query: (secret) => ({ query: { secret } }),
    body: (secret) => ({ json: { secret } }),
    'whole body': (body) => ({ body }),
  };

  describe.each(Object.keys(WAYS))('a credential in the %s', (way) => {
    const ask = (base: string, path: string, own: Servers, inForce: Servers | undefined, proxy?: string) =>
      send(
        { ...SETTINGS, proxy: proxy === undefined ? undefined : { http: proxy } },
        { server: 'rest', method: 'POST', base, path, servers: inForce, ...defined(WAYS[way])(bound(own)) },
        new Deadline(5000),
      );

    test('is sent to both addresses of its pair', async () => {
      const { good, evil } = await twoServers();
      const servers = pair(good.url, evil.url);
      for (const base of [good.url, evil.url]) await ask(base, '/x', servers, servers);
      expect(good.heard.length + evil.heard.length).toBe(2);
    });

    test('is sent to no other address, whatever pair is in force', async () => {
      const { good, evil } = await twoServers();
      const own = pair(good.url);
      for (const inForce of [own, pair(evil.url), undefined])
        expect((await refusalOf(ask(evil.url, '/x', own, inForce))).code).toBe('HOST_MISMATCH');
      expect((await refusalOf(ask(good.url, '/x', own, undefined))).code).toBe('HOST_MISMATCH');
      expect([...good.heard, ...evil.heard]).toEqual([]);
    });

    test('is not sent to another address because of its path', async () => {
      const { good, evil } = await twoServers();
      const { host } = new URL(evil.url);
      const own = pair(good.url, `${good.url}/restpp`);
      for (const [base, path] of [
        [good.url, `@${host}/x`],
        [good.url, `@${new URL(good.url).host}/x`],
        [good.url, `:x@${host}/x`],
        [good.url.replace(/:\d+$/, ''), `:${new URL(evil.url).port}/x`],
        [good.url, '0/x'],
        [good.url, '.evil.example/x'],
        [`${good.url}/restpp`, '/../x'],
        [`${good.url}/restpp`, 'evil/x'],
        [`${good.url}/restpp`, '/%2e%2e/x'],
        [`${good.url}/`, '/x'],
        [`http://ada@${new URL(good.url).host}`, '/x'],
      ] as const) {
        const refused = await ask(base, path, own, own).then(
          () => undefined,
          (error: unknown) => error,
        );
        expect(refused, `${base} ${path}`).toBeDefined();
      }
      expect([...good.heard, ...evil.heard]).toEqual([]);
    });

    test('is not sent to a proxy if the address behind it is another', async () => {
      const { good, evil } = await twoServers();
      const own = pair('http://db.example:9000');
      const refused = await refusalOf(ask('http://evil.example', '/x', own, own, good.url));
      expect(refused.code).toBe('HOST_MISMATCH');
      expect([...good.heard, ...evil.heard]).toEqual([]);
      await ask('http://db.example:9000', '/x', own, own, good.url);
      expect(good.heard.length).toBe(1);
    });
  });
});

test('on 4.x deleteToken logs in with the secret that it is given, not with the password', async () => {
  const { good } = await twoServers();
  const conn = new GraphConnection({
    ...pair(good.url),
    serverVersion: '4.1.2',
    username: 'ada',
    password: 'correct-horse',
  });
  await conn.deleteToken('a-given-secret', { token: 'abcdefgh' });
  expect(good.heard.length).toBe(2);
  for (const request of good.heard) expect(request).toContain('GSQL-Secret a-given-secret');
});
