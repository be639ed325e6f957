import { expect, test } from 'vitest';
import {
  BoundCredential,
  type ConnectionOptions,
  type DeleteTokenOptions,
  GraphConnection,
  type MintOptions,
  type ProxyOptions,
  type RawOptions,
  type RenewOptions,
  Sensitive,
  type TlsOptions,
  TokenProvider,
} from '../../src/index.js';
import { refusalOf } from './core-support.js';

const VALUES = {
  string: 'x',
  number: 5,
  boolean: true,
  array: [{}],
  function: () => 'x',
  object: { a: 1 },
  date: new Date(),
};
type Name = keyof typeof VALUES;
/** The values above that an option takes. */
type Taken<T> = Readonly<Record<keyof T, readonly Name[]>>;

const TEXT = ['string'] as const;
const NUMBER = ['number'] as const;
const SWITCH = ['boolean'] as const;
const CALLBACK = ['function'] as const;
const MINT: Taken<MintOptions> = {
  secret: TEXT,
  lifetime: NUMBER,
  lifetimeUnit: [],
  onLifetimeUnit: ['function'],
  onWarning: ['function'],
};
const RENEW: Taken<RenewOptions> = { secret: TEXT, lifetime: NUMBER, token: TEXT };
const DELETE: Taken<DeleteTokenOptions> = { token: TEXT, skipNA: SWITCH };
const RAW: Taken<RawOptions> = { body: TEXT, keepRefusal: SWITCH, headers: ['date'] };
const TLS: Taken<TlsOptions> = { ca: TEXT, cert: TEXT, key: TEXT, insecure: SWITCH };
const PROXY: Taken<ProxyOptions> = { http: TEXT, https: TEXT, noProxy: TEXT };
const CONNECTION: Taken<ConnectionOptions> = {
  ...{ signal: [], timeoutMs: NUMBER, deadline: [] },
  ...{ host: TEXT, restUrl: TEXT, gsqlUrl: TEXT, restPort: NUMBER, gsqlPort: NUMBER },
  ...{ graph: TEXT, username: TEXT, password: TEXT, secret: TEXT, secretsOf: TEXT },
  ...{ apiToken: TEXT, jwtToken: TEXT, serverVersion: TEXT, knownVersion: TEXT },
  ...{ onVersion: CALLBACK, onStart: CALLBACK, onRequest: CALLBACK },
  ...{ tls: ['object', 'date'], proxy: ['object', 'date'] },
};

/** Nothing listens there, so a call that sends anything ends with NETWORK. */
const URLS = { restUrl: 'http://127.0.0.1:1', gsqlUrl: 'http://127.0.0.1:1' };
const conn = new GraphConnection(URLS);
const provider = conn.tokenProvider();

interface Method {
  call(given: never): unknown;
  readonly options?: Readonly<Record<string, readonly Name[]>>;
  /** What such values are called: the part before the name of an option, or the argument itself. */
  readonly prefix?: string;
  readonly argument?: readonly [name: string, taken: readonly Name[]];
}

const METHODS: Readonly<Record<string, Method>> = {
  constructor: { call: (given: object) => new GraphConnection(given), options: CONNECTION },
  'constructor, tls': { call: (tls) => new GraphConnection({ tls }), options: TLS, prefix: 'tls' },
  'constructor, proxy': { call: (proxy) => new GraphConnection({ proxy }), options: PROXY, prefix: 'proxy' },
  apiToken: { call: (given) => Object.assign(conn, { apiToken: given }), argument: ['apiToken', TEXT] },
  createSecret: { call: (given) => conn.createSecret('a', given), options: { withAlias: SWITCH } },
  'createSecret, alias': { call: (given) => conn.createSecret(given), argument: ['alias', TEXT] },
  dropSecret: { call: (given) => conn.dropSecret('a', given), options: { ignoreErrors: SWITCH } },
  'dropSecret, alias': { call: (given) => conn.dropSecret(given), argument: ['alias', TEXT] },
  getToken: { call: (given) => conn.getToken(given), options: { ...MINT, setToken: SWITCH } },
  mintToken: { call: (given) => conn.mintToken(given), options: MINT },
  refreshToken: { call: (given) => conn.refreshToken(given), options: { ...RENEW, setToken: SWITCH } },
  renewToken: { call: (given) => conn.renewToken(given), options: RENEW },
  deleteToken: { call: (given) => conn.deleteToken('', given), options: DELETE },
  'deleteToken, secret': { call: (given) => conn.deleteToken(given), argument: ['secret', TEXT] },
  checkToken: { call: (given) => conn.checkToken(given), argument: ['token', TEXT] },
  tokenProvider: { call: (given) => conn.tokenProvider(given), options: MINT },
  replace: { call: (given) => provider.replace(given), argument: ['refused', ['object', 'date']] },
  rest: { call: (given) => conn.rest('GET', '/echo', given), options: RAW },
  'rest, method': { call: (given) => conn.rest(given, '/echo'), argument: ['method', TEXT] },
  'rest, path': { call: (given) => conn.rest('GET', given), argument: ['path', TEXT] },
  service: { call: (given) => conn.service('GET', '/api/ping', given), options: RAW },
  'service, method': { call: (given) => conn.service(given, '/api/ping'), argument: ['method', TEXT] },
  'service, path': { call: (given) => conn.service('GET', given), argument: ['path', TEXT] },
};
const WITHOUT_ARGUMENTS = [
  ...['findVersion', 'baseUrls', 'getSecrets', 'listSecrets', 'checkGraph'],
  ...['restAuthentication', 'ping', 'get', 'headers', 'noteFutile'],
];

test('the table has every public method', () => {
  const names = [GraphConnection, TokenProvider].flatMap(({ prototype }) =>
    Object.getOwnPropertyNames(prototype),
  );
  const listed = Object.keys(METHODS).map((name) => name.replace(/,.*/, ''));
  expect(new Set([...listed, ...WITHOUT_ARGUMENTS])).toEqual(new Set(names));
});

test.each([
  new Sensitive(5 as never),
  new BoundCredential(new Sensitive(5 as never), URLS),
  new BoundCredential(new Sensitive('x'), undefined as never),
])('a credential that holds none is USAGE (%#)', async (given) => {
  expect(await refusalOf(conn.checkToken(given))).toMatchObject({ code: 'USAGE', option: 'token' });
});

// holds: C9.4
test.each(Object.entries(METHODS))(
  'a value of the wrong type is USAGE that names the option, and nothing is sent: %s',
  async (_, { call, options, prefix, argument = [prefix ?? 'options', ['object', 'date']] }) => {
    const refuses = async (given: unknown, option: string) => {
      const refused = await refusalOf(Promise.resolve().then(() => call(given as never)));
      expect(refused, `${option}: ${String(given)}`).toMatchObject({
        code: 'USAGE',
        option,
        message: expect.stringContaining(`The ${option} must be `),
        hint: expect.any(String),
      });
    };
    const wrong = (taken: readonly Name[]) =>
      Object.entries(VALUES).filter(([name]) => !taken.includes(name as Name));
    for (const [, value] of wrong(argument[1])) await refuses(value, argument[0]);
    for (const [name, taken] of Object.entries(options ?? {}))
      for (const [, value] of wrong(taken))
        await refuses({ [name]: value }, prefix === undefined ? name : `${prefix}.${name}`);
  },
);
