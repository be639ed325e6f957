import { ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { localTime } from '../../src/app/format.js';
import type { Login } from '../../src/app/gsql-login.js';
import { savedAs } from '../../src/app/secrets/saved-secrets.js';
import { COMMANDS } from '../../src/cli/args/catalogue.js';
import { runChild } from '../../src/cli/child.js';
import type { CommandSpec, Invocation } from '../../src/cli/command.js';
import type { Context } from '../../src/cli/context.js';
import { main } from '../../src/cli/main.js';
import { textOf } from '../../src/cli/output/hints.js';
import { createReport, fail } from '../../src/cli/output/report.js';
import { createInterruption, endOfInterrupted } from '../../src/cli/output/signals.js';
import { openLocalRun } from '../../src/cli/session.js';
import type { Flags } from '../../src/config/keys.js';
import { resolveSettings } from '../../src/config/settings.js';
import { isoSeconds } from '../../src/core/time.js';
import { GraphException } from '../../src/index.js';
import { Interrupted } from '../../src/run/interruption.js';
import { readTls } from '../../src/run/open-connection.js';
import { pathOf, Time } from '../../src/run/ports.js';
import { readPem } from '../../src/run/read.js';
import { cli, temporaryHome } from '../helpers/cli.js';

function contextWith({ stdin = true, stderr = true, env = {} }) {
  const written: string[] = [];
  const home = temporaryHome();
  const output = { isTTY: stderr, columns: 80, write: (text: string) => void written.push(text) };
  const ctx = { argv: [], env, cwd: home, home, stdin: { isTTY: stdin } };
  return { ctx: { ...ctx, stdout: output, stderr: output } as unknown as Context, written };
}

describe('a person is asked', () => {
  const NO_TERMINAL = 'there is no terminal to ask on';
  const NO_INPUT = 'asking is switched off (--no-input)';
  // holds: C4.8
  test.each<[Flags, Parameters<typeof contextWith>[0], string | undefined]>([
    [{}, {}, undefined],
    [{}, { stdin: false }, NO_TERMINAL],
    [{}, { stderr: false }, NO_TERMINAL],
    [{}, { env: { CI: '1' } }, 'asking is switched off (CI is set)'],
    [{ 'no-input': true }, {}, NO_INPUT],
    [{}, { env: { GRAPHCRED_NO_INPUT: '1' } }, NO_INPUT],
  ])('with the flags %j where %j: %s', async (flags, where, why) => {
    const { ctx } = contextWith(where);
    const spec = COMMANDS.find(({ path }) => path === 'login') as CommandSpec;
    const report = createReport(ctx);
    const interruption = createInterruption(report.error);
    const invocation: Invocation = { ctx, flags, args: [], spec, report, interruption };
    const { canPrompt, whyNotAsked } = (await openLocalRun(invocation)).ports;
    expect({ canPrompt, whyNotAsked }).toEqual({ canPrompt: why === undefined, whyNotAsked: why });
  });
});

// holds: C2.37
test('a printed command has the place that was typed, and a profile that is not written its address', () => {
  const typed = { profile: 'work', 'gsql-url': 'http://db:1', isNewProfile: true } as const;
  const command = 'graphcred login -p work --gsql-url http://db:1';
  expect(textOf({ command: 'login -p work' }, { typed })).toBe(command);
  expect(textOf({ command: 'login -p work' }, { typed: { ...typed, isNewProfile: undefined } })).toBe(
    'graphcred login -p work',
  );
  expect(textOf({ command: 'exec -- COMMAND' }, { typed: { principal: 'nightly' } })).toBe(
    'graphcred exec --principal nightly -- COMMAND',
  );
});

test('of paths only ~/ stands for the home folder', () => {
  const run = { settings: {}, ports: { cwd: '/work', home: '/home/me' } } as unknown as Parameters<
    typeof pathOf
  >[0];
  expect(pathOf(run, { value: '~/x.pem', level: 'flag' })).toBe('/home/me/x.pem');
  expect(pathOf(run, { value: '~x.pem', level: 'flag' })).toBe('/work/~x.pem');
});

test('a time that starts again gives the servers and the Redis server the whole limit', () => {
  const time = new Time(resolveSettings({ flags: {}, env: {} }, undefined), true);
  const before = [time.deadline, time.redisDeadline];
  time.restart();
  expect([time.deadline, time.redisDeadline].filter((one) => before.includes(one))).toEqual([]);
});

test('the CA, the certificate and the key are each read from their own file', async () => {
  const home = temporaryHome();
  const pem = (name: string) =>
    `-----BEGIN ${name === 'key' ? 'PRIVATE KEY' : 'CERTIFICATE'}-----\n${name}\n`;
  const fileOf = (name: string) => path.join(home, name);
  for (const name of ['ca', 'cert', 'key']) fs.writeFileSync(fileOf(name), pem(name));
  const set = (name: string) => [{ value: fileOf(name), level: 'flag' }];
  const settings = { all: { 'tls.ca': set('ca'), 'tls.cert': set('cert'), 'tls.key': set('key') } };
  const run = { settings: { ...settings, insecure: false }, ports: { cwd: home }, time: { limitMs: 5000 } };
  const read = { ca: pem('ca'), cert: pem('cert'), key: pem('key'), insecure: false };
  expect(await readTls(run as unknown as Parameters<typeof readTls>[0])).toEqual(read);
});

// holds: C3.25
test.each([
  ['UTF-16 text', Buffer.from('\uFEFF-----BEGIN CERTIFICATE-----', 'utf16le')],
  ['PKCS12', Buffer.from('30820a1b020103308209e1', 'hex')],
  ['DER', Buffer.from('30820315308201fda003', 'hex')],
  ['a key', Buffer.from('-----BEGIN RSA PRIVATE KEY-----\n')],
])('a file of authorities that has %s is refused', async (form, bytes) => {
  const file = path.join(temporaryHome(), 'ca file');
  fs.writeFileSync(file, bytes);
  const settings = { all: { 'tls.ca': [{ value: file, level: 'flag', label: '--ca' }] } };
  const run = { settings, ports: { cwd: '/' }, time: { limitMs: 5000 } };
  const reading = readPem(run as unknown as Parameters<typeof readPem>[0], 'tls.ca');
  const message = `The value of --ca names a file that contains ${form} instead of a certificate in PEM.`;
  await expect(reading).rejects.toMatchObject({ code: 'USAGE', message });
});

test('a warning is printed once, and another one too', () => {
  const { ctx, written } = contextWith({});
  const report = createReport(ctx);
  for (const text of ['first', 'first', 'second']) report.warn(text);
  expect(written).toEqual(['graphcred: warning: first\n', 'graphcred: warning: second\n']);
});

test('a signal that cannot be passed to a running command does not end the wait for it', async () => {
  const before = process.listeners('SIGUSR2');
  const added = () => process.listeners('SIGUSR2').filter((listener) => !before.includes(listener));
  const { kill } = ChildProcess.prototype;
  // The command belongs to another user, and is ended by somebody else.
  const spy = vi.spyOn(ChildProcess.prototype, 'kill').mockImplementation(function (this: ChildProcess) {
    this.emit('error', Object.assign(new Error('kill EPERM'), { code: 'EPERM' }));
    return kill.call(this, 'SIGKILL');
  });
  onTestFinished(() => spy.mockRestore());
  const { ctx } = contextWith({ stdin: false, stderr: false });
  const running = runChild({ ctx, report: createReport(ctx) }, ['cat'], { PATH: process.env.PATH });
  await expect.poll(() => added().length).toBe(1);
  for (const listener of added()) (listener as NodeJS.SignalsListener)('SIGUSR2');
  await expect(running).resolves.toBe(137);
});

/** Returns what sends a signal to the listeners that were added since, and removes these at the end of the test. */
function signalSender() {
  const names = ['SIGINT', 'SIGTERM'] as const;
  const before: unknown[] = names.flatMap((name) => process.listeners(name));
  const ours = (name: NodeJS.Signals) =>
    (process.listeners(name) as NodeJS.SignalsListener[]).filter((one) => !before.includes(one));
  onTestFinished(() => {
    for (const name of names) for (const one of ours(name)) process.off(name, one);
  });
  return (name: NodeJS.Signals) => {
    for (const one of ours(name)) one(name);
  };
}

test('the first signal decides the exit status, not one that follows', async () => {
  const send = signalSender();
  const interruption = createInterruption(vi.fn());
  const work = interruption.during(async () => {
    interruption.begin();
    send('SIGINT');
    expect(interruption.signal.aborted).toBe(true);
    send('SIGTERM');
  });
  await expect(work).rejects.toMatchObject({ status: 130, reason: undefined });
});

test('a command that changes something removes its listeners for signals when it ends', async () => {
  const count = () => [process.listenerCount('SIGINT'), process.listenerCount('SIGTERM')];
  const before = count();
  expect((await cli(temporaryHome(), ['logout'], { env: { GRAPHCRED_STORE: 'file' } })).status).toBe(3);
  expect(count()).toEqual(before);
});

test('a signal before anything was changed ends the process with its status, and says so', async () => {
  const send = signalSender();
  const error = vi.fn();
  const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never);
  onTestFinished(() => exit.mockRestore());
  const interruption = createInterruption(error);
  const work = interruption.during(async () => {
    // What changes something inside a command is over when it ends.
    await interruption.during(async () => interruption.begin());
    send('SIGTERM');
    // The listeners of the others come first.
    expect(exit).not.toHaveBeenCalled();
    await new Promise((resolve) => process.nextTick(resolve));
    expect(exit).toHaveBeenCalledExactlyOnceWith(143);
  });
  await expect(work).rejects.toMatchObject({ status: 143, reason: undefined });
  expect(interruption.signal.aborted).toBe(false);
  const told = { code: 'CANCELLED', message: 'Interrupted; nothing was changed.' };
  expect(error).toHaveBeenCalledExactlyOnceWith(expect.objectContaining(told), 143);
});

