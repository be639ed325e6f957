import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseVersionOption } from '../../src/core/protocol/version.js';
import type { Switches } from '../../src/sandbox/switches.js';
import { type Bench, bench, cli, temporaryHome } from '../helpers/cli.js';
import { put } from '../helpers/home.js';
import { hmacJwt, PEM, privateKey, rsaJwt } from '../helpers/jwt.js';
import { freePort } from '../helpers/ports.js';

const NOW = Math.floor(Date.now() / 1000);
const CLAIMS = {
  sub: 'tigergraph',
  iss: 'https://id.example',
  aud: ['db', 'other'],
  iat: NOW,
  exp: NOW + 3600,
};

const provider = { key: PEM, issuer: 'https://id.example', audience: 'db' };
const TOKEN = rsaJwt(CLAIMS);
const withJwt = (value: string) => ({
  env: { GRAPHCRED_JWT: value, GRAPHCRED_PASSWORD: '', GRAPHCRED_STORE: 'file' },
});
const benchOf = (serverVersion: string) => bench({ serverVersion, provider });

describe.each(['3.10.1', '4.1.2', '4.3.0'])('a JWT of an identity provider at %s', (version) => {
  // holds: C12.1
  test('is the token as it is: nothing is minted, and nothing is stored', async () => {
    const b = await benchOf(version);
    const result = await b.json<Record<string, unknown>>('token get', withJwt(TOKEN));
    expect(result).toMatchObject({
      token: TOKEN,
      source: 'identity',
      expiresAtUnix: CLAIMS.exp,
      serverVersion: version,
    });
    expect(await b.json('token list', withJwt(TOKEN))).toMatchObject({ tokens: [] });
    const calls = ['api /echo/demo', ...(version === '3.10.1' ? [] : ['api --service /gsql/v1/secrets'])];
    for (const call of calls) expect([call, (await b.run(call, withJwt(TOKEN))).status]).toEqual([call, 0]);
    const asked = b.sandbox.requests.map(({ path: route }) => route).join(' ');
    expect(asked).not.toMatch(/requesttoken|v1\/tokens/);
    expect(await b.json('token check', withJwt(TOKEN))).toMatchObject({ accepted: true });
    const refused = await b.run('token check -o json', withJwt(rsaJwt({ ...CLAIMS, iss: 'x' })));
    expect([refused.status, error(refused.stderr).code]).toEqual([4, 'AUTH_FAILED']);
    const { stdout } = await b.run('doctor', { env: { ...withJwt(TOKEN).env, GRAPHCRED_GRAPH: '' } });
    expect(stdout).toMatch(version === '3.10.1' ? /^skipped +credential/m : /^ok +credential/m);
    expect(stdout).toMatch(
      /^ok +identity +the user "tigergraph" must exist in the database; .* Security.JWT.Issuer/m,
    );
    expect(stdout).not.toContain('token get');
    expect(await b.json('status', withJwt(TOKEN))).toMatchObject({
      credential: { kind: 'jwt', source: 'GRAPHCRED_JWT' },
      token: { state: 'valid', expiresAtUnix: CLAIMS.exp },
    });
  });
});

/** Writes a config file with a profile `p` for these servers, and returns its path. */
function profileOf({ home, sandbox: { restUrl, gsqlUrl } }: Bench, settings: object): string {
  return put(home, 'own.json', { profiles: { p: { restUrl, gsqlUrl, ...settings } } });
}

const error = (stderr: string) => JSON.parse(stderr.trim().split('\n').at(-1) as string).error;

test('doctor names no setting for a JWT without issuer and audience', async () => {
  const { run } = await benchOf('4.2.0');
  const { stdout } = await run('doctor -o json', withJwt(rsaJwt({ sub: CLAIMS.sub, exp: CLAIMS.exp })));
  const checks = JSON.parse(stdout).checks as { id: string; cause: string }[];
  expect(checks).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        id: 'identity',
        cause: `the user "${CLAIMS.sub}" must exist in the database`,
      }),
    ]),
  );
});

