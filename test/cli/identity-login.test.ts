import fs from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type Bench, bench, interruptedAt, type RunOptions, temporaryHome } from '../helpers/cli.js';
import { configOf, profilesOf, put, stateOf } from '../helpers/home.js';
import { freePort } from '../helpers/ports.js';
import { CLIENT, type RealProvider, signInByHttp, startProvider } from '../helpers/provider.js';

const WITHOUT_PASSWORD = {
  GRAPHCRED_PASSWORD: '',
  GRAPHCRED_USERNAME: '',
  GRAPHCRED_GSQL_URL: '',
  GRAPHCRED_REST_URL: '',
  GRAPHCRED_GRAPH: '',
};

interface Scene extends Bench {
  readonly provider: RealProvider;
  /** Logs in as a person with a browser. */
  logIn(
    more?: string,
    user?: string,
    env?: RunOptions['env'],
  ): Promise<{ status: number; stdout: string; stderr: string; page: string }>;
  /** Runs a command with the profile alone. */
  with(line: string, options?: RunOptions): ReturnType<Bench['run']>;
}

async function scene(serverVersion = '4.2.0', ttl?: number, start: typeof bench = bench): Promise<Scene> {
  const provider = await startProvider(ttl === undefined ? {} : { ttl });
  const b = await start({ serverVersion, provider: provider.sandbox });
  const run = (line: string, options: RunOptions = {}) =>
    b.run(line, { ...options, env: { ...WITHOUT_PASSWORD, ...options.env } });
  return {
    ...b,
    provider,
    with: run,
    logIn: async (more = '', user = 'tigergraph', env = {}) => {
      let page: Promise<{ text: string }> | undefined;
      const result = await run(
        `login --gsql-url ${b.sandbox.gsqlUrl} --rest-url ${b.sandbox.restUrl} --oidc-issuer ${provider.issuer} --oidc-client-id ${CLIENT} ${more}`.trim(),
        {
          env,
          onStderr: (text) => {
            const [, url] = /to log in: (\S+)/.exec(text) ?? [];
            if (url !== undefined) page = signInByHttp(url, user);
          },
        },
      );
      return { ...result, page: (await page)?.text ?? '' };
    },
  };
}

const get = async (s: Scene, more = '', options: RunOptions = {}) => {
  const { stdout, stderr } = await s.with(`token get -o json ${more}`.trim(), options);
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as { token: string; source: string; expiresAtUnix: number };
};

const tokenRequests = (s: Scene) => s.provider.requests().filter((line) => line === 'POST /token').length;
const records = ({ home }: Scene) =>
  fs.existsSync(stateOf(home))
    ? fs.readdirSync(stateOf(home)).filter((name) => /^(login|token)-.*json$/.test(name))
    : [];

// holds: C3.18
test("a client's secret that the variables give for another provider is not sent to the one that is typed", async () => {
  const s = await scene();
  const other = { GRAPHCRED_OIDC_ISSUER: 'http://127.0.0.1:9', GRAPHCRED_OIDC_CLIENT_ID: 'job' };
  const logged = await s.logIn('', 'tigergraph', { ...other, GRAPHCRED_OIDC_CLIENT_SECRET: 'of-the-other' });
  expect(logged).toMatchObject({ status: 0 });
  expect(s.provider.errors).toEqual([]);
});

test('tokens of a provider that live for a minute are taken, and cached for most of it', async () => {
  const s = await scene('4.2.0', 60);
  expect(await s.logIn()).toMatchObject({ status: 0 });
  s.provider.requests();
  await get(s);
  expect(tokenRequests(s)).toBe(0);
});

// holds: C12.10, C12.11
test.each(['3.10.1', '4.2.0'])(
  'a login in the browser at %s gives a token to the next command',
  async (version) => {
    const s = await scene(version);
    const login = await s.logIn('--no-browser');
    expect([login.status, login.stderr.includes('next: graphcred token get')], login.stderr).toEqual([
      0,
      true,
    ]);
    expect(login.page).toContain('You can close this window.');
    expect(login.stdout).toContain('The user is "tigergraph".');
    expect(tokenRequests(s)).toBe(1);
    const { token, source } = await get(s);
    expect(source).toBe('identity');
    expect((await s.with('token check')).status).toBe(0);
    expect(tokenRequests(s)).toBe(0);
    // Nobody else has a credential in the profile.
    const profiles = profilesOf(s.home);
    expect(profiles.default).toMatchObject({
      username: 'tigergraph',
      oidc: { issuer: s.provider.issuer, clientId: CLIENT },
    });
    expect(JSON.stringify(profiles)).not.toContain(token);
  },
);