test.each<[string, unknown, string, string?]>([
  ['its success', undefined, 'Interrupted after the work was complete.'],
  ['a mistake of the program', new TypeError('canary'), 'Interrupted.'],
  [
    'a request that was not sent',
    new GraphException('CANCELLED', 'POST /a was cancelled.'),
    'Interrupted; nothing was changed.',
  ],
  [
    'a request that the server may have acted on',
    new GraphException('CANCELLED', 'POST /a was cancelled.', { ambiguous: true }),
    'Interrupted: POST /a was cancelled. The server may have carried out the request anyway.',
  ],
  [
    'a report of what was done',
    new GraphException('CANCELLED', 'One was dropped.', { hint: 'run it again' }),
    'Interrupted: One was dropped.',
    'run it again',
  ],
  [
    'another error',
    new GraphException('PARTIAL', 'One failed.', { retryable: true }),
    'Interrupted: One failed.',
  ],
])('an interrupted command says so after %s', (_, error, message, hint) => {
  expect(endOfInterrupted(new Interrupted(130, error), false)).toMatchObject({
    code: 'CANCELLED',
    message,
    hint,
  });
});

test('a time after the year 9999 is shown as the last one that can be', () => {
  expect(isoSeconds(1e12)).toBe('9999-12-31T23:59:59Z');
  expect(isoSeconds(1_700_000_000)).toBe('2023-11-14T22:13:20Z');
  expect(localTime(1e12)).toMatch(/^(9999|10000)-/);
});

