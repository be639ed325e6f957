import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { sandboxFor, start } from '../helpers/process.js';
import { KEYS, onTerminal, python } from '../helpers/terminal.js';

const NOTHING_KEPT = ['--store', 'none'];

describe.skipIf(!python)('on a terminal', () => {
  test('user name and password are asked for there, the password unseen, and stdout holds the token alone', async () => {
    const { env } = await sandboxFor(temporaryHome());
    const { GRAPHCRED_USERNAME: _, GRAPHCRED_PASSWORD: __, ...bare } = env;
    const terminal = onTerminal(['token', 'get', ...NOTHING_KEPT], { env: bare, pipe: true });
    await terminal.see('User name at http://127.0.0.1');
    terminal.type('tigergraph\r');
    await terminal.see('Password of tigergraph at http://127.0.0.1');
    terminal.type('tigergraph\r');
    const ended = await terminal.ended;
    expect(ended).toMatchObject({ status: 0, restored: true, cursorShown: true });
    expect(ended.stdout).toMatch(/^[a-z0-9]{32}\n$/);
    expect(ended.bytes).not.toContain(ended.stdout.trim());
  });

  test('what is typed as a password never appears, not even when Ctrl-T is pressed', async () => {
    const { env, sandbox } = await sandboxFor(temporaryHome());
    const { GRAPHCRED_PASSWORD: _, ...bare } = env;
    const terminal = onTerminal(['secret', 'list', ...NOTHING_KEPT], { env: bare });
    await terminal.see('Password of');
    terminal.type('hunter2\x14\r');
    const { status, bytes } = await terminal.ended;
    expect(status).toBe(4);
    expect(bytes).not.toContain('hunter2');
    expect(bytes).not.toContain('toggle');
    expect(sandbox.requests.filter(({ login }) => login !== 'none')).toHaveLength(1);
  });

  test.each([
    ['Ctrl-C', KEYS.ctrlC],
    ['Ctrl-D', KEYS.ctrlD],
  ])('%s at the question is exit 130, with nothing sent', async (_, key) => {
    const { env, sandbox } = await sandboxFor(temporaryHome());
    const { GRAPHCRED_PASSWORD: __, ...bare } = env;
    const terminal = onTerminal(['secret', 'list', ...NOTHING_KEPT], { env: bare, pipe: true });
    await terminal.see('Password of');
    terminal.type(key);
    const asked = { status: 130, stdout: '', restored: true, cursorShown: true };
    expect(await terminal.ended).toMatchObject(asked);
    expect(sandbox.requests.filter(({ login }) => login !== 'none')).toEqual([]);
  });

  test.each([
    [['--no-input'], {}],
    [[], { CI: 'true' }],
    [[], { GRAPHCRED_NO_INPUT: '1' }],
  ])('%j %j is no time for questions: exit 2', async (flags, more) => {
    const { env } = await sandboxFor(temporaryHome());
    const { GRAPHCRED_PASSWORD: _, ...bare } = env;
    const argv = ['token', 'get', ...NOTHING_KEPT, ...flags];
    const { status, screen } = await onTerminal(argv, { env: { ...bare, ...more } }).ended;
    expect(status).toBe(2);
    expect(screen).toContain('--password-stdin');
  });

  test('several secrets are dropped after a yes alone, and --yes does not ask', async () => {
    const { env } = await sandboxFor(temporaryHome());
    const drop = ['secret', 'drop', 'one', 'two', ...NOTHING_KEPT];
    const create = (alias: string) => start(['secret', 'create', alias, ...NOTHING_KEPT], env).ended;
    const answered = async (key: string) => {
      const terminal = onTerminal(drop, { env, pipe: true });
      await terminal.see('Drop 2 secrets: one, two?');
      terminal.type(`${key}\r`);
      return terminal.ended;
    };
    await Promise.all([create('one'), create('two')]);
    expect(await answered('n')).toMatchObject({ status: 130, stdout: '' });
    // Enter alone is no.
    expect(await answered('')).toMatchObject({ status: 130, stdout: '' });
    expect(await answered('y')).toMatchObject({ status: 0, stdout: 'Dropped: one, two\n' });
    await Promise.all([create('one'), create('two')]);
    const unasked = await onTerminal([...drop, '--yes'], { env, pipe: true }).ended;
    expect(unasked).toMatchObject({ status: 0, stdout: 'Dropped: one, two\n', screen: '' });
  });

  test('a file nobody vouched for is shown with its host, and counts for this call after a yes', async () => {
    const home = temporaryHome();
    const { env, sandbox } = await sandboxFor(home);
    const { GRAPHCRED_REST_URL: restUrl, GRAPHCRED_GSQL_URL: gsqlUrl, ...bare } = env;
    const cwd = path.join(home, 'cloned');
    fs.mkdirSync(cwd);
    fs.writeFileSync(path.join(cwd, '.graphcredrc.json'), JSON.stringify({ restUrl, gsqlUrl }));
    const answered = async (key: string) => {
      const terminal = onTerminal(['token', 'get', ...NOTHING_KEPT], { env: bare, cwd, pipe: true });
      await terminal.see('Use it for this call?');
      expect(terminal.screen().replace(/\s+/g, ' ')).toContain('host: http://127.0.0.1');
      terminal.type(`${key}\r`);
      return terminal.ended;
    };
    expect(await answered('n')).toMatchObject({ status: 5, stdout: '' });
    expect(sandbox.requests).toEqual([]);
    expect(await answered('y')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^[a-z0-9]{32}\n$/),
    });
  });
});
