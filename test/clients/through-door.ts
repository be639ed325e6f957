// Runs programs by other authors through the door of `graphcred proxy`.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { settingsFor } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';
import { run } from '../helpers/driver.js';
import { COMMAND } from '../helpers/process.js';
import { SECRET, SOCIAL } from '../helpers/sandbox.js';
import { knownFailures } from './known-failures.js';
import type { Program } from './programs.js';
import { blockOf, javaProgram } from './with-token.js';

/** The address and the key of a door. */
interface Door {
  readonly restUrl: string;
  readonly gsqlUrl: string;
  readonly key: string;
}

/** What happened to a program that ran through the door. */
export interface Outcome {
  /** What it printed, if it failed or printed no answer of the server. */
  readonly problem: string | undefined;
  readonly ms: number;
}

export interface Result {
  readonly outcomes: ReadonlyMap<Program, Outcome>;
  readonly mints: number;
}

/** How long a token lives, and each program runs, in seconds. */
export const TOKEN_LIVES = 5;
export const RUNS = 20;
/** What the programs print when the server answers as it should. */
const ANSWERED = /v_id|"count": 2|Hello GSQL|- Name: |^Ada\nBen$/m;

/** Runs all programs at once through one door, each in one process, and restarts none. */
export async function runThroughDoor(
  serverVersion: string,
  programs: ReadonlyMap<Program, string>,
): Promise<Result> {
  const log: { path: string }[] = [];
  const sandbox = await startSandbox({
    serverVersion,
    gsqlPort: 0,
    ...(serverVersion.startsWith('3') && { restPort: 0 }),
    ...SOCIAL,
    switches: { grantedAtMost: TOKEN_LIVES },
    log: (line) => log.push(JSON.parse(line)),
  });
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-door-'));
  const homeOf = (n: number | string) => {
    const home = path.join(folder, String(n));
    fs.mkdirSync(home);
    return home;
  };
  const proxy = startProxy(sandbox, homeOf('proxy'));
  try {
    const [line] = await once(defined(proxy.stdout), 'data');
    const door: Door = JSON.parse(String(line));
    const outcomes = await Promise.all(
      [...programs].map(async ([program, installed], n) => {
        const outcome = await runOne(program, installed, homeOf(n), door, sandbox);
        return [program, outcome] as const;
      }),
    );
    return {
      outcomes: new Map(outcomes),
      mints: log.filter(({ path: route }) => /\/(requesttoken|tokens)$/.test(route)).length,
    };
  } finally {
    const ended = once(proxy, 'exit');
    proxy.kill('SIGTERM');
    await ended;
    await sandbox.close();
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

function startProxy(sandbox: Sandbox, home: string): ChildProcess {
  const [command, ...args] = COMMAND;
  return spawn(command, [...args, 'proxy', '--store', 'none'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, HOME: home, ...settingsFor(sandbox) },
  });
}

async function runOne(
  program: Program,
  folder: string,
  home: string,
  door: Door,
  sandbox: Sandbox,
): Promise<Outcome> {
  const steps = path.join(home, 'steps');
  const { hostname, port, pathname } = new URL(door.restUrl);
  const servicePort = new URL(door.gsqlUrl).port;
  const host = `http://${hostname}`;
  const { status, stdout, stderr, ms } = await run(commandOf(program, folder, home), {
    PATH: [path.join(folder, 'bin'), process.env.PATH].join(path.delimiter),
    HOME: home,
    PYTHONDONTWRITEBYTECODE: '1',
    PREFIX: pathname === '/' ? '' : pathname,
    TG_HOST: host,
    TG_RESTPP_PORT: port,
    TG_GS_PORT: servicePort,
    TG_GRAPHNAME: sandbox.graph,
    TG_API_TOKEN: door.key,
    // A program that logs in gets the key as its password.
    STEPS: steps,
    CLIENT_HOST: host,
    CLIENT_REST_PORT: port,
    CLIENT_GSQL_PORT: servicePort,
    CLIENT_CLOSED_PORT: '1',
    CLIENT_GRAPH: sandbox.graph,
    CLIENT_USERNAME: sandbox.username,
    CLIENT_PASSWORD: door.key,
    CLIENT_SECRET: SECRET,
    // What a program takes for the JWT of a provider is a bearer token like any other.
    CLIENT_JWT: door.key,
    CLIENT_SERVER_VERSION: sandbox.serverVersion,
  });
  const reported = fs.existsSync(steps) ? fs.readFileSync(steps, 'utf8') : '';
  const worked =
    reported === ''
      ? ANSWERED.test(stdout)
      : failedSteps(reported, program, sandbox.serverVersion).length === 0;
  const problem = status === 0 && worked ? undefined : `exit ${status}\n${reported}${stdout}${stderr}`;
  return { problem: problem?.slice(-3000), ms };
}

/** Returns the steps that failed, but for those that are known to fail without the door too. */
function failedSteps(steps: string, program: Program, server: string): string[] {
  // The door answers a wrong key with 401; this program takes only 200 with an error for a wrong password.
  const known = [...knownFailures(program, server), 'see that a password is wrong'];
  return steps
    .split('\n')
    .filter((line) => line.includes('"error": "') && !known.some((step) => line.includes(`"${step}"`)));
}

function commandOf(program: Program, folder: string, home: string): string[] {
  const put = (name: string, text: string) => {
    const file = path.join(home, name);
    fs.writeFileSync(file, text);
    return file;
  };
  const script = (name: string) => path.resolve('test/clients/python', name);
  const { language, withToken } = program;
  if (language === 'java') {
    const file = put('Load.java', javaProgram(blockOf(program)));
    return ['java', '-cp', `${folder}/jars/*`, file, String(RUNS)];
  }
  if (language === 'shell') {
    const curl =
      'curl --fail -sS -H "Authorization: Bearer $TG_API_TOKEN" "$TG_HOST:$TG_RESTPP_PORT$PREFIX/echo"';
    const loop = `end=$(($(date +%s) + ${RUNS})); while [ $(date +%s) -lt $end ]; do ${curl}; sleep 0.5; done`;
    return ['sh', '-euc', loop];
  }
  const python = path.join(folder, 'bin/python');
  if (typeof withToken !== 'string')
    return [python, script('repeat.py'), String(RUNS), script(program.script[0])];
  const text = blockOf(program);
  if (!text.includes('import os')) return [python, script('repeat_mcp.py'), String(RUNS)];
  return [python, script('repeat.py'), String(RUNS), put('load.py', text)];
}
