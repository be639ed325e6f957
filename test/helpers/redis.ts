// Starts real Redis servers for the tests: Debian's redis-server and redis-sentinel, each in a folder of its own and on loopback ports of its own.
// They are stopped at the end of the test.
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { generate } from 'selfsigned';
import { onTestFinished } from 'vitest';
import { missing, skipped } from './lacking.js';
import { freePort } from './ports.js';

const execFileAsync = promisify(execFile);
const CLI = 'redis-cli';

const PROGRAMS = ['redis-server', 'redis-sentinel', CLI];

/** Returns why this machine has no Redis server, and prints it; undefined if it has one. */
export const redisSkipReason = () =>
  skipped('Redis', missing(PROGRAMS, 'apt install redis-server redis-sentinel'), 'GRAPHCRED_TEST_REDIS');

export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** Runs a command as the administrator, and returns what redis-cli prints. */
  cli(...args: string[]): Promise<string>;
  /** Does the same at once, for a moment in which a test cannot wait. */
  cliSync(...args: string[]): string;
  /** Stops the server with SIGKILL. */
  kill(): Promise<void>;
  /** Starts the server again, empty, on the same port. */
  restart(): Promise<void>;
  /** Suspends the server, so that it accepts connections and answers nothing. */
  suspend(): void;
  resume(): void;
}

export interface RedisOptions {
  /** The lines of a users.acl file. */
  readonly users?: readonly string[];
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string };
  readonly args?: readonly string[];
  /** Called with the function that stops the server. By default the server is stopped at the end of the test. */
  readonly onEnd?: (end: () => void) => void;
}

export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const port = await freePort();
  const onEnd = options.onEnd ?? onTestFinished;
  const dir = temporaryFolder(onEnd);
  const args = [
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    dir,
    ...(options.args ?? []),
  ];
  const cliArgs = ['-h', '127.0.0.1', '-p', String(port), '--no-auth-warning'];
  if (options.tls) {
    const file = (name: string, text: string) => {
      fs.writeFileSync(path.join(dir, name), text);
      return path.join(dir, name);
    };
    const { cert, key, ca } = options.tls;
    const caFile = file('ca.pem', ca);
    args.push('--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no');
    args.push('--tls-cert-file', file('cert.pem', cert), '--tls-key-file', file('key.pem', key));
    args.push('--tls-ca-cert-file', caFile);
    cliArgs.push('--tls', '--cacert', caFile);
  } else {
    args.push('--port', String(port));
  }
  if (options.users) {
    fs.writeFileSync(
      path.join(dir, 'users.acl'),
      `${['user admin on >admin ~* &* +@all', ...options.users].join('\n')}\n`,
    );
    args.push('--aclfile', path.join(dir, 'users.acl'));
    cliArgs.push('--user', 'admin', '--pass', 'admin');
  }
  let child = await launch('redis-server', args);
  onEnd(() => {
    child.kill('SIGKILL');
  });
  return {
    port,
    url: `${options.tls ? 'rediss' : 'redis'}://127.0.0.1:${port}`,
    async cli(...command) {
      return (await execFileAsync(CLI, [...cliArgs, ...command])).stdout.trimEnd();
    },
    cliSync: (...command) => execFileSync(CLI, [...cliArgs, ...command], { encoding: 'utf8' }).trimEnd(),
    async kill() {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
    async restart() {
      child = await launch('redis-server', args);
    },
    suspend: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  };
}

export interface SentinelSetup {
  readonly master: RedisServer;
  readonly replica: RedisServer;
  /** The addresses of the Sentinels, as a URL. */
  readonly url: string;
}

/** Starts one master, one replica, and three Sentinels that know them by the name `tokens`. */
export async function startSentinels({ downAfterMs = 1000 } = {}): Promise<SentinelSetup> {
  const master = await startRedis();
  const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(master.port)] });
  await until(async () => (await replica.cli('INFO', 'replication')).includes('master_link_status:up'));
  const ports: number[] = [];
  for (let index = 0; index < 3; index++) {
    const port = await freePort();
    const file = path.join(temporaryFolder(), 'sentinel.conf');
    fs.writeFileSync(
      file,
      [
        `port ${port}`,
        'bind 127.0.0.1',
        `dir ${path.dirname(file)}`,
        `sentinel monitor tokens 127.0.0.1 ${master.port} 2`,
        `sentinel down-after-milliseconds tokens ${downAfterMs}`,
        'sentinel failover-timeout tokens 5000',
        '',
      ].join('\n'),
    );
    const child = await launch('redis-sentinel', [file]);
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    ports.push(port);
  }
  // A failover needs Sentinels that know each other and the replica.
  for (const port of ports)
    await until(async () => {
      const { stdout } = await execFileAsync('redis-cli', [
        '-p',
        String(port),
        'SENTINEL',
        'master',
        'tokens',
      ]);
      return /num-slaves\n1\n/.test(stdout) && /num-other-sentinels\n2\n/.test(stdout);
    });
  return { master, replica, url: `redis://${ports.map((port) => `127.0.0.1:${port}`).join(',')}` };
}

/** Starts a cluster of three nodes, without replicas. Each also listens on the port 10,000 above its own. */
export async function startCluster(): Promise<{ nodes: RedisServer[]; url: string }> {
  const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000'];
  const nodes: RedisServer[] = [];
  for (let index = 0; index < 3; index++) nodes.push(await startRedis({ args }));
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  await execFileAsync('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-yes']);
  for (const node of nodes)
    await until(async () => (await node.cli('CLUSTER', 'INFO')).includes('cluster_state:ok'));
  return { nodes, url: `redis://${addresses.join(',')}` };
}

/** Creates a private CA, and a certificate that it issued for 127.0.0.1. */
export async function privateCa(): Promise<{ ca: string; cert: string; key: string }> {
  const ca = await generate([{ name: 'commonName', value: 'a private CA' }], {
    keySize: 2048,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, digitalSignature: true, critical: true },
    ],
  });
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'redis' }], {
    keySize: 2048,
    ca: { key: ca.private, cert: ca.cert },
    extensions: [
      {
        name: 'subjectAltName',
        altNames: [
          { type: 7, ip: '127.0.0.1' },
          { type: 2, value: 'localhost' },
        ],
      },
    ],
  });
  return { ca: ca.cert, cert, key };
}

/** The rights of users who mint, and of users who only read. */
export const MINTER =
  'user minter on >minting resetkeys ~graphcred:1:* resetchannels -@all +get +mget +set +del +exists +incr +pexpire +pttl +eval +zadd +zrem +zrangebyscore +zremrangebyscore +ping +auth +hello +role +time';
export const READER =
  'user reader on >reading resetkeys %R~graphcred:1:* resetchannels -@all +get +mget +pttl +zrangebyscore +ping +auth +hello';

async function launch(program: string, args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  await new Promise<void>((resolve, reject) => {
    const read = (text: Buffer) => {
      log += text;
      if (/Ready to accept connections|\+monitor master/.test(log)) resolve();
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`${program} did not start: ${log}`)));
  });
  return child;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 50));
}

function temporaryFolder(onEnd: (end: () => void) => void = onTestFinished): string {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-redis-'));
  onEnd(() => fs.rmSync(dir, { recursive: true, force: true }));
  return dir;
}
