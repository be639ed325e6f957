// Sends 10,000 token requests over 100 connections to the sandbox: every request must be answered, and memory must not grow.
// node bench/sandbox-load.mjs exits with 1 if one of the two fails.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const REQUESTS = 10_000;
const CONNECTIONS = 100;
const SECRET = 'b'.repeat(32);
// 3.x stores every token until it expires, with some 300 bytes each; 4.x stores none.
const ALLOWED_GROWTH = { '3.10.1': 8e6, '4.1.2': 2e6 };

const SERVER = `
const { startSandbox } = require(process.argv[1]);
const secrets = [{ alias: 'bench', value: '${SECRET}', user: 'tigergraph', graph: 'demo' }];
startSandbox({ serverVersion: process.argv[2], restPort: 0, gsqlPort: 0, secrets }).then((sandbox) => {
  process.stdin.on('data', () => {
    gc();
    const { heapUsed, rss } = process.memoryUsage();
    console.log(JSON.stringify({ heapUsed, rss }));
  });
  process.stdin.on('end', () => sandbox.close());
  console.log(sandbox.readyLine());
});
`;

async function bundle(folder) {
  const file = join(folder, 'sandbox.cjs');
  const input = fileURLToPath(new URL('../src/sandbox/server.ts', import.meta.url));
  await build({ input, platform: 'node', logLevel: 'silent', output: { file, format: 'cjs' } });
  return file;
}

function startServer(file, version) {
  const child = spawn(process.execPath, ['--expose-gc', '-e', SERVER, file, version], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value);
  return {
    ready: next(),
    memory: () => {
      child.stdin.write('\n');
      return next();
    },
    stop: () => new Promise((resolve) => child.once('exit', resolve) && child.stdin.end()),
  };
}

function ask(url, agent) {
  const body = JSON.stringify({ secret: SECRET, lifetime: '3600' });
  const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length };
  return new Promise((resolve) => {
    const req = request(url, { method: 'POST', agent, headers }, (res) => {
      let text = '';
      res.setEncoding('utf8');
      res.on('data', (chunk) => {
        text += chunk;
      });
      res.on('end', () => resolve(res.statusCode === 200 ? JSON.parse(text).token : undefined));
      res.on('error', () => resolve(undefined));
    });
    req.on('error', () => resolve(undefined));
    req.end(body);
  });
}

async function load(url, count) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const tokens = new Set();
  const times = [];
  let left = count;
  let answered = 0;
  const started = performance.now();
  const worker = async () => {
    while (left-- > 0) {
      const from = performance.now();
      const token = await ask(url, agent);
      times.push(performance.now() - from);
      if (token) answered++;
      tokens.add(token);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  agent.destroy();
  times.sort((a, b) => a - b);
  return {
    lost: count - answered,
    different: tokens.size,
    perSecond: Math.round((count / (performance.now() - started)) * 1000),
    p50: times[Math.floor(count * 0.5)],
    p99: times[Math.floor(count * 0.99)],
  };
}

const folder = mkdtempSync(join(tmpdir(), 'sandbox-load-'));
let failed = false;
try {
  const file = await bundle(folder);
  for (const version of ['3.10.1', '4.1.2']) {
    const server = startServer(file, version);
    const { restUrl, gsqlUrl } = await server.ready;
    const url = version.startsWith('4') ? `${gsqlUrl}/gsql/v1/tokens` : `${restUrl}/requesttoken`;
    await load(url, 2000);
    const before = await server.memory();
    const run = await load(url, REQUESTS);
    const after = await server.memory();
    await server.stop();

    const growth = after.heapUsed - before.heapUsed;
    // Two 4.x tokens that one user mints within one second are the same text.
    const repeated = version.startsWith('3') && run.different !== REQUESTS;
    if (run.lost > 0 || repeated || growth > ALLOWED_GROWTH[version]) failed = true;
    console.log(
      [
        `${version}: ${REQUESTS} requests over ${CONNECTIONS} connections`,
        `${run.lost} lost`,
        `${run.perSecond}/s`,
        `p50 ${run.p50.toFixed(1)} ms`,
        `p99 ${run.p99.toFixed(1)} ms`,
        `heap ${(before.heapUsed / 1e6).toFixed(1)} -> ${(after.heapUsed / 1e6).toFixed(1)} MB`,
        `rss ${(before.rss / 1e6).toFixed(0)} -> ${(after.rss / 1e6).toFixed(0)} MB`,
      ].join(', '),
    );
  }
} finally {
  rmSync(folder, { recursive: true });
}
process.exitCode = failed ? 1 : 0;
