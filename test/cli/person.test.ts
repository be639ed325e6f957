// Tests what a person is asked, without a terminal. What the terminal shows is tested in test/e2e/terminal-login.test.ts.
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Bench, bench } from '../helpers/cli.js';
import { asked, ENTER, notAsked, refusals, willAnswer } from '../helpers/person.js';

vi.mock('inquirer', async () => (await import('../helpers/person.js')).inquirer);

beforeEach(() => willAnswer());
// Each question listens for the end of the process.
afterEach(() => void process.removeAllListeners('beforeExit'));

const configOf = (home: string) =>
  JSON.parse(fs.readFileSync(path.join(home, '.config/graphcred/config.json'), 'utf8'));
const messages = () => asked.map(({ message }) => message);
const NO_LOGIN = { GRAPHCRED_USERNAME: undefined, GRAPHCRED_PASSWORD: undefined };
const NO_ADDRESS = { GRAPHCRED_REST_URL: undefined, GRAPHCRED_GSQL_URL: undefined };
const PASSWORD = ['Password of tigergraph at http://127.0.0.1', 'tigergraph'] as const;
const NO_SECRET = ['Create a secret for this machine', '-'] as const;
const ask = (b: Bench, line: string, env: Record<string, string | undefined> = {}) =>
  b.run(line, { person: true, env });

