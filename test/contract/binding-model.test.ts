// Draws addresses, credentials and commands at random and examines every request that arrives anywhere. A credential may be sent only to the pair of
// base URLs that it belongs to. A second implementation of the contract decides which pair that is.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BoundCredential, GraphConnection, Sensitive } from '../../src/index.js';
import { fileStore } from '../../src/store/file.js';
import { encodings } from '../helpers/canary.js';
import { cli } from '../helpers/cli.js';
import { hmacJwt } from '../helpers/jwt.js';
import { DEEP } from '../helpers/property.js';
import { NO_KEYCHAIN, passwordRecord } from '../helpers/store-options.js';
import {
  type Addresses,
  allowedPair,
  type Owner,
  type Pair,
  pairInForce,
  pairOf,
  type Scene,
} from './binding-model-oracle.js';
import { portOf, startWorld, type World } from './binding-model-servers.js';

const VERSIONS = ['3.2.0', '3.10.1', '4.1.2'];
const CASES = DEEP ? 20_000 : 300;
const LIMIT_MS = DEEP ? 7_200_000 : 600_000;
const USER = 'alice';

const password = (source: string) => `pw-${source} ü"&+/%1`;
const secret = (source: string) =>
  source
    .toLowerCase()
    .replace(/[^a-z]/g, '')
    .padEnd(32, 'x7')
    .slice(0, 32);

/** How a credential is given to a call, and what it belongs to. */
interface Source {
  readonly name: string;
  readonly owner: Owner;
  readonly value: string;
  readonly argv?: readonly string[];
  readonly stdin?: boolean;
  readonly env?: string;
  /** The key in the config file, and whether it is in a profile or at the top level. */
  readonly key?: readonly ['profile' | 'fileDefaults', string];
}

const jwt = (source: string) => hmacJwt({ sub: USER, jti: source, exp: 4_000_000_000 }, 'the-key-of-nobody');

const literals = (kind: 'secret' | 'password' | 'jwt', value: (source: string) => string): Source[] => [
  {
    name: `${kind} stdin`,
    owner: 'flag',
    value: value(`${kind} stdin`),
    argv: [`--${kind}-stdin`],
    stdin: true,
  },
  { name: `${kind} file flag`, owner: 'flag', value: value(`${kind} flag`), argv: [`--${kind}-file`] },
  {
    name: `${kind} variable`,
    owner: 'variable',
    value: value(`${kind} variable`),
    env: `GRAPHCRED_${kind.toUpperCase()}`,
  },
  {
    name: `${kind} TG variable`,
    owner: 'TG',
    value: value(`${kind} tg`),
    env: kind === 'jwt' ? 'TG_JWT_TOKEN' : `TG_${kind.toUpperCase()}`,
  },
  ...(['profile', 'fileDefaults'] as const).flatMap((level): Source[] =>
    ['', 'File', 'Command'].map((form) => ({
      name: `${kind}${form} of ${level}`,
      owner: level === 'profile' ? 'file' : 'top of file',
      value: value(`${kind} ${form || 'literal'} ${level === 'profile' ? 'p' : 'd'}`),
      key: [level, `${kind}${form}`],
    })),
  ),
];
const SOURCES = [...literals('secret', secret), ...literals('password', password), ...literals('jwt', jwt)];
const TG_TOKEN = 'tgapitoken'.padEnd(32, 'z9');
const SMUGGLED = password('smuggled');
const PLANTED = { password: password('planted'), secret: secret('planted') };

/** Returns four pairs: one for each database, and two that mix the servers of both. */
const pairsOf = ({ honest: [a, b] }: World, is4: boolean): Pair[] => {
  const ends = [a, b] as { gsql: string; rest: string }[];
  return ends.flatMap(({ gsql }) =>
    ends.map(({ gsql: other, rest }) => ({ gsqlUrl: gsql, restUrl: is4 ? `${other}/restpp` : rest })),
  );
};

const COMMANDS = [
  'token get',
  'token get --fresh',
  'token refresh',
  'token refresh --token-stdin',
  'token delete',
  'token delete --all',
  'token delete --token-stdin',
  'token check',
  'token check --token-stdin',
  'api /echo',
  'api --service /gsql/v1/version',
  'status',
  'secret list',
  'secret create',
  'secret create kept --save',
  'secret drop seed_0 --yes',
  'secret rotate saved',
  'secret prune --yes',
  'exec -- true',
  'exec --revoke -- true',
  'login',
  'logout',
  'logout --revoke',
  'doctor',
];
const TYPED_TOKEN = 'typedtoken'.padEnd(32, 'q3');

