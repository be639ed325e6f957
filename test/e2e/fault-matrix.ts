// The faults and operations of the table in docs/reliability.md. fault-matrix.test.ts runs every combination.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Fault } from '../../src/sandbox/faults.js';
import type { RequestLogEntry } from '../../src/sandbox/request-log.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { cli, type Result, settingsFor } from '../helpers/cli.js';
import { foldersOf } from '../helpers/home.js';
import { isMint } from '../helpers/sandbox.js';
import { openFileStore } from '../helpers/store-options.js';

export const GENERATIONS = { '3.5': '3.10.1', '4': '4.1.2' } as const;
export type Generation = keyof typeof GENERATIONS;

const SEEDED = 'old0xxxxxxxxxxxxxxxxxxxxxxxxxxxx';

/** The exit status for each fault, whatever the operation. The exceptions are listed below. */
export const FAULTS = {
  'drop-before': { fault: { action: 'drop-before' }, exit: 7 },
  'drop-after': { fault: { action: 'drop-after' }, exit: 7 },
  truncate: { fault: { action: 'truncate' }, exit: 7 },
  delay: { fault: { action: 'delay', ms: 600_000 }, exit: 7 },
  sleeping: { fault: { action: 'sleeping' }, exit: 7 },
  starting: { fault: { action: 'starting' }, exit: 7 },
  'status 429': { fault: { action: 'status', status: 429 }, exit: 7 },
  'status 503': { fault: { action: 'status', status: 503, body: 'html' }, exit: 7 },
  'status 401': { fault: { action: 'status', status: 401 }, exit: 4 },
  'status 500': { fault: { action: 'status', status: 500 }, exit: 8 },
  redirect: { fault: { action: 'status', status: 307, header: 'Location: http://127.0.0.1:1/' }, exit: 8 },
  '200, error': { fault: { action: 'status', status: 200 }, exit: 8 },
  empty: { fault: { action: 'status', status: 200, body: 'empty' }, exit: 8 },
  html: { fault: { action: 'html' }, exit: 8 },
  malformed: { fault: { action: 'malformed' }, exit: 8 },
  clock: { fault: { action: 'clock', seconds: 3600 }, exit: 0 },
} as const satisfies Record<string, { fault: Fault; exit: number }>;
export type FaultName = keyof typeof FAULTS;

export interface Operation {
  readonly argv: readonly string[];
  readonly env?: Record<string, string>;
  /** Whether the operation, when it succeeds, deletes something from the store. */
  readonly removes?: true;
  /** The exit status without any fault, by generation; 0 when absent. */
  readonly well?: Partial<Record<Generation, number>>;
}

/** Every operation that talks to a server. Each begins with a saved secret named `kept` and one cached token. */
export const OPERATIONS = {
  'secret list': { argv: ['secret', 'list'] },
  'secret create': { argv: ['secret', 'create', 'fresh'] },
  'secret create --save': { argv: ['secret', 'create', 'fresh', '--save'] },
  'secret drop': { argv: ['secret', 'drop', 'kept', 'old'], removes: true },
  'secret prune': { argv: ['secret', 'prune', '--yes'] },
  'secret rotate': { argv: ['secret', 'rotate', 'kept'], removes: true },
  'token get, held': { argv: ['token', 'get'] },
  'token get': { argv: ['token', 'get', '--lifetime', '3h'] },
  'token get, version asked': {
    argv: ['token', 'get', '--lifetime', '3h'],
    env: { GRAPHCRED_SERVER_VERSION: 'auto' },
  },
  'token refresh': { argv: ['token', 'refresh', '--lifetime', '2h'], removes: true, well: { '4': 8 } },
  'token delete': { argv: ['token', 'delete'], removes: true },
  'token check': { argv: ['token', 'check'] },
  'token list': { argv: ['token', 'list'] },
  exec: { argv: ['exec', '-q', '--lifetime', '2h', '--', 'true'] },
  'exec --revoke': { argv: ['exec', '-q', '--revoke', '--', 'true'] },
  api: { argv: ['api', '/graph/demo/vertices/Person?limit=1'] },
  'api --service': { argv: ['api', '--service', '/api/ping'] },
  login: { argv: ['login', '-p', 'other', '--store', 'file'], removes: true },
  'login, by secret': {
    argv: ['login', '-p', 'other'],
    env: { GRAPHCRED_PASSWORD: '', GRAPHCRED_SECRET: SEEDED },
  },
  'logout --revoke': { argv: ['logout', '--revoke'], removes: true },
  status: { argv: ['status'] },
  doctor: { argv: ['doctor'] },
} as const satisfies Record<string, Operation>;
export type OperationName = keyof typeof OPERATIONS;