describe('login', () => {
  test('asks for everything that is not set, refuses what cannot be, and the next command asks nothing', async () => {
    const b = await bench();
    const { gsqlUrl, restUrl } = b.sandbox;
    willAnswer(
      ['Host, a name or a URL', 'ftp://graph.example.com', 'http://a b', gsqlUrl],
      ['Port of the REST server', '0', '65536', '1e3', new URL(restUrl).port],
      ['Graph', ENTER, 'demo'],
      ['User name at http://127.0.0.1', 'tigergraph'],
      PASSWORD,
      ['Create a secret for this machine', ENTER],
    );
    const env = { ...NO_LOGIN, ...NO_ADDRESS, GRAPHCRED_GRAPH: undefined };
    const { status, stdout, stderr } = await ask(b, 'login', env);
    expect({ status, left: notAsked() }).toEqual({ status: 0, left: [] });
    expect(stdout).toBe(
      `Logged in to ${gsqlUrl} as profile default (~/.config/graphcred/config.json). Secret graphcred is saved.\n`,
    );
    expect(stderr).toBe('graphcred: next: graphcred token get\n');
    expect(refusals).toEqual([
      expect.stringContaining('https://graph.example.com'),
      expect.stringContaining('https://graph.example.com'),
      ...Array(3).fill('A port is a whole number from 1 to 65535.'),
      expect.stringContaining('Please type something'),
    ]);
    expect(asked.map((question) => question.default)).toEqual([
      'http://127.0.0.1',
      '9000',
      undefined,
      undefined,
      undefined,
      'graphcred',
    ]);
    expect(configOf(b.home).profiles).toEqual({
      default: {
        gsqlUrl,
        restPort: Number(new URL(restUrl).port),
        graph: 'demo',
        username: 'tigergraph',
        secretAlias: 'graphcred',
      },
    });
    const next = await ask(b, 'token get', env);
    expect(next).toMatchObject({ status: 0, stderr: '', stdout: expect.stringMatching(/^[a-z0-9]{32}\n$/) });
  });

  test('takes the usual port of the REST server for that, and asks for no graph on 4.x', async () => {
    const b = await bench({ serverVersion: '4.1.2' });
    const env = { ...NO_ADDRESS, GRAPHCRED_GSQL_PORT: new URL(b.sandbox.gsqlUrl).port };
    willAnswer(
      ['Host, a name or a URL', 'http://127.0.0.1:9000'],
      ['Graph (Enter for none)', ENTER],
      NO_SECRET,
    );
    expect(await ask(b, 'login', { ...env, GRAPHCRED_GRAPH: undefined })).toMatchObject({ status: 0 });
    expect(configOf(b.home).profiles.default).toMatchObject({ host: 'http://127.0.0.1', restPort: 9000 });
    expect(configOf(b.home).profiles.default).not.toHaveProperty('graph');
  });

  test.each([
    ['', {}, ['Port of the REST server', '65536', '0', '1', '65535']],
    ['/', {}, ['Port of the REST server', ENTER]],
    ['', { GRAPHCRED_REST_PORT: '9001' }, undefined],
  ] as const)('asks for the port of the REST server unless it is set: %j %j', async (tail, set, question) => {
    const b = await bench();
    const env = { ...NO_ADDRESS, ...set };
    willAnswer(
      ['Host, a name or a URL', `${b.sandbox.gsqlUrl}${tail}`],
      ...(question ? [question] : []),
      NO_SECRET,
    );
    const { status } = await ask(b, 'login -p dev', env);
    expect({ status, left: notAsked() }).toEqual({ status: 0, left: [] });
    const restPort = question ? (question[1] === ENTER ? 9000 : 1) : 9001;
    expect(configOf(b.home).profiles.dev).toMatchObject({ gsqlUrl: `${b.sandbox.gsqlUrl}${tail}`, restPort });
  });

  test('takes a URL without port and path for the host, and one with a path for that of the GSQL server', async () => {
    const b = await bench();
    const env = { ...NO_ADDRESS, GRAPHCRED_GSQL_PORT: new URL(b.sandbox.gsqlUrl).port };
    willAnswer(['Host, a name or a URL', 'http://localhost/'], NO_SECRET);
    expect((await ask(b, 'login -p dev', env)).status).toBe(0);
    expect(configOf(b.home).profiles.dev).toMatchObject({ host: 'http://localhost' });
  });

  // holds: C2.40
  test('asks again for a host that cannot be reached, and for a graph that is not there', async () => {
    const b = await bench();
    willAnswer(
      ['Host, a name or a URL', 'http://127.0.0.1/graph'],
      ['Host, a name or a URL', b.sandbox.gsqlUrl],
      ['Port of the REST server', new URL(b.sandbox.restUrl).port],
      ['Graph', 'nowhere'],
      ['Graph', 'demo'],
      NO_SECRET,
    );
    const env = { ...NO_ADDRESS, GRAPHCRED_GRAPH: undefined };
    const { status, stderr } = await ask(b, 'login -p other', env);
    expect({ status, left: notAsked() }).toEqual({ status: 0, left: [] });
    expect(stderr).toMatch(/127\.0\.0\.1.*Type the address again.*'nowhere' does not exist/s);
    expect(configOf(b.home).profiles.other).toMatchObject({ gsqlUrl: b.sandbox.gsqlUrl, graph: 'demo' });
  });

  test('writes the profile without a secret if the user may not make one, and says why', async () => {
    const b = await bench({ serverVersion: '4.1.2' });
    b.sandbox.addFault({ action: 'status', status: 403, route: 'POST /gsql/v1/secrets' });
    willAnswer(['Create a secret for this machine', 'ci']);
    const { status, stdout, stderr } = await ask(b, 'login -p dev');
    expect({ status, stdout }).toEqual({ status: 4, stdout: expect.not.stringContaining('is saved') });
    expect(stderr).toContain('You are logged in, but no secret is saved: ');
    expect(stderr).toContain('\nhint: ');
    expect(configOf(b.home).profiles.dev).not.toHaveProperty('secretAlias');
  });

  test.each(['text', 'json'])(
    'prints the value of a new secret that cannot be saved, as %s',
    async (format) => {
      const b = await bench();
      const rename = fs.renameSync;
      const renames = vi.spyOn(fs, 'renameSync').mockImplementation((from, to) => {
        if (fs.readFileSync(from, 'utf8').includes('"alias":"ci"'))
          throw Object.assign(new Error('read-only'), { code: 'EROFS' });
        rename(from, to);
      });
      willAnswer(['Create a secret for this machine', 'ci']);
      const { status, stdout, stderr } = await ask(b, `login -p dev -o ${format}`);
      renames.mockRestore();
      expect(status).toBe(6);
      const value = format === 'json' ? JSON.parse(stdout).secret : /^([a-z0-9]{32})$/m.exec(stdout)?.[1];
      expect((await b.run('token get --secret-stdin', { stdin: value })).status).toBe(0);
      if (format === 'text') expect(stderr).toContain('secret ci: this is the only time its value is shown');
      expect(stderr).toContain('The secret was created, but it could not be saved');
    },
  );

  test('gets a first token for the profile that the person named', async () => {
    const b = await bench();
    expect((await b.run('login --graph demo')).status).toBe(0);
    const profile = configOf(b.home).profiles.default;
    const file = path.join(b.home, '.config/graphcred/config.json');
    const elsewhere = { ...profile, gsqlUrl: 'http://127.0.0.1:1', restUrl: 'http://127.0.0.1:1' };
    fs.writeFileSync(file, JSON.stringify({ profiles: { default: elsewhere } }), { mode: 0o600 });
    willAnswer(
      ['Name of the profile', 'two'],
      ['Host, a name or a URL', b.sandbox.gsqlUrl],
      ['Port of the REST server', new URL(b.sandbox.restUrl).port],
      PASSWORD,
      ['Create a secret for this machine', 'ci'],
      ['Make two the default profile', true],
    );
    const { status, stderr } = await ask(b, 'login', { ...NO_ADDRESS, GRAPHCRED_PASSWORD: undefined });
    expect({ status, left: notAsked() }).toEqual({ status: 0, left: [] });
    expect(stderr).not.toContain('there is no token yet');
    const { tokens } = await b.json<{ tokens: object[] }>('token list');
    expect(tokens).toMatchObject([
      { principal: expect.stringMatching(/^secret:/), gsqlUrl: b.sandbox.gsqlUrl },
    ]);
  });

  test('asks three times for a password that the server refuses', async () => {
    const b = await bench();
    willAnswer(...Array.from({ length: 4 }, () => [PASSWORD[0], 'wrong'] as const));
    const { status, stderr } = await ask(b, 'login -p dev', { GRAPHCRED_PASSWORD: undefined });
    expect({ status, asked: asked.length }).toEqual({ status: 4, asked: 3 });
    expect(stderr).toContain('Try again (2 more attempts).');
    expect(stderr).toContain('Try again (1 more attempt).');
  });

  test('asks for no other password after an error that a password does not mend', async () => {
    const b = await bench();
    b.sandbox.addFault({ action: 'status', status: 500, route: '/gsqlserver/gsql/file' });
    willAnswer(PASSWORD, PASSWORD);
    expect((await ask(b, 'login -p dev', { GRAPHCRED_PASSWORD: undefined })).status).not.toBe(0);
    expect(asked).toHaveLength(1);
  });

  test('tries the saved password first, and asks up to three times after the server refused it', async () => {
    const b = await bench();
    expect((await b.run('login -p dev --save-password')).status).toBe(0);
    const route = '/gsqlserver/gsql/file';
    const env = { GRAPHCRED_PASSWORD: undefined };
    b.sandbox.addFault({ action: 'status', status: 401, route, times: 1 });
    const alone = await b.run('login -p dev --save-password', { env });
    expect({ status: alone.status, asked: asked.length }).toEqual({ status: 4, asked: 0 });
    expect(alone.stderr).not.toContain('using the saved password');
    b.sandbox.addFault({ action: 'status', status: 401, route, times: 1 });
    willAnswer([PASSWORD[0], 'wrong'], [PASSWORD[0], 'wrong'], PASSWORD, NO_SECRET, [
      'Save the password',
      true,
    ]);
    const { status, stdout, stderr } = await ask(b, 'login -p dev', env);
    expect({ status, left: notAsked() }).toEqual({ status: 0, left: [] });
    expect(stderr).toMatch(
      /using the saved password of tigergraph.*the server refused the saved password.*1 more attempt/s,
    );
    expect(stdout).toContain('The password is saved.');
  });

  test('logs in with a password although a secret is saved, and keeps that secret', async () => {
    const b = await bench({ serverVersion: '4.1.2' });
    await b.run('secret create ci --save');
    willAnswer(PASSWORD);
    const { status, stdout } = await ask(b, 'login -p dev', { GRAPHCRED_PASSWORD: undefined });
    expect({ status, left: notAsked() }).toEqual({ status: 0, left: [] });
    expect(stdout).not.toContain('is saved');
    expect(configOf(b.home).profiles.dev).toMatchObject({ secretAlias: 'ci' });
  });

  test.skipIf(process.platform !== 'linux').each(['file', 'none'])(
    'asks where to keep secrets if there is no keychain, and with the answer %s goes on so',
    async (store) => {
      const b = await bench();
      const where = ['Where to keep secrets and tokens instead', store] as const;
      willAnswer(where, ...(store === 'file' ? [NO_SECRET] : []));
      const { status, stderr } = await ask(b, 'login -p dev', { GRAPHCRED_STORE: undefined });
      expect({ status, left: notAsked() }).toEqual({ status: 0, left: [] });
      expect(stderr).toContain('keychain');
      const written = fs.readFileSync(path.join(b.home, '.config/graphcred/store'), 'utf8');
      expect(written).toBe(`${store}\n`);
    },
  );

  test('suggests a name that no secret has, and refuses one that cannot be', async () => {
    const b = await bench();
    for (const alias of ['graphcred', 'graphcred_2']) await b.run(`secret create ${alias}`);
    willAnswer(['Create a secret for this machine', 'graphcred', 'x'.repeat(129), '1a', 'x'.repeat(128)]);
    const { status, stdout } = await ask(b, 'login -p dev');
    expect({ status, suggestion: asked[0]?.default }).toEqual({ status: 0, suggestion: 'graphcred_3' });
    expect(stdout).toContain(`Secret ${'x'.repeat(128)} is saved.`);
    expect(refusals).toEqual([
      'There is a secret of this name already.',
      'An alias has 128 characters at most.',
      'Begin with a letter or _, then letters, digits and _.',
    ]);
  });

  test.each([
    [true, 'two', 'next: graphcred token get -p two\n'],
    [ENTER, 'default', 'next: graphcred token get -p two\n'],
  ])('answered with %s makes %s the default profile', async (answer, expected, next) => {
    const b = await bench();
    expect((await b.run('login')).status).toBe(0);
    willAnswer(NO_SECRET, ['Make two the default profile instead of default?', answer]);
    const { stderr } = await ask(b, 'login -p two');
    expect(configOf(b.home).defaultProfile).toBe(expected);
    expect(stderr).toContain(next);
    willAnswer(NO_SECRET);
    expect((await ask(b, 'login -p two')).status).toBe(0);
  });

  test('is cancelled when the person closes the question, and has written nothing', async () => {
    const b = await bench();
    const result = await ask(b, 'login', NO_ADDRESS);
    expect(result).toEqual({ status: 130, stdout: '', stderr: 'graphcred: Cancelled.\n' });
    expect(fs.existsSync(path.join(b.home, '.config'))).toBe(false);
  });
});

