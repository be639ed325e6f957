import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Fault } from '../../src/sandbox/faults.js';
import { bench, temporaryHome } from '../helpers/cli.js';
import { COMMAND, sandboxFor, standaloneSkipReason, start } from '../helpers/process.js';
import { KEYS, onTerminal, python } from '../helpers/terminal.js';

const SLOW: Fault = { action: 'delay', ms: 1000, times: 1 };
const NEVER: Fault = { action: 'delay', ms: 600_000 };
/** This program listens, but accepts no connection, because its queue is full. It prints its port. */
const DEAF = `
import socket, time
server = socket.socket()
server.bind(('127.0.0.1', 0))
server.listen(0)
waiting = [socket.socket() for _ in range(4)]
for one in waiting:
    one.setblocking(False)
    one.connect_ex(server.getsockname())
print(server.getsockname()[1], flush=True)
time.sleep(600)
`;

const LIST = ['secret', 'list', '--store', 'none'];

describe.skipIf(!python)('while a server takes its time', () => {
  test('a line shows what the command waits for, and is erased when the answer arrives', async () => {
    const { env } = await sandboxFor(temporaryHome(), { faults: [SLOW] });
    const terminal = onTerminal(LIST, { env });
    await terminal.see(/^[-\\|/] waiting for http:\/\/127\.0\.0\.1$/);
    const { status, screen } = await terminal.ended;
    expect(status).toBe(0);
    expect(screen).toMatch(/^graphcred: there are no secrets/);
    expect(screen).not.toContain('waiting');
  });

  test('the line is erased before an error is printed, too', async () => {
    const { env } = await sandboxFor(temporaryHome(), { faults: [NEVER] });
    const terminal = onTerminal([...LIST, '--timeout', '2'], { env });
    await terminal.see('waiting for');
    const { status, screen } = await terminal.ended;
    expect(status).toBe(7);
    expect(screen).toMatch(/^graphcred: GET .* had no answer within 2 s\.\nhint: /);
  });

  test.each([
    ['-q', [...LIST, '-q'], {}],
    ['-o json', [...LIST, '-o', 'json'], {}],
    ['CI', LIST, { CI: '1' }],
    ['TERM=dumb', LIST, { TERM: 'dumb' }],
  ])('no line is shown with %s', async (_, argv, more) => {
    const { env } = await sandboxFor(temporaryHome(), { faults: [SLOW] });
    const { status, bytes } = await onTerminal(argv, { env: { ...env, ...more } }).ended;
    expect(status).toBe(0);
    expect(bytes).not.toContain('waiting');
    expect(bytes).not.toContain('\x1b[K');
  });

  test('no line is shown if stderr is a file', async () => {
    const home = temporaryHome();
    const { env } = await sandboxFor(home, { faults: [SLOW] });
    const log = path.join(home, 'log');
    const command = ['/bin/sh', '-c', `"$@" 2>"${log}"`, 'sh', ...COMMAND];
    const { status, bytes } = await onTerminal(LIST, { env, command }).ended;
    expect({ status, bytes }).toEqual({ status: 0, bytes: '' });
    expect(fs.readFileSync(log, 'utf8')).toMatch(/^graphcred: there are no secrets.*\n$/);
  });

  test.each([
    ['Ctrl-C', 'SIGINT', -2],
    ['SIGTERM', 'SIGTERM', -15],
  ] as const)('%s takes it away and ends the program as it would without it', async (_, signal, status) => {
    const { env } = await sandboxFor(temporaryHome(), { faults: [NEVER] });
    const terminal = onTerminal(LIST, { env });
    await terminal.see('waiting for');
    if (signal === 'SIGINT') terminal.type(KEYS.ctrlC);
    else terminal.signal(signal);
    const ended = await terminal.ended;
    expect(ended).toMatchObject({ status, screen: '', restored: true, cursorShown: true });
  });

  test('--wait shows how long it may take, and asks until the server is up', async () => {
    const starting: Fault = { action: 'starting', times: 2 };
    const { env } = await sandboxFor(temporaryHome(), { faults: [starting] });
    const terminal = onTerminal(['token', 'get', '--store', 'none', '--wait', '3m'], { env });
    await terminal.see('waiting for http://127.0.0.1 to be up');
    const { status, screen } = await terminal.ended;
    expect(status).toBe(0);
    expect(screen).toMatch(/^[a-z0-9]{32}$/);
  });

  test('doctor shows the line while a port does not answer', async () => {
    const deaf = spawn(python as string, ['-c', DEAF], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => {
      deaf.kill('SIGKILL');
    });
    const [port] = await once(deaf.stdout, 'data');
    const url = `http://127.0.0.1:${String(port).trim()}`;
    const env = { HOME: temporaryHome(), GRAPHCRED_GSQL_URL: url, GRAPHCRED_REST_URL: url };
    const terminal = onTerminal(['doctor', '--store', 'none', '--timeout', '2'], { env });
    await terminal.see('waiting for http://127.0.0.1');
    const { screen } = await terminal.ended;
    expect(screen).toMatch(/^fail +service-port +port \d+ of 127\.0\.0\.1 does not answer/m);
    expect(screen).not.toContain('waiting');
  });
});

test('after the answer no timer and no signal listener is left', async () => {
  const { run } = await bench({ faults: [SLOW] });
  const listeners = () => process.listenerCount('SIGINT') + process.listenerCount('SIGTERM');
  const before = listeners();
  const { status, stderr } = await run('secret list --store none', { stderrTerminal: true });
  expect(status).toBe(0);
  expect(stderr).toMatch(/waiting for http:\/\/127\.0\.0\.1.*\r.*graphcred: there are no secrets.*\n$/s);
  expect(listeners()).toBe(before);
});

test.skipIf(standaloneSkipReason)(
  'a cached token is printed without loading the code that waits for servers',
  async () => {
    const home = temporaryHome();
    const { env } = await sandboxFor(home);
    const kept = { ...env, GRAPHCRED_STORE: 'file' };
    expect((await start(['token', 'get'], kept).ended).status).toBe(0);
    const list = path.join(home, 'list.cjs');
    const loaded = path.join(home, 'loaded');
    fs.writeFileSync(
      list,
      `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(loaded)}, Object.keys(require.cache).join('\\n')));`,
    );
    const warm = await start(['token', 'get'], { ...kept, NODE_OPTIONS: `--require ${list}` }).ended;
    expect(warm).toMatchObject({ status: 0, stderr: '' });
    const files = fs.readFileSync(loaded, 'utf8').split('\n');
    // Only the code of the spinner and of the colours contains this word.
    const told = (file: string) => fs.readFileSync(file, 'utf8').includes('dumb');
    const dist = path.resolve('dist/cli');
    expect(fs.readdirSync(dist).some((file) => told(path.join(dist, file)))).toBe(true);
    expect(files.filter((file) => file.startsWith(dist)).length).toBeGreaterThan(0);
    expect(files.filter((file) => file.startsWith(dist) && told(file))).toEqual([]);
  },
);
