// What the library makes of a 4.x server that differs from what the sandbox assumes of one.
import { describe, expect, test } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/server.js';
import { connect, sandbox } from './core-support.js';

describe('4.x', () => {
  const start = (options: SandboxOptions = {}) => sandbox({ serverVersion: '4.1.2', ...options });

  // holds: C7.3
  test('that mints while REST authentication is off causes no error', async () => {
    const to = await start({ restAuth: 'off', switches: { restAuthOffOn4: 'mint' } });
    const conn = connect(to);
    const secret = await conn.createSecret('ci');
    const [token] = await conn.getToken({ secret });
    expect(await conn.checkToken(token)).toEqual({ accepted: true });
    expect(await conn.deleteToken(secret)).toBe(true);
  });

  test('that removes the oldest entry of a full block list deletes the token', async () => {
    const to = await start({ switches: { fullBlockList: 'forget-oldest', blockListLimit: 1 } });
    const conn = connect(to);
    const { token: first } = await conn.mintToken({ lifetime: 600 });
    const { token: second } = await conn.mintToken({ lifetime: 700 });
    expect(await conn.deleteToken('', { token: first })).toBe(true);
    expect(await conn.deleteToken('', { token: second })).toBe(true);
    expect(await conn.checkToken(second)).toMatchObject({ accepted: false });
  });

  test.each(['makes-secret', 'makes-none'] as const)(
    'whose mint by password %s gives a token that works',
    async (made) => {
      const conn = connect(await start({ switches: { passwordMintOn4: made } }));
      const [token] = await conn.getToken();
      expect(await conn.checkToken(token)).toEqual({ accepted: true });
      expect(Object.keys(await conn.getSecrets()).length).toBe(made === 'makes-secret' ? 1 : 0);
      expect(await conn.deleteToken('')).toBe(true);
    },
  );

  test('as 4.0 with the paths of 4.1 mints a token', async () => {
    const conn = connect(await start({ serverVersion: '4.0.0' }));
    const [token] = await conn.getToken({ secret: await conn.createSecret('ci') });
    expect(await conn.checkToken(token)).toEqual({ accepted: true });
  });
});