interface Draw {
  readonly command: string;
  readonly levels: readonly [Addresses, Addresses, Addresses, Addresses, Addresses];
  readonly sources: readonly Source[];
  readonly profileTyped: boolean;
  readonly tgToken: boolean;
  readonly planted: 'no' | 'yes' | 'left out';
  readonly plantedAddress: Addresses;
  readonly versionSet: boolean;
}

function draws(world: World, is4: boolean): fc.Arbitrary<Draw> {
  const all = [...world.honest, ...world.hostile];
  const ends = is4 ? [...all.map(({ gsql }) => ({ gsql, rest: `${gsql}/restpp` })), ...all] : all;
  const end = fc.oneof(
    { weight: 5, arbitrary: fc.constant(ends[0] as (typeof ends)[0]) },
    { weight: 2, arbitrary: fc.constantFrom(...ends) },
  );
  const host = fc.constantFrom('http://127.0.0.1', 'http://127.0.0.2');
  const port = (which: 'gsql' | 'rest') => end.map((one) => String(portOf(one[which])));
  const whole = end.map(({ gsql, rest }): Addresses => {
    const { protocol, hostname } = new URL(gsql);
    return {
      host: `${protocol}//${hostname}`,
      gsqlPort: String(portOf(gsql)),
      restPort: String(portOf(rest)),
    };
  });
  const urls = fc
    .tuple(end, end, fc.boolean())
    .map(([a, b, same]): Addresses => ({ gsqlUrl: a.gsql, restUrl: (same ? a : b).rest }));
  const gsqlOnly = end.map(({ gsql }): Addresses => ({ gsqlUrl: gsql }));
  const restOnly = end.map(({ rest }): Addresses => ({ restUrl: rest }));
  const parts = fc.record({ host, gsqlPort: port('gsql'), restPort: port('rest') }, { requiredKeys: [] });
  const mixed = fc.record(
    { host, gsqlUrl: end.map(({ gsql }) => gsql), restPort: port('rest') },
    { requiredKeys: ['gsqlUrl'] },
  );
  const some = fc.oneof(whole, urls, gsqlOnly, restOnly, parts, mixed);
  const level = (set: fc.Arbitrary<Addresses>) =>
    fc.oneof({ weight: 5, arbitrary: fc.constant({} as Addresses) }, { weight: 2, arbitrary: set });
  const tg = fc.oneof(whole, parts);
  return fc.record({
    command: fc.constantFrom(...COMMANDS),
    levels: fc
      .tuple(level(some), level(some), level(tg), level(some), level(some))
      // If no address were set, the call would go to the default ports, where another program may listen.
      .chain((drawn) =>
        drawn.some((one) => Object.keys(one).length > 0)
          ? fc.constant(drawn)
          : fc
              .tuple(whole, fc.nat(4))
              .map(([one, at]) => drawn.map((none, n) => (n === at ? one : none)) as typeof drawn),
      ),
    sources: fc
      .uniqueArray(fc.constantFrom(...SOURCES), { maxLength: 3 })
      .map((sources) =>
        sources.filter((one, n) => !one.stdin || sources.findIndex(({ stdin }) => stdin) === n),
      ),
    profileTyped: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
    tgToken: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
    planted: fc.constantFrom('no', 'no', 'no', 'no', 'yes', 'left out'),
    plantedAddress: some,
    versionSet: fc.boolean(),
  });
}

