import http from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { awaitCallback } from '../../src/auth/oidc/callback.js';
import { visit } from '../helpers/provider.js';

async function door(port = 0, waitMs = 60_000) {
  const callback = await awaitCallback(port, 'right', waitMs);
  onTestFinished(() => callback.close());
  const start = callback.startAt('https://provider.example/authorize?state=right');
  return { ...callback, start };
}

/** Starts as the browser does, and returns the header with its cookie. */
async function cookieFrom(start: string) {
  const { headers } = await visit(start);
  expect(headers.location).toBe('https://provider.example/authorize?state=right');
  const [cookie = ''] = headers['set-cookie'] ?? [];
  expect(cookie).toMatch(/^graphcred_\d+=[\w-]{36}; Path=\/callback; HttpOnly; SameSite=Lax$/);
  return { cookie: `other=1; ${cookie.split(';')[0]}` };
}

// holds: C12.10
test.each([
  ['another state', '?code=c&state=wrong', {}, 400],
  ['no state', '?code=c', {}, 400],
  ['the script of a page', '?code=c&state=right', { 'sec-fetch-mode': 'cors' }, 403],
  ['the last page too soon', '/../done', {}, 404],
  ['the state but no cookie', '?code=c&state=right', { cookie: 'graphcred_1=x' }, 403],
  ['another name of this machine', '?code=c&state=right', { host: 'rebound.example' }, 403],
])(
  'a request with %s is refused, and the browser is still waited for',
  async (_what, query, headers, status) => {
    const { redirectUri, arrived, start } = await door();
    const own = await cookieFrom(start);
    expect((await visit(start)).status).toBe(404);
    const refused = await visit(`${redirectUri}${query}`, { ...own, ...headers });
    expect([refused.status, refused.text, refused.headers['access-control-allow-origin']]).toEqual([
      status,
      '',
      undefined,
    ]);
    const right = await visit(`${redirectUri}?code=c&state=right`, own);
    expect([right.status, right.headers.location]).toEqual([303, '/done']);
    expect((await arrived).searchParams.get('code')).toBe('c');
    expect((await visit(`${redirectUri}?code=d&state=right`, own)).status).toBe(409);
    const page = await visit(new URL('/done', redirectUri).href);
    expect(page.text.replace(/<[^>]*>/g, '').trim()).toBe('graphcredYou can close this window.');
    expect(page.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
  },
);

// holds: C12.10
test('a port that is taken is exit 2, and a browser that is closed ends the wait', async () => {
  const { redirectUri, arrived } = await door(0, 20);
  await expect(door(Number(new URL(redirectUri).port))).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('is taken'),
  });
  await expect(arrived).rejects.toMatchObject({ code: 'TIMEOUT' });
});

// holds: C12.10
test('a request whose target is no path is refused, and the login goes on', async () => {
  const { redirectUri, arrived, start } = await door();
  const { port } = new URL(redirectUri);
  const status = await new Promise((resolve, reject) => {
    http
      .get({ port, host: '127.0.0.1', path: '//' }, (reply) => resolve(reply.statusCode))
      .on('error', reject);
  });
  expect(status).toBe(400);
  await visit(`${redirectUri}?code=c&state=right`, await cookieFrom(start));
  await arrived;
});