test('a saved secret is not read when the server tells no mask to compare it with', async () => {
  const get = vi.fn();
  const record = { kind: 'secret', info: { alias: 'ci' } };
  const store = { get, list: async () => [record] };
  const run = { target: {}, settings: {}, stores: { areShared: true } };
  const login = { store, credential: {}, version: {}, run };
  expect(await savedAs(login as unknown as Login, [{ alias: 'ci' }])).toEqual([]);
  expect(get).not.toHaveBeenCalled();
});

test('a bug is exit 1, and -v shows where it was thrown but not its text', () => {
  const { ctx, written } = contextWith({});
  const report = createReport(ctx);
  report.verbose = true;
  expect(fail(new TypeError('canary'), report)).toBe(1);
  expect(written[0]).toBe(
    'graphcred: graphcred ran into a bug (TypeError).\nhint: please report it with the command you typed, and what it prints with -v\n',
  );
  expect(written.slice(1).join('')).toContain('cli-process.test.ts');
  expect(written.length).toBeLessThanOrEqual(10);
  expect(written.join('')).not.toContain('canary');
});

test('a command whose arguments are too long for the system is exit 126', async () => {
  const { ctx } = contextWith({ stdin: false, stderr: false });
  const invocation = { ctx, report: createReport(ctx) };
  expect(await runChild(invocation, ['true', 'x'.repeat(4_000_000)], { PATH: process.env.PATH })).toBe(126);
});

test('the sandbox listens for its end before it prints where it is', async () => {
  const { ctx, written } = contextWith({});
  const printedBefore: number[] = [];
  const stopped = async (): Promise<NodeJS.Signals> => {
    printedBefore.push(written.length);
    return 'SIGHUP';
  };
  const argv = ['sandbox', '--rest-port', '0', '--gsql-port', '0'];
  expect(await main({ ...ctx, argv, stopped })).toBe(0);
  expect({ printedBefore, line: written[0] }).toEqual({
    printedBefore: [0],
    line: expect.stringContaining('"restUrl"'),
  });
});
