// Tests, one by one, the mistakes that would send a credential to a server it does not belong to.
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { identityKey } from '../../src/app/token-cache.js';
import { type Bench, bench, cli, temporaryHome } from '../helpers/cli.js';
import { configOf, configure, profilesOf } from '../helpers/home.js';

const SECRET = 'ab12'.repeat(8);

function addressOf({ sandbox }: Bench): Record<string, string> {
  return { GRAPHCRED_REST_URL: sandbox.restUrl, GRAPHCRED_GSQL_URL: sandbox.gsqlUrl };
}

/** Writes a config file into a folder below the home that an attacker has made. */
function plant(home: string, content: unknown): string {
  const cwd = path.join(home, 'cloned', 'deep');
  fs.mkdirSync(cwd, { recursive: true });
  fs.writeFileSync(path.join(home, 'cloned', '.graphcredrc.json'), JSON.stringify(content));
  return cwd;
}

/** Creates a user with a cached token, whose config file names the honest server. */
async function victim(serverVersion = '3.10.1') {
  const own = await bench({ serverVersion });
  const evil = await bench({ serverVersion });
  const { gsqlUrl, restUrl } = own.sandbox;
  configure(own.home, { gsqlUrl, restUrl, graph: 'demo', username: 'tigergraph', store: 'file' });
  const run = (line: string, more: { cwd?: string; env?: Record<string, string>; stdin?: string } = {}) =>
    cli(own.home, line.split(' '), more);
  const login = { GRAPHCRED_PASSWORD: own.sandbox.password };
  expect(await run('token get', { env: login })).toMatchObject({ status: 0 });
  return { own, evil, run, login };
}

describe.each(['3.10.1', '4.1.2'])('an untrusted config file on %s', (serverVersion) => {
  test('an empty project file does not hide the user’s own file', async () => {
    const { own, run, login } = await victim(serverVersion);
    const cwd = plant(own.home, {});
    expect((await run('secret list', { cwd, env: login })).status).toBe(5);
    expect(await run('secret list --config none', { cwd, env: login })).toMatchObject({ status: 0 });
    // What login writes does not depend on the project's file, so it goes on, and says how to use the profile here.
    const said = await run('login', { cwd, env: login });
    const file = configOf(own.home);
    expect(said).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('is in force here and hides this profile'),
    });
    expect(said.stderr).toMatch(new RegExp(`next: graphcred token get.* --config ${file}$`, 'm'));
  });

  // holds: C2.20
  test('does not change what login writes', async () => {
    const { own, evil, run, login } = await victim(serverVersion);
    const cwd = plant(own.home, {
      profiles: { work: { gsqlUrl: evil.sandbox.gsqlUrl, restUrl: evil.sandbox.restUrl, lifetime: '100w' } },
    });
    const env = { ...login, ...addressOf(own), GRAPHCRED_GRAPH: 'demo', GRAPHCRED_USERNAME: 'tigergraph' };
    expect(await run('login -p work --config none --store file', { cwd, env })).toMatchObject({ status: 0 });
    const { work } = profilesOf(own.home);
    expect(work).not.toHaveProperty('lifetime');
    expect(work.gsqlUrl).toBe(own.sandbox.gsqlUrl);
    expect(evil.requests()).toEqual([]);
  });
});

// holds: C3.18, C3.19
test('a secret of the profile is not sent to GRAPHCRED_HOST or TG_HOST', async () => {
  const own = await bench();
  const evil = await bench();
  const { gsqlUrl, restUrl } = own.sandbox;
  configure(own.home, { gsqlUrl, restUrl, graph: 'demo', secret: SECRET, serverVersion: '3.10.1' });
  const { port } = new URL(evil.sandbox.restUrl);
  const away = [
    { GRAPHCRED_HOST: 'http://127.0.0.1', GRAPHCRED_REST_PORT: port },
    { TG_HOST: 'http://127.0.0.1', TG_RESTPP_PORT: port },
    { GRAPHCRED_REST_URL: evil.sandbox.restUrl },
  ];
  for (const env of away) {
    const { status, stderr } = await cli(own.home, ['token', 'get', '--store', 'none'], { env });
    expect({ env, status }).toEqual({ env, status: 5 });
    expect(stderr).toContain(restUrl);
  }
  expect([...own.requests(), ...evil.requests()]).toEqual([]);
});

