import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { filesBelow } from '../helpers/canary.js';
import { temporaryHome } from '../helpers/cli.js';
import { keyringSkipReason, withKeyring } from '../helpers/keyring.js';
import { sandboxFor, start } from '../helpers/process.js';
import { KEYS, onTerminal, python, type Terminal } from '../helpers/terminal.js';

/** Returns the names of the files in a home, except the server cache, which stores the version for a day. */
const filesIn = (home: string) =>
  [...filesBelow(home)].map(({ file }) => file).filter((file) => !/\/server-[0-9a-f]+\.json$/.test(file));

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
  ['Graph', 'demo\r'],
  ['User name', 'tigergraph\r'],
  ['Password of tigergraph', 'tigergraph\r'],
  ['Make a secret for this machine', '\r'],
];

/** These homes have no keychain, so one more question is asked. */
const WHERE: Step = ['Save encrypted in ~/', '\r'];
const ALL = [WHERE, ...QUESTIONS];

async function answer(terminal: Terminal, steps: readonly Step[]): Promise<void> {
  for (const [question, keys] of steps) {
    await terminal.see(question);
    terminal.type(keys);
  }
}

describe.skipIf(!python)('login on a terminal', () => {
  test('asks for all it needs and saves a secret, and the next command asks nothing', async () => {
    const { env, home, full } = await somewhere({ GRAPHCRED_STORE: 'file' });
    const terminal = onTerminal(['login'], { env });
    await answer(terminal, QUESTIONS);
    const { status, screen, bytes, restored, cursorShown } = await terminal.ended;
    expect({ status, restored, cursorShown }).toEqual({ status: 0, restored: true, cursorShown: true });
    expect(screen.replace(/\n/g, ' ')).toContain(
      `Logged in to ${full.GRAPHCRED_GSQL_URL} as profile "default" (~/${CONFIG}). The secret "graphcred" is saved now.`,
    );
    const profile = { graph: 'demo', username: 'tigergraph', gsqlUrl: full.GRAPHCRED_GSQL_URL };
    const config = JSON.parse(fs.readFileSync(path.join(home, CONFIG), 'utf8'));
    expect(config).toMatchObject({ defaultProfile: 'default', profiles: { default: profile } });
    expect(config.profiles.default.secretAlias).toBe('graphcred');
    expect(JSON.stringify(config.profiles)).not.toMatch(/password|secret(?!Alias)/i);
    const later = await start(['token', 'get'], { HOME: home, GRAPHCRED_STORE: 'file' }).ended;
    expect(later).toMatchObject({ status: 0, stdout: expect.stringMatching(/^[a-z0-9]{32}\n$/), stderr: '' });
    expect(bytes).not.toContain(later.stdout.trim());
  });

  // At the first question nothing is known, and at the last one all but the answer to it.
  describe.each([0, ALL.length - 1])('stopped at question %i', (at) => {
    test.each([
      ['Ctrl-C', KEYS.ctrlC],
      ['Ctrl-D', KEYS.ctrlD],
    ])('by %s: exits 130, restores the terminal and writes nothing', async (_, key) => {
      const { env, home } = await somewhere();
      const terminal = onTerminal(['login'], { env });
      await answer(terminal, [...ALL.slice(0, at), [ALL[at]?.[0] ?? '', key]]);
      const { status, restored, cursorShown, screen } = await terminal.ended;
      expect({ status, restored, cursorShown }).toEqual({ status: 130, restored: true, cursorShown: true });
      expect(screen.split('\n').at(-1)).toBe('graphcred: Cancelled.');
      expect(filesIn(home)).toEqual([]);
    });

    test('by closing the window: ends the process and leaves no incomplete file', async () => {
      const { env, home } = await somewhere();
      const terminal = onTerminal(['login'], { env });
      await answer(terminal, ALL.slice(0, at));
      await terminal.see(ALL[at]?.[0] ?? '');
      terminal.close();
      expect((await terminal.ended).status).not.toBe(0);
      expect(filesIn(home)).toEqual([]);
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
      expect(screen).toMatch(/"graphcred"\s+is\s+saved/);
      expect(screen).not.toContain('Keep secrets');
      const later = await start(['token', 'get'], { ...keyring.env }).ended;
      expect(later).toMatchObject({
        status: 0,
        stdout: expect.stringMatching(/^[a-z0-9]{32}\n$/),
        stderr: '',
      });
    });
  },
);
