import http from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { awaitCallback } from '../../src/app/login/callback.js';
import { visit } from '../helpers/provider.js';

async function door(port = 0, waitMs = 60_000) {
  const callback = await awaitCallback(port, 'right', waitMs);
  onTestFinished(() => callback.close());
  return callback;
}

// holds: C12.10
test.each([
  ['another state', '?code=c&state=wrong', {}, 400],
  ['no state', '?code=c', {}, 400],
  ['the script of a page', '?code=c&state=right', { 'sec-fetch-mode': 'cors' }, 403],
  ['the last page too soon', '/../done', {}, 404],
  ['another name of this machine', '?code=c&state=right', { host: 'rebound.example' }, 403],
])(
  'a request with %s is refused, and the browser is still waited for',
  async (_what, query, headers, status) => {
    const { redirectUri, arrived } = await door();
    const refused = await visit(`${redirectUri}${query}`, headers);
    expect([refused.status, refused.text, refused.headers['access-control-allow-origin']]).toEqual([
      status,
      '',
      undefined,
    ]);
    const right = await visit(`${redirectUri}?code=c&state=right`);
    expect([right.status, right.headers.location]).toEqual([303, '/done']);
    expect((await arrived).searchParams.get('code')).toBe('c');
    expect((await visit(`${redirectUri}?code=d&state=right`)).status).toBe(409);
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
  const { redirectUri, arrived } = await door();
  const { port } = new URL(redirectUri);
  const status = await new Promise((resolve, reject) => {
    http
      .get({ port, host: '127.0.0.1', path: '//' }, (reply) => resolve(reply.statusCode))
      .on('error', reject);
  });
  expect(status).toBe(400);
  await visit(`${redirectUri}?code=c&state=right`);
  await arrived;
});
