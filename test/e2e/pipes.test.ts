import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { listening } from '../helpers/ports.js';
import { COMMAND, endOf, sandboxFor } from '../helpers/process.js';
import { python } from '../helpers/terminal.js';

/** Runs a line of shell in which `graphcred` is the built command. */
async function shell(script: string, env: Readonly<Record<string, string>>, cwd: string) {
  const graphcred = `graphcred() { ${COMMAND.map((word) => `'${word}'`).join(' ')} "$@"; }`;
  const child = spawn('bash', ['-c', `set -o pipefail; ${graphcred}; ${script}`], {
    env: { PATH: process.env.PATH, ...env },
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { status, stdout, stderr } = await endOf(child);
  return { status, stdout, stderr };
}

async function scene() {
  const home = temporaryHome();
  const { sandbox, env, mints } = await sandboxFor(home);
  const all: Record<string, string> = { ...env, GRAPHCRED_STORE: 'file' };
  const run = (script: string, more: Record<string, string> = {}) => shell(script, { ...all, ...more }, home);
  return { home, sandbox, env: all, run, mints };
}

/** Every command that prints something. They run in this order, so that each finds what it needs. */
const PRINTING = [
  '--help',
  '--version',
  'help exit-codes',
  'token get --help',
  'completion bash',
  'secret create ci',
  'secret create kept --save',
  'secret list',
  'secret list -o json',
  'secret rotate kept',
  'secret drop ci',
  'token get',
  'token get -o json',
  'token get --fresh -o env',
  'token refresh -o header',
  'token list',
  'token check',
  'api /echo',
  'api /echo -i',
  'status',
  'status -o json',
  'config show',
  'doctor',
  'token delete',
  'login -p mine',
  'config path',
  'logout',
  'exec --store none -- echo out',
  'sandbox --rest-port 0 --gsql-port 0 -- echo out',
  '__complete sec',
];

const talks = (line: string) => !/^(?:--|help|__|completion|sandbox|exec)|--help$/.test(line);

describe('a reader', () => {
  // holds: C6.1
  test.each(['head -c1 >/dev/null', 'true'])(
    'that closes the pipe early causes no error and no message: | %s',
    async (reader) => {
      const { run } = await scene();
      for (const line of PRINTING) {
        const quiet = talks(line) ? ' -q' : '';
        const script = `graphcred ${line}${quiet} | ${reader}; exit "\${PIPESTATUS[0]}"`;
        const { status, stderr } = await run(script);
        // If the command that graphcred runs prints into a closed pipe, it is killed, and graphcred exits with its status.
        const own = /^(exec|sandbox)/.test(line) ? [0, 1, 141] : [0];
        // A secret whose value nobody could read is an error, which says how to drop it.
        if (line === 'secret create ci' && status === 2) {
          expect(stderr).toContain('graphcred secret drop ci');
          continue;
        }
        expect(own, line).toContain(status);
        expect({ line, stderr: stderr.replace(/^(?:sh|echo): .*\n/gm, '') }).toEqual({ line, stderr: '' });
      }
    },
  );

  test('loses no token: it is stored, and the next call prints it', async () => {
    const { run, mints } = await scene();
    expect(await run('graphcred token get | true')).toEqual({ status: 0, stdout: '', stderr: '' });
    const { status, stdout } = await run('graphcred token get -o json');
    expect({ status, source: JSON.parse(stdout).source }).toEqual({ status: 0, source: 'store' });
    expect(mints()).toBe(1);
  });
});

test('-o github writes to a pipe that GITHUB_OUTPUT names, and does not wait for its end', async () => {
  const { run } = await scene();
  const { status, stdout } = await run('GITHUB_OUTPUT=/dev/stdout graphcred token get -o github | cat');
  expect({ status, stdout }).toEqual({
    status: 0,
    stdout: expect.stringMatching(/^::add-mask::(.+)\ntoken<<(.+)\n\1\n\2\n/),
  });
});

/** This program reads small pieces with a pause after each, so that the pipe is full most of the time. */
const SLOW = `
  const fs = require('node:fs');
  const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
  const part = Buffer.alloc(Number(process.argv[1]));
  for (let read; (read = fs.readSync(0, part)) > 0; wait()) fs.writeSync(1, part.subarray(0, read));
`;

/** Runs the line with a slow reader, and returns what the reader has read. */
async function slowly(line: string, env: Record<string, string>, cwd: string, piece = 7001): Promise<string> {
  const reader = path.join(cwd, 'slow.cjs');
  fs.writeFileSync(reader, SLOW.replace('process.argv[1]', 'process.argv[2]'));
  const result = await shell(
    `graphcred ${line} | "${process.execPath}" "${reader}" ${piece} > out`,
    env,
    cwd,
  );
  expect({ line, ...result }).toEqual({ line, status: 0, stdout: '', stderr: '' });
  return fs.readFileSync(path.join(cwd, 'out'), 'utf8');
}

describe('large output through a slow reader', () => {
  test('an answer of 5 MB arrives whole', async () => {
    const big = JSON.stringify({ rows: Array.from({ length: 60_000 }, (_, i) => `${i} ${'ü'.repeat(38)}`) });
    expect(Buffer.byteLength(big)).toBeGreaterThan(5_000_000);
    const address = await listening(http.createServer((_, response) => response.end(big)));
    const { home, env } = await scene();
    const own = {
      ...env,
      GRAPHCRED_REST_URL: address,
      TG_API_TOKEN: 'canary',
      GRAPHCRED_SERVER_VERSION: '3',
    };
    expect(await slowly('api /all', own, home, 65_536)).toBe(`${big}\n`);
  });

  test.skipIf(!python)('output into a non-blocking pipe (EAGAIN) arrives whole', async () => {
    const home = temporaryHome();
    const alias = (i: number) => `alias_${String(i).padStart(4, '0')}_${'x'.repeat(90)}`;
    const value = 'canary0123456789canary0123456789';
    const secrets = Array.from({ length: 2000 }, (_, i) => ({
      alias: alias(i),
      value,
      user: 'tigergraph',
      graph: 'demo',
    }));
    const { env } = await sandboxFor(home, { secrets });
    const all = { ...env, GRAPHCRED_STORE: 'none' };
    const whole = await slowly('secret list -o json', all, home);
    expect(JSON.parse(whole).secrets).toHaveLength(2000);
    const later = 'import os, sys; os.set_blocking(1, False); os.execv(sys.argv[1], sys.argv[1:])';
    const line = `python3 -c '${later}' ${COMMAND.map((word) => `'${word}'`).join(' ')} secret list -o json`;
    const reader = `"${process.execPath}" "${path.join(home, 'slow.cjs')}" 7001`;
    const result = await shell(`${line} | ${reader} > later`, all, home);
    expect(result).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(fs.readFileSync(path.join(home, 'later'), 'utf8')).toBe(whole);
  });
});

const full = fs.existsSync('/dev/full');
if (!full) console.log('there is no /dev/full here: output that cannot be written is not tested');

const LOST =
  /^graphcred: (?:The result cannot be written to standard output \(ENOSPC\)|The result cannot be printed .*)\.(?: Already done: .*\.)?\nhint: [^\n]+\n$/;

describe.skipIf(!full)('if stdout cannot be written to', () => {
  test('every command that prints exits 2 with one line and a hint', async () => {
    const { run } = await scene();
    await run('graphcred secret create ci');
    for (const line of PRINTING.filter((one) => !/^(?:exec|sandbox|__complete)/.test(one))) {
      const result = await run(`graphcred ${line}${talks(line) ? ' -q' : ''} >/dev/full`);
      expect({ line, ...result }).toMatchObject({ line, status: 2, stdout: '' });
      if (line.endsWith('-o json')) {
        const { error } = JSON.parse(result.stderr);
        expect(error).toMatchObject({ code: 'USAGE', exitCode: 2, retryable: false });
      } else expect({ line, stderr: result.stderr }).toEqual({ line, stderr: expect.stringMatching(LOST) });
    }
  });
});

describe('if stdout is closed', () => {
  test('the command does its work as with /dev/null, and stores the token', async () => {
    const { run, mints } = await scene();
    expect(await run('graphcred token get >&-')).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(JSON.parse((await run('graphcred token get -o json')).stdout).source).toBe('store');
    expect(mints()).toBe(1);
    // A file that the command opens must not get the number of the closed descriptor: the result would be written into that file.
    const { stdout } = await run('graphcred token get; grep -rlF "$(graphcred token get)" . || true');
    expect(stdout.trim().split('\n')).toHaveLength(1);
  });

  test.each(['0<&-', '>&-', '2>&-', '0<&- >&- 2>&-'])(
    'the exit status of an error stays the same: %s',
    async (closed) => {
      const { run } = await scene();
      const { status } = await run(`graphcred token get ${closed}`, { GRAPHCRED_PASSWORD: 'wrong' });
      expect(status).toBe(4);
    },
  );
});

test.skipIf(!full)('of a new token that cannot be written the error says that it was made', async () => {
  const { run } = await scene();
  const { status, stderr } = await run('graphcred token get --store none >/dev/full');
  expect([status, stderr]).toEqual([2, expect.stringContaining('Already done: got a token.')]);
});

describe('if stderr cannot be written to', () => {
  test.each([...(full ? ['2>/dev/full'] : []), '2>&-', '2> >(true)'])(
    '%s does not hide the result',
    async (where) => {
      const { run } = await scene();
      const first = await run(`graphcred token get -v --insecure ${where}`);
      expect(first).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\S+\n$/) });
      expect(await run(`graphcred secret list -v -o json ${where}`)).toMatchObject({
        status: 0,
        stdout: expect.stringMatching(/^\{"schemaVersion":1,.*\}\n$/),
      });
      expect((await run(`graphcred secret drop nobody ${where}`)).status).toBe(3);
    },
  );
});
