import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { findCredential } from '../../src/auth/choose.js';
import { type CredentialSource, resolveCredential } from '../../src/auth/credential.js';
import type { Level } from '../../src/config/keys.js';
import { Sensitive } from '../../src/core/sensitive.js';
import { readBounded } from '../../src/files/private-files.js';
import type { BareRun, Ports } from '../../src/run/ports.js';
import { fromCommand, fromFile, fromStdin } from '../../src/run/read.js';
import type { Run } from '../../src/run/run.js';
import type { PasswordRecord, SecretRecord, Store, StoreRecord } from '../../src/store/store.js';
import { quietRun, temporaryHome } from '../helpers/cli.js';
import { type Changes, secretRecord } from '../helpers/store-options.js';

const source = (kind: 'secret' | 'password', level: 'flag' | 'variable'): CredentialSource => ({
  kind,
  level,
  label: `${level} ${kind}`,
  read: async () => new Sensitive('canary'),
});

const FOREIGN = 'http://other.example:14240';

const HERE = { gsqlUrl: 'http://127.0.0.1:1', restUrl: 'http://127.0.0.1:2' };

/** Opens a run with this profile in the user's config file. */
function savedRun(env: Record<string, string>, profile: object = HERE): Promise<Run> {
  const home = temporaryHome();
  const file = path.join(home, '.config/graphcred/config.json');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, JSON.stringify({ profiles: { default: profile } }), { mode: 0o600 });
  return quietRun(home, { ...env, GRAPHCRED_STORE: 'file' });
}

function saved(alias: string, { info, ...more }: Changes<SecretRecord>): SecretRecord {
  const about = { ...HERE, graph: null, username: 'ada', alias, id: `secret:${alias}`, ...info };
  return secretRecord({ key: alias, ...more, info: about });
}

function storeOf(records: StoreRecord[]): Store {
  return { name: 'file', list: async () => [...records] } as unknown as Store;
}

const NODE = path.basename(process.execPath);
const LIMITS = { maxBytes: 1000, timeoutMs: 5000 };

function bareRun(read?: Ports['stdin']['read']): BareRun {
  const ports = { cwd: '/', reporter: { warn: () => {} }, stdin: { holds: 'password', read } };
  return { settings: {}, ports, time: { limitMs: 5000 } } as unknown as BareRun;
}

function readFile(value: string, level: Level = 'flag', label = '--password-file'): Promise<Sensitive> {
  return fromFile(bareRun(), { value, level, label });
}

function readStdin(bytes: Buffer): Promise<Sensitive> {
  return fromStdin(bareRun(async () => bytes));
}

function pipe(): string {
  const file = path.join(temporaryHome(), 'pipe');
  execFileSync('mkfifo', [file]);
  return file;
}