describe('token get', () => {
  const NOTHING = { ...NO_LOGIN, GRAPHCRED_GRAPH: undefined };

  test('asks for graph, user name and password once, and suggests the last ones the next time', async () => {
    const b = await bench();
    willAnswer(['Which graph?', 'demo'], ['User name at http://127.0.0.1', 'tigergraph'], PASSWORD);
    expect(await ask(b, 'token get', NOTHING)).toMatchObject({ status: 0, stderr: '' });
    const { tokens } = await b.json<{ tokens: { principal: string }[] }>('token list');
    expect(tokens).toMatchObject([{ principal: 'user:tigergraph', graph: 'demo' }]);
    willAnswer(['Which graph?', ENTER], ['User name at http://127.0.0.1', ENTER], PASSWORD);
    expect(await ask(b, 'secret list', NOTHING)).toMatchObject({ status: 0 });
    expect(asked.map((question) => question.default)).toEqual(['demo', 'tigergraph', undefined]);
  });

  test('ends exec with 125 when the person closes the question', async () => {
    const b = await bench();
    expect(await ask(b, 'exec -- echo ran', { GRAPHCRED_PASSWORD: undefined })).toEqual({
      status: 125,
      stdout: '',
      stderr: 'graphcred: Cancelled.\n',
    });
    expect(asked).toHaveLength(1);
  });

  test('asks nothing with --no-input, and nothing in doctor', async () => {
    const b = await bench();
    expect((await ask(b, 'token get --no-input', NOTHING)).status).toBe(2);
    expect((await ask(b, 'doctor', NO_LOGIN)).stdout).toContain(' credential ');
    expect(messages()).toEqual([]);
  });

  test('asks for no graph on 3.x if there is a secret, which belongs to one', async () => {
    const b = await bench();
    const GRAPHCRED_SECRET = (await b.run('secret create ci')).stdout.trim();
    expect((await ask(b, 'token get', { ...NOTHING, GRAPHCRED_SECRET })).status).toBe(0);
    expect(messages()).toEqual([]);
  });

  test('asks without a suggestion if there is no home folder', async () => {
    const b = await bench();
    willAnswer(['Which graph?', 'demo'], ['User name at http://127.0.0.1', 'tigergraph'], PASSWORD);
    const env = { ...NOTHING, GRAPHCRED_STORE: undefined };
    expect((await b.run('token get', { person: true, env, homeless: true })).status).toBe(0);
    expect(asked.map((question) => question.default)).toEqual([undefined, undefined, undefined]);
  });

  test('asks for a password in place of one for other servers, and says so', async () => {
    const b = await bench();
    willAnswer(PASSWORD);
    const env = { GRAPHCRED_PASSWORD: undefined, TG_HOST: 'http://a.example', TG_PASSWORD: 'hunter22' };
    const { status, stderr } = await ask(b, 'token get', env);
    expect(status).toBe(0);
    expect(stderr).toContain('TG_PASSWORD is for other servers and is not used here');
  });
});

