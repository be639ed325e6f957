import { describe, expect, test } from 'vitest';
import type { Protocol, ServerSession } from '../../src/core/protocol/session.js';
import { versionOf } from '../../src/core/protocol/version.js';
import { mintInUnit } from '../../src/core/tokens.js';
import { GraphException, Sensitive } from '../../src/index.js';

describe('a mint on a server whose unit of a lifetime is not known', () => {
  const DAY = 86_400;

  async function mintOf(
    lives: number[],
    deleteToken: (token: string) => Promise<unknown>,
    lifetimeUnit?: 's' | 'ms',
    lifetime = DAY,
    isRemembered = true,
  ) {
    const warnings: string[] = [];
    let unit = lifetimeUnit;
    const protocol = {
      mint: async () => {
        const grantedSeconds = lives.shift() ?? expect.fail('minted once too often');
        return { token: `t${grantedSeconds}`, grantedSeconds };
      },
      deleteToken: (_session: unknown, token: Sensitive) => deleteToken(token.reveal()),
    } as unknown as Protocol;
    const session = {
      version: versionOf('4.1.2'),
      secretOr: () => undefined,
      tokenOr: (token: string) => new Sensitive(token),
    } as unknown as ServerSession;
    const { token } = await mintInUnit(session, protocol, {
      lifetime,
      lifetimeUnit,
      onLifetimeUnit: isRemembered ? (seen) => (unit = seen) : undefined,
      onWarning: (warning) => warnings.push(warning),
    });
    return { token, unit, warnings };
  }

  test('remembers milliseconds when the second token lives as long as was asked', async () => {
    const found = await mintOf([86, DAY], () => expect.fail('a token was deleted'));
    expect(found).toEqual({ token: `t${DAY}`, unit: 'ms', warnings: [] });
  });

  test.each([1, 2])('asks once for a token of %i s, since clocks count whole seconds', async (lifetime) => {
    const found = await mintOf([lifetime], () => expect.fail('a token was deleted'), undefined, lifetime);
    expect(found).toEqual({ token: `t${lifetime}`, unit: undefined, warnings: [] });
  });

  test.each([
    [DAY, 78, 77],
    [DAY, 95, 96],
    [10_000, 12, 13],
    [20, 2, 3],
    [8, 1, 3],
  ])('asks again when %i s became %i s, about a thousandth, but not for %i s', async (asked, near, far) => {
    const none = () => expect.fail('a token was deleted');
    expect((await mintOf([near, asked], none, undefined, asked)).token).toBe(`t${asked}`);
    expect((await mintOf([far], none, undefined, asked)).token).toBe(`t${far}`);
  });

  test.each([
    ['the second token when that one lives too long', undefined, [86, DAY * 1000], DAY, DAY * 1000],
    ['the first token when it lives for more than five minutes', 'ms', [2592, 30 * DAY], 30 * DAY, 2592],
  ])('revokes %s, and uses the other one', async (_what, unit, lives, lifetime, revokedLife) => {
    const used = lives.find((life) => life !== revokedLife);
    const revoked: string[] = [];
    const found = await mintOf(lives, async (token) => revoked.push(token), undefined, lifetime);
    expect({ ...found, revoked }).toMatchObject({ token: `t${used}`, unit, revoked: [`t${revokedLife}`] });
  });

  test('leaves the first token alone where the next mint knows the unit no better', async () => {
    const none = () => expect.fail('a token was deleted');
    const found = await mintOf([2592, 30 * DAY], none, undefined, 30 * DAY, false);
    expect(found).toMatchObject({ token: `t${30 * DAY}`, unit: undefined });
  });

  test('asks once when the unit is known and the token lives short all the same', async () => {
    const found = await mintOf([86], () => expect.fail('a token was deleted'), 'ms');
    expect(found).toMatchObject({ token: 't86', unit: 'ms' });
  });

  test('revokes a token that lives too long', async () => {
    const revoked: string[] = [];
    const found = await mintOf([DAY * 1000, DAY], async (token) => revoked.push(token), 'ms');
    expect(found).toEqual({ token: `t${DAY}`, unit: 's', warnings: [] });
    expect(revoked).toEqual([`t${DAY * 1000}`]);
  });

  test('remembers no unit when the second token lives shorter than was asked', async () => {
    const found = await mintOf([86, DAY / 10], () => expect.fail('a token was deleted'));
    expect(found).toMatchObject({ token: `t${DAY / 10}`, unit: undefined });
  });

  test('warns when the server refuses to revoke a token that lives too long', async () => {
    const refuse = () => Promise.reject(new GraphException('SERVER_ERROR', 'no'));
    const found = await mintOf([DAY * 1000, DAY], refuse, 'ms');
    expect(found).toMatchObject({ token: `t${DAY}`, unit: 's' });
    expect(found.warnings).toEqual([
      `a token that is not needed was made, is valid for ${DAY * 1000} s and could not be revoked: no`,
    ]);
  });

  test('fails when the revocation ends with an error of the program itself', async () => {
    const mistake = new TypeError('a mistake');
    await expect(mintOf([DAY * 1000, DAY], () => Promise.reject(mistake), 'ms')).rejects.toBe(mistake);
  });
});
