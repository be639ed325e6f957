// Runs the client's contract tests against servers whose answers differ from what the sandbox assumes: each test draws texts, statuses and switches
// at random. A pass means that the client is robust, not that the real servers answer like this.
import { describe, expect, onTestFailed, test } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/server.js';
import { defined } from '../helpers/defined.js';
import { DEEP } from '../helpers/property.js';
import { connect, refusalOf, sandbox, varySandboxes } from './core-support.js';
import { SWITCHES_4, TEXTS_3, TEXTS_4, TEXTS_REST, wordings } from './core-varied-data.js';

const SEED = Number(process.env.GRAPHCRED_SEED ?? Math.floor(Math.random() * 1e9));
const ROUNDS = DEEP ? 40 : 1;
console.log(`answers drawn with GRAPHCRED_SEED=${SEED}`);

let state = SEED >>> 0;
/** Returns a random whole number from 0 to `below` - 1 (algorithm: mulberry32). */
function draw(below: number): number {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), state | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) % below;
}
const pick = <T>(values: readonly T[]): T => defined(values[draw(values.length)]);

function drawn(serverVersion: string): Pick<SandboxOptions, 'texts' | 'switches'> {
  const isNew = serverVersion.startsWith('4');
  const texts = Object.entries({ ...TEXTS_REST, ...(isNew ? TEXTS_4 : TEXTS_3) });
  return {
    texts: Object.fromEntries(texts.map(([id, possible]) => [id, pick(wordings(possible))])),
    switches: isNew
      ? Object.fromEntries(Object.entries(SWITCHES_4).map(([name, values]) => [name, pick<unknown>(values)]))
      : { refreshExpirationBefore35: pick(['lifetime', 'epoch'] as const) },
  };
}

varySandboxes((asked) => {
  const { texts, switches } = drawn(asked.serverVersion ?? '');
  const options = {
    ...asked,
    texts: { ...texts, ...asked.texts },
    switches: { ...switches, ...asked.switches },
  };
  onTestFailed(() => console.log(`GRAPHCRED_SEED=${SEED} drew ${JSON.stringify(options)}`));
  return options;
});

for (let round = 0; round < ROUNDS; round++) {
  const once = `?round=${round}`;
  await import(/* @vite-ignore */ `./core-interface.test.ts${once}`);
  await import(/* @vite-ignore */ `./core-version-changed.test.ts${once}`);
}

describe('an unknown token and a bad secret are told apart', () => {
  test.each(['3.2.0', '3.10.1'])('with every pair of messages on %s', async (serverVersion) => {
    const all = wordings(TEXTS_3.badSecret3 ?? []).flatMap((badSecret3) =>
      wordings(TEXTS_3.unknownToken3 ?? []).map((unknownToken3) => ({ badSecret3, unknownToken3 })),
    );
    const pairs = DEEP ? all : Array.from({ length: 12 }, () => pick(all));
    for (const texts of pairs) {
      const to = await sandbox({ serverVersion, texts });
      const conn = connect(to);
      const secret = await conn.createSecret('ci');
      const { token } = await conn.mintToken({ secret });
      const unknown = 't'.repeat(32);
      const of = (used: string, one: string) => refusalOf(conn.deleteToken(used, { token: one }));
      const codes = [
        await of('0'.repeat(32), token),
        await of(secret, unknown),
        await of('0'.repeat(32), unknown),
      ];
      expect({ texts, codes: codes.map(({ code }) => code) }).toEqual({
        texts,
        codes: ['AUTH_FAILED', 'NOT_FOUND', 'AUTH_FAILED'],
      });
      await to.close();
    }
  });
});

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

  test('that has a longest lifetime names it in the error', async () => {
    const conn = connect(await start({ switches: { maxLifetime: 60 } }));
    const refused = await refusalOf(conn.getToken());
    expect(refused).toMatchObject({ code: 'SERVER_ERROR', option: 'lifetime' });
    expect(refused.message).toContain('60');
  });

  test('as 4.0 with the paths of 4.1 mints a token', async () => {
    const conn = connect(await start({ serverVersion: '4.0.0' }));
    const [token] = await conn.getToken({ secret: await conn.createSecret('ci') });
    expect(await conn.checkToken(token)).toEqual({ accepted: true });
  });

  test('as 4.0 with the paths of 3.11 gives an error with a hint, and works if the version is set', async () => {
    const to = await start({ serverVersion: '4.0.0', switches: { tokensOn40: 'as-3.11' } });
    const refused = await refusalOf(connect(to).getToken());
    expect(refused.code).toBe('BAD_RESPONSE');
    expect(refused.option).toBe('serverVersion');
    // The login is not sent to another address.
    expect(to.requests.filter(({ path }) => path.endsWith('/requesttoken'))).toEqual([]);
    const conn = connect(to, { serverVersion: '3' });
    const secret = await conn.createSecret('ci');
    const [token] = await conn.getToken({ secret });
    expect(await conn.checkToken(token)).toEqual({ accepted: true });
    expect(await conn.deleteToken(secret)).toBe(true);
    expect(await conn.dropSecret('ci')).toBe('Dropped: ci.');
  });
});