describe('the sources of a JWT', () => {
  // holds: C12.1
  test('stdin, a file, variables and a profile are used in this order, each before a secret', async () => {
    const b = await benchOf('4.2.0');
    const file = path.join(b.home, 'id.jwt');
    const config = profileOf(b, { jwtFile: 'id.jwt', secret: 'x'.repeat(32) });
    const bad = rsaJwt({ ...CLAIMS, exp: 1 });
    fs.writeFileSync(file, `${TOKEN}\n`, { mode: 0o600 });
    const get = async (line: string, env: Record<string, string>, stdin = '') =>
      (await b.run(`token get -o json ${line}`.trim(), { env: { ...withJwt('').env, ...env }, stdin }))
        .status;
    expect(await get('--jwt-stdin', { GRAPHCRED_JWT: bad }, TOKEN)).toBe(0);
    expect(await get('--jwt-file id.jwt', { GRAPHCRED_JWT: bad })).toBe(0);
    expect(await get('', { GRAPHCRED_JWT_FILE: file, TG_JWT_TOKEN: bad })).toBe(0);
    expect(await get('', { TG_JWT_TOKEN: TOKEN, GRAPHCRED_SECRET: '' })).toBe(0);
    expect(await get(`--config ${config} -p p`, {})).toBe(0);
    // The file is read anew: somebody else has written another one.
    fs.writeFileSync(file, bad);
    expect(await get(`--config ${config} -p p`, {})).toBe(4);
  });

  // holds: C12.1
  test('a file is read anew, with a label too', async () => {
    const b = await benchOf('4.2.0');
    const file = path.join(b.home, 'id.jwt');
    const line = 'token get --principal team --jwt-file id.jwt';
    for (const token of [TOKEN, rsaJwt({ ...CLAIMS, exp: NOW + 7200 })]) {
      fs.writeFileSync(file, token, { mode: 0o600 });
      expect(await b.json(line, withJwt(''))).toMatchObject({ source: 'identity', token });
    }
    fs.writeFileSync(file, rsaJwt({ ...CLAIMS, iss: 'x' }));
    expect((await b.run(line.replace('get', 'check'), withJwt(''))).status).toBe(4);
  });

  // holds: C12.3
  test('the answer of a program is cached until it ends, with a label too, and no server can delete it', async () => {
    const b = await benchOf('4.2.0');
    const count = path.join(b.home, 'count');
    const config = profileOf(b, { jwtCommand: ['sh', '-c', `echo >> ${count}; echo ${TOKEN}`] });
    for (let call = 0; call < 2; call++)
      expect(await b.json(`token get --config ${config} -p p`, withJwt(''))).toMatchObject({
        token: TOKEN,
        source: 'identity',
        expiresAtUnix: CLAIMS.exp,
      });
    expect((await b.run(`secret list --config ${config} -p p`, withJwt(''))).status).toBe(0);
    expect(fs.readFileSync(count, 'utf8')).toBe('\n');
    // Only the answer says whose it is.
    expect((await b.run(`secret list --config ${config} -p p -u bob`, withJwt(''))).status).toBe(2);
    await b.run(`doctor --config ${config} -p p --store none`, withJwt(''));
    expect(fs.readFileSync(count, 'utf8')).toBe('\n\n');
    for (let call = 0; call < 2; call++)
      expect((await b.json(`token get --config ${config} -p p --principal team`, withJwt(''))).source).toBe(
        'identity',
      );
    expect(fs.readFileSync(count, 'utf8')).toBe('\n\n\n');
    b.requests();
    const { status, stderr } = await b.run(`token delete --everything --config ${config} -p p`, withJwt(''));
    expect([status, stderr, b.requests()]).toEqual([
      10,
      expect.stringContaining('stays valid until it expires'),
      [],
    ]);
    const out = (await b.run(`logout --config ${config} -p p`, withJwt(''))).stderr;
    expect([out.includes('no server can revoke it'), out.includes('logout --revoke revokes them')]).toEqual([
      true,
      false,
    ]);
  });

  test('token check tells of a refused answer what an operator has to set, and then nothing is stored', async () => {
    const b = await benchOf('4.2.0');
    const config = profileOf(b, { jwtCommand: ['echo', rsaJwt({ ...CLAIMS, iss: 'x' })] });
    const run = (line: string) => b.run(`${line} --config ${config} -p p`, withJwt(''));
    await run('token get');
    expect((await run('token check')).stderr).toContain(
      'hint: have an operator set that issuer in place of the present one',
    );
    expect((await run('token delete')).stderr).toContain('hint: wait until then\n');
    expect((await run('token check')).stderr).toMatch(/hint: get one: .*, or give one with --token-stdin\n/);
  });

  // holds: C12.3
  test('a program is not asked for a JWT that the server does not take', async () => {
    const b = await benchOf('3.9.3');
    const asked = path.join(b.home, 'asked');
    const config = profileOf(b, { jwtCommand: ['touch', asked] });
    expect((await b.run(`token get --config ${config} -p p`, withJwt(''))).status).toBe(8);
    expect(fs.existsSync(asked)).toBe(false);
  });

  // holds: C12.3
  test('a cached answer that the server refuses is asked for anew', async () => {
    const b = await benchOf('3.10.1');
    const file = path.join(b.home, 'id.jwt');
    const config = profileOf(b, { jwtCommand: ['cat', file] });
    fs.writeFileSync(file, rsaJwt({ ...CLAIMS, iss: 'x' }));
    expect((await b.run(`api /echo --config ${config} -p p`, withJwt(''))).status).toBe(4);
    fs.writeFileSync(file, TOKEN);
    expect((await b.run(`api /echo --config ${config} -p p`, withJwt(''))).status).toBe(0);
  });

  // holds: C12.3
  test.each([
    ['no JWT', 'a1'.repeat(16), 'is not a JWT with an expiry time (exp)'],
    ['one without exp', rsaJwt({ sub: 'tigergraph' }), 'is not a JWT with an expiry time (exp)'],
    ['an expired one', rsaJwt({ ...CLAIMS, exp: NOW - 1 }), 'expired at'],
    ['one that ends too soon', rsaJwt({ ...CLAIMS, exp: NOW + 30 }), 'in less than 60 s'],
  ])('%s is exit 4 before any request, and names the source', async (_what, value, why) => {
    const b = await benchOf('4.2.0');
    for (const command of ['token get', 'secret list --server-version 4.2.0']) {
      const { status, stderr, stdout } = await b.run(`${command} -o json`, withJwt(value));
      expect([status, stdout, b.requests()], command).toEqual([4, '', []]);
      expect(error(stderr).code).toBe('AUTH_FAILED');
      expect(error(stderr).message).toContain('GRAPHCRED_JWT');
      expect(error(stderr).message).toContain(why);
      expect(stderr).not.toContain(value);
    }
  });

  // holds: C3.18
  test('one for other servers is not sent, and the hint names the option for a JWT', async () => {
    const b = await benchOf('4.2.0');
    const env = { ...withJwt('').env, TG_JWT_TOKEN: TOKEN, TG_HOST: 'http://other.example' };
    const { status, stderr } = await b.run('token get -o json', { env });
    expect([status, error(stderr).code, b.requests()]).toEqual([5, 'HOST_MISMATCH', []]);
    expect(error(stderr).hint).toContain('--jwt-stdin');
  });

  // holds: C12.4
  test('--lifetime, --revoke, a typed JWT and two values on stdin are exit 2', async () => {
    const b = await benchOf('4.2.0');
    for (const line of [
      'token get --lifetime 1h',
      'exec --revoke -- true',
      'token get --jwt-stdin --secret-stdin',
      'login',
    ])
      expect((await b.run(line, withJwt(TOKEN))).status, line).toBe(2);
    for (const words of [['--jwt', TOKEN], [`--jwt=${TOKEN}`]]) {
      const { status, stderr } = await b.run(['token', 'get', ...words]);
      expect([status, stderr.includes(TOKEN)]).toEqual([2, false]);
    }
    expect(b.requests()).toEqual([]);
  });
});

