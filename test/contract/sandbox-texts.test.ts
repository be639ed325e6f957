import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/server.js';
import { TEXTS } from '../../src/sandbox/texts.js';
import { demo, raw, SECRET, start } from './sandbox-raw.js';

describe('the control path for texts', () => {
  const set = (sandbox: Sandbox, value: string) => raw(sandbox.gsqlUrl, 'POST /__sandbox/texts', {}, value);
  const ask = async (sandbox: Sandbox) => {
    const reply = await raw(sandbox.restUrl, 'POST /requesttoken', {}, '{"secret":"unknown"}');
    const { code, message } = JSON.parse(reply.body) as { code?: string; message: string };
    return [reply.status, code, message];
  };
  const recorded = "The secret 'unknown' is invalid. Please enter a valid one.";

  it('sets a variant, a status or both, and restores the default', async () => {
    const sandbox = await start();
    expect(await ask(sandbox)).toEqual([200, 'REST-1101', recorded]);
    await set(sandbox, '{"badSecret3":"old"}');
    expect(await ask(sandbox)).toEqual([200, 'REST-3300', 'The secret is invalid.']);
    await set(sandbox, '{"badSecret3":403}');
    expect(await ask(sandbox)).toEqual([403, 'REST-1101', recorded]);
    await set(sandbox, '{"badSecret3":{"variant":"old","status":500}}');
    expect(await ask(sandbox)).toEqual([500, 'REST-3300', 'The secret is invalid.']);
    await set(sandbox, '{"badSecret3":"default"}');
    expect(await ask(sandbox)).toEqual([200, 'REST-1101', recorded]);
  });

  it('sets a code or a message alone, and a code can be left out', async () => {
    const sandbox = await start();
    await set(sandbox, '{"badSecret3":{"code":"X-1","message":"not {secret}, {nothing}"}}');
    expect(await ask(sandbox)).toEqual([200, 'X-1', 'not unknown, {nothing}']);
    await set(sandbox, '{"badSecret3":{"code":null}}');
    expect(await ask(sandbox)).toEqual([200, undefined, recorded]);
    await set(sandbox, '{"badSecret3":{"message":"no"}}');
    expect(await ask(sandbox)).toEqual([200, 'REST-1101', 'no']);
  });

  it('lists the current texts, with their evidence and variants', async () => {
    const sandbox = await start({ texts: { badSecret3: 401 } });
    const list = JSON.parse((await raw(sandbox.gsqlUrl, 'GET /__sandbox/texts')).body) as object;
    expect(Object.keys(list)).toEqual(Object.keys(TEXTS));
    expect(list).toMatchObject({
      badSecret3: { status: 401, code: 'REST-1101', evidence: 'R', variants: ['old'] },
      mayNotCreateGlobal: { evidence: 'F', variants: ['old'] },
    });
  });

  it('sets all values or none, and lists the valid ones', async () => {
    const sandbox = await start();
    for (const [value, words] of [
      ['{"badSecret3":"old","nothing":"old"}', 'There is no such text: nothing.'],
      ['{"badSecret3":"new"}', 'The text badSecret3 can be default, old.'],
      ['{"badSecret3":302}', 'The status of the text badSecret3 can be 200, 400, 401, 403, 404, 500.'],
      ['{"noGraphInUse":401}', 'The text noGraphInUse is a line of GSQL text: it has no status.'],
      ['{"badSecret3":null}', 'Send {'],
      ['{"badSecret3":{"message":1}}', 'Send {'],
      ['{"badSecret3":{"code":1}}', 'Send {'],
      ['{"toString":"old"}', 'There is no such text: toString.'],
      ['{"__proto__":"old"}', 'There is no such text: __proto__.'],
      ['{"badSecret3":"toString"}', 'The text badSecret3 can be default, old.'],
      ['[1', ''],
      ['null', 'Send a JSON object.'],
    ] as const) {
      const reply = await set(sandbox, value);
      expect([value, reply.status]).toEqual([value, 400]);
      expect((JSON.parse(reply.body) as { message: string }).message).toContain(words);
      expect(await ask(sandbox)).toEqual([200, 'REST-1101', recorded]);
    }
    await expect(demo({ texts: { badSecret3: 'new' } })).rejects.toThrow('can be default, old');
    await expect(demo({ switches: { maxLifetime: '1' as never } })).rejects.toThrow(
      'maxLifetime can be a whole number from 0 up',
    );
  });

  it('accepts every variant and every status of every text', async () => {
    const sandbox = await start();
    for (const [id, { status, variants }] of Object.entries(TEXTS)) {
      for (const variant of Object.keys(variants ?? {})) {
        expect((await set(sandbox, JSON.stringify({ [id]: variant }))).status).toBe(200);
      }
      if (status !== undefined) expect((await set(sandbox, JSON.stringify({ [id]: 404 }))).status).toBe(200);
    }
  });

  it('changes the texts of one sandbox only', async () => {
    const [one, other] = [await start({ texts: { badSecret3: 'old' } }), await start()];
    expect((await ask(one))[1]).toBe('REST-3300');
    expect((await ask(other))[1]).toBe('REST-1101');
  });

  it('does not let a caller’s value be read as a placeholder of a text', async () => {
    const sandbox = await start();
    const body = JSON.stringify({ secret: SECRET, token: '{token}{limit}$&' });
    const reply = await raw(sandbox.restUrl, 'DELETE /requesttoken', {}, body);
    expect((JSON.parse(reply.body) as { message: string }).message).toBe(
      "The token '{token}{limit}$&' is invalid, please provide a valid one.",
    );
  });
});
