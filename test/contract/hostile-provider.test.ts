import crypto from 'node:crypto';
import fs from 'node:fs';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { bench } from '../helpers/cli.js';
import { PEM, publicKey, rsaJwt } from '../helpers/jwt.js';
import { listening } from '../helpers/ports.js';
import { signInByHttp } from '../helpers/provider.js';

const OTHER = crypto.generateKeyPairSync('rsa', { modulusLength: 2048 });
const CANARY = 'canaryrefreshtoken0123456789';
const NOW = () => Math.floor(Date.now() / 1000);

type Answer = (request: IncomingMessage, response: ServerResponse, issuer: string) => unknown;

interface Lies {
  /** Gets the `prompt` of each browser that comes. */
  readonly prompts?: (string | null)[];
  readonly claims?: (issuer: string) => object;
  readonly header?: object;
  readonly key?: crypto.KeyLike;
  readonly idToken?: (unsigned: string) => string;
  /** What the answer to this request for tokens says beside or instead of the honest one. */
  readonly tokens?: (request: URLSearchParams) => object;
  readonly discovery?: (issuer: string) => object;
  /** Answers in place of the honest one, by path. */
  readonly answers?: Readonly<Record<string, Answer>>;
}

const redirectTo =
  (where: string): Answer =>
  (_, response) =>
    response.writeHead(302, { location: where }).end();

const json = (response: ServerResponse, body: object, status = 200) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

const hmac = (unsigned: string) => crypto.createHmac('sha256', PEM).update(unsigned).digest('base64url');

/** Starts a provider that is honest but for its lies. It knows the nonce, as it gets it with the browser. */
async function hostileProvider(lies: Lies) {
  let nonce = '';
  const token = (issuer: string): string => {
    const claims = { sub: 'tigergraph', iss: issuer, aud: 'cli', iat: NOW(), exp: NOW() + 600, nonce };
    const all = { ...claims, ...lies.claims?.(issuer) };
    const whole = rsaJwt(all, { alg: 'RS256', kid: 'k', ...lies.header }, lies.key);
    const unsigned = whole.slice(0, whole.lastIndexOf('.'));
    return lies.idToken ? `${unsigned}.${lies.idToken(unsigned)}` : whole;
  };
  const honest: Record<string, Answer> = {
    '/.well-known/openid-configuration': (_, response, issuer) =>
      json(response, {
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        device_authorization_endpoint: `${issuer}/device`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'],
        id_token_signing_alg_values_supported: ['RS256'],
        ...lies.discovery?.(issuer),
      }),
    '/jwks': (_, response) =>
      json(response, {
        keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256', use: 'sig' }],
      }),
    '/auth': (request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://x');
      lies.prompts?.push(searchParams.get('prompt'));
      nonce = searchParams.get('nonce') ?? '';
      const back = new URL(searchParams.get('redirect_uri') ?? '');
      back.searchParams.set('code', 'canarycode0123456789');
      back.searchParams.set('state', searchParams.get('state') ?? '');
      response.writeHead(302, { location: back.href }).end();
    },
    '/token': async (request, response, issuer) => {
      const asked = new URLSearchParams(await text(request));
      json(response, {
        token_type: 'bearer',
        access_token: token(issuer),
        id_token: token(issuer),
        refresh_token: CANARY,
        expires_in: 600,
        ...lies.tokens?.(asked),
      });
    },
    '/device': (_, response, issuer) =>
      json(response, {
        device_code: 'canarydevicecode0123456789',
        user_code: 'ABCD',
        verification_uri: `${issuer}/code`,
        expires_in: 1,
        interval: 1,
      }),
  };
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://x');
    const answer = lies.answers?.[pathname] ?? honest[pathname];
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    if (answer) answer(request, response, issuer);
    else response.writeHead(404).end();
  });
  return listening(server);
}