// holds: C3.15
test('an untrusted file is used for one call after a yes, asked for once, and for none after a no', async () => {
  const b = await bench();
  const project = path.join(b.home, 'project');
  fs.mkdirSync(project);
  const file = path.join(project, '.graphcredrc');
  fs.writeFileSync(file, JSON.stringify({ gsqlUrl: 'http://127.0.0.1:1', graph: 'planted' }));
  fs.chmodSync(file, 0o622);
  const env = { ...NO_ADDRESS, GRAPHCRED_GRAPH: undefined };
  const at = (line: string) => b.run(line, { person: true, cwd: project, env });
  willAnswer(['Use it for this call?', false]);
  const refused = await at('secret list');
  expect(refused).toMatchObject({ status: 5, stdout: '' });
  expect(refused.stderr).toContain(`other users can write it: chmod 600 ${file}`);
  expect(refused.stderr).toMatch(
    /^ {2}REST server +http:\/\/127\.0\.0\.1:9000 \(3\.x\) or http:\/\/127\.0\.0\.1:1\/restpp \(4\.x\)$/m,
  );
  fs.chmodSync(file, 0o600);
  willAnswer(['Use it for this call?', true]);
  const used = await at('secret list');
  expect({ status: used.status, asked: asked.length }).toEqual({ status: 7, asked: 1 });
  expect(used.stderr).toContain('http://127.0.0.1:1');
  willAnswer();
  for (const line of ['status', 'status --all-profiles']) expect((await at(line)).status).toBe(5);
  expect(asked).toEqual([]);
});