// holds: C3.6
test('plain http to the REST server alone causes a warning too', async () => {
  const argv = [
    'status',
    '--gsql-url',
    'https://127.0.0.1:1',
    '--rest-url',
    'http://rest.invalid:9000',
    '--offline',
  ];
  const { stderr } = await cli(temporaryHome(), argv, { env: { GRAPHCRED_STORE: 'none' } });
  expect(stderr).toContain('http://rest.invalid:9000 is reached without encryption');
});

test('two commands with the same letters but different words are two principals', async () => {
  const { home, sandbox, json, run, requests } = await bench();
  const env = { GRAPHCRED_PASSWORD: '', GRAPHCRED_REST_URL: '', GRAPHCRED_GSQL_URL: '' };
  const { secret } = await json<{ secret: string }>('secret create ci');
  const file = path.join(home, 'program');
  fs.writeFileSync(file, `#!/bin/sh\necho ${secret}\n`, { mode: 0o755 });
  const { gsqlUrl, restUrl } = sandbox;
  const tokens = [];
  for (const args of [['a b'], ['a', 'b']]) {
    configure(home, { gsqlUrl, restUrl, graph: 'demo', secretCommand: [file, ...args] });
    tokens.push((await run('token get', { env })).stdout);
  }
  expect(requests().filter((request) => request.endsWith('/requesttoken'))).toHaveLength(2);
  expect(tokens[0]).not.toBe(tokens[1]);
});

// holds: C4.5
test('a relative secretCommand is looked for beside the config file, not in the working directory', async () => {
  const { home, sandbox, json, run } = await bench();
  const { secret } = await json<{ secret: string }>('secret create ci');
  const cwd = path.join(home, 'cloned');
  fs.mkdirSync(cwd);
  const ran = path.join(home, 'ran');
  fs.writeFileSync(path.join(cwd, 'program'), `#!/bin/sh\ntouch ${ran}\necho ${secret}\n`, { mode: 0o755 });
  const { gsqlUrl, restUrl } = sandbox;
  const config = configure(home, { gsqlUrl, restUrl, graph: 'demo', secretCommand: ['./program'] });
  const env = { GRAPHCRED_PASSWORD: '', GRAPHCRED_REST_URL: '', GRAPHCRED_GSQL_URL: '' };
  expect((await run('token get', { cwd, env })).status).not.toBe(0);
  expect(fs.existsSync(ran)).toBe(false);
  fs.copyFileSync(path.join(cwd, 'program'), path.join(path.dirname(config), 'program'));
  expect(await run('token get', { cwd, env })).toMatchObject({ status: 0 });
});

test('exec sets no TG_HOST if the two servers have different hosts and neither is the REST server’s', async () => {
  const { run, sandbox, home } = await bench();
  const other = sandbox.restUrl.replace('127.0.0.1', 'localhost');
  const out = path.join(home, 'env');
  const { status, stderr } = await run(['exec', '--', 'sh', '-c', `env > ${out}`], {
    env: { GRAPHCRED_REST_URL: other },
  });
  expect({ status, stderr }).toMatchObject({ status: 0 });
  const set = Object.fromEntries(
    fs
      .readFileSync(out, 'utf8')
      .split('\n')
      .flatMap((line) => (line.startsWith('TG_') ? [line.split(/=(.*)/s).slice(0, 2)] : [])),
  ) as Record<string, string>;
  if (set.TG_HOST !== undefined && set.TG_RESTPP_PORT !== undefined)
    expect(`${set.TG_HOST}:${set.TG_RESTPP_PORT}`).toBe(other);
  if (set.TG_HOST !== undefined && set.TG_GS_PORT !== undefined)
    expect(`${set.TG_HOST}:${set.TG_GS_PORT}`).toBe(sandbox.gsqlUrl);
});

