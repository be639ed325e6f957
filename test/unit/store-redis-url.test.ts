import { describe, expect, it } from 'vitest';
import { parseRedisUrl } from '../../src/store/redis/url.js';
import { defined } from '../helpers/defined.js';

const parsed = (text: string, sentinel = false) => {
  const { password, ...rest } = defined(parseRedisUrl(text, sentinel ? 26379 : 6379));
  return { ...rest, password: password?.reveal() };
};

const plain = { tls: false, username: undefined, password: undefined, database: 0 };

describe('a Redis URL', () => {
  it.each([
    ['redis://cache', { ...plain, addresses: [{ host: 'cache', port: 6379 }] }],
    [
      'rediss://cache.example.com:6380/',
      { ...plain, tls: true, addresses: [{ host: 'cache.example.com', port: 6380 }] },
    ],
    ['redis://cache:65535', { ...plain, addresses: [{ host: 'cache', port: 65_535 }] }],
    ['redis://[::1]:7000/2', { ...plain, database: 2, addresses: [{ host: '[::1]', port: 7000 }] }],
    [
      'redis://a:1,b:2,[fe80::1]',
      {
        ...plain,
        addresses: [
          { host: 'a', port: 1 },
          { host: 'b', port: 2 },
          { host: '[fe80::1]', port: 6379 },
        ],
      },
    ],
    [
      'redis://job:p%40ss%3Aword@cache',
      { ...plain, username: 'job', password: 'p@ss:word', addresses: [{ host: 'cache', port: 6379 }] },
    ],
    ['redis://:word@cache', { ...plain, password: 'word', addresses: [{ host: 'cache', port: 6379 }] }],
    ['redis://job@cache', { ...plain, username: 'job', addresses: [{ host: 'cache', port: 6379 }] }],
  ])('%s names its servers', (text, expected) => {
    expect(parsed(text)).toEqual(expected);
  });

  it('without a port leads to the port of Sentinels when it names Sentinels', () => {
    expect(parsed('redis://a,b:7', true).addresses).toEqual([
      { host: 'a', port: 26379 },
      { host: 'b', port: 7 },
    ]);
  });

  it.each([
    '',
    'cache:6379',
    'http://cache',
    'redis://',
    'redis://:secretword@',
    'redis://cache:0',
    'redis://cache:65536',
    'redis://cache:secretword',
    'redis://ca che',
    'redis://a,,b',
    'redis://cache/secretword',
    'redis://cache?password=secretword',
    'redis://job:secretword%@cache',
    'unix:///run/secretword',
    'redis://job:secret/word@cache',
  ])('may not be %j', (text) => {
    expect(parseRedisUrl(text)).toBeUndefined();
  });
});