test('secret prune and profile remove change nothing without a yes', async () => {
  const b = await bench();
  await b.run('secret create');
  await b.run('login -p dev');
  const before = (await b.run('secret list')).stdout;
  for (const line of ['secret prune', 'profile remove dev']) {
    willAnswer(['', false]);
    expect((await ask(b, line)).status).toBe(130);
    expect(asked).toMatchObject([{ default: false }]);
  }
  expect((await b.run('secret list')).stdout).toBe(before);
  expect(configOf(b.home).profiles).toHaveProperty('dev');
  for (const line of ['secret prune', 'profile remove dev']) {
    willAnswer(['', true]);
    expect((await ask(b, line)).status).toBe(0);
  }
  expect((await b.run('secret list')).stdout).not.toBe(before);
  expect(configOf(b.home).profiles).not.toHaveProperty('dev');
});

test('secret drop asks before it drops several secrets, and not before one', async () => {
  const b = await bench();
  for (const alias of ['one', 'two', 'three']) await b.run(`secret create ${alias}`);
  willAnswer(['Drop 2 secrets: one, two?', false]);
  expect(await ask(b, 'secret drop one two')).toMatchObject({
    status: 130,
    stdout: '',
    stderr: 'graphcred: Nothing was dropped.\n',
  });
  expect(asked).toMatchObject([{ default: false }]);
  willAnswer(['Drop 2 secrets: one, two?', true]);
  expect((await ask(b, 'secret drop one two')).stdout).toBe('Dropped: one, two\n');
  willAnswer();
  expect((await ask(b, 'secret drop three')).stdout).toBe('Dropped: three\n');
  expect((await ask(b, 'secret drop one two --yes --ignore-missing')).status).toBe(0);
  expect(asked).toEqual([]);
});