describe('a JWT at the GSQL server', () => {
  // holds: C12.5
  test('lists secrets on 4.1.2 and later, behind a password', async () => {
    const b = await benchOf('4.1.2');
    expect((await b.run('secret create ci')).status).toBe(0);
    expect(await b.json('secret list', withJwt(TOKEN))).toMatchObject({ secrets: [{ alias: 'ci' }] });
    const both = { env: { ...withJwt(TOKEN).env, GRAPHCRED_PASSWORD: 'wrong' } };
    expect((await b.run('secret list', both)).status).toBe(4);
  });

  // holds: C12.7
  test('saves a secret for the user it names, and is refused as the JWT of another one', async () => {
    const b = await benchOf('4.2.0');
    const env = { ...withJwt(TOKEN).env, GRAPHCRED_USERNAME: '' };
    expect((await b.run('secret create ci --save', { env })).status).toBe(0);
    expect(await b.json('status', { env })).toMatchObject({ username: 'tigergraph' });
    expect((await b.run('token get', withJwt(''))).status).toBe(0);
    expect(await b.run('token get --username ada', { env })).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('The JWT from GRAPHCRED_JWT belongs to "tigergraph", not to "ada".'),
    });
  });

  // holds: C4.1
  test('does not log in where a secret has a higher priority', async () => {
    const b = await benchOf('4.2.0');
    const { secret } = await b.json<{ secret: string }>('secret create ci');
    const env = { ...withJwt('').env, TG_JWT_TOKEN: rsaJwt({ ...CLAIMS, sub: 'nobody' }) };
    expect((await b.run('secret list --secret-stdin', { env, stdin: secret })).status).toBe(0);
  });

  // holds: C12.5
  test.each([
    ['secret list', '3.10.1'],
    ['api --service /gsqlserver/gsql/simpleauth', '3.10.1'],
    ['token get', '3.9.3'],
    ['token check', '3.9.3'],
    ['status', '3.9.3'],
  ])('%s on %s is exit 8 with what to use instead', async (line, version) => {
    const b = await benchOf(version);
    const { status, stderr } = await b.run(`${line} -o json`, withJwt(TOKEN));
    expect([status, error(stderr).code]).toEqual([8, 'UNSUPPORTED']);
    expect(error(stderr).hint).toMatch(/use a secret|or a secret/);
  });
});

