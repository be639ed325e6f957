import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/args/catalogue.js';
import { cli, temporaryHome } from '../helpers/cli.js';
import { gate } from '../helpers/gate.js';
import { sandboxFor, start } from '../helpers/process.js';
import { DEEP } from '../helpers/property.js';
import { KEYS, onTerminal, python } from '../helpers/terminal.js';

type Name = 'SIGINT' | 'SIGTERM' | 'SIGKILL';
type Env = Record<string, string>;

interface Operation {
  readonly line: string;
  readonly only?: '3' | '4';
  readonly stdin?: string;
  /** Command lines that are run first, to create what the operation needs. */
  readonly before?: readonly string[];
  /** The question that is answered with Enter. If it is set, the command runs on a terminal. */
  readonly question?: string;
}

const GIVEN = 'abcdefghijklmnopqrstuvwxyz012345';

const OPERATIONS: readonly Operation[] = [
  { line: 'secret create ci' },
  { line: 'secret create ci --save' },
  { line: 'secret drop ci old', before: ['secret create ci --save', 'secret create old'] },
  { line: 'secret prune --yes', before: ['secret create', 'secret create'] },
  { line: 'secret rotate ci', before: ['secret create ci --save'] },
  { line: 'token delete', before: ['token get', 'token get --lifetime 1h'] },
  { line: 'token refresh', only: '3', before: ['token get'] },
  { line: 'logout --revoke', before: ['token get'] },
  { line: 'login -p new --secret-stdin', stdin: GIVEN },
  { line: 'login -p new --save-password' },
  ...(python === undefined ? [] : [{ line: 'login -p new', question: 'Make a secret for this machine' }]),
  { line: 'exec --revoke -- true' },
  { line: 'token get' },
];

/** If two signals are sent at once, either may arrive first, and the first one decides the exit status. */
const SIGNALS: readonly (readonly Name[])[] = [['SIGINT'], ['SIGTERM'], ['SIGINT', 'SIGTERM'], ['SIGKILL']];
/** The short form only interrupts after the server has done the work, which is the harder case: the command does not know it yet. */
const MOMENTS = DEEP ? (['before', 'after'] as const) : (['after'] as const);
const STATUS = { SIGINT: 130, SIGTERM: 143 } as const;
/** This limit only stops a test that hangs. On a busy machine the 48 runs of one row take minutes. */
const LONG_MS = DEEP ? 3_600_000 : 600_000;

/** For each command line, what was printed on each generation, and during how many requests. */
const seen = new Map<string, { requests: number; said: Set<string> }[]>();

test('every command that writes is in this table', () => {
  const writing = COMMANDS.filter(({ writes }) => writes).map(({ path: words }) => words);
  expect(writing.filter((words) => !OPERATIONS.some(({ line }) => line.startsWith(words)))).toEqual([]);
});

async function stage(serverVersion: string, { before = [] }: Operation) {
  const home = temporaryHome();
  const is4 = serverVersion.startsWith('4');
  const stateFile = path.join(home, 'sandbox.json');
  const { sandbox, env: bare } = await sandboxFor(home, {
    serverVersion,
    stateFile,
    gsqlPort: 0,
    ...(is4 ? {} : { restPort: 0 }),
    secrets: [{ alias: 'given', value: GIVEN, user: 'tigergraph', graph: 'demo' }],
  });
  let wanted: { at: string; nth: number; met: () => void } | undefined;
  let answer = () => {};
  let count = 0;
  const hold = (at: string) => async () => {
    if (wanted?.at !== at) return;
    if (++count !== wanted.nth) return;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    wanted.met();
    await answered;
  };
  const front = (target: string) => gate(target, /./, hold('after'), hold('before'));
  const gsqlUrl = await front(sandbox.gsqlUrl);
  const restUrl = is4 ? `${gsqlUrl}/restpp` : await front(sandbox.restUrl);
  const env: Env = {
    ...bare,
    GRAPHCRED_STORE: 'file',
    GRAPHCRED_GSQL_URL: gsqlUrl,
    GRAPHCRED_REST_URL: restUrl,
  };
  for (const line of before) {
    const { status, stderr } = await cli(home, line.split(' '), { env });
    expect(status, `${line}: ${stderr}`).toBe(0);
  }
  return {
    home,
    env,
    requests: () => sandbox.requests,
    /** Lets the server answer the request that is held back. */
    answer: () => answer(),
    /** The aliases and values of the secrets that exist on the server. */
    secrets: () =>
      (JSON.parse(fs.readFileSync(stateFile, 'utf8')).secrets as { alias: string; value: string }[]).map(
        ({ alias, value }) => `${alias} ${value}`,
      ),
    waitFor: (at: string, nth: number) =>
      new Promise<void>((resolve) => {
        count = 0;
        wanted = { at, nth, met: resolve };
      }),
    release: () => {
      wanted = undefined;
    },
  };
}