const stateOf = (home: string) => {
  const folder = path.join(home, '.local/state/graphcred');
  return fs.existsSync(folder) ? fs.readdirSync(folder).filter((name) => /^(login|token)-/.test(name)) : [];
};

/** Logs in at it; a person follows the browser wherever it is sent. */
async function logInAt(issuer: string, more = '') {
  const b = await bench({ serverVersion: '4.2.0', provider: { key: PEM } });
  const bare = { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' };
  const visits: Promise<unknown>[] = [];
  const result = await b.run(
    `login --timeout 3 --oidc-issuer ${issuer} --oidc-client-id cli ${more}`.trim(),
    {
      env: bare,
      onStderr: (line) => {
        const [, url] = / in: (\S+)/.exec(line) ?? [];
        if (url) visits.push(signInByHttp(url, 'tigergraph'));
      },
    },
  );
  await Promise.allSettled(visits);
  return { ...result, b, bare };
}

const endless: Answer = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  const write = () => {
    while (!response.destroyed && response.write(' '.repeat(65_536)));
  };
  response.on('drain', write);
  write();
};

const refusing = (body: object): Lies => ({
  answers: { '/token': (_, response) => json(response, body, 400) },
});

describe('a hostile identity provider', () => {
  // holds: C12.11
  test('that tells no lie is believed, so that the lies below are what is refused', async () => {
    const { status, stderr, b } = await logInAt(await hostileProvider({}));
    expect([status, stateOf(b.home).length], stderr).toEqual([0, 2]);
  });

  // holds: C12.11
  test.each<[string, Lies, number, string]>([
    ['another nonce', { claims: () => ({ nonce: 'x' }) }, 8, ''],
    ['another issuer in the token', { claims: () => ({ iss: 'https://id.example' }) }, 8, ''],
    ['another audience', { claims: () => ({ aud: 'other' }) }, 8, ''],
    ['an end in the past', { claims: () => ({ exp: NOW() - 900, iat: NOW() - 1000 }) }, 8, ''],
    ['the signature of another key', { key: OTHER.privateKey }, 8, ''],
    ['a key that it does not publish', { header: { kid: 'z' }, key: OTHER.privateKey }, 8, ''],
    ['alg none', { header: { alg: 'none' }, idToken: () => '' }, 8, ''],
    ['an HMAC with its public key', { header: { alg: 'HS256' }, idToken: hmac }, 8, ''],
    ['no ID token', { tokens: () => ({ id_token: undefined }) }, 8, ''],
    ['an end before the beginning', { tokens: () => ({ expires_in: -1 }) }, 8, ''],
    ['an endless discovery document', { answers: { '/.well-known/openid-configuration': endless } }, 8, ''],
    ['an endless set of keys', { answers: { '/jwks': endless } }, 8, ''],
    [
      'a discovery document elsewhere',
      { answers: { '/.well-known/openid-configuration': redirectTo('http://127.0.0.1:9/') } },
      8,
      '',
    ],
    ['tokens elsewhere', { answers: { '/token': redirectTo('http://127.0.0.1:9/') } }, 8, ''],
    ['another issuer', { discovery: () => ({ issuer: 'https://id.example' }) }, 8, ''],
    [
      'tokens over http at another host',
      { discovery: () => ({ token_endpoint: 'http://id.example/token' }) },
      8,
      '',
    ],
    [
      'a login page that is a program',
      { discovery: () => ({ authorization_endpoint: 'file:///bin/sh' }) },
      8,
      '',
    ],
    ['an answer that never comes', { answers: { '/token': () => {} } }, 7, ''],
    ['an outage', { answers: { '/token': (_, response) => response.writeHead(503).end(CANARY) } }, 7, ''],
    ['a text of its own', refusing({ error: `\u001b[2J${CANARY}`, error_description: CANARY }), 4, ''],
    ['a description that is no text', refusing({ error: 'invalid_grant', error_description: [1] }), 4, ''],
    [
      'a device code that nobody can enter in time',
      refusing({ error: 'authorization_pending' }),
      7,
      '--device',
    ],
    [
      'a code page that is a program',
      {
        answers: {
          '/device': (_, response, issuer) =>
            json(response, {
              device_code: 'x',
              user_code: 'y',
              verification_uri: `file://${issuer}`,
              expires_in: 9,
            }),
        },
      },
      8,
      '--device',
    ],
  ])('with %s leaves nothing stored and ends in time', async (_what, lies, expected, more) => {
    const { status, stdout, stderr, b } = await logInAt(await hostileProvider(lies), `-v ${more}`);
    expect([status, stateOf(b.home)], stderr).toEqual([expected, []]);
    expect(stdout + stderr).not.toMatch(/canary|eyJ/);
    expect(stderr).not.toContain('\u001b');
    expect(fs.existsSync(path.join(b.home, '.config/graphcred/config.json'))).toBe(false);
  });

  test('that gives a refresh token only with consent is asked for it after the login', async () => {
    const given = [undefined, CANARY];
    const tokens = () => ({ refresh_token: given.shift() });
    const prompts: (string | null)[] = [];
    const { status, stderr, b, bare } = await logInAt(await hostileProvider({ tokens, prompts }));
    expect([status, stderr, prompts]).toEqual([
      0,
      expect.stringMatching(/to stay logged in: http/),
      [null, 'consent'],
    ]);
    expect((await b.run('token get --fresh', { env: bare })).status).toBe(0);
  });

  test('that wants PKCE of a device gets it', async () => {
    let challenge: string | null = null;
    const device: Answer = async (request, response, issuer) => {
      challenge = new URLSearchParams(await text(request)).get('code_challenge');
      const verification_uri = `${issuer}/code`;
      json(response, { device_code: 'x', user_code: 'y', verification_uri, expires_in: 9, interval: 1 });
    };
    const proof = crypto.createHash('sha256');
    const tokens = (request: URLSearchParams) => {
      proof.update(request.get('code_verifier') ?? '');
      return {};
    };
    await logInAt(await hostileProvider({ answers: { '/device': device }, tokens }), '--device');
    expect(proof.digest('base64url')).toBe(challenge);
  });

  test('that has no device flow is said to offer no login of this kind', async () => {
    const discovery = () => ({ device_authorization_endpoint: undefined });
    const { status, stderr } = await logInAt(await hostileProvider({ discovery }), '--device');
    expect([status, stderr]).toEqual([8, expect.stringContaining('offers no login of this kind')]);
  });

  // holds: C12.12
  test('whose keys are away while it renews costs no login: its new refresh token is used next', async () => {
    const used: (string | null)[] = [];
    const answers: Record<string, Answer> = {};
    const tokens = (request: URLSearchParams) => {
      used.push(request.get('refresh_token'));
      return { refresh_token: `${CANARY}${used.length}` };
    };
    const { b, bare } = await logInAt(await hostileProvider({ answers, tokens }));
    answers['/jwks'] = (_, response) => response.writeHead(503).end();
    expect((await b.run('token get --fresh', { env: bare })).status).toBe(7);
    delete answers['/jwks'];
    expect((await b.run('token get --fresh', { env: bare })).status).toBe(0);
    expect(used).toEqual([null, `${CANARY}1`, `${CANARY}2`]);
  });

  // holds: C12.12
  test('that gives another user when it renews is refused, and its token is not used', async () => {
    let sub = 'tigergraph';
    const { b, bare, status } = await logInAt(await hostileProvider({ claims: () => ({ sub }) }));
    expect(status).toBe(0);
    sub = 'alice';
    const { status: renewed, stdout, stderr } = await b.run('token get --fresh', { env: bare });
    expect([renewed, stdout]).toEqual([8, '']);
    expect(stderr).toContain('gave a token of another user');
  });
});
