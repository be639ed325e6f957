import fs from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/server.js';
import { certificate } from '../helpers/certificate.js';
import { temporaryHome } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';
import { block, unused } from '../helpers/docs.js';
import { PEM, rsaJwt } from '../helpers/jwt.js';
import { freePort } from '../helpers/ports.js';
import { putCommand, spawned } from '../helpers/process.js';
import { isMint, mintsOf, SECRET, social, unknownRoutes } from '../helpers/sandbox.js';
import { CURL, installed, JDBC, type Program, PYTIGERGRAPH, SERVERS } from './programs.js';

// Starting Python, Java and the command takes seconds each, and longer on a busy machine.
const TIMEOUT_MS = 300_000;
const PROGRAMS = [PYTIGERGRAPH, JDBC, CURL];
/** What the programs print when the server answers as it should. */
const ANSWERED = /v_id|Hello GSQL|^Ada\nBen$/m;
const folders = new Map<Program, string>();
const folderOf = (program: Program) => defined(folders.get(program));

beforeAll(async () => {
  for (const program of PROGRAMS) folders.set(program, await installed(program));
}, 600_000);

interface Stage {
  readonly sandbox: Sandbox;
  readonly home: string;
}

/** One thing that a program tried, and the error if it failed. */
interface Step {
  readonly step: string;
  readonly error: string | null;
}

/** Starts a sandbox, and creates a home with `graphcred` on its PATH. */
async function stage(serverVersion: string, options: SandboxOptions = {}): Promise<Stage> {
  const sandbox = await social(serverVersion, { provider: { key: PEM }, ...options });
  const home = temporaryHome();
  putCommand(home);
  return { sandbox, home };
}

/** Runs a script as a user would. */
function shell(script: string, { sandbox, home }: Stage, env: Record<string, string> = {}) {
  return spawned(['sh', '-eu', '-c', script], {
    PATH: `${home}/bin:${process.env.PATH}`,
    HOME: home,
    PYTHONDONTWRITEBYTECODE: '1',
    GRAPHCRED_GSQL_URL: sandbox.gsqlUrl,
    REST_URL: sandbox.restUrl,
    GRAPHCRED_REST_URL: sandbox.restUrl,
    GRAPHCRED_GRAPH: sandbox.graph,
    GRAPHCRED_SECRET: SECRET,
    GRAPHCRED_STORE: 'none',
    ...env,
  });
}

/** Lets the program create its own secrets and tokens, and returns the steps that worked and those that failed. */
async function ownSteps(program: Program, { sandbox, home }: Stage): Promise<Step[]> {
  const steps = path.join(home, 'steps');
  const port = (url: string) => new URL(url).port;
  const { status, stdout, stderr } = await spawned(defined(program.own)(folderOf(program)), {
    HOME: home,
    PYTHONDONTWRITEBYTECODE: '1',
    STEPS: steps,
    CLIENT_HOST: 'http://127.0.0.1',
    CLIENT_REST_PORT: port(sandbox.restUrl),
    CLIENT_GSQL_PORT: port(sandbox.gsqlUrl),
    CLIENT_CLOSED_PORT: String(await freePort()),
    CLIENT_GRAPH: sandbox.graph,
    CLIENT_USERNAME: sandbox.username,
    CLIENT_PASSWORD: sandbox.password,
    CLIENT_SECRET: SECRET,
    CLIENT_SERVER_VERSION: sandbox.serverVersion,
    // What an identity provider would issue. Servers take such JWTs from 3.10 on.
    CLIENT_JWT: rsaJwt({ sub: sandbox.username, exp: Math.floor(Date.now() / 1000) + 3600 }),
  });
  expect(status, stdout + stderr).toBe(0);
  const lines = fs.readFileSync(steps, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Step);
}

