import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { keyringSkipReason, withKeyring } from '../helpers/keyring.js';
import { sandboxFor, start } from '../helpers/process.js';
import { KEYS, onTerminal, python, type Terminal } from '../helpers/terminal.js';

/** Everything in a home, with the files' texts; but for the version of the server, which is remembered for a day. */
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

/** A sandbox whose address is known, and nothing else: user, password and profile are asked for. */
async function somewhere(more: Record<string, string> = {}) {
  const home = temporaryHome();
  const { env, sandbox } = await sandboxFor(home);
  const { GRAPHCRED_USERNAME: _, GRAPHCRED_PASSWORD: __, GRAPHCRED_GRAPH: ___, ...bare } = env;
  return { home, sandbox, full: env, env: { ...bare, ...more } };
}

type Step = readonly [question: string, keys: string];

const QUESTIONS: readonly Step[] = [
  ['Name of the profile', '\r'],
  ['Graph', 'demo\r'],
  ['User name', 'tigergraph\r'],
  ['Password of tigergraph', 'tigergraph\r'],
  ['Name of a secret to create and keep', '\r'],
];

/** With no keychain in these homes there is one question more. */
const WHERE: Step = ['Where to keep secrets and tokens instead', '\r'];
const ALL = [...QUESTIONS.slice(0, 4), WHERE, ...QUESTIONS.slice(4)];

async function answer(terminal: Terminal, steps: readonly Step[]): Promise<void> {
  for (const [question, keys] of steps) {
    await terminal.see(question);
    terminal.type(keys);
  }
}