test.each(['3.10.1', '4.1.2'])(
  'secret prune on %s says whether the tokens end with the secrets',
  async (serverVersion) => {
    const b = await bench({ serverVersion });
    await b.run('secret create');
    willAnswer(['Drop this secret?', false]);
    const { stderr } = await ask(b, 'secret prune');
    expect(stderr.includes('and their tokens end at once')).toBe(serverVersion.startsWith('3'));
    await b.run('secret create');
    willAnswer(['Drop these 2 secrets?', false]);
    expect((await ask(b, 'secret prune')).status).toBe(130);
  },
);

test('the secret of a login is created with the full time limit, since a person was asked in between', async () => {
  const b = await bench({ serverVersion: '4.1.2' });
  willAnswer(['Create a secret for this machine', 'ci'], ['', ENTER]);
  // Two requests together take longer than the time limit.
  b.sandbox.addFault({ action: 'delay', ms: 700, route: '/gsql/v1/secrets' });
  const { status, stdout } = await ask(b, 'login -p dev', { GRAPHCRED_TIMEOUT: '1' });
  expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('Secret ci is saved') });
});

test('questions have no colours with --no-color, NO_COLOR and TERM=dumb', async () => {
  const b = await bench();
  const themeWith = async (line: string, env: Record<string, string> = {}) => {
    willAnswer();
    await ask(b, line, { GRAPHCRED_PASSWORD: undefined, ...env });
    expect(asked).toHaveLength(1);
    return asked[0]?.theme === undefined ? 'coloured' : 'plain';
  };
  expect(await themeWith('token get')).toBe('coloured');
  expect(await themeWith('token get --no-color')).toBe('plain');
  expect(await themeWith('token get', { NO_COLOR: '1' })).toBe('plain');
  expect(await themeWith('token get', { TERM: 'dumb' })).toBe('plain');
});
