// The string forms of the sandbox's options.
import { describe, expect, it } from 'vitest';
import { parseSecret, parseUser, readKey, readTls } from '../../src/sandbox/args.js';
import { type Fault, parseFault } from '../../src/sandbox/faults.js';

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
      expect(() => parseUser(wrong), wrong).toThrow('--user takes name:password');
  });

  it('read secrets, and never repeat one', () => {
    expect(parseSecret('ci:abc:ann:demo')).toEqual({ alias: 'ci', value: 'abc', user: 'ann', graph: 'demo' });
    for (const wrong of ['', 'ci:verysecret', 'ci:verysecret:ann', 'ci:verysecret:ann:demo:x'])
      expect(() => parseSecret(wrong), wrong).toThrow(/^--secret takes alias:value:user:graph\.$/);
  });

  it('read the names of certificates with a drive letter, and no empty key', () => {
    expect(() => readTls('C:\\tls\\cert.pem:D:\\tls\\key.pem')).toThrow('C:\\tls\\cert.pem cannot be read');
    expect(() => readKey('/dev/null')).toThrow('must hold a public key');
  });
});