describe.each(PROGRAMS.map((program) => [program.name, program] as const))('%s', (_, program) => {
  // What curl sends by its documentation stands in test/transcripts/sandbox.
  test.runIf(program.own).each(SERVERS)(
    'makes and deletes its own secrets and tokens on %s',
    async (server) => {
      const one = await stage(server);
      const steps = await ownSteps(program, one);
      const { [server]: failing = [] } = program.failing;
      const failed = steps.filter(({ error }) => error !== null);
      expect(failed.map(({ step }) => step).sort(), JSON.stringify(failed)).toEqual([...failing].sort());
      if (failing.length === 0) expect(unknownRoutes(one.sandbox)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test.each(SERVERS)(
    'uses a token that graphcred minted on %s',
    async (server) => {
      const one = await stage(server);
      const { script = `graphcred exec -- ${program.load(folderOf(program), one.home)}` } = program;
      const { status, stdout, stderr } = await shell(script, one);
      expect([status, stdout], stderr).toEqual([0, expect.stringMatching(ANSWERED)]);
      expect(mintsOf(one.sandbox)).toBe(1);
      const { requests } = one.sandbox;
      const used = requests.slice(requests.findIndex(isMint) + 1);
      expect(new Set(used.map(({ login }) => login))).toEqual(new Set(['bearer']));
    },
    TIMEOUT_MS,
  );
});

// holds: C8.11
test.each(['3.10.1', '4.2.0'])(
  'no program has a failed request in 20 s behind the proxy, at a server whose tokens live 5 s: %s',
  async (server) => {
    const run = async (program: Program) => {
      const one = await stage(server, { switches: { grantedAtMost: 5 } });
      const script = `graphcred proxy -- ${program.load(folderOf(program), one.home, 20)}`;
      const { status, stdout, stderr } = await shell(script, one);
      const { name } = program;
      expect([name, status, stdout], stderr).toEqual([name, 0, expect.stringMatching(ANSWERED)]);
      expect(mintsOf(one.sandbox), name).toBeGreaterThan(4);
    };
    await Promise.all(PROGRAMS.map(run));
  },
  TIMEOUT_MS,
);

test(
  'the recipes of docs/proxy.md for pyTigerGraph and JDBC run',
  async () => {
    const one = await stage('3.10.1');
    for (const program of [PYTIGERGRAPH, JDBC]) program.load(folderOf(program), one.home);
    fs.symlinkSync(path.join(folderOf(JDBC), 'jars'), path.join(one.home, 'jars'));
    const python = `PATH=${folderOf(PYTIGERGRAPH)}/bin:$PATH; cd '${one.home}'`;
    const recipe = block('proxy.md', 'pyTigerGraph and JDBC', 'sh');
    const { status, stdout, stderr } = await shell(`${python}\n${recipe}`, one);
    expect([status, stdout], stderr).toEqual([0, expect.stringMatching(/v_id.*v_id.*\nAda\nBen\n$/)]);
  },
  TIMEOUT_MS,
);

test(
  'pyTigerGraph checks a certificate if REQUESTS_CA_BUNDLE is set, and none without it',
  async () => {
    const [tls, other] = [await certificate('127.0.0.1'), await certificate('127.0.0.1')];
    const one = await stage('3.10.1', { tls });
    const put = (file: string, text: string) => {
      fs.writeFileSync(path.join(one.home, file), text);
      return path.join(one.home, file);
    };
    const [ca, wrong] = [put('ca.pem', tls.cert), put('other.pem', other.cert)];
    const line = `graphcred exec --ca ${ca} -- ${PYTIGERGRAPH.load(folderOf(PYTIGERGRAPH), one.home)}`;
    const fails = async (env: Record<string, string>) => (await shell(line, one, env)).status !== 0;
    expect(await fails({})).toBe(false);
    expect(await fails({ REQUESTS_CA_BUNDLE: ca })).toBe(false);
    expect(await fails({ REQUESTS_CA_BUNDLE: wrong })).toBe(true);
  },
  TIMEOUT_MS,
);

test('this file runs every block that it lists', () => {
  expect(unused('test/clients/clients.test.ts')).toEqual([]);
});