describe.each(['3.10.1', '4.2.0'])('a JWT that a server %s refuses', (version) => {
  const OTHER = crypto.generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  // holds: C12.8
  test.each([
    ['is for another audience', { aud: 'x' }, 'Security.JWT.Audience'],
    ['is from another issuer', { iss: 'x' }, 'Security.JWT.Issuer'],
    ['names a user (sub)', { sub: 'nobody' }, 'ask an administrator to create that user'],
    ['is for a graph that does not exist', { graph: 'none' }, 'leave out the claim "graph"'],
    ['is for a graph that its user may not use', { graph: 'demo' }, 'ask for a role on the graph'],
    ['is signed with a key', undefined, 'Security.JWT.RSA.PublicKey'],
  ])('%s is told so, with what to do', async (problem, claims, advice) => {
    const b = await bench({ serverVersion: version, provider, switches: { closedGraph: 'demo' } });
    const token = claims ? rsaJwt({ ...CLAIMS, ...claims }) : rsaJwt(CLAIMS, { alg: 'RS256' }, OTHER);
    for (const line of ['api /echo', 'token check', 'status']) {
      const { status, stderr } = await b.run(`${line} -o json`, withJwt(token));
      expect({ line, status, ...error(stderr) }).toMatchObject({
        status: 4,
        code: 'AUTH_FAILED',
        message: expect.stringContaining(`refused the JWT from GRAPHCRED_JWT: it ${problem}`),
        hint: expect.stringContaining(advice),
      });
    }
  });

  test('of a provider that is not set up is told how it is set up', async () => {
    const b = await bench({ serverVersion: version });
    const { stderr } = await b.run('api /echo -o json', withJwt(TOKEN));
    expect(error(stderr).hint).toContain('Security.JWT.RSA.PublicKey');
  });
});

// holds: C12.8
test('a JWT that the GSQL server refuses is named, and a server without password logins says so', async () => {
  const b = await benchOf('4.2.0');
  const refused = await b.run('secret list -o json', withJwt(rsaJwt({ ...CLAIMS, iss: 'x' })));
  expect(error(refused.stderr)).toMatchObject({
    message: expect.stringContaining('refused the JWT from GRAPHCRED_JWT as a login'),
  });
  b.sandbox.addFault({
    action: 'status',
    status: 401,
    route: 'GET /gsql/v1/secrets',
    body: '{"error":true,"message":"Password login is disabled for SSO users."}',
  });
  const noPassword = await b.run('secret list -o json');
  expect(error(noPassword.stderr)).toMatchObject({
    code: 'AUTH_FAILED',
    message: expect.stringContaining(
      'does not accept passwords, so the user "tigergraph" (password from GRAPHCRED_PASSWORD) was refused.',
    ),
    hint: expect.stringContaining('--jwt-file'),
  });
});