// holds: C12.10
test('no browser is opened by a program of the working folder', async () => {
  const s = await scene();
  const before = process.cwd();
  process.chdir(s.home);
  onTestFinished(() => process.chdir(before));
  fs.writeFileSync('xdg-open', '#!/bin/sh\n', { mode: 0o755 });
  const { status, stderr } = await s.logIn('', 'tigergraph', {
    DISPLAY: ':7',
    PATH: `:.:${temporaryHome()}`,
  });
  expect([status, stderr]).toEqual([0, expect.stringContaining('Open on this machine to log in: http')]);
});

// holds: C12.10
test('the browser gets its address in a file of this user, and in no list of processes', async () => {
  const s = await scene();
  const bin = temporaryHome();
  const seen = path.join(bin, 'seen');
  const look = `#!/bin/sh\nprintf '%s\\n' "$*" >${seen}.new; stat -c %a "$1" >>${seen}.new; cat "$1" >>${seen}.new; mv ${seen}.new ${seen}\n`;
  fs.writeFileSync(path.join(bin, 'xdg-open'), look, { mode: 0o755 });
  const { gsqlUrl, restUrl } = s.sandbox;
  const logged = s.with(
    `login --gsql-url ${gsqlUrl} --rest-url ${restUrl} --oidc-issuer ${s.provider.issuer} --oidc-client-id ${CLIENT}`,
    { env: { DISPLAY: ':7', PATH: `${bin}:${process.env.PATH}` } },
  );
  await vi.waitUntil(() => fs.existsSync(seen), { timeout: 20_000 });
  const [page = '', mode, content = ''] = fs.readFileSync(seen, 'utf8').split('\n');
  await signInByHttp(/url=([^"]+)/.exec(content)?.[1] ?? '', 'tigergraph');
  expect({ ...(await logged), page, mode }).toMatchObject({
    status: 0,
    page: expect.stringMatching(/^\/.*\/graphcred-login-\d+\.html$/),
    mode: '600',
  });
  expect(fs.existsSync(page)).toBe(false);
});

// holds: C12.12
test('a new token takes the refresh token once, and the rotated one is used next', async () => {
  const s = await scene();
  await s.logIn();
  for (const more of ['--fresh', '--fresh', '--fresh', '']) await get(s, more);
  expect(tokenRequests(s)).toBe(1 + 3);
  // A label is another token of the same login.
  await get(s, '--principal job-a');
  expect([tokenRequests(s), s.provider.errors]).toEqual([1, []]);
  // The GSQL server gets the cached token.
  expect((await s.with('secret list')).status).toBe(0);
  const { status, stdout } = await s.with('status');
  expect([status, stdout]).toEqual([
    0,
    expect.stringMatching(/user +tigergraph\n *provider +http.*\n.*login at http/),
  ]);
  expect(tokenRequests(s)).toBe(0);
});

// holds: C2.14
test('--fresh does not accept a JWT for which another call had asked the provider before it began', async () => {
  const s = await scene();
  await s.logIn();
  const asked = s.provider.asked('POST /token');
  const first = get(s, '--fresh');
  await asked;
  await Promise.all([first, get(s, '--fresh')]);
  expect(tokenRequests(s)).toBe(1 + 2);
});

// holds: C12.12
test('a login is not used for another provider, client or server', async () => {
  const s = await scene();
  await s.logIn();
  s.provider.requests();
  const other = await startProvider();
  for (const env of [
    { GRAPHCRED_OIDC_ISSUER: other.issuer, GRAPHCRED_OIDC_CLIENT_ID: CLIENT },
    { GRAPHCRED_OIDC_ISSUER: s.provider.issuer, GRAPHCRED_OIDC_CLIENT_ID: 'another' },
  ]) {
    const { status, stderr } = await s.with('token get', { env });
    expect([status, stderr]).toEqual([
      4,
      expect.stringContaining('hint: log in: graphcred login -p default'),
    ]);
    const shown = await s.with('status', { env });
    expect([shown.status, shown.stdout]).toEqual([
      3,
      expect.stringMatching(/REST authentication on[\s\S]*next +graphcred login/),
    ]);
  }
  expect(
    (await s.with('token get --gsql-url http://127.0.0.1:9 --rest-url http://127.0.0.1:9/restpp')).status,
  ).toBe(5);
  expect([s.provider.requests(), other.requests()]).toEqual([[], []]);
});

test.each([
  ['none', 'the store none keeps no login; leave that setting out, and log in'],
  ['redis', 'log in'],
])('with the store %s, the hint to log in names a store that keeps a login', async (store, hint) => {
  const s = await scene();
  await s.logIn();
  await s.with('logout');
  const key = Buffer.alloc(32).toString('base64');
  const redis = { GRAPHCRED_REDIS_URL: 'redis://127.0.0.1:9', GRAPHCRED_STORE_KEY: key };
  const env = { ...redis, GRAPHCRED_STORE: store };
  const { stderr } = await s.with('token get', { env });
  expect(stderr).toContain(`hint: ${hint}: graphcred login -p default --store file\n`);
  expect((await s.with('status', { env })).stdout).toMatch(/\n {2}next {9}graphcred login\n/);
});

// holds: C12.13
test('logout revokes the refresh token at the provider and deletes it', async () => {
  const s = await scene();
  await s.logIn();
  const file = records(s).find((name) => name.startsWith('login-')) as string;
  const saved = path.join(stateOf(s.home), file);
  const copy = fs.readFileSync(saved);
  expect((await s.with('logout')).stdout).toContain('Deleted 1 token and 1 saved credential');
  expect(s.provider.requests()).toContain('POST /token/revocation');
  expect(records(s)).toEqual([]);
  // A copy of the file is of no use any more.
  fs.writeFileSync(saved, copy, { mode: 0o600 });
  const { status, stderr } = await s.with('token get');
  expect([status, stderr]).toEqual([4, expect.stringContaining('refused: invalid_grant (')]);
  expect(stderr).toContain('hint: log in: graphcred login -p default');
});

test('profile remove revokes the login at its provider', async () => {
  const s = await scene();
  await s.logIn();
  s.provider.requests();
  expect((await s.with('profile remove default --yes')).stdout).toContain(
    'Removed profile "default" from ~/.config/graphcred/config.json, and on this machine 1 token and 1 saved credential.',
  );
  expect([records(s), s.provider.requests()]).toEqual([
    [],
    expect.arrayContaining(['POST /token/revocation']),
  ]);
});

// holds: C12.13
test.each(['3.10.1', '4.2.0'])(
  'on %s no server is asked to end or refresh the JWT of a provider',
  async (v) => {
    const s = await scene(v);
    await s.logIn();
    const sent = s.sandbox.requests.length;
    const cannot = expect.stringContaining('it stays valid until it expires');
    const deleted = await s.with('token delete');
    expect(deleted).toMatchObject({ status: 8, stderr: cannot });
    expect(deleted.stderr).toContain('hint: delete all that is stored: graphcred logout\n');
    expect(await s.with('token delete --everything')).toMatchObject({ status: 10, stderr: cannot });
    expect(await s.with('token refresh')).toMatchObject({ status: 8 });
    const { status, stdout, stderr } = await s.with('logout --revoke');
    expect([status, stdout]).toEqual([0, expect.stringContaining('Deleted 2 saved credentials')]);
    expect(stderr).toContain('stays valid until it expires');
    expect(s.provider.requests()).toContain('POST /token/revocation');
    expect(records(s)).toEqual([]);
    expect(s.sandbox.requests.slice(sent).map(({ method }) => method)).not.toContain('DELETE');
  },
);

// holds: C12.13
test('logout deletes a login whose provider is away, and says that it will not be revoked', async () => {
  const s = await scene();
  await s.logIn();
  await s.provider.close();
  const { status, stderr } = await s.with('logout');
  expect([status, stderr]).toEqual([
    0,
    expect.stringContaining('the login of "tigergraph" is deleted here, but not revoked at http'),
  ]);
  expect(records(s)).toEqual([]);
});

// holds: C12.10
test('a user whom the database does not know leaves nothing behind', async () => {
  const s = await scene();
  const { status, stderr } = await s.logIn('', 'stranger');
  expect([status, stderr]).toEqual([
    4,
    expect.stringContaining(
      `refused the JWT from ${s.provider.issuer}: it names a user (sub) that the database does not have`,
    ),
  ]);
  expect([records(s), fs.existsSync(configOf(s.home))]).toEqual([[], false]);
  expect(s.provider.requests()).toContain('POST /token/revocation');
});

// holds: C12.10
test('Ctrl-C after the sign-in revokes the login at the provider', async () => {
  const s = await scene('4.2.0', undefined, (options) => interruptedAt('/tokens/check', options));
  expect((await s.logIn()).status).toBe(130);
  expect([records(s), s.provider.requests()]).toEqual([
    [],
    expect.arrayContaining(['POST /token', 'POST /token/revocation']),
  ]);
});

test.each([
  ['--no-input', {}, 2, 'needs a person (--no-input)'],
  ['', { CI: '1' }, 2, 'needs a person (CI is set)'],
  ['--store none', {}, 2, 'needs a persistent store'],
  ['--lifetime 1h', {}, 2, 'has its own expiry time'],
  ['-u alice', {}, 4, 'tigergraph has logged in'],
  ['--oidc-issuer http://id.example', {}, 2, 'is not an https URL'],
  ['--oidc-issuer https://joe:hunter2@id.example', {}, 2, 'must not hold a user name or password'],
])('login %s %j is exit %i', async (more, env, expected, why) => {
  const s = await scene();
  const run = s.with;
  const { status, stderr } = await (more.startsWith('-u')
    ? s.logIn(more)
    : run(
        `login --gsql-url ${s.sandbox.gsqlUrl} --oidc-issuer ${s.provider.issuer} --oidc-client-id ${CLIENT} ${more}`.trim(),
        { env: env as Record<string, string> },
      ));
  expect([status, stderr]).toEqual([expected, expect.stringContaining(why)]);
  expect(records(s)).toEqual([]);
});

test('variables count beside a provider that is typed', async () => {
  const s = await scene();
  const port = await freePort();
  const env = { GRAPHCRED_OIDC_PORT: String(port), GRAPHCRED_OIDC_SCOPES: 'openid' };
  expect((await s.logIn('', 'tigergraph', env)).status).toBe(0);
  expect(profilesOf(s.home).default).toMatchObject({ oidc: { port: String(port), scopes: 'openid' } });
});

test('a login at another provider leaves nothing of the former one in the profile', async () => {
  const s = await scene();
  const { gsqlUrl, restUrl } = s.sandbox;
  const former = { grant: 'client_credentials', audience: 'former', clientSecretFile: 'former-secret' };
  const oidc = { issuer: 'https://former.example', clientId: 'former', ...former };
  put(s.home, '.config/graphcred/config.json', { profiles: { default: { gsqlUrl, restUrl, oidc } } });
  expect((await s.logIn()).status).toBe(0);
  const kept = {
    issuer: s.provider.issuer,
    clientId: CLIENT,
  };
  expect(profilesOf(s.home).default).toHaveProperty('oidc', kept);
});

// holds: C12.10
test('a server below 3.10 ends the login before anybody signs in', async () => {
  const s = await scene('3.9.3');
  const { status, stderr, page } = await s.logIn();
  expect([status, page, stderr]).toEqual([8, '', expect.stringContaining('does not accept a JWT')]);
  expect(s.provider.requests()).toEqual([]);
});

test('a typed password takes the place of the provider in a profile', async () => {
  const s = await scene();
  await s.logIn();
  const again = await s.with('login -u tigergraph --password-stdin', { stdin: 'tigergraph' });
  expect([again.status, again.stderr]).toEqual([0, expect.not.stringContaining('to log in:')]);
  expect(profilesOf(s.home).default).not.toHaveProperty('oidc');
});

// holds: C12.15
test('doctor examines the provider, names what the database has to be set to, and mints no token', async () => {
  const s = await scene();
  await s.logIn();
  s.provider.requests();
  const { stdout } = await s.with('doctor -o json');
  const checks = JSON.parse(stdout).checks as { id: string; verdict: string; cause: string }[];
  const of = (id: string) => checks.find((check) => check.id === id);
  for (const id of ['provider', 'clock', 'login-port', 'identity', 'credential'])
    expect(of(id)).toMatchObject({ verdict: 'ok' });
  expect(of('identity')?.cause).toContain(
    `the user "tigergraph" must exist in the database; if it checks issuer or audience: gadmin config set Security.JWT.Issuer ${s.provider.issuer}; gadmin config set Security.JWT.Audience ${CLIENT}`,
  );
  expect(tokenRequests(s)).toBe(0);
  s.requests();
  const env = { GRAPHCRED_USERNAME: 'tigergraph', GRAPHCRED_PASSWORD: 'tigergraph' };
  expect((await s.with('doctor', { env })).stdout).toMatch(/^skipped +identity/m);
  expect(s.requests().filter((request) => request.includes('token'))).toEqual([]);
  await s.provider.close();
  const away = JSON.parse((await s.with('doctor -o json')).stdout).checks as typeof checks;
  expect(away.find(({ id }) => id === 'provider')?.verdict).toBe('fail');
});
