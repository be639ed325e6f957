import { describe, expect, test } from 'vitest';
import {
  type Endpoints,
  isLoopbackHost,
  knownServers,
  normalizeBaseUrl,
  normalizeHost,
  serversOf,
} from '../../src/core/endpoints.js';
import { GraphConnection, GraphException } from '../../src/index.js';

const usage = (call: () => unknown): GraphException => {
  try {
    call();
  } catch (error) {
    if (error instanceof GraphException && error.code === 'USAGE') return error;
    throw error;
  }
  return expect.fail('was not refused');
};

describe('normalizeBaseUrl', () => {
  test.each([
    ['HTTPS://Graph.Example.COM:443/', 'https://graph.example.com'],
    ['http://db:9000///', 'http://db:9000'],
    [' https://db/restpp/ ', 'https://db/restpp'],
    ['http://[::1]:14240', 'http://[::1]:14240'],
    ['http://db:80', 'http://db'],
  ])('%s is %s', (text, expected) => {
    expect(normalizeBaseUrl(text, 'restUrl')).toBe(expected);
  });

  test.each(['db:9000', 'ftp://db', '', 'http://', 'http://a b', 'http://db?x=1', 'http://db#x', '//db'])(
    '%j is USAGE',
    (text) => {
      expect(usage(() => normalizeBaseUrl(text, 'restUrl')).message).toContain('restUrl');
    },
  );

  test('a user name or password in a URL is refused and not shown', () => {
    for (const text of ['http://ada:hidden-pass@db', 'http://ada@db', 'http://:hidden-pass@db']) {
      expect(usage(() => normalizeBaseUrl(text, 'restUrl')).message).not.toContain('hidden-pass');
    }
  });
});

describe('normalizeHost', () => {
  test.each([
    ['http://127.0.0.1', 'http://127.0.0.1'],
    ['https://Graph.example.com/', 'https://graph.example.com'],
    ['http://[::1]', 'http://[::1]'],
  ])('%s is %s', (text, expected) => {
    expect(normalizeHost(text)).toBe(expected);
  });

  test.each([
    'http://db:9000',
    'http://db:80',
    'https://db:443',
    'http://[::1]:80',
    'https://db/restpp',
    'db',
  ])('%s is USAGE', (text) => {
    usage(() => normalizeHost(text));
  });
});

const V3 = { restBehindGsql: false };
const V4 = { restBehindGsql: true };

describe('the pair of base URLs', () => {
  const REST = 'http://127.0.0.1:9000';
  const SERVICE = 'http://127.0.0.1:14240';

  // The columns are the GSQL server's URL, the REST server's URL on 3.x, and the REST server's URL on 4.x.
  // holds: C3.7
  test.each<[Endpoints, service: string, on3: string, on4: string]>([
    [{}, SERVICE, REST, `${SERVICE}/restpp`],
    [{ host: 'https://db' }, 'https://db:14240', 'https://db:9000', 'https://db:14240/restpp'],
    [{ host: 'http://[::1]' }, 'http://[::1]:14240', 'http://[::1]:9000', 'http://[::1]:14240/restpp'],
    [{ restPort: 9000 }, SERVICE, REST, REST],
    [{ restPort: 14240 }, SERVICE, `${SERVICE}/restpp`, `${SERVICE}/restpp`],
    [{ gsqlPort: 9000 }, REST, `${REST}/restpp`, `${REST}/restpp`],
    [
      { host: 'https://db', restPort: 443, gsqlPort: 443 },
      'https://db',
      'https://db/restpp',
      'https://db/restpp',
    ],
    [{ restPort: 1, gsqlPort: 2 }, 'http://127.0.0.1:2', 'http://127.0.0.1:1', 'http://127.0.0.1:1'],
    [{ restUrl: 'http://db:9000/', restPort: 1 }, SERVICE, 'http://db:9000', 'http://db:9000'],
    [{ restUrl: 'http://a', host: 'http://b' }, 'http://b:14240', 'http://a', 'http://a'],
    [{ gsqlUrl: 'https://db:14240/' }, 'https://db:14240', 'https://db:9000', 'https://db:14240/restpp'],
    [{ gsqlUrl: 'https://db/x' }, 'https://db/x', 'https://db:9000', 'https://db/x/restpp'],
    [{ gsqlUrl: 'https://db', restPort: 443 }, 'https://db', 'https://db/restpp', 'https://db/restpp'],
    [{ gsqlUrl: 'https://db', restPort: 14240 }, 'https://db', 'https://db:14240', 'https://db:14240'],
    [{ gsqlUrl: 'https://db', host: 'http://db' }, 'https://db', 'https://db:9000', 'https://db/restpp'],
    [
      { gsqlUrl: 'https://a', restUrl: 'https://b', host: 'https://c' },
      'https://a',
      'https://b',
      'https://b',
    ],
  ])('is derived from %j', (endpoints, service, on3, on4) => {
    expect(serversOf(endpoints, V3)).toEqual({ gsqlUrl: service, restUrl: on3 });
    expect(serversOf(endpoints, V4)).toEqual({ gsqlUrl: service, restUrl: on4 });
    expect(knownServers(endpoints)).toEqual({ gsqlUrl: service, restUrl: on3 === on4 ? on3 : undefined });
  });

  // holds: C3.7
  test('host and gsqlUrl with different host names and no restUrl are USAGE', () => {
    const endpoints = { host: 'https://a', gsqlUrl: 'https://b' };
    expect(usage(() => knownServers(endpoints)).message).toMatch(/^The host is not the host of gsqlUrl/);
  });

  test.each([0, -1, 65536, 1.5, Number.NaN])('port %s is USAGE', (port) => {
    expect(usage(() => knownServers({ restPort: port })).message).toMatch(/^The restPort /);
    expect(usage(() => knownServers({ gsqlPort: port })).message).toMatch(/^The gsqlPort /);
  });

  test('a connection with a wrong address throws when it is created', () => {
    usage(() => new GraphConnection({ host: 'db' }));
    usage(() => new GraphConnection({ restUrl: 'http://ada:pw@db' }));
    usage(() => new GraphConnection({ timeoutMs: 0 }));
  });
});

describe('a loopback address', () => {
  test.each([
    'http://localhost',
    'https://LOCALHOST:9000',
    'http://localhost.',
    'http://db.localhost',
    'http://127.0.0.1',
    'http://127.8.9.10',
    'http://0x7f.1',
    'http://[::1]:9000/x',
    'http://[::ffff:127.0.0.1]',
  ])('can be %s', (address) => {
    expect(isLoopbackHost(new URL(address).hostname)).toBe(true);
  });

  test.each([
    'http://127.evil.example',
    'http://127.0.0.1.evil.example',
    'http://localhost.evil.example',
    'http://evillocalhost',
    'http://128.0.0.1',
    'http://[::2]',
    'http://[::ffff:128.0.0.1]',
    'http://0.0.0.0',
  ])('cannot be %s', (address) => {
    expect(isLoopbackHost(new URL(address).hostname)).toBe(false);
  });
});