interface Running {
  kill(name: Name): void;
  readonly ended: Promise<{ status: number; signal: string | null; stderr: string }>;
}

function run({ line, stdin = '', question }: Operation, env: Env): Running {
  if (question === undefined) {
    const { child, ended } = start(line.split(' '), env, stdin);
    return { kill: (name) => child.kill(name), ended };
  }
  const terminal = onTerminal(line.split(' '), { env, columns: 1000 });
  // The command may be interrupted before it asks the question.
  void terminal.see(question).then(
    () => terminal.type(KEYS.enter),
    () => {},
  );
  const ended = terminal.ended.then(({ status, screen }) => ({
    status,
    // The terminal's driver reports a signal as its negative number.
    signal: status === -9 ? 'SIGKILL' : null,
    stderr: screen,
  }));
  return { kill: (name) => terminal.signal(name), ended };
}

/** Counts the requests that the command sends when it is not interrupted. */
async function countRequests(serverVersion: string, operation: Operation): Promise<number> {
  const { env, requests } = await stage(serverVersion, operation);
  const from = requests().length;
  const { status, stderr } = await run(operation, env).ended;
  expect(status, stderr).toBe(0);
  return requests().length - from;
}

describe.each(['3.10.1', '4.1.2'])('interrupted on %s', (serverVersion) => {
  const fitting = OPERATIONS.filter(({ only }) => only === undefined || serverVersion.startsWith(only));
  // holds: C2.24
  test.each(fitting)(
    '$line reports what was done, at whichever request it is interrupted',
    async (operation) => {
      const requests = await countRequests(serverVersion, operation);
      expect(requests).toBeGreaterThan(0);
      const said = new Set<string>();
      seen.set(operation.line, [...(seen.get(operation.line) ?? []), { requests, said }]);
      const jobs = Array.from({ length: requests }, (_, at) => at + 1).flatMap((nth) =>
        MOMENTS.flatMap((moment) => SIGNALS.map((signals) => ({ nth, moment, signals }))),
      );
      const worker = async () => {
        for (let job = jobs.shift(); job !== undefined; job = jobs.shift())
          said.add(await interrupt(serverVersion, operation, job));
      };
      await Promise.all([worker(), worker(), worker()]);
      // After SIGKILL no message is printed.
      said.delete('');
    },
    LONG_MS,
  );
});

/**
 * Interrupts the operation at one request.
 * @returns the message, with the wording of docs/reliability.md
 */
async function interrupt(
  serverVersion: string,
  operation: Operation,
  { nth, moment, signals }: { nth: number; moment: 'before' | 'after'; signals: readonly Name[] },
): Promise<string> {
  const where = `${serverVersion}, ${operation.line}, ${signals.join(' + ')} ${moment} answer ${nth}`;
  const made = await stage(serverVersion, operation);
  const before = made.secrets();
  const met = made.waitFor(moment, nth);
  const running = run(operation, made.env);
  await Promise.race([met, running.ended]);
  for (const signal of signals) running.kill(signal);
  // A revocation that `exec` has begun is finished, whatever signal arrives meanwhile.
  const revoking = operation.line.startsWith('exec --revoke') && isRevocation(made.requests().at(-1));
  if (revoking) made.answer();
  const { status, signal, stderr } = await running.ended;
  made.release();
  let said = '';
  if (signals[0] === 'SIGKILL') expect(signal, where).toBe('SIGKILL');
  else if (revoking) {
    expect({ where, status, stderr }).toMatchObject({ status: 0 });
    expect(made.requests().at(-1), where).toMatchObject({ method: 'DELETE', status: 200 });
    said = 'nothing: it goes on revoking, and ends with the status of the command';
  } else {
    const statuses = signals.map((name) => STATUS[name as keyof typeof STATUS]);
    // The message is already printed. While Node exits, no listener is left, so a second signal may then end the process.
    const byTheSecond = signals.length === 2 && signal === signals[1];
    if (!byTheSecond) expect({ where, stderr, signal }).toMatchObject({ signal: null });
    if (!byTheSecond) expect(statuses, `${where}: ${stderr}`).toContain(status);
    expect(stderr, where).toMatch(/graphcred: Interrupted[:;,]|Interrupted after the work was complete/);
    expect(stderr, where).not.toMatch(/ran into a bug/);
    said = summary(stderr);
    if (said === NOTHING) expect(made.secrets(), where).toEqual(before);
  }
  // The next run works, so nothing that was left behind blocks it for good.
  const runAgain = (line: string) =>
    cli(made.home, line.split(' '), {
      env: made.env,
      ...(operation.stdin !== undefined && { stdin: operation.stdin }),
    });
  let again = await runAgain(operation.line);
  expect([0, 3, 8, 10], `${where}, run again: ${again.stderr}`).toContain(again.status);
  if (operation.line.startsWith('secret rotate')) {
    if (again.status === 8) {
      expect((await runAgain('secret drop ci_next')).status, where).toBe(0);
      again = await runAgain(operation.line);
    }
    expect(again.status, `${where}, run again: ${again.stderr}`).toBe(0);
  }
  return said;
}

