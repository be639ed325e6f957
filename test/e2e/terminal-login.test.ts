import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { GraphConnection } from '../../src/core/connection.js';
import { parseFault } from '../../src/sandbox/args.js';
import { temporaryHome } from '../helpers/cli.js';
import { keyringSkipReason, withKeyring } from '../helpers/keyring.js';
import { sandboxFor, start } from '../helpers/process.js';
import { KEYS, onTerminal, python, type Terminal } from '../helpers/terminal.js';

/** Returns the text of every file in a home, except the server cache, which stores the version for a day. */
function filesIn(home: string): Record<string, string> {
  const files = fs
    .readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile() && !/^server-[0-9a-f]+\.json$/.test(one.name));
  return Object.fromEntries(
    files.map(({ parentPath, name }) => {
      const file = path.join(parentPath, name);
      return [path.relative(home, file), fs.readFileSync(file, 'utf8')];
    }),
  );
}

const CONFIG = '.config/graphcred/config.json';

/** Starts a sandbox and sets only its address, so that user, password and profile are asked for. */
async function somewhere(more: Record<string, string> = {}) {
  const home = temporaryHome();
  const { env, sandbox } = await sandboxFor(home);
  const { GRAPHCRED_USERNAME: _, GRAPHCRED_PASSWORD: __, GRAPHCRED_GRAPH: ___, ...bare } = env;
  return { home, sandbox, full: env, env: { ...bare, ...more } };
}

type Step = readonly [question: string | RegExp, keys: string];

const QUESTIONS: readonly Step[] = [
  ['Name of the profile', '\r'],
  ['Graph', 'demo\r'],
  ['User name', 'tigergraph\r'],
  ['Password of tigergraph', 'tigergraph\r'],
  ['Name of a secret to create and keep', '\r'],
  ['Keep the password', '\r'],
];

const PASSWORD: Step = ['Keep the password', '\r'];

/** These homes have no keychain, so one more question is asked. */
const WHERE: Step = ['Where to keep secrets and tokens instead', '\r'];
const ALL = [...QUESTIONS.slice(0, 4), WHERE, ...QUESTIONS.slice(4)];

async function answer(terminal: Terminal, steps: readonly Step[]): Promise<void> {
  for (const [question, keys] of steps) {
    await terminal.see(question);
    terminal.type(keys);
  }
}