describe('a credential in a file', () => {
  test('keeps its blanks, and loses a byte order mark and one line end of any system', async () => {
    const file = path.join(temporaryHome(), 'password');
    for (const [begin, end] of [
      ['', ''],
      ['', '\n'],
      ['\uFEFF', '\r\n'],
    ]) {
      fs.writeFileSync(file, `${begin}  pass word ${end}`);
      expect((await readFile(file)).reveal()).toBe('  pass word ');
    }
  });

  test.each([
    ['', 'INPUT_REQUIRED', 'There is nothing in', 'it must be the credential alone, on one line'],
    ['\n', 'INPUT_REQUIRED', 'There is nothing in', 'it must be the credential alone, on one line'],
    ['one\ntwo', 'USAGE', 'There is more than one line in', 'it must be the credential alone, on one line'],
    ['one\rtwo', 'USAGE', 'There is more than one line in', 'it must be the credential alone, on one line'],
  ])('that holds %j is %s', async (text, code, problem, hint) => {
    const file = path.join(temporaryHome(), 'password');
    fs.writeFileSync(file, text);
    const message = `${problem} the file named by --password-file.`;
    await expect(readFile(file)).rejects.toMatchObject({
      code,
      message,
      hint,
    });
    const ofStdin = { code, message: `${problem} stdin (--password-stdin).`, hint };
    await expect(readStdin(Buffer.from(text))).rejects.toMatchObject(ofStdin);
  });

  test('that is not UTF-8 is refused, for another character would be sent', async () => {
    for (const bytes of [
      Buffer.from('stra\xdfe99', 'latin1'),
      Buffer.from('\uFEFFpw', 'utf16le'),
      Buffer.from([0xfe, 0xff, 0, 0x70]),
      Buffer.from('pw\r\n', 'utf16le'),
    ])
      await expect(readStdin(bytes)).rejects.toMatchObject({
        code: 'USAGE',
        message: 'The text in stdin (--password-stdin) is not UTF-8.',
      });
  });

  test('whose path a variable gives is not repeated: it may be the value', async () => {
    const told = readFile('/home/hunter2', 'variable', 'GRAPHCRED_SECRET_FILE');
    const message = 'The file named by GRAPHCRED_SECRET_FILE cannot be read: there is no such file.';
    await expect(told).rejects.toMatchObject({ message, hint: expect.not.stringContaining('hunter2') });
  });

  test('has a limit of 64 KB', async () => {
    const file = path.join(temporaryHome(), 'password');
    fs.writeFileSync(file, 'x'.repeat(65_536));
    expect((await readFile(file)).reveal()).toHaveLength(65_536);
    fs.appendFileSync(file, 'x');
    await expect(readFile(file)).rejects.toThrow('cannot be read');
  });

  test('is not read from a device', async () => {
    const closed = vi.spyOn(fs, 'closeSync');
    onTestFinished(() => void vi.restoreAllMocks());
    await expect(readBounded('/dev/null', LIMITS)).rejects.toThrow('neither a file nor a pipe');
    expect(closed).toHaveBeenCalledTimes(1);
  });

  test('is waited for when a pipe has no writer yet', async () => {
    const file = pipe();
    const reading = readBounded(file, LIMITS);
    // Opened for reading too, so that this does not wait for a reader.
    const writer = fs.openSync(file, fs.constants.O_RDWR);
    fs.writeSync(writer, 'late');
    fs.closeSync(writer);
    expect(String((await reading).bytes)).toBe('late');
  });

  test.runIf(process.platform === 'linux')(
    'is not waited for when a shell made the pipe, and its writer has ended without a word',
    async () => {
      const fd = fs.openSync(pipe(), fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
      onTestFinished(() => fs.closeSync(fd));
      for (const file of [`/dev/fd/${fd}`, `/proc/self/fd/${fd}`])
        await expect(readFile(file)).rejects.toMatchObject({
          message: 'There is nothing in the file named by --password-file.',
        });
    },
  );

  test('is waited for when a pipe has a writer that has not begun yet', async () => {
    const file = pipe();
    const writer = fs.openSync(file, fs.constants.O_RDWR);
    const reading = readBounded(file, LIMITS);
    fs.writeSync(writer, 'late');
    fs.closeSync(writer);
    expect(String((await reading).bytes)).toBe('late');
  });

  test.runIf(process.platform === 'linux')('is not waited for when it cannot be read', async () => {
    await expect(readBounded('/proc/self/mem', LIMITS)).rejects.toMatchObject({ code: 'EIO' });
  });

  test('is not waited for any longer than allowed', async () => {
    await expect(readBounded(pipe(), { ...LIMITS, timeoutMs: 20 })).rejects.toMatchObject({
      code: 'TIMEOUT',
    });
  });

  test('is refused when a pipe gives more than allowed', async () => {
    const file = pipe();
    const reading = readBounded(file, LIMITS);
    const writing = fs.promises.writeFile(file, 'x'.repeat(1001)).catch(() => undefined);
    await expect(reading).rejects.toThrow('it is larger than 1000 bytes');
    await writing;
  });

  test('on stdin is read up to 64 KB, for as long as the call may take', async () => {
    const asked: unknown[] = [];
    const read = async (limits: object) => {
      asked.push(limits);
      return Buffer.from('from-stdin\n');
    };
    expect((await fromStdin(bareRun(read))).reveal()).toBe('from-stdin');
    expect(asked).toEqual([{ maxBytes: 65_536, timeoutMs: 5000 }]);
  });
});

describe('a program that prints a credential', () => {
  const OUTPUT = 'run the whole command by hand to see its output';

  const portsWith = (env: Record<string, string>, note: (words: string) => void) =>
    ({ childEnvironment: () => env, reporter: { note } }) as unknown as Ports;

  /** Goes to a new folder until the test ends. */
  function inNewFolder(): string {
    const before = process.cwd();
    const folder = fs.realpathSync(temporaryHome());
    process.chdir(folder);
    onTestFinished(() => process.chdir(before));
    return folder;
  }

  // holds: C4.5
  test.each([':/usr/bin:/bin', '.:/usr/bin:/bin', '/usr/bin:/bin:', ':', 'bin'])(
    'is not taken from the working directory, with PATH=%s',
    async (PATH) => {
      const cwd = inNewFolder();
      for (const file of ['pass-tool', 'bin/pass-tool']) {
        fs.mkdirSync(path.dirname(path.join(cwd, file)), { recursive: true });
        fs.writeFileSync(path.join(cwd, file), '#!/bin/sh\necho planted\n', { mode: 0o755 });
      }
      await expect(
        fromCommand(
          ['pass-tool'],
          'passwordCommand',
          portsWith({ PATH }, () => {}),
        ),
      ).rejects.toThrow('was not found');
    },
  );

  const run = (script: string, said: string[] = []) =>
    fromCommand(
      [process.execPath, '-e', script],
      'secretCommand of profile a',
      portsWith({ MARK: 'of-the-call' }, (words) => said.push(words)),
    );

  test('runs in the folder and the environment of the call, and leaves no listener and no timer behind', async () => {
    const cwd = inNewFolder();
    const before = process.listenerCount('SIGTERM');
    const [begun, ended] = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'clearTimeout')];
    onTestFinished(() => void vi.restoreAllMocks());
    const value = await run('console.log(process.cwd(), process.env.MARK, process.env.PATH)');
    const limit = begun.mock.results[begun.mock.calls.findIndex(([, ms]) => ms === 30_000)];
    expect(ended.mock.calls.map(([timer]) => timer)).toContain(limit?.value);
    expect(value.reveal()).toBe(`${cwd} of-the-call undefined`);
    expect(process.listenerCount('SIGTERM')).toBe(before);
  });

  test('says what it wrote to stderr, and only when it wrote something', async () => {
    const said: string[] = [];
    await run('console.log("quiet")', said);
    expect(said).toEqual([]);
    await run('console.error("session ends  soon 0123456789abcdef"); console.log("v")', said);
    expect(said).toEqual(['secretCommand of profile a says: session ends soon [redacted]']);
  });

  test.each(['password', 'secret', 'token', 'key'])(
    'has what it calls a %s on stderr hidden',
    async (word) => {
      const said: string[] = [];
      await run(`console.error("the ${word}: hunter2 is old"); console.log("v")`, said);
      expect(said).toEqual([`secretCommand of profile a says: the ${word}: [redacted] is old`]);
    },
  );

  test('has 300 characters of its stderr shown, in whole words', async () => {
    const said: string[] = [];
    await run('console.error("many words ".repeat(40)); console.log("v")', said);
    expect(said).toEqual([`secretCommand of profile a says: ${'many words '.repeat(27).trim()}…`]);
  });

  test.each([
    ['behind much else', 'console.error("x ".repeat(995) + v)'],
    ['where the reading ends', 'console.error(" ".repeat(65529) + v)'],
    ['percent-encoded', 'console.error(encodeURIComponent(v))'],
  ])('has what it answers hidden on stderr %s', async (_, print) => {
    const said: string[] = [];
    await run(`const v = "hunter2!Qx"; ${print}; console.log(v)`, said);
    expect(said.join()).not.toMatch(/hunt|er2|Qx/);
  });

  test('is not waited for when it has answered and a helper of it stays', async () => {
    const begin = performance.now();
    await run(
      'require("node:child_process").spawn("sleep", ["20"], { stdio: "inherit", detached: true }).unref(); console.log("v")',
    );
    expect(performance.now() - begin).toBeLessThan(6000);
  });

  test.each([
    [['such-program-is-none'], 'such-program-is-none was not found', 'install it, or write its whole path'],
    [['/none/such-program'], 'such-program was not found'],
    [['/'], ' could not be started'],
    [
      [process.execPath, '-e', 'console.error("locked"); process.exit(3)'],
      `${NODE} ended with status 3, and said: locked`,
    ],
    [[process.execPath, '-e', 'process.exit(4)'], `${NODE} ended with status 4`],
  ])('that fails is INPUT_REQUIRED: %j', async (command, problem, hint = OUTPUT) => {
    const ports = portsWith({}, () => expect.fail('it has failed'));
    await expect(fromCommand(command, 'secretCommand of profile a', ports)).rejects.toMatchObject({
      code: 'INPUT_REQUIRED',
      message: `secretCommand of profile a: ${problem}`,
      hint,
    });
  });

  test.each([
    ['stdout', ['ignore', 'inherit', 'ignore']],
    ['stderr', ['ignore', 'ignore', 'inherit']],
  ])('is not waited for when it was stopped and a helper of it keeps %s open', async (_, stdio) => {
    const [pid, ended] = ['pid', 'ended'].map((name) => path.join(temporaryHome(), name));
    const helper = `setTimeout(() => require("fs").writeFileSync(${JSON.stringify(ended)}, ""), 10_000)`;
    const options = JSON.stringify({ detached: true, stdio });
    const running = run(`
      const helper = require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(helper)}], ${options});
      require("fs").writeFileSync(${JSON.stringify(pid)}, String(helper.pid));
      process.stdout.write("x".repeat(70_000));
      setInterval(() => {}, 1000);`);
    onTestFinished(() => void process.kill(Number(fs.readFileSync(pid as string, 'utf8')), 'SIGKILL'));
    await expect(running).rejects.toMatchObject({
      message: `secretCommand of profile a: ${NODE} printed more than 64 KB and was stopped`,
    });
    expect(fs.existsSync(ended as string)).toBe(false);
  });

  test('gives nothing when it was killed after a part of it', async () => {
    const script = 'process.stdout.write("half", () => process.kill(process.pid, "SIGKILL"))';
    await expect(run(script)).rejects.toMatchObject({
      code: 'INPUT_REQUIRED',
      message: expect.stringContaining('was killed by SIGKILL'),
    });
  });
});

