import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { Sensitive } from '../../src/core/sensitive.js';
import { fromCommand, fromFile, fromStdin, readBounded } from '../../src/credentials/readers.js';
import { type CredentialSource, resolveCredential } from '../../src/credentials/resolve.js';
import { temporaryHome } from '../helpers/cli.js';

const LIMITS = { maxBytes: 1000, timeoutMs: 5000 };

function pipe(): string {
  const file = path.join(temporaryHome(), 'pipe');
  execFileSync('mkfifo', [file]);
  return file;
}

describe('a credential in a file', () => {
  test('keeps its blanks, and loses one line end of any system', async () => {
    const file = path.join(temporaryHome(), 'password');
    for (const end of ['', '\n', '\r\n']) {
      fs.writeFileSync(file, `  pass word ${end}`);
      expect((await fromFile(file, '--password-file', 5000)).reveal()).toBe('  pass word ');
    }
  });

  test('is not read from a device', async () => {
    await expect(readBounded('/dev/null', LIMITS)).rejects.toThrow('neither a file nor a pipe');
  });

  test('is waited for when a pipe has no writer yet', async () => {
    const file = pipe();
    const reading = readBounded(file, LIMITS);
    // Opened for reading too, so that this does not wait for a reader.
    const writer = fs.openSync(file, fs.constants.O_RDWR);
    fs.writeSync(writer, 'late');
    fs.closeSync(writer);
    expect(String(await reading)).toBe('late');
  });

  test('is not waited for any longer than allowed', async () => {
    await expect(readBounded(pipe(), { ...LIMITS, timeoutMs: 20 })).rejects.toThrow('no end in time');
  });

  test('is refused when a pipe gives more than allowed', async () => {
    const file = pipe();
    const reading = readBounded(file, LIMITS);
    const writing = fs.promises.writeFile(file, 'x'.repeat(1001)).catch(() => undefined);
    await expect(reading).rejects.toThrow('too large');
    await writing;
  });

  test('on stdin is read up to 64 KB, for as long as the call may take', async () => {
    const asked: unknown[] = [];
    const read = async (limits: object) => {
      asked.push(limits);
      return 'from-stdin\n';
    };
    expect((await fromStdin(read, '--password-stdin', 1234)).reveal()).toBe('from-stdin');
    expect(asked).toEqual([{ maxBytes: 65_536, timeoutMs: 1234 }]);
  });
});

describe('a program that prints a credential', () => {
  const run = (script: string, said: string[] = [], cwd = '/') =>
    fromCommand([process.execPath, '-e', script], 'profile a: secretCommand', {
      cwd,
      env: { MARK: 'of-the-call' },
      say: (words) => said.push(words),
    });

  test('runs in the folder and the environment of the call, and leaves no listener behind', async () => {
    const cwd = fs.realpathSync(temporaryHome());
    const before = process.listenerCount('SIGTERM');
    const value = await run('console.log(process.cwd(), process.env.MARK, process.env.PATH)', [], cwd);
    expect(value.reveal()).toBe(`${cwd} of-the-call undefined`);
    expect(process.listenerCount('SIGTERM')).toBe(before);
  });

  test('says what it wrote to stderr, and only when it wrote something', async () => {
    const said: string[] = [];
    await run('console.log("quiet")', said);
    expect(said).toEqual([]);
    await run('console.error("session ends  soon 0123456789abcdef"); console.log("v")', said);
    expect(said).toEqual([`${path.basename(process.execPath)}: session ends soon [redacted]`]);
  });

  test('gives nothing when it was killed after a part of it', async () => {
    const script = 'process.stdout.write("half", () => process.kill(process.pid, "SIGKILL"))';
    await expect(run(script)).rejects.toMatchObject({
      code: 'INPUT_REQUIRED',
      message: expect.stringContaining('was killed by SIGKILL'),
    });
  });

  test('is stopped when it prints more than 64 KB, a little at a time', async () => {
    const script = 'setInterval(() => process.stdout.write("x".repeat(20_000)), 1)';
    await expect(run(script)).rejects.toMatchObject({
      code: 'INPUT_REQUIRED',
      message: expect.stringContaining('printed more than 64 KB'),
    });
  });
});

describe('the credential of a call', () => {
  const source = (more: Partial<CredentialSource>): CredentialSource => ({
    kind: 'password',
    level: 'store',
    label: 'saved',
    belongsTo: 'the servers in force',
    servers: async () => 'in force',
    read: async () => new Sensitive('canary'),
    ...more,
  });

  test('belongs to the user that its source names, not to the user name in force', async () => {
    const saved = source({ username: 'ada', alias: 'login' });
    expect(await resolveCredential([saved], 'login', 'bob')).toMatchObject({
      username: 'ada',
      alias: 'login',
      principal: 'user:ada',
    });
    expect(await resolveCredential([saved], 'login', undefined)).toMatchObject({ username: 'ada' });
  });

  test('a password without a user name is INPUT_REQUIRED', async () => {
    await expect(resolveCredential([source({})], 'login', undefined)).rejects.toMatchObject({
      code: 'INPUT_REQUIRED',
    });
  });

  test('is read once, however often it is used', async () => {
    let reads = 0;
    const read = async () => {
      reads++;
      return new Sensitive('canary');
    };
    const credential = await resolveCredential([source({ kind: 'secret', read })], 'mint', undefined);
    for (let i = 0; i < 3; i++) expect((await credential.value()).reveal()).toBe('canary');
    expect(reads).toBe(1);
  });

  test('of a command is known by its words, without running it', async () => {
    const read = async () => expect.fail('the program was run');
    const one = source({ kind: 'secret', reference: 'command:abc', read });
    expect((await resolveCredential([one], 'mint', undefined)).principal).toBe('command:abc');
  });

  test('is HOST_MISMATCH when nobody knows the servers that it belongs to', async () => {
    const credential = await resolveCredential([source({ servers: async () => undefined })], 'login', 'ada');
    await expect(credential.servers()).rejects.toMatchObject({ code: 'HOST_MISMATCH' });
  });
});