describe.skipIf(!python)('login on a terminal', () => {
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
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what a colour begins with
    expect(/\x1b\[[\d;:]*m/.test(bytes)).toBe(coloured);
  });

  test('the secret is made in a time of its own, however long the server took for the login', async () => {
    const slow = { GRAPHCRED_TIMEOUT: '1', GRAPHCRED_SERVER_VERSION: '3.10.1' };
    const { env, sandbox } = await somewhere({ GRAPHCRED_STORE: 'file', ...slow });
    sandbox.addFault({ action: 'delay', ms: 600 });
    const terminal = onTerminal(['login'], { env });
    await answer(terminal, QUESTIONS);
    const { status, screen } = await terminal.ended;
    expect(status).toBe(0);
    expect(screen.replace(/\n/g, '')).toContain('Secret graphcred is kept.');
  });

  test('asks for all it needs, keeps a secret, and the next command needs nothing more', async () => {
    const { env, home, full } = await somewhere({ GRAPHCRED_STORE: 'file' });
    const terminal = onTerminal(['login'], { env });
    await answer(terminal, QUESTIONS);
    const { status, screen, bytes, restored, cursorShown } = await terminal.ended;
    expect({ status, restored, cursorShown }).toEqual({ status: 0, restored: true, cursorShown: true });
    expect(screen.replace(/\n/g, '')).toContain(
      `Logged in to http://127.0.0.1 as profile default (${home}/${CONFIG}). Secret graphcred is kept.`,
    );
    const profile = { graph: 'demo', username: 'tigergraph', gsqlUrl: full.GRAPHCRED_GSQL_URL };
    const config = JSON.parse(filesIn(home)[CONFIG] ?? '');
    expect(config).toMatchObject({ defaultProfile: 'default', profiles: { default: profile } });
    expect(JSON.stringify(config)).not.toMatch(/password|secret/i);
    const later = await start(['token', 'get'], { HOME: home, GRAPHCRED_STORE: 'file' }).ended;
    expect(later).toMatchObject({ status: 0, stdout: expect.stringMatching(/^[a-z0-9]{32}\n$/), stderr: '' });
    expect(bytes).not.toContain(later.stdout.trim());
  });

  test('where there is no keychain it asks where to keep things; the arrow keys choose', async () => {
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
      screen: expect.stringContaining('graphcred is kept'),
    });
    expect(filesIn(home)['.config/graphcred/store']).toBe('file\n');
    const later = await start(['token', 'get'], { HOME: home }).ended;
    expect(later).toMatchObject({ status: 0, stderr: '' });
  });

  test('nowhere is an answer too: no secret is offered, and none is made', async () => {
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

  test('a host without http:// is asked for again, with the right spelling', async () => {
    const { home } = await somewhere();
    const terminal = onTerminal(['login'], { env: { HOME: home } });
    await answer(terminal, [
      ['Name of the profile', '\r'],
      ['Host, as a URL', 'graph.internal:9000\r'],
      ['for example https://graph.internal', KEYS.ctrlC],
    ]);
    expect(await terminal.ended).toMatchObject({ status: 130, restored: true });
  });

  test('a name that is taken or cannot be one is asked for again; the suggestion is a free one', async () => {
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
    expect(await terminal.ended).toMatchObject({
      status: 0,
      screen: expect.stringContaining('mine is kept'),
    });
  });

  test('- makes no secret', async () => {
    const { env, home } = await somewhere({ GRAPHCRED_STORE: 'file' });
    const terminal = onTerminal(['login'], { env });
    await answer(terminal, [...QUESTIONS.slice(0, 4), ['Name of a secret', '-\r']]);
    const { status, screen } = await terminal.ended;
    expect({ status, kept: screen.includes('is kept') }).toEqual({ status: 0, kept: false });
    expect(Object.keys(filesIn(home))).toContain(CONFIG);
  });

  test('a wrong password is exit 4 after one try, says what to do, and writes nothing', async () => {
    const { env, home, sandbox } = await somewhere({ GRAPHCRED_STORE: 'file' });
    const terminal = onTerminal(['login'], { env });
    await answer(terminal, [...QUESTIONS.slice(0, 3), ['Password of tigergraph', 'hunter2\r']]);
    const { status, screen, bytes, restored } = await terminal.ended;
    expect({ status, restored }).toEqual({ status: 4, restored: true });
    expect(screen).toContain('The server refused the login.\nhint: Check user name and password');
    expect(bytes).not.toContain('hunter2');
    // A second try by itself would be one nearer to the lock the server puts on the user.
    expect(sandbox.requests.filter(({ login }) => login !== 'none')).toHaveLength(1);
    expect(Object.keys(filesIn(home)).filter((file) => file.startsWith('.config'))).toEqual([]);
  });

  test('a server that makes no secret for this user: the profile stands, and the status says so', async () => {
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
    ]);
    const { status, screen } = await terminal.ended;
    expect(status).toBe(4);
    expect(screen).toContain('Logged in to http://127.0.0.1 as profile default');
    expect(screen.replace(/\n/g, ' ')).toContain('You are logged in, but no secret is kept:');
    expect(Object.keys(filesIn(home))).toContain(CONFIG);
  });

  describe.each(ALL.map(([question], at) => [question, at] as const))('stopped at "%s"', (question, at) => {
    test.each([
      ['Ctrl-C', KEYS.ctrlC],
      ['Ctrl-D', KEYS.ctrlD],
    ])('by %s: exit 130, the terminal as it was, and nothing written', async (_, key) => {
      const { env, home } = await somewhere();
      const terminal = onTerminal(['login'], { env });
      await answer(terminal, [...ALL.slice(0, at), [question, key]]);
      const { status, restored, cursorShown, screen } = await terminal.ended;
      expect({ status, restored, cursorShown }).toEqual({ status: 130, restored: true, cursorShown: true });
      expect(screen.split('\n').at(-1)).toBe('graphcred: Cancelled.');
      expect(Object.keys(filesIn(home))).toEqual([]);
    });

    test('by closing the window: the process is gone, and nothing is half-written', async () => {
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
  'with a keychain login asks nothing about stores, and keeps the secret there',
  async () => {
    await withKeyring({ state: 'unlocked' }, async (keyring) => {
      const { env: reach } = await sandboxFor(keyring.home);
      const { GRAPHCRED_USERNAME: _, GRAPHCRED_PASSWORD: __, GRAPHCRED_GRAPH: ___, ...bare } = reach;
      const env = { ...bare, ...keyring.env };
      const terminal = onTerminal(['login'], { env });
      await answer(terminal, QUESTIONS);
      const { status, screen } = await terminal.ended;
      expect(status).toBe(0);
      expect(screen).toContain('graphcred is kept');
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