describe('the credential of a call', () => {
  const source = (more: Partial<CredentialSource>): CredentialSource => ({
    kind: 'password',
    level: 'store',
    label: 'saved',
    read: async () => new Sensitive('canary'),
    ...more,
  });

  test('is the first of its kind at the highest level, and not the other kind there or one of a lower level', async () => {
    const secret = (label: string, level: CredentialSource['level'] = 'profile') =>
      source({ kind: 'secret', label, level, reference: label });
    const sources = [
      source({ level: 'profile' }),
      secret('first'),
      secret('second'),
      secret('saved', 'store'),
    ];
    expect((await resolveCredential(sources, 'mint', 'ada')).label).toBe('first');
    expect((await resolveCredential(sources, 'login', 'ada')).kind).toBe('password');
  });

  test('belongs to the user that its source names, not to the user name in force', async () => {
    const saved = source({ record: { kind: 'password', info: { username: 'ada' } } as PasswordRecord });
    expect(await resolveCredential([saved], 'login', 'bob')).toMatchObject({
      username: 'ada',
      owner: 'ada',
      principal: 'user:ada',
    });
    expect(await resolveCredential([saved], 'login', undefined)).toMatchObject({ username: 'ada' });
  });

  test('is read once, however often it is used', async () => {
    let reads = 0;
    const read = async () => {
      reads++;
      return new Sensitive('canary');
    };
    const credential = await resolveCredential([source({ kind: 'secret', read })], 'mint', undefined);
    for (let i = 0; i < 3; i++) expect((await credential.read()).reveal()).toBe('canary');
    const digest = createHash('sha256').update('canary').digest('hex');
    expect(credential.principal).toBe(`secret:${digest.slice(0, 12)}`);
    expect(reads).toBe(1);
  });

  test('of a command is known by its words, without running it', async () => {
    const read = async () => expect.fail('the program was run');
    const one = source({ kind: 'secret', reference: 'command:abc', read });
    expect((await resolveCredential([one], 'mint', undefined)).principal).toBe('command:abc');
  });
});