export interface Exception {
  readonly of: readonly OperationName[];
  readonly generation?: Generation;
  /** The faults this applies to; when absent, all whose exit status is not 0. */
  readonly faults?: readonly FaultName[];
  /** Whether the exception applies to the request that the fault meets. */
  readonly at?: (request: RequestLogEntry, number: number) => boolean;
  readonly exit: number;
  readonly why: string;
}

const isRevocation = (request: RequestLogEntry) => !isMint(request) && /token/.test(request.path);
const isDrop = ({ method, path: route, statements }: RequestLogEntry) =>
  statements.includes('DROP SECRET') || (method === 'DELETE' && route.endsWith('/secrets'));
const isCreate = ({ method, path: route, statements }: RequestLogEntry) =>
  statements.includes('CREATE SECRET') || (method === 'POST' && route.endsWith('/secrets'));
/** Requests that must not be sent again while it is unknown whether the server carried them out. */
export const KINDS = { mint: isMint, create: isCreate, drop: isDrop };

const NO_ANSWER = ['200, error', 'empty', 'html', 'malformed', 'status 401', 'status 500'] as const;

/** Faults of which the next secret or token may be spared. */
export const OF_ONE: FaultName[] = ['status 500', 'redirect', '200, error', 'empty', 'html', 'malformed'];

const DROPPED = { exit: 10, why: 'secret drop, secret prune: the others are dropped; what is left is named' };
const NAMED = { exit: 10, why: 'logout --revoke: the token stays stored and is named' };

/** Combinations whose exit status differs from the usual one of the fault. The first entry that matches applies. */
export const EXCEPTIONS: readonly Exception[] = [
  {
    of: [
      'secret create',
      'secret create --save',
      'secret drop',
      'secret prune',
      'secret rotate',
      'login',
      'login, by secret',
    ],
    faults: ['malformed'],
    generation: '3.5',
    at: ({ path: route, statements }) => route.endsWith('/gsql/file') && !statements.includes('SHOW SECRET'),
    exit: 0,
    why: '3.x text: the half that came held the whole answer; what it lacks is for the shell',
  },
  {
    of: ['exec', 'exec --revoke'],
    at: isMint,
    exit: 125,
    why: 'exec: no token, so the command was not started; `error.code` says which failure it was',
  },
  {
    of: ['exec --revoke'],
    at: isRevocation,
    exit: 10,
    why: 'exec --revoke: the command ended with 0, but its token could not be revoked and lives until its end',
  },
  {
    of: ['secret rotate'],
    // A request that is delayed uses up the time of the whole call.
    faults: (Object.keys(FAULTS) as FaultName[]).filter((name) => name !== 'delay'),
    generation: '3.5',
    at: isRevocation,
    exit: 0,
    why: 'secret rotate: a trial token that could not be deleted is a warning; it ends after five minutes',
  },
  { of: ['secret drop'], faults: OF_ONE, ...DROPPED },
  { of: ['secret prune'], faults: OF_ONE, at: (_request, number) => number > 1, ...DROPPED },
  { of: ['secret drop'], generation: '4', at: (_request, number) => number === 2, ...DROPPED },
  // The first request checks the graph, or lists the secrets.
  { of: ['secret drop', 'secret prune'], at: (_request, number) => number === 3, ...DROPPED },
  {
    of: ['token get, version asked'],
    generation: '3.5',
    faults: NO_ANSWER.filter((fault) => fault !== 'status 401'),
    at: (_request, number) => number === 1,
    exit: 0,
    why: 'version: the question for 4.x had no answer, and the question for 3.x had one',
  },
  {
    of: ['token get, version asked'],
    generation: '3.5',
    faults: ['status 401'],
    at: (_request, number) => number === 1,
    exit: 8,
    why: 'version: a server that wants a login at the path of 4.x counts as 4.x; its answer shows another one, and the next command asks again',
  },
  {
    of: ['token get, version asked'],
    generation: '3.5',
    faults: ['status 401'],
    at: (_request, number) => number === 2,
    exit: 8,
    why: 'version: that a server wants a login at the path of 3.x does not tell which one it is',
  },
  {
    of: ['token get, version asked'],
    faults: ['status 401'],
    at: ({ login, path: route }) => login === 'none' && route.endsWith('/version'),
    exit: 0,
    why: 'version: a server that wants a login there is the one that has this path',
  },
  {
    of: ['token get, version asked'],
    generation: '4',
    faults: ['malformed'],
    at: (_request, number) => number === 1,
    exit: 0,
    why: 'version: the half that came tells it',
  },
  {
    of: ['api', 'api --service'],
    faults: ['empty', 'html', 'malformed'],
    exit: 0,
    why: 'api prints what it gets; only a status from 400 on, `"error": true` or a failed statement is a no',
  },
  {
    of: ['status', 'doctor', 'token check'],
    faults: NO_ANSWER,
    at: ({ path: route, login }) => login === 'none' && /\/(echo|ping)$/.test(route),
    exit: 0,
    why: 'status, doctor, token check: what the look at REST authentication or the clock does not tell is unknown',
  },
  {
    of: ['logout --revoke'],
    faults: (Object.keys(FAULTS) as FaultName[]).filter((name) => name !== 'clock'),
    ...NAMED,
  },
  {
    of: ['login', 'login, by secret'],
    at: (_request, number) => number === 3,
    exit: 0,
    why: 'login: a REST server that does not answer is a warning, since the login is proved and nobody can be asked',
  },
  {
    of: ['login', 'login, by secret'],
    at: (_request, number) => number === 2,
    exit: 0,
    why: 'login: the secrets could not be looked up, so a secret is saved under a name of its own, and one that was saved stays',
  },
];

