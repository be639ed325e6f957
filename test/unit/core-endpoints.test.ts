import { describe, expect, test } from 'vitest';
import { normalizeBaseUrl, normalizeHost, restBaseUrl, serviceBaseUrl } from '../../src/core/endpoints.js';
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

describe('the REST base (cli-contract 3)', () => {
  test.each([
    ['nothing set, 3.x', {}, 'B', 'http://127.0.0.1:9000'],
    ['nothing set, 4.x', {}, 'C', 'http://127.0.0.1:14240/restpp'],
    ['REST port set, 4.x', { restPort: 9000 }, 'C', 'http://127.0.0.1:9000'],
    ['both ports the same', { host: 'https://db', restPort: 443, gsqlPort: 443 }, 'B', 'https://db/restpp'],
    ['REST port is the default service port', { restPort: 14240 }, 'A', 'http://127.0.0.1:14240/restpp'],
    ['URL set', { restUrl: 'http://db:9000/', restPort: 1 }, 'C', 'http://db:9000'],
    ['service URL set, 4.x', { gsqlUrl: 'https://db/' }, 'C', 'https://db/restpp'],
    ['service URL set, 3.x', { gsqlUrl: 'https://db:14240' }, 'B', 'https://db:9000'],
    [
      'REST port is that of the service URL',
      { gsqlUrl: 'https://db', restPort: 443 },
      'B',
      'https://db/restpp',
    ],
    [
      'REST port is not that of the service URL',
      { gsqlUrl: 'https://db', restPort: 14240 },
      'B',
      'https://db:14240',
    ],
    ['same port, other host', { host: 'https://a', gsqlUrl: 'https://b', restPort: 443 }, 'C', 'https://a'],
    ['IPv6', { host: 'http://[::1]' }, 'B', 'http://[::1]:9000'],
  ] as const)('%s', (_name, endpoints, generation, expected) => {
    expect(restBaseUrl(endpoints, generation)).toBe(expected);
  });

  test('the service base', () => {
    expect(serviceBaseUrl({})).toBe('http://127.0.0.1:14240');
    expect(serviceBaseUrl({ host: 'https://db', gsqlPort: 443 })).toBe('https://db');
    expect(serviceBaseUrl({ gsqlUrl: 'https://db/x/' })).toBe('https://db/x');
    expect(serviceBaseUrl({ restUrl: 'https://db:9000/restpp' })).toBe('https://db:14240');
  });

  test.each([0, -1, 65536, 1.5, Number.NaN])('port %s is USAGE', (port) => {
    usage(() => restBaseUrl({ restPort: port }, 'B'));
    usage(() => serviceBaseUrl({ gsqlPort: port }));
  });

  test('a connection tells of a wrong address when it is made', () => {
    usage(() => new GraphConnection({ host: 'db' }));
    usage(() => new GraphConnection({ restUrl: 'http://ada:pw@db' }));
    usage(() => new GraphConnection({ timeoutMs: 0 }));
  });
});
