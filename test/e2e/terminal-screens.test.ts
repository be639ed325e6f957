import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sandboxFor } from '../helpers/process.js';
import { type Ended, KEYS, onTerminal, python } from '../helpers/terminal.js';

/**
 * What only a real terminal shows: questions of each kind, drawn and answered. Each screen is a text file in screens/, drawn by a
 * terminal emulator. After an intended change, `npx vitest run test/e2e/terminal-screens.test.ts -u` writes them again; read the
 * difference as a person would.
 */
const SCREENS = path.resolve('test/e2e/screens');

/** Matches the name of a home, even if a line wraps inside it. */
const HOME = new RegExp(`${[...'graphcred-test-'].join('\\n?')}(?:\\n?\\w){6}`, 'g');

/** Replaces what differs between two runs. Each replacement has the length of the text it replaces. */
function constant(screen: string): string {
  return screen
    .replace(HOME, (name) => name.replace(/\w(?=(?:\n?\w){0,5}$)/g, 'X'))
    .replace(/(127\.0\.0\.1:|port )\d{5}\b/g, '$100000')
    .replace(/\b(?=[a-z]*\d)[a-z0-9]{32}\b/g, 'x'.repeat(32));
}

interface Film {
  readonly name: string;
  readonly argv: readonly string[];
  /** For each step, the text to wait for and the keys to press then. */
  readonly steps?: readonly (readonly [see: string | RegExp, keys: string, shown?: string])[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Runs the command, and compares the screens at each question and at the end with the file. */
async function film({ name, argv, steps = [], env, cwd }: Film): Promise<Ended> {
  const terminal = onTerminal(argv, { env, columns: 80, ...(cwd !== undefined && { cwd }) });
  const shots = [`$ graphcred ${argv.join(' ')}`];
  for (const [see, keys, shown = keys] of steps) {
    await terminal.see(see);
    shots.push(terminal.screen(), `<<< ${shown.replace('\r', ' Enter')}`);
    terminal.type(keys);
  }
  const ended = await terminal.ended;
  shots.push(ended.screen, `=== exit ${ended.status}`);
  await expect(`${constant(shots.join('\n'))}\n`).toMatchFileSnapshot(path.join(SCREENS, `${name}.txt`));
  expect(ended).toMatchObject({ restored: true, cursorShown: true });
  return ended;
}

/** The stored screens used a home of this length. A longer path would wrap elsewhere. */
const TMP = '/tmp';
const noTmp = fs.existsSync(TMP) ? undefined : `the screens are skipped: this machine has no ${TMP}`;
if (noTmp) console.log(noTmp);

/** Creates a home whose path has the same length everywhere, and a sandbox, and chooses the file store. Tokens expire in 23 days. */
async function world() {
  const home = fs.mkdtempSync(path.join(TMP, 'graphcred-test-'));
  onTestFinished(() => fs.rmSync(home, { recursive: true, force: true }));
  const { env: reach } = await sandboxFor(home);
  const env: Record<string, string> = { ...reach, GRAPHCRED_STORE: 'file', GRAPHCRED_LIFETIME: '2000000' };
  const { GRAPHCRED_USERNAME: _, GRAPHCRED_PASSWORD: __, ...stranger } = env;
  return { home, env, stranger };
}

describe.skipIf(!python || noTmp !== undefined)('the screens of', () => {
  test('login', async () => {
    const { home, stranger } = await world();
    const { GRAPHCRED_STORE: _, ...env } = stranger;
    const ended = await film({
      name: 'login',
      argv: ['login'],
      env,
      steps: [
        ['User name', 'tigergraph\r'],
        [/Where to keep[\s\S]*select/, KEYS.down, '(arrow down)'],
        [/[❯>] nowhere[\s\S]*select/, `${KEYS.up}\r`, '(arrow up) Enter'],
        ['Password of', 'tigergraph\r', '(the password) Enter'],
        ['Make a secret', '\r'],
      ],
    });
    expect(ended.status).toBe(0);
    expect(fs.existsSync(path.join(home, '.config/graphcred/config.json'))).toBe(true);
  });

  test('the question about an untrusted config file', async () => {
    const { home, env } = await world();
    const { GRAPHCRED_REST_URL: restUrl, GRAPHCRED_GSQL_URL: gsqlUrl, ...rest } = env;
    const cwd = path.join(home, 'cloned');
    fs.mkdirSync(cwd);
    fs.writeFileSync(path.join(cwd, '.graphcredrc.json'), JSON.stringify({ restUrl, gsqlUrl }));
    const steps = [['Use it for this call?', 'y\r']] as const;
    const ended = await film({ name: 'config-untrusted-yes', argv: ['token', 'get'], env: rest, cwd, steps });
    expect(ended.status).toBe(0);
  });
});
