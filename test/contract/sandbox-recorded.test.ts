// The only recording there is of a real server: /requesttoken of 3.x, from an integration test suite of 2022, byte for
// byte. Its statuses are assumed. The other texts are in test/transcripts/sandbox.
import { describe, expect, it } from 'vitest';
import { basic, LOGIN, NOW, raw, SECRET, start } from './sandbox-raw.js';

const UNKNOWN = 's0000000000000000000000000000009';
const NO_TOKEN = 't0000000000000000000000000000009';
const SECOND = { Authorization: basic('second', 'pass:with:colons') };

const BAD_SECRET = `{"code":"REST-1101","error":true,"message":"The secret '${UNKNOWN}' is invalid. Please enter a valid one."}`;
const NO_LOGIN =
  '{"code":"REST-1101","error":true,"message":"The username or password is incorrect. Please enter a valid one."}';
const NO_NUMBER =
  '{"code":"REST-1101","error":true,"message":"Invalid parameters, lifetime is not a number.","token":""}';
const UNKNOWN_TOKEN = `{"error":true,"message":"The token '${NO_TOKEN}' is invalid, please provide a valid one."}`;
const TOO_LONG = `{"code":"REST-3101","error":true,"message":"The duration '100' exceeds the maximum limit '10'. Please enter a valid one.","token":""}`;

describe.each(['3.2.0', '3.9.3'])('the recording, as %s answers', (serverVersion) => {
  const isOld = serverVersion === '3.2.0';
  const begin = async (maxLifetime = 0) => {
    const { restUrl } = await start({ serverVersion, switches: { maxLifetime } });
    return async (method: string, fields: Record<string, string>, login: Record<string, string> = {}) => {
      const old = `${method === 'POST' ? 'GET' : method} /requesttoken?${new URLSearchParams(fields)}`;
      return isOld
        ? raw(restUrl, old, login)
        : raw(restUrl, `${method} /requesttoken`, login, JSON.stringify(fields));
    };
  };
  const tokenOf = (body: string) => /"token":"(\w+)"/.exec(body)?.[1] ?? '';

  it.each([
    ['POST', { secret: UNKNOWN, token: NO_TOKEN }, {}, BAD_SECRET],
    ['PUT', { secret: UNKNOWN, token: NO_TOKEN }, {}, BAD_SECRET],
    ['DELETE', { secret: UNKNOWN, token: NO_TOKEN }, {}, BAD_SECRET],
    ['POST', { graph: 'demo_graph', token: NO_TOKEN }, {}, NO_LOGIN],
    ['PUT', { graph: 'demo_graph', token: NO_TOKEN }, {}, NO_LOGIN],
    ['DELETE', { graph: 'demo_graph', token: NO_TOKEN }, {}, NO_LOGIN],
    ['POST', { secret: SECRET, lifetime: 'abc' }, {}, NO_NUMBER],
    ['POST', { secret: SECRET, lifetime: '100' }, {}, TOO_LONG],
    ['PUT', { secret: SECRET, token: NO_TOKEN }, {}, UNKNOWN_TOKEN],
    ['PUT', { token: NO_TOKEN }, LOGIN, UNKNOWN_TOKEN],
    ['DELETE', { secret: SECRET, token: NO_TOKEN }, {}, UNKNOWN_TOKEN],
    ['DELETE', { token: NO_TOKEN }, LOGIN, UNKNOWN_TOKEN],
  ])('%s with %j', async (method, fields, login, answer) => {
    const send = await begin(10);
    const { status, body } = await send(method, fields, login as Record<string, string>);
    expect({ status, body }).toEqual({ status: 200, body: answer });
  });

  it("gives a user no right to change somebody else's token", async () => {
    const send = await begin();
    const token = tokenOf((await send('POST', { secret: SECRET })).body);
    const number = await send('PUT', { secret: SECRET, token, lifetime: 'abc' });
    expect(number.body).toBe(NO_NUMBER);
    for (const [method, word] of [
      ['PUT', 'Refresh'],
      ['DELETE', 'Drop'],
    ] as const) {
      const { status, body } = await send(method, { token }, SECOND);
      const answer = `{"error":true,"message":"${word} token failed, Permission denied."}`;
      expect({ status, body }).toEqual({ status: 200, body: answer });
    }
  });

  it("lets a superuser change somebody else's token, by password or secret, for about a month", async () => {
    const send = await begin();
    const more = { graph: 'other_graph', lifetime: '60' };
    for (const [fields, login] of [
      [{}, LOGIN],
      [{ secret: SECRET }, {}],
    ] as const) {
      const token = tokenOf((await send('POST', more, SECOND)).body);
      const answer = (expiration: number, words: string) =>
        `{"code":"REST-0000","expiration":${expiration},"error":false,"message":"${words}","token":"${token}"}`;
      const refreshed = answer(isOld ? 2_592_000 : NOW + 2_592_000, 'Refresh token successfully.');
      expect((await send('PUT', { ...fields, token }, login)).body).toBe(refreshed);
      const dropped = answer(-1, 'Drop token successfully.');
      expect((await send('DELETE', { ...fields, token }, login)).body).toBe(dropped);
    }
  });

  it('grants a lifetime at the maximum', async () => {
    const send = await begin(10);
    const { body } = await send('POST', { secret: SECRET, lifetime: '10' });
    expect(body).toMatch(
      `{"code":"REST-0000","expiration":${NOW + 10},"error":false,"message":"Generate new`,
    );
  });
});