export interface Kept {
  readonly alias: unknown;
  readonly kind: string;
  readonly value: string | undefined;
}

interface ServerState {
  secrets: { alias: string; value: string }[];
  tokens: unknown;
}

export interface Scene {
  readonly sandbox: Sandbox;
  run(argv: readonly string[], env?: Record<string, string>): Promise<Result>;
  /** The requests since this object was created. */
  requests(): RequestLogEntry[];
  /** The credentials stored on this machine, in plain text. */
  kept(): Promise<Record<string, Kept>>;
  /** The values of the secrets that exist on the server, by alias. */
  secrets(): Record<string, string>;
  close(): Promise<void>;
}

export async function setScene(generation: Generation): Promise<Scene> {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-matrix-'));
  const stateFile = path.join(home, 'sandbox.json');
  const serverVersion = GENERATIONS[generation];
  const secret = (alias: string, at: number) => ({
    alias,
    value: at === 0 ? SEEDED : `generated${at}`.padEnd(32, 'x'),
    user: 'tigergraph',
    graph: 'demo',
  });
  const sandbox = await startSandbox({
    serverVersion,
    gsqlPort: 0,
    ...(generation === '3.5' && { restPort: 0 }),
    stateFile,
    secrets: ['old', 'AUTO_GENERATED_ALIAS_abcdefg', 'AUTO_GENERATED_ALIAS_hijklmn'].map(secret),
  });
  const env = {
    ...settingsFor(sandbox),
    GRAPHCRED_STORE: 'file',
    GRAPHCRED_SERVER_VERSION: serverVersion,
  };
  const run: Scene['run'] = (argv, more) => cli(home, argv, { env: { ...env, ...more } });
  for (const argv of [
    ['secret', 'create', 'kept', '--save'],
    ['token', 'get'],
  ]) {
    const { status, stderr } = await run(argv);
    if (status !== 0) throw new Error(`the scene cannot be set: ${stderr}`);
  }
  const before = sandbox.requests.length;
  const store = await openFileStore(foldersOf(home));
  return {
    sandbox,
    run,
    requests: () => sandbox.requests.slice(before),
    async kept() {
      const found: Record<string, Kept> = {};
      for (const record of await store.list()) {
        const value = (await store.get(record))?.reveal();
        const alias = record.kind === 'secret' ? record.info.alias : undefined;
        found[record.key] = { alias, kind: record.kind, value };
      }
      return found;
    },
    secrets: () => {
      const state = JSON.parse(fs.readFileSync(stateFile, 'utf8')) as ServerState;
      return Object.fromEntries(state.secrets.map(({ alias, value }) => [alias, value]));
    },
    async close() {
      await sandbox.close();
      fs.rmSync(home, { recursive: true, force: true });
    },
  };
}