describe.each(VERSIONS)('on %s', (serverVersion) => {
  const is4 = serverVersion.startsWith('4');
  let world: World;
  let root: string;
  let kept: Map<string, Owner>;
  let number = 0;
  const reached = new Set<string>();

  beforeAll(async () => {
    const values = [...SOURCES.map(({ value }) => value), ...Object.values(PLANTED)];
    const isSecret = (value: string) => /^[a-z0-9]{32}$/.test(value);
    const passwords = [
      ...values.filter((value) => !isSecret(value)),
      ...[0, 1, 2, 3].map((n) => password(`saved ${n}`)),
    ];
    world = await startWorld(serverVersion, { user: USER, passwords, secrets: values.filter(isSecret) });
    root = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-binding-'));
    kept = await fillStore(world, path.join(root, 'template'), is4);
  }, 120_000);

  afterAll(async () => {
    await world.close();
    fs.rmSync(root, { recursive: true, force: true });
  });

  // holds: C3.18, C10.4
  test('no listener outside its pair ever receives a credential', { timeout: LIMIT_MS }, async () => {
    const numRuns = Math.round(CASES / VERSIONS.length);
    const owners = ['flag', 'variable', 'TG', 'file', 'top of file', 'in force', 'store'];
    const examined = () => owners.filter((owner) => reached.has(owner));
    // Credentials of every kind must arrive where they belong, or the test has examined too little. A draw of this size
    // seldom leaves one out; then more are drawn.
    for (let round = 0; round < 10 && examined().length < owners.length; round++)
      await fc.assert(
        fc.asyncProperty(draws(world, is4), async (draw) => {
          const home = path.join(root, String(number++));
          fs.cpSync(path.join(root, 'template'), home, { recursive: true });
          try {
            await runOnce(draw, home);
          } finally {
            fs.rmSync(home, { recursive: true, force: true });
          }
        }),
        { numRuns },
      );
    expect(examined()).toEqual(owners);
  });

  async function runOnce(draw: Draw, home: string): Promise<void> {
    const { argv, env, stdin, cwd, canaries } = prepare(draw, home, serverVersion, is4);
    for (const [value, owner] of kept) canaries.set(value, owner);
    const [flag, variable, tgVariable, profile, fileDefaults] = draw.levels;
    const { profileTyped, planted } = draw;
    const command = draw.command.split(' ')[0] as string;
    const scene: Scene = {
      is4,
      flag,
      variable,
      tgVariable,
      profile,
      fileDefaults,
      profileTyped,
      planted,
      command,
    };
    world.received.length = 0;
    world.givenOut.clear();
    const result = await cli(home, argv, { env, stdin, cwd });
    expect(result.stderr).not.toContain('ran into a bug');
    // The session already leaves out a credential that belongs elsewhere. This is the message of the check right before the request is sent.
    expect(result.stderr).not.toContain('This credential is for');
    await smuggle(scene);
    // A 4.x server answers two mints of one second with the same token, so a token minted now may equal a stored one.
    for (const value of world.givenOut)
      if (!canaries.has(value) || kept.has(value)) canaries.set(value, 'in force');
    for (const [value, owner] of canaries) {
      const forms = encodings(value);
      const allowed = allowedPair(scene, owner);
      const bases = allowed ? [allowed.gsqlUrl, allowed.restUrl] : [];
      for (const { url, text } of world.received) {
        if (!forms.some((form) => text.includes(form))) continue;
        if (!bases.some((base) => url.startsWith(`${base}/`)))
          expect.fail(
            `${value} (${JSON.stringify(owner)}) went to ${url}; allowed: ${bases}\n${argv.join(' ')}\n${result.stderr}`,
          );
        const kind = typeof owner === 'string' ? owner : 'store';
        reached.add(kind);
      }
    }
  }
  /** Bypasses the session, which would leave out such a credential, to test only the check right before the request is sent. */
  async function smuggle(scene: Scene): Promise<void> {
    const inForce = pairInForce(scene);
    const foreign = pairsOf(world, is4).find(
      ({ gsqlUrl, restUrl }) => gsqlUrl !== inForce?.gsqlUrl || restUrl !== inForce.restUrl,
    ) as Pair;
    if (inForce === undefined) return;
    const own = new BoundCredential(new Sensitive(SMUGGLED), foreign);
    const connection = new GraphConnection({
      ...inForce,
      graph: 'demo',
      serverVersion,
      username: USER,
      password: own,
    });
    await expect(connection.getSecrets()).rejects.toMatchObject({ code: 'HOST_MISMATCH' });
  }
});

