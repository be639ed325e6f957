import { describe, expect, test } from 'vitest';
import { connectOptions, proxyFor, readProxyVariables } from '../../src/core/http/proxy.js';

const via = (url: string, noProxy = '', http = 'http://proxy:3128', https = 'http://proxy:3129') =>
  proxyFor(new URL(url), { http, https, noProxy })?.port;

describe('a request', () => {
  test('uses the proxy variable of its address’s scheme', () => {
    expect(via('http://db.example')).toBe('3128');
    expect(via('https://db.example')).toBe('3129');
    expect(via('https://db.example', '', 'http://proxy:3128', '')).toBeUndefined();
    expect(via('http://db.example', '', 'proxy:3128')).toBe('3128');
  });

  // holds: C3.11
  test.each(['http://localhost', 'http://127.8.9.10:9000', 'http://[::1]:9000'])(
    'to %s never uses a proxy',
    (url) => {
      expect(via(url)).toBeUndefined();
    },
  );

  test.each([
    ['*', 'http://db.example'],
    ['db.example', 'http://db.example'],
    ['DB.Example', 'http://db.example:9000'],
    ['example', 'http://db.example'],
    ['.example', 'http://db.example'],
    ['*.example', 'http://db.example'],
    ['other, db.example', 'http://db.example'],
    ['other db.example', 'http://db.example'],
    ['db.example:9000', 'http://db.example:9000'],
    ['db.example:443', 'https://db.example'],
    ['db.example:80', 'http://db.example'],
    ['10.0.0.7', 'http://10.0.0.7'],
    ['fd00::7', 'http://[fd00::7]'],
    ['[fd00::7]:9000', 'http://[fd00::7]:9000'],
    ['db.example', 'http://db.example.'],
    ['10.9.9.0/24', 'http://10.9.9.7'],
    ['other,10.0.0.0/8', 'http://10.9.9.7:9000'],
    ['10.9.9.7/32', 'http://10.9.9.7'],
    ['fd00::/8', 'http://[fd00::7]'],
    ['[fd00::]/8', 'http://[fd00::7]'],
    ['fd00::/64', 'http://[fd00::7]'],
    ['fd00::7/128', 'http://[fd00::7]'],
    ['0.0.0.0/0', 'http://10.9.9.7'],
  ])('with NO_PROXY=%s uses no proxy for %s', (noProxy, url) => {
    expect(via(url, noProxy)).toBeUndefined();
  });

  test.each([
    ['', 'http://db.example'],
    [' , ', 'http://db.example'],
    ['other', 'http://db.example'],
    ['b.example', 'http://db.example'],
    ['db.example.com', 'http://db.example'],
    ['db.example:9001', 'http://db.example:9000'],
    ['.', 'http://db.example'],
    ['fd00::8', 'http://[fd00::7]'],
    ['10.9.8.0/24', 'http://10.9.9.7'],
    ['10.9.9.0/24', 'http://10.9.9.7.example'],
    ['10.9.9.0/33', 'http://10.9.9.7'],
    ['10.9.9.0/', 'http://10.9.9.7'],
    ['10.9.9.0/x24', 'http://10.9.9.7'],
    ['10.9.9.0/24x', 'http://10.9.9.7'],
    ['fd00::/129', 'http://[fd00::7]'],
    ['db.example/24', 'http://db.example'],
    ['::/0', 'http://10.9.9.7'],
  ])('with NO_PROXY=%j uses the proxy for %s', (noProxy, url) => {
    expect(via(url, noProxy)).toBe('3128');
  });
});

describe('the proxy variables', () => {
  test('are read in upper case first, and an empty one counts as not set', () => {
    expect(
      readProxyVariables({ HTTP_PROXY: 'a', http_proxy: 'b', HTTPS_PROXY: '', https_proxy: 'c' }),
    ).toEqual({
      http: 'a',
      https: 'c',
      noProxy: undefined,
    });
  });

  test('HTTP_PROXY is ignored under CGI, where a client can set it by a header', () => {
    const env = { HTTP_PROXY: 'http://evil', HTTPS_PROXY: 'http://b', REQUEST_METHOD: 'GET' };
    expect(readProxyVariables(env)).toMatchObject({ http: undefined, https: 'http://b' });
    expect(readProxyVariables({ ...env, http_proxy: 'http://c' }).http).toBe('http://c');
  });
});

test('the certificate of a proxy is checked, even with `insecure`, which applies to the server only', async () => {
  const url = new URL('http://graph.example.com/echo');
  const proxy = { http: 'https://proxy.example.com' };
  const call = { url, method: 'GET', headers: {}, tls: { insecure: true }, proxy };
  const options = await connectOptions(call, () => new AbortController().signal);
  expect(options).toMatchObject({ hostname: 'proxy.example.com', rejectUnauthorized: true });
});
