// Tests what only a process of its own has: file descriptors, and standard input that nobody closes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { COMMAND, start } from '../helpers/process.js';

test('standard input that does not end is TIMEOUT after --timeout', async () => {
  const argv = ['token', 'check', '--token-stdin', '--timeout', '1', '-o', 'json'];
  const env = { HOME: temporaryHome(), GRAPHCRED_STORE: 'none' };
  const { child, ended } = start(argv, env, 'open');
  child.stdin?.write('x');
  const { status, stderr } = await ended;
  expect({ status, code: JSON.parse(stderr).error.code }).toEqual({ status: 7, code: 'TIMEOUT' });
});

test.skipIf(!fs.existsSync('/dev/full'))('a result that cannot be written is exit 2', async () => {
  const [program, ...first] = COMMAND;
  const full = fs.openSync('/dev/full', 'w');
  const child = spawn(program, [...first, '--version'], { stdio: ['ignore', full, 'pipe'] });
  fs.closeSync(full);
  let stderr = '';
  child.stderr?.on('data', (text) => {
    stderr += text;
  });
  expect(await once(child, 'close')).toEqual([2, null]);
  expect(stderr).toContain('The result cannot be written to standard output (ENOSPC).');
});

test('what comes in many parts on standard input is sent whole, and what goes to a pipe is written whole', async () => {
  const long = 'x'.repeat(300_000);
  const received: string[] = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      received.push(body);
      response.end(`{"error":false,"message":"${long}"}`);
    });
  });
  server.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = {
    HOME: temporaryHome(),
    GRAPHCRED_REST_URL: url,
    GRAPHCRED_GSQL_URL: url,
    GRAPHCRED_SERVER_VERSION: '3.10.1',
    GRAPHCRED_STORE: 'none',
    TG_API_TOKEN: 't'.repeat(32),
  };
  const { status, stdout } = await start(['api', '/echo', '-d', '-'], env, long).ended;
  expect(status).toBe(0);
  expect(received.map((body) => body === long)).toEqual([true]);
  expect(stdout.includes(long)).toBe(true);
});