/** Writes the files of a call, and returns what each credential belongs to. */
function prepare(draw: Draw, home: string, serverVersion: string, is4: boolean) {
  const [flag, variable, tgVariable, profile, fileDefaults] = draw.levels;
  const cwd = path.join(home, 'work');
  fs.mkdirSync(cwd, { recursive: true });
  const canaries = new Map<string, Owner>([
    [TG_TOKEN, draw.tgToken ? 'TG' : 'nobody'],
    [TYPED_TOKEN, 'flag'],
    [PLANTED.password, 'nobody'],
    [PLANTED.secret, 'nobody'],
    [SMUGGLED, 'nobody'],
  ]);
  const env: Record<string, string> = {
    GRAPHCRED_STORE: 'file',
    GRAPHCRED_USERNAME: USER,
    GRAPHCRED_GRAPH: 'demo',
    GRAPHCRED_TIMEOUT: '20',
    ...(draw.tgToken && { TG_API_TOKEN: TG_TOKEN }),
    ...(draw.versionSet && { GRAPHCRED_SERVER_VERSION: serverVersion }),
  };
  const options: string[] = [];
  const config: Record<'profile' | 'fileDefaults', Record<string, unknown>> = {
    profile: { ...profile },
    fileDefaults: { ...fileDefaults },
  };
  let stdin = draw.command.includes('--token-stdin') ? TYPED_TOKEN : '';
  for (const { name, value, owner, argv, stdin: piped, env: key, key: place } of draw.sources) {
    if (piped && stdin !== '') continue;
    canaries.set(value, owner);
    const file = path.join(home, name.replaceAll(' ', '-'));
    fs.writeFileSync(file, value, { mode: 0o600 });
    if (argv) options.push(...argv, ...(piped ? [] : [file]));
    if (piped) stdin = value;
    if (key) env[key] = value;
    if (place) {
      const [level, word] = place;
      config[level][word] = word.endsWith('Command') ? ['cat', file] : word.endsWith('File') ? file : value;
    }
  }
  for (const [key, value] of Object.entries(flag)) options.push(`--${dashed(key, '-')}`, value);
  for (const [key, value] of Object.entries(variable))
    env[`GRAPHCRED_${dashed(key, '_').toUpperCase()}`] = value;
  const tgNames = { host: 'TG_HOST', restPort: 'TG_RESTPP_PORT', gsqlPort: 'TG_GS_PORT' };
  for (const [key, name] of Object.entries(tgNames)) {
    const value = tgVariable[key as keyof Addresses];
    if (value !== undefined) env[name] = value;
  }
  if (draw.profileTyped) options.push('--profile', 'default');
  const folder = path.join(home, '.config', 'graphcred');
  const text = JSON.stringify({ ...config.fileDefaults, profiles: { default: config.profile } });
  fs.writeFileSync(path.join(folder, 'config.json'), text, { mode: 0o600 });
  if (draw.planted !== 'no') {
    const foreign = {
      ...draw.plantedAddress,
      ...PLANTED,
      username: USER,
      graph: 'demo',
      serverVersion: is4 ? '3' : '4',
    };
    fs.writeFileSync(
      path.join(cwd, '.graphcredrc.json'),
      JSON.stringify({ ...foreign, profiles: { default: foreign } }),
    );
  }
  if (draw.planted === 'left out') options.push('--config', 'none');
  // The words of another program come last.
  const words = draw.command.split(' ');
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  return { argv: [...words.slice(0, end), ...options, ...words.slice(end)], env, stdin, cwd, canaries };
}

function dashed(key: string, mark: string): string {
  return key.replace(/[A-Z]/g, (letter) => mark + letter.toLowerCase());
}

/** Creates a home whose store has a secret, a password and tokens for each pair. Returns the values with what they belong to. */
async function fillStore(world: World, home: string, is4: boolean): Promise<Map<string, Owner>> {
  fs.mkdirSync(path.join(home, '.config', 'graphcred'), { recursive: true });
  const kept = new Map<string, Owner>();
  for (const [n, pair] of pairsOf(world, is4).entries()) {
    expect(pairOf(pair, is4)).toEqual(pair);
    const env = {
      GRAPHCRED_STORE: 'file',
      GRAPHCRED_USERNAME: USER,
      GRAPHCRED_GRAPH: 'demo',
      GRAPHCRED_GSQL_URL: pair.gsqlUrl,
      GRAPHCRED_REST_URL: pair.restUrl,
    };
    world.givenOut.clear();
    const withPassword = { env: { ...env, GRAPHCRED_PASSWORD: password('saved 0') } };
    // 4.x returns the same token for two requests within one second with one lifetime, so each pair requests another lifetime.
    const lifetime = String(2_592_000 - n);
    const lines = ['secret create saved --save', `token get --lifetime ${lifetime}`];
    if (n % 2 === 1 || n === 2) lines[0] = `secret create saved${n} --save`;
    for (const line of lines)
      expect(await cli(home, line.split(' '), withPassword)).toMatchObject({ status: 0 });
    // If a pair mixes two databases, one of them does not know the other's secret. The saved entry stays.
    await cli(home, ['token', 'get', '--lifetime', lifetime], { env });
    for (const value of world.givenOut) kept.set(value, pair);
    await savePassword(home, pair, password(`saved ${n}`));
    kept.set(password(`saved ${n}`), pair);
  }
  return kept;
}

async function savePassword(home: string, pair: Pair, value: string): Promise<void> {
  const store = fileStore({
    stateDir: path.join(home, '.local', 'state', 'graphcred'),
    configDir: path.join(home, '.config', 'graphcred'),
    storeKey: async () => undefined,
    keychain: NO_KEYCHAIN,
    warn: () => {},
  });
  await store.put(
    passwordRecord({
      key: `password of ${USER} at ${pair.gsqlUrl} rest ${pair.restUrl}`,
      createdAtUnix: Date.now() / 1000,
      info: { ...pair, username: USER },
    }),
    new Sensitive(value),
  );
}