/** Whether the request is part of a revocation: 4.x is first asked whether it knows the token, and then told to delete it. */
function isRevocation(request: { method: string; path: string } | undefined): boolean {
  return request !== undefined && (request.method === 'DELETE' || request.path.endsWith('/tokens/check'));
}

const NOTHING = 'nothing was changed';

function summary(stderr: string): string {
  if (stderr.includes(NOTHING)) return NOTHING;
  if (/run it again to resume/.test(stderr)) return 'run it again, it goes on';
  return /may have/.test(stderr) ? 'what may have been done' : 'what was done';
}

// holds: C2.24
test.skipIf(!python).each(['token get', 'secret create ci'])(
  '%s ends by SIGHUP when its window is closed, without a core file',
  async (line) => {
    const home = temporaryHome();
    const { sandbox, env } = await sandboxFor(home, { serverVersion: '4.1.2' });
    let close = () => {};
    let isClosed: Promise<unknown> | undefined;
    const url = await gate(sandbox.gsqlUrl, /^POST .*(tokens|secrets)/, async () => {
      close();
      await isClosed;
    });
    const at = { GRAPHCRED_GSQL_URL: url, GRAPHCRED_REST_URL: `${url}/restpp`, GRAPHCRED_STORE: 'none' };
    const terminal = onTerminal(line.split(' '), { env: { ...env, ...at }, cwd: home });
    close = terminal.close;
    isClosed = terminal.ended;
    // An abort would be -6.
    expect((await terminal.ended).status).toBe(-1);
  },
);

const PAGE = 'docs/reliability.md';
const HEADING = '## Ctrl-C';

/** The table is written by the short form with GRAPHCRED_WRITE_DOCS=1. */
const noTable = DEEP
  ? 'the long form interrupts at more moments than the table tells of'
  : python === undefined
    ? 'without python3 the login on a terminal is missing'
    : undefined;
if (noTable) console.log(`the table of docs/reliability.md is not compared: ${noTable}`);
test.skipIf(noTable !== undefined)('docs/reliability.md shows the observed messages', () => {
  const lines = [
    HEADING,
    '',
    'Written by `test/e2e/interruptions.test.ts`: the built command is sent SIGINT, SIGTERM, both, or SIGKILL while it waits for the answer to',
    'its first, second, … last request. After SIGINT it ends with 130, after SIGTERM with 143, and a sentence that says one of these, depending on',
    'the request. After SIGKILL, which no program hears, the next run of the same command finds its way.',
    '',
    '| command | 3.5 to 3.11: requests, and what it says | 4.x |',
    '|---|---|---|',
    ...[...seen].map(([line, found]) => {
      const cells = found.map(({ requests, said }) => `${requests}: ${[...said].sort().join('; ')}`);
      // The only operation of one version is one of 3.x.
      return `| \`${line}\` | ${cells.join(' | ')} |${found.length === 1 ? ' |' : ''}`;
    }),
    '',
  ];
  const page = fs.readFileSync(PAGE, 'utf8');
  const at = page.indexOf(HEADING);
  const own = lines.join('\n');
  if (process.env.GRAPHCRED_WRITE_DOCS === '1')
    fs.writeFileSync(PAGE, `${(at === -1 ? page : page.slice(0, at)).trimEnd()}\n\n${own}`);
  expect(fs.readFileSync(PAGE, 'utf8').slice(at)).toBe(own);
});