describe('settings', () => {
  // holds: C6.3
  test.each(['--export', '--dotenv token.env', '--shell fish', '--name tok'])(
    'token get %s without the format that uses it is exit 2, and no token is printed',
    async (option) => {
      const { run, requests } = await bench();
      for (const verb of ['get', 'refresh']) {
        if (verb === 'refresh' && option.startsWith('--name')) continue;
        const { status, stdout, stderr } = await run(`token ${verb} ${option}`);
        expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
        expect(stderr).toContain(option.split(' ')[0]);
      }
      expect(requests()).toEqual([]);
    },
  );

  // holds: C3.2
  test.each(['off', 'no', '0', 'false', 'OFF'])(
    'certificates are still verified with GRAPHCRED_INSECURE=%s',
    async (word) => {
      const { run } = await bench();
      const { status, stderr } = await run('secret list', { env: { GRAPHCRED_INSECURE: word } });
      expect({ status, warned: stderr.includes('not verified') }).toEqual({ status: 0, warned: false });
    },
  );

  // holds: C3.2
  test('GRAPHCRED_INSECURE=maybe is exit 2', async () => {
    const { run, requests } = await bench();
    const { status, stderr } = await run('secret list', { env: { GRAPHCRED_INSECURE: 'maybe' } });
    expect(status).toBe(2);
    expect(stderr).toContain('GRAPHCRED_INSECURE');
    expect(requests()).toEqual([]);
  });

  test.each([
    { restUrl: 'not a url' },
    { profiles: { default: { restUrl: 'ftp://x' } } },
    { gsqlPort: 99_999 },
  ])('a malformed address in a file is exit 5: %j', async (content) => {
    const home = temporaryHome();
    configure(home, content);
    const { status, stderr } = await cli(home, ['status']);
    expect(status).toBe(5);
    expect(stderr).toMatch(/restUrl|gsqlPort/);
  });

  // holds: C3.14
  test('~/.graphcredrc is trusted if the home folder is a symbolic link', async () => {
    const { home, sandbox, env } = await bench();
    const link = `${home}-link`;
    fs.symlinkSync(home, link);
    try {
      const { gsqlUrl, restUrl } = sandbox;
      fs.writeFileSync(path.join(home, '.graphcredrc'), JSON.stringify({ gsqlUrl, restUrl, graph: 'demo' }), {
        mode: 0o600,
      });
      fs.mkdirSync(path.join(home, 'project'));
      const { GRAPHCRED_GSQL_URL: _g, GRAPHCRED_REST_URL: _r, ...login } = env;
      for (const cwd of [home, link, path.join(home, 'project'), path.join(link, 'project')])
        expect(await cli(link, ['secret', 'list'], { env: login, cwd })).toMatchObject({ status: 0 });
    } finally {
      fs.unlinkSync(link);
    }
  });
});

test('login uses no value of a config file that is not the user’s own', async () => {
  const b = await bench();
  const file = path.join(b.home, 'team.json');
  fs.writeFileSync(file, JSON.stringify({ lifetime: '100w', profiles: { work: { minTtl: '9d' } } }), {
    mode: 0o600,
  });
  expect(await b.run(`login -p work --config ${file}`)).toMatchObject({ status: 0 });
  expect(Object.keys(profilesOf(b.home).work).sort()).toEqual(['graph', 'gsqlUrl', 'restUrl', 'username']);
});

test('a token belongs to one pair: another REST server has its own token, and deleting that one keeps this one', async () => {
  const b = await bench();
  const away = await bench();
  const { token } = await b.json<{ token: string }>('token get');
  const there = `--rest-url ${away.sandbox.restUrl}`;
  expect((await b.run(`token delete --all ${there}`)).status).toBe(3);
  expect(await b.json(`token get ${there}`)).toMatchObject({ source: 'server' });
  expect((await b.run(`token delete --all ${there}`)).status).toBe(0);
  expect(await b.json('token get')).toMatchObject({ token, source: 'store' });
});

test('token delete deletes only the tokens of this credential', async () => {
  const b = await bench();
  const { secret } = await b.json<{ secret: string }>('secret create ci');
  const bySecret = { env: { GRAPHCRED_SECRET: secret, GRAPHCRED_PASSWORD: '' } };
  const { token } = await b.json<{ token: string }>('token get', bySecret);
  await b.run('token get');
  expect(await b.json('token delete')).toMatchObject({ deleted: 1 });
  expect(await b.json('token get', bySecret)).toMatchObject({ token, source: 'store' });
});

test('two identities never have the same key, whatever blanks and percent signs their names contain', () => {
  const key = (principal: string, graph: string) =>
    identityKey({ principal, graph, lifetime: 1, gsqlUrl: 'http://a', restUrl: 'http://b' });
  expect(key('user:a', 'b for graph c')).not.toBe(key('user:a for graph b', 'c'));
  expect(key('user:a b', 'c')).not.toBe(key('user:a%20b', 'c'));
});
