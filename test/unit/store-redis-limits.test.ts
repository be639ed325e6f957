import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReplyLimits } from '../../src/store/redis/reply-limits.js';
import { RUNS } from '../helpers/property.js';

interface Decoder {
  write(chunk: Buffer): void;
}
type DecoderConfig = {
  onReply(reply: unknown): void;
  onErrorReply(reply: unknown): void;
  onPush(reply: unknown): void;
  getTypeMapping(): object;
};
/** The parser of the client library, which the limits protect. */
const { Decoder } = createRequire(import.meta.url)('ioredis/built/resp/decoder.js') as {
  Decoder: new (config: DecoderConfig) => Decoder;
};

function accept(bytes: string | Buffer, expected = 1): string {
  const limits = new ReplyLimits();
  limits.expect(expected);
  return limits.accept(Buffer.from(bytes as string)).toString();
}

describe('the limits on replies', () => {
  it.each([
    '+OK\r\n',
    '-NOAUTH Authentication required.\r\n',
    ':-42\r\n',
    '$-1\r\n',
    '$0\r\n\r\n',
    '$5\r\na\r\nb!\r\n',
    '*-1\r\n',
    '*0\r\n',
    '*2\r\n$3\r\nfoo\r\n*1\r\n:1\r\n',
    '*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n',
    `+${'x'.repeat(1023)}\r\n`,
    `*1024\r\n${':1\r\n'.repeat(1024)}`,
  ])('allow the reply %j', (bytes) => {
    expect(accept(bytes)).toBe(bytes);
    expect(() => accept(`${bytes}${bytes}`)).toThrow('a reply to no command');
  });

  it.each([
    ['a type of another protocol', '%1\r\n', 'a malformed reply'],
    ['a push', '>1\r\n+message\r\n', 'a malformed reply'],
    ['bytes that are no reply', 'HTTP/1.1 400 Bad Request\r\n', 'a malformed reply'],
    ['a line without an end', 'x'.repeat(2000), 'a malformed reply'],
    ['a lone carriage return', '+a\rb\r\n', 'a malformed reply'],
    ['an array longer than can be', '*4294967296\r\n', 'a malformed reply'],
    ['an array longer than is needed', '*1025\r\n', 'a malformed reply'],
    ['a string longer than can be', '$99999999\r\n', 'a malformed reply'],
    ['a length that is no number', '$1e3\r\n', 'a malformed reply'],
    ['arrays five deep', `${'*1\r\n'.repeat(5)}:1\r\n`, 'a reply nested too deeply'],
    ['a line longer than can be', `+${'x'.repeat(1024)}\r\n`, 'a malformed reply'],
    ['arrays in arrays without end', '*1\r\n'.repeat(100_000), 'a reply nested too deeply'],
    [
      'a string without end',
      Buffer.concat([Buffer.from('$9999999\r\n'), Buffer.alloc(1 << 20)]),
      'a reply that is too long',
    ],
  ])('refuse %s', (_what, bytes, fault) => {
    expect(() => accept(bytes)).toThrow(fault);
  });

  it('apply to the replies of one call, however many came before', () => {
    const limits = new ReplyLimits();
    const reply = Buffer.concat([
      Buffer.from('$700000\r\n'),
      Buffer.alloc(700_000, 'x'),
      Buffer.from('\r\n'),
    ]);
    for (let call = 0; call < 3; call++) {
      limits.expect(1);
      expect(limits.accept(reply)).toHaveLength(reply.length);
    }
  });

  it('refuse a reply that was sent before any command', () => {
    expect(() => accept('$-1\r\n', 0)).toThrow('a reply to no command');
  });

  it('allow nothing on which the parser fails, however it is split', () => {
    const token = fc.oneof(
      fc.constantFrom(
        '*',
        '$',
        ':',
        '+',
        '-',
        '%',
        '_',
        '\r',
        '\n',
        '\r\n',
        '-1\r\n',
        '*1\r\n',
        '$2\r\nab\r\n',
        ':7\r\n',
      ),
      fc.integer({ min: -2, max: 12 }).map((length) => `${length}\r\n`),
      fc.integer({ min: 0, max: 5 }).map((length) => `*${length}\r\n`),
      fc.integer({ min: 0, max: 5 }).map((length) => `$${length}\r\n${'x'.repeat(length)}\r\n`),
      fc.string({ maxLength: 4 }),
    );
    const stream = fc.array(token, { maxLength: 30 }).map((tokens) => Buffer.from(tokens.join('')));
    fc.assert(
      fc.property(
        stream,
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 0, max: 6 }),
        (bytes, size, expected) => {
          const limits = new ReplyLimits();
          limits.expect(expected);
          let replies = 0;
          const count = () => {
            replies++;
          };
          const decoder = new Decoder({
            onReply: count,
            onErrorReply: count,
            onPush: () => expect.fail('a push is no reply'),
            getTypeMapping: () => ({ 36: Buffer, 43: Buffer }),
          });
          for (let at = 0; at < bytes.length; at += size) {
            const chunk = bytes.subarray(at, at + size);
            let fit: Buffer;
            try {
              fit = limits.accept(chunk);
            } catch {
              break;
            }
            if (fit.length > 0) decoder.write(fit);
          }
          expect(replies).toBeLessThanOrEqual(expected);
        },
      ),
      RUNS,
    );
  });
});