test.each([
  ['mint', 'variable secret'],
  ['login', 'variable password'],
] as const)('of two at one level, a %s takes the %s', async (purpose, label) => {
  for (const kinds of [['secret', 'password'] as const, ['password', 'secret'] as const]) {
    const sources = kinds.map((kind) => source(kind, 'variable'));
    expect((await resolveCredential(sources, purpose, 'ada')).label).toBe(label);
  }
});

test('of the saved secrets of one name the one saved last is used, in whatever order the store lists them', async () => {
  const run = await savedRun({});
  const two = [
    saved('ci', { createdAtUnix: 1 }),
    saved('ci_next', { createdAtUnix: 2, info: { rotationOf: 'ci', origin: 'secret:ci' } }),
  ];
  for (const records of [two, two.toReversed()]) {
    const { principal } = await findCredential(run, 'mint', { saved: storeOf(records) });
    expect(principal).toBe('secret:ci_next');
  }
});

test('what is saved for another pair does not count, and the error names a left-out layer with a credential', async () => {
  const env = { GRAPHCRED_GSQL_URL: 'http://127.0.0.1:1', GRAPHCRED_REST_URL: 'http://127.0.0.1:2' };
  const own = { gsqlUrl: FOREIGN, restUrl: 'http://other.example:9000' };
  const store = storeOf([saved('ci', { info: own })]);
  const none = await savedRun(env, { ...own, username: 'ada' });
  await expect(findCredential(none, 'mint', { saved: store })).rejects.toMatchObject({
    code: 'HOST_MISMATCH',
    message: `profile default names ${FOREIGN} (REST http://other.example:9000), but GRAPHCRED_GSQL_URL names http://127.0.0.1:1 (REST http://127.0.0.1:2); not used: username. A user name is missing.`,
  });
  const both = await savedRun(env, { ...own, username: 'ada', password: 'hunter2' });
  await expect(findCredential(both, 'mint', { saved: store })).rejects.toMatchObject({
    code: 'HOST_MISMATCH',
    message: `profile default names ${FOREIGN} (REST http://other.example:9000), but GRAPHCRED_GSQL_URL names http://127.0.0.1:1 (REST http://127.0.0.1:2); not used: username, password. A user name is missing.`,
  });
});