describe.skipIf(!python)('login on a terminal', () => {
  test('drops the new secret if the profile cannot be written, because nobody has seen its value', async () => {
    const { env, home, sandbox } = await somewhere({ GRAPHCRED_STORE: 'file' });
    const terminal = onTerminal(['login'], { env });
    await answer(terminal, QUESTIONS.slice(0, -1));
    // Login looks for this file before its first question, too.
    const file = path.join(home, '.config/graphcred/config.yaml');
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, 'profiles: {}\n');
    await answer(terminal, QUESTIONS.slice(-1));
    expect((await terminal.ended).status).toBe(5);
    expect(terminal.unbroken()).toContain('config.yaml is YAML');
    const { restUrl, gsqlUrl, graph, username, password } = sandbox;
    const database = new GraphConnection({ restUrl, gsqlUrl, graph, username, password });
    expect(await database.getSecrets()).toEqual({});
  });

  test.each([
    ['--no-color', ['--no-color'], {}, false],
    ['NO_COLOR', [], { NO_COLOR: '1' }, false],
    ['TERM=dumb', [], { TERM: 'dumb' }, false],
    ['nobody said no', [], {}, true],
  ] as const)('its questions are in colour or not: %s', async (_, flags, more, coloured) => {
    const { env } = await somewhere();
    const terminal = onTerminal(['login', ...flags], { env: { ...env, ...more } });
    await answer(terminal, ALL.slice(0, 1));
    await answer(terminal, [
      ['Graph', '\r'],
      ['Please type something', 'demo\r'],
    ]);
    await answer(terminal, ALL.slice(2));
    const { status, bytes } = await terminal.ended;
    expect(status).toBe(0);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: every colour code begins with ESC
    expect(/\x1b\[[\d;:]*m/.test(bytes)).toBe(coloured);
  });

  test('creates the secret with a new time limit, however long the login took', async () => {
    const slow = { GRAPHCRED_TIMEOUT: '1', GRAPHCRED_SERVER_VERSION: '3.10.1' };
    const { env, sandbox } = await somewhere({ GRAPHCRED_STORE: 'file', ...slow });
    sandbox.addFault({ action: 'delay', ms: 600 });
    const terminal = onTerminal(['login'], { env });
    await answer(terminal, QUESTIONS);
    const { status, screen } = await terminal.ended;
    expect(status).toBe(0);
    expect(screen.replace(/\n/g, ' ')).toContain('Secret graphcred is saved.');
  });

  test('asks for all it needs and saves a secret, and the next command asks nothing', async () => {
    const { env, home, full } = await somewhere({ GRAPHCRED_STORE: 'file' });
    const terminal = onTerminal(['login'], { env });
    await answer(terminal, QUESTIONS);
    const { status, screen, bytes, restored, cursorShown } = await terminal.ended;
    expect({ status, restored, cursorShown }).toEqual({ status: 0, restored: true, cursorShown: true });
    expect(screen.replace(/\n/g, ' ')).toContain(
      `Logged in to http://127.0.0.1 as profile default (~/${CONFIG}). Secret graphcred is saved.`,
    );
    const profile = { graph: 'demo', username: 'tigergraph', gsqlUrl: full.GRAPHCRED_GSQL_URL };
    const config = JSON.parse(filesIn(home)[CONFIG] ?? '');
    expect(config).toMatchObject({ defaultProfile: 'default', profiles: { default: profile } });
    expect(config.profiles.default.secretAlias).toBe('graphcred');
    expect(JSON.stringify(config.profiles)).not.toMatch(/password|secret(?!Alias)/i);
    const later = await start(['token', 'get'], { HOME: home, GRAPHCRED_STORE: 'file' }).ended;
    expect(later).toMatchObject({ status: 0, stdout: expect.stringMatching(/^[a-z0-9]{32}\n$/), stderr: '' });
    expect(bytes).not.toContain(later.stdout.trim());
  });

  test('asks for another store if there is no keychain, and the arrow keys choose it', async () => {
    const { env, home } = await somewhere();
    const chosen = onTerminal(['login'], { env });
    await answer(chosen, QUESTIONS.slice(0, 4));
    await chosen.see('Where to keep secrets and tokens instead');
    expect(chosen.screen()).toContain('there is no OS keychain');
    expect(chosen.screen()).toMatch(/[❯>] in encrypted files/);
    chosen.type(KEYS.down);
    await chosen.see(/[❯>] nowhere/);
    chosen.type(KEYS.up);
    await chosen.see(/[❯>] in encrypted files/);
    chosen.type(KEYS.enter);
    await answer(chosen, QUESTIONS.slice(4));
    expect(await chosen.ended).toMatchObject({
      status: 0,
      screen: expect.stringMatching(/graphcred\s+is\s+saved/),
    });
    expect(filesIn(home)['.config/graphcred/store']).toBe('file\n');
    const later = await start(['token', 'get'], { HOME: home }).ended;
    expect(later).toMatchObject({ status: 0, stderr: '' });
  });

  test('offers and creates no secret if the answer is to store nothing', async () => {
    const { env, home, sandbox } = await somewhere();
    const terminal = onTerminal(['login'], { env });
    await answer(terminal, [...QUESTIONS.slice(0, 4), [WHERE[0], `${KEYS.down}\r`]]);
    const { status, screen } = await terminal.ended;
    expect(status).toBe(0);
    expect(screen).not.toContain('Name of a secret');
    expect(filesIn(home)['.config/graphcred/store']).toBe('none\n');
    expect(Object.keys(filesIn(home)).filter((file) => file.startsWith('.local'))).toEqual([]);
    expect(sandbox.requests.map(({ path: route }) => route)).not.toContain('/gsql/v1/secrets');
  });

  test('asks again for a host without http://, and shows the right spelling', async () => {
    const { home } = await somewhere();
    const terminal = onTerminal(['login'], { env: { HOME: home } });
    await answer(terminal, [
      ['Name of the profile', '\r'],
      ['Host, as a URL', 'graph.internal:9000\r'],
      ['for example https://graph.internal', KEYS.ctrlC],
    ]);
    expect(await terminal.ended).toMatchObject({ status: 130, restored: true });
  });

  test('asks again for a name that is taken or not valid, and suggests a free one', async () => {
    const { env, full } = await somewhere({ GRAPHCRED_STORE: 'file' });
    expect((await start(['secret', 'create', 'graphcred'], full).ended).status).toBe(0);
    const terminal = onTerminal(['login'], { env });
    await answer(terminal, QUESTIONS.slice(0, 4));
    await terminal.see('(graphcred_2)');
    terminal.type('graphcred\r');
    await terminal.see('There is a secret of this name already.');
    terminal.type('\x15two words\r');
    await terminal.see('Begin with a letter or _');
    terminal.type('\x15mine\r');
    await answer(terminal, [PASSWORD]);
    expect(await terminal.ended).toMatchObject({
      status: 0,
      screen: expect.stringMatching(/mine\s+is\s+saved/),
    });
  });

  test('creates no secret if the answer is -', async () => {
    const { env, home } = await somewhere({ GRAPHCRED_STORE: 'file' });
    const terminal = onTerminal(['login'], { env });
    await answer(terminal, [...QUESTIONS.slice(0, 4), ['Name of a secret', '-\r'], PASSWORD]);
    const { status, screen } = await terminal.ended;
    expect({ status, kept: /is\s+saved/.test(screen) }).toEqual({ status: 0, kept: false });
    expect(Object.keys(filesIn(home))).toContain(CONFIG);
  });

  // holds: C2.22
  test('asks three times if the password is wrong, and then writes nothing', async () => {
    const { env, home, sandbox } = await somewhere({ GRAPHCRED_STORE: 'file' });
    const terminal = onTerminal(['login'], { env });
    await answer(terminal, [
      ...QUESTIONS.slice(0, 3),
      ['Password of tigergraph', 'hunter2\r'],
      [/2 more attempts[\s\S]*Password of/, 'hunter2\r'],
      [/1 more attempt\)[\s\S]*Password of/, 'hunter2\r'],
    ]);
    const { status, screen, bytes, restored } = await terminal.ended;
    expect({ status, restored }).toEqual({ status: 4, restored: true });
    expect(screen).toContain('hint: Check user name and password');
    expect(bytes).not.toContain('hunter2');
    expect(sandbox.requests.filter(({ login }) => login !== 'none')).toHaveLength(3);
    expect(Object.keys(filesIn(home)).filter((file) => file.startsWith('.config'))).toEqual([]);
  });

  // holds: C2.22
  test('asks only for the password again after a wrong one', async () => {
    const { env } = await somewhere({ GRAPHCRED_STORE: 'file' });
    const terminal = onTerminal(['login'], { env });
    await answer(terminal, [...QUESTIONS.slice(0, 3), ['Password of tigergraph', 'hunter2\r']]);
    await answer(terminal, [[/Try again[\s\S]*Password of/, 'tigergraph\r'], ...QUESTIONS.slice(4)]);
    const { status, screen } = await terminal.ended;
    expect(status).toBe(0);
    expect(screen.match(/User name/g)).toHaveLength(1);
  });

  test('saves a password, and secret commands do not ask for it again', async () => {
    const { env, home } = await somewhere({ GRAPHCRED_STORE: 'file' });
    const terminal = onTerminal(['login'], { env });
    await answer(terminal, [...QUESTIONS.slice(0, 5), ['Keep the password', 'y\r']]);
    expect(await terminal.ended).toMatchObject({
      status: 0,
      screen: expect.stringMatching(/The\s+password\s+is\s+saved\./),
    });
    const later = await start(['secret', 'list'], { HOME: home, GRAPHCRED_STORE: 'file' }).ended;
    expect(later).toMatchObject({ status: 0, stdout: expect.stringContaining('graphcred'), stderr: '' });
  });

  test('asks for the name of a second profile, uses the saved secret, and proposes the new profile as the default', async () => {
    const { env, home, full } = await somewhere({ GRAPHCRED_STORE: 'file' });
    const first = onTerminal(['login'], { env });
    await answer(first, QUESTIONS);
    expect((await first.ended).status).toBe(0);
    const second = onTerminal(['login'], { env: { HOME: home, GRAPHCRED_STORE: 'file' } });
    await answer(second, [
      ['Name of the profile (default)', 'prod\r'],
      ['Host, as a URL', `${full.GRAPHCRED_GSQL_URL}\r`],
      ['Port of the REST server (9000)', `${full.GRAPHCRED_REST_URL?.split(':').at(-1)}\r`],
      ...QUESTIONS.slice(1, 4),
      PASSWORD,
      ['Make prod the default profile instead of default?', '\r'],
    ]);
    const { status, screen } = await second.ended;
    expect(status).toBe(0);
    expect(screen).not.toContain('Name of a secret');
    expect(screen).toContain('next: graphcred token get');
    const config = JSON.parse(filesIn(home)[CONFIG] ?? '');
    expect(config).toMatchObject({
      defaultProfile: 'prod',
      profiles: { prod: { secretAlias: 'graphcred' } },
    });
  });

  test('does not ask for a saved password, unless the server refuses it', async () => {
    const { env, home, full, sandbox } = await somewhere({ GRAPHCRED_STORE: 'file' });
    const first = onTerminal(['login'], { env });
    await answer(first, [...QUESTIONS.slice(0, 5), ['Keep the password', 'y\r']]);
    expect((await first.ended).status).toBe(0);
    const { GRAPHCRED_GRAPH: _, GRAPHCRED_PASSWORD: __, GRAPHCRED_USERNAME: ___, ...address } = full;
    const again = { HOME: home, GRAPHCRED_STORE: 'file', ...address };
    const second = onTerminal(['login', '-p', 'prod'], { env: again });
    await answer(second, [
      ['Graph', 'demo\r'],
      ['User name at http://127.0.0.1 (tigergraph)', '\r'],
      ['Make prod the default', 'n\r'],
    ]);
    const { status, screen } = await second.ended;
    expect(status).toBe(0);
    expect(screen).toContain('using the saved password of tigergraph');
    expect(screen).not.toContain('Password of');
    sandbox.addFault(parseFault('action=status,status=401,times=1'));
    const third = onTerminal(['login', '-p', 'prod'], { env: again });
    await answer(third, [
      [/refused the saved password[\s\S]*Password of/, 'tigergraph\r'],
      ['Keep the password', 'y\r'],
    ]);
    expect(await third.ended).toMatchObject({ status: 0 });
  });

  test('accepts an empty graph on 4.x', async () => {
    const home = temporaryHome();
    const { env: full } = await sandboxFor(home, { serverVersion: '4.1.2' });
    const { GRAPHCRED_GRAPH: _, ...env } = full;
    const terminal = onTerminal(['login'], { env: { ...env, GRAPHCRED_STORE: 'file' } });
    await answer(terminal, [
      ['Name of the profile', '\r'],
      ['Graph (Enter for none)', '\r'],
      ['Name of a secret', '\r'],
    ]);
    expect(await terminal.ended).toMatchObject({ status: 0 });
    expect(JSON.parse(filesIn(home)[CONFIG] ?? '').profiles.default).not.toHaveProperty('graph');
  });

  test('writes the profile if the server creates no secret for this user, and the status says so', async () => {
    const home = temporaryHome();
    const users = [{ name: 'reader', password: 'reader', role: 'reader' as const }];
    const { env } = await sandboxFor(home, { users, serverVersion: '4.1.2' });
    const bare: Record<string, string> = { ...env, GRAPHCRED_USERNAME: 'reader' };
    delete bare.GRAPHCRED_PASSWORD;
    const terminal = onTerminal(['login', '--store', 'file'], { env: bare });
    await answer(terminal, [
      ['Name of the profile', '\r'],
      ['Password of', 'reader\r'],
      ['Name of a secret', '\r'],
      PASSWORD,
    ]);
    const { status, screen } = await terminal.ended;
    expect(status).toBe(4);
    expect(screen).toContain('Logged in to http://127.0.0.1 as profile default');
    expect(screen.replace(/\n/g, ' ')).toContain('You are logged in, but no secret is saved:');
    expect(Object.keys(filesIn(home))).toContain(CONFIG);
  });

  describe.each(ALL.map(([question], at) => [question, at] as const))('stopped at "%s"', (question, at) => {
    test.each([
      ['Ctrl-C', KEYS.ctrlC],
      ['Ctrl-D', KEYS.ctrlD],
    ])('by %s: exits 130, restores the terminal and writes nothing', async (_, key) => {
      const { env, home } = await somewhere();
      const terminal = onTerminal(['login'], { env });
      await answer(terminal, [...ALL.slice(0, at), [question, key]]);
      const { status, restored, cursorShown, screen } = await terminal.ended;
      expect({ status, restored, cursorShown }).toEqual({ status: 130, restored: true, cursorShown: true });
      expect(screen.split('\n').at(-1)).toBe('graphcred: Cancelled.');
      expect(Object.keys(filesIn(home))).toEqual([]);
    });

    test('by closing the window: ends the process and leaves no incomplete file', async () => {
      const { env, home } = await somewhere();
      const terminal = onTerminal(['login'], { env });
      await answer(terminal, ALL.slice(0, at));
      await terminal.see(question);
      terminal.close();
      const { status } = await terminal.ended;
      expect(status).not.toBe(0);
      expect(Object.keys(filesIn(home))).toEqual([]);
    });
  });
});

const noKeyring = keyringSkipReason();
if (noKeyring) console.log(`skipped: login with a keychain at hand (${noKeyring})`);

test.skipIf(!python || noKeyring)(
  'with a keychain login asks no question about stores, and saves the secret there',
  async () => {
    await withKeyring({ state: 'unlocked' }, async (keyring) => {
      const { env: reach } = await sandboxFor(keyring.home);
      const { GRAPHCRED_USERNAME: _, GRAPHCRED_PASSWORD: __, GRAPHCRED_GRAPH: ___, ...bare } = reach;
      const env = { ...bare, ...keyring.env };
      const terminal = onTerminal(['login'], { env });
      await answer(terminal, QUESTIONS);
      const { status, screen } = await terminal.ended;
      expect(status).toBe(0);
      expect(screen).toMatch(/graphcred\s+is\s+saved/);
      expect(screen).not.toContain('Where to keep');
      const later = await start(['token', 'get'], { ...keyring.env }).ended;
      expect(later).toMatchObject({
        status: 0,
        stdout: expect.stringMatching(/^[a-z0-9]{32}\n$/),
        stderr: '',
      });
    });
  },
);
