// The string forms of the sandbox's options, and of its control path what test/transcripts/sandbox/control.txt and
// faults.txt do not show.
import { describe, expect, it } from 'vitest';
import { parseSecret, parseUser, readKey, readTls } from '../../src/sandbox/args.js';
import { type Fault, parseFault } from '../../src/sandbox/faults/faults.js';
import type { Sandbox } from '../../src/sandbox/server.js';
import { TEXTS } from '../../src/sandbox/texts.js';
import { demo, raw, start } from './sandbox-raw.js';

describe('the string forms of the options', () => {
  it.each<[string, Fault]>([
    ['action=sleeping\n', { action: 'sleeping' }],
    [
      'times=3, nth=2 ,action=drop-after,route=DELETE /gsql/v1/tokens',
      { times: 3, nth: 2, action: 'drop-after', route: 'DELETE /gsql/v1/tokens' },
    ],
    ['action=clock,seconds=-100000000000', { action: 'clock', seconds: -1e11 }],
    ['action=clock,seconds=100000000000', { action: 'clock', seconds: 1e11 }],
    [' action=delay,ms=0', { action: 'delay', ms: 0 }],
    ['action=status,status=599', { action: 'status', status: 599 }],
    ['action=status,status=200', { action: 'status', status: 200 }],
    ['action=status,header=X-Odd:', { action: 'status', header: 'X-Odd:' }],
    ['action=status,status=404,body=a=b,c', { action: 'status', status: 404, body: 'a=b,c' }],
  ])('read the fault %j', (spec, fault) => {
    expect(parseFault(spec)).toEqual(fault);
  });

  it.each([
    ...['', 'delay', 'action=later', 'action=toString', 'action=html,when=now', 'action=delay,ms=soon'],
    ...['action=html,nth=1.5', 'action=status,status=199', 'action=clock,seconds=100000000001'],
    ...['action=clock,seconds=-100000000001', 'action=status,header=X Odd: yes'],
  ])('refuse the fault %j', (spec) => {
    expect(() => parseFault(spec)).toThrow(/^(A fault|In a fault)/);
  });

  it('show of a fault that cannot be read the first thirty characters', () => {
    const spec = `when=${'x'.repeat(40)}`;
    expect(() => parseFault(spec)).toThrow(`near "when=${'x'.repeat(25)}" there is none`);
  });

  it('read users, whose passwords may have colons', () => {
    expect(parseUser('ann:pw')).toEqual({ name: 'ann', password: 'pw', role: 'superuser' });
    expect(parseUser('ann:p:w:x')).toEqual({ name: 'ann', password: 'p:w:x', role: 'superuser' });
    expect(parseUser('ann:p:w:admin')).toEqual({ name: 'ann', password: 'p:w', role: 'admin' });
    expect(parseUser('ann:reader')).toEqual({ name: 'ann', password: 'reader', role: 'superuser' });
    for (const wrong of ['', 'ann', 'ann:', ':pw', ':pw:reader'])
      expect(() => parseUser(wrong), wrong).toThrow('A user is written name:password');
  });

  it('read secrets, and never repeat one', () => {
    expect(parseSecret('ci:abc:ann:demo')).toEqual({ alias: 'ci', value: 'abc', user: 'ann', graph: 'demo' });
    for (const wrong of ['', 'ci:verysecret', 'ci:verysecret:ann', 'ci:verysecret:ann:demo:x'])
      expect(() => parseSecret(wrong), wrong).toThrow(/^A secret is written alias:value:user:graph\.$/);
  });

  it('read the names of certificates with a drive letter, and no empty key', () => {
    expect(() => readTls('C:\\tls\\cert.pem:D:\\tls\\key.pem')).toThrow('C:\\tls\\cert.pem cannot be read');
    expect(() => readKey('/dev/null')).toThrow('holds no public key and no secret');
  });
});

describe('the control path for texts', () => {
  const set = (sandbox: Sandbox, value: string) => raw(sandbox.gsqlUrl, 'POST /__sandbox/texts', {}, value);
  const ask = async (sandbox: Sandbox) => {
    const reply = await raw(sandbox.restUrl, 'POST /requesttoken', {}, '{"secret":"unknown"}');
    const { code, message } = JSON.parse(reply.body) as { code?: string; message: string };
    return [reply.status, code, message];
  };
  const recorded = "The secret 'unknown' is invalid. Please enter a valid one.";

  it.each([
    ['{"badSecret3":{"status":403}}', [403, 'REST-1101', recorded]],
    ['{"badSecret3":{"code":"X-1","message":"not {secret}, {none}"}}', [200, 'X-1', 'not unknown, {none}']],
    ['{"badSecret3":{"code":null}}', [200, undefined, recorded]],
  ])('sets with %s a status, a code or a message, and restores the default', async (value, shown) => {
    const sandbox = await start();
    await set(sandbox, value);
    expect(await ask(sandbox)).toEqual(shown);
    await set(sandbox, '{"badSecret3":{}}');
    expect(await ask(sandbox)).toEqual([200, 'REST-1101', recorded]);
  });

  it('lists the current texts, with their evidence', async () => {
    const sandbox = await start({ texts: { badSecret3: { status: 401 } } });
    const list = JSON.parse((await raw(sandbox.gsqlUrl, 'GET /__sandbox/texts')).body) as object;
    expect(Object.keys(list)).toEqual(Object.keys(TEXTS));
    expect(list).toMatchObject({
      badSecret3: { status: 401, code: 'REST-1101', evidence: 'R' },
      badBody4: { evidence: 'A' },
    });
  });

  it.each([
    ['{"badSecret3":{"status":403},"nothing":{}}', 'There is no such text: nothing.'],
    ['{"badSecret3":{"status":403},"toString":{}}', 'There is no such text: toString.'],
    ['{"badSecret3":{"status":403},"usingGraph":{"status":200}}', 'a line of GSQL text has none'],
    ['{"badSecret3":{"status":302}}', 'the status is one of 200, 400,'],
    ['{"badSecret3":{"message":7}}', 'Send {'],
  ])('sets all or none: %s', async (value, words) => {
    const sandbox = await start();
    const reply = await set(sandbox, value);
    expect(reply.status).toBe(400);
    expect((JSON.parse(reply.body) as { message: string }).message).toContain(words);
    expect(await ask(sandbox)).toEqual([200, 'REST-1101', recorded]);
  });

  it('is the same as the options of a start', async () => {
    await expect(demo({ texts: { badSecret3: { status: 1 } } })).rejects.toThrow('the status is one of');
    await expect(demo({ switches: { closedGraph: 1 as never } })).rejects.toThrow('can be a text');
  });
});