describe('the practice server with --jwt-key', () => {
  const asked = async (token: string, given = provider, switches: Partial<Switches> = {}) => {
    const { sandbox } = await bench({ serverVersion: '4.2.0', provider: given, switches });
    const answer = await fetch(`${sandbox.restUrl}/echo/demo`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return `${answer.status} ${((await answer.json()) as { message: string }).message}`;
  };

  // holds: C12.6
  test.each([
    ['another issuer', rsaJwt({ ...CLAIMS, iss: 'x' }), 'has an unknown issuer'],
    [
      'another audience',
      rsaJwt({ ...CLAIMS, aud: ['a', 'b'] }),
      "contains audience [a,b], which doesn't include the configured one db",
    ],
    ['an unknown user', rsaJwt({ ...CLAIMS, sub: 'nobody' }), 'a user that does not exist'],
    ['an end in the past', rsaJwt({ ...CLAIMS, exp: 1 }), 'is expired'],
    ['alg none', rsaJwt(CLAIMS, { alg: 'none' }), 'invalid signature'],
    ['the public key as the secret of an HMAC', hmacJwt(CLAIMS, PEM), 'invalid signature'],
    ['other characters', 'not-a-jwt-at-all', 'not in correct format'],
  ])('refuses a JWT with %s', async (_what, token, why) => {
    expect(await asked(token)).toContain(why);
  });

  // holds: C12.6
  test('reads key, issuer and audience from its options', async () => {
    const home = temporaryHome();
    const gsql = await freePort();
    fs.writeFileSync(path.join(home, 'public.pem'), PEM);
    const words = `sandbox --server-version 4.3.0 --gsql-port ${gsql} --jwt-key ${home}/public.pem --jwt-issuer https://id.example --jwt-audience db`;
    const seen: number[] = [];
    const stopped = async (): Promise<NodeJS.Signals> => {
      for (const token of [TOKEN, rsaJwt({ ...CLAIMS, iss: 'x' }), rsaJwt({ ...CLAIMS, aud: 'x' })])
        seen.push(
          (
            await fetch(`http://127.0.0.1:${gsql}/restpp/echo`, {
              headers: { authorization: `Bearer ${token}` },
            })
          ).status,
        );
      return 'SIGTERM';
    };
    expect((await cli(home, words.split(' '), { stopped })).status).toBe(0);
    expect(seen).toEqual([200, 403, 403]);
    const needsKey = ['sandbox', '--jwt-issuer', 'x'];
    expect((await cli(home, needsKey)).stderr).toContain('--jwt-issuer and --jwt-audience need --jwt-key.');
    fs.writeFileSync(path.join(home, 'private.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const wrongKey = await cli(home, ['sandbox', '--jwt-key', path.join(home, 'private.pem')]);
    expect([wrongKey.status, wrongKey.stderr]).toEqual([
      2,
      expect.stringContaining('must hold a public key'),
    ]);
  });

  test('takes an HMAC secret as the key too', async () => {
    const token = hmacJwt(CLAIMS, 'shared-secret');
    expect(await asked(token, { ...provider, key: 'shared-secret' })).toMatch(/^200 /);
    expect(await asked(token, { ...provider, key: 'another' })).toContain('invalid signature');
  });
});

test.each([
  ['3.6.1', { takesJwt: false, secretLogsIn: false }],
  ['3.6.2', { takesJwt: false, secretLogsIn: true }],
  ['3.10.0', { takesJwt: true, takesSecretScheme: false }],
  ['3.10', { takesJwt: true, jwtLogsIn: false, takesSecretScheme: true }],
  ['4.1.1', { takesJwt: true, jwtLogsIn: false }],
  ['4.1', { takesJwt: true, jwtLogsIn: true }],
  ['3.10.1', { tokensOutliveSecret: false, sameTokenWithinOneSecond: false, lifetimeUnitVaries: false }],
  ['4.1.2', { tokensOutliveSecret: true, sameTokenWithinOneSecond: true, lifetimeUnitVaries: true }],
  ['3.10.1', { mintByPasswordCreatesSecret: false, revocationFillsBlockList: false }],
  ['4.1.2', { mintByPasswordCreatesSecret: true, revocationFillsBlockList: true }],
  ['3.10.1', { checksTokensAtRest: true }],
  ['4.1.2', { checksTokensAtRest: false }],
])('the servers of %s can: %j', (version, expected) => {
  expect(parseVersionOption(version)).toMatchObject(expected);
});
