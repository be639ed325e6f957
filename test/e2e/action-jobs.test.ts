// Runs the built steps of action.yml as processes, as the runner of GitHub Actions starts them.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { defaultLoaders } from 'cosmiconfig';
import { describe, expect, test } from 'vitest';
import { encodings, filesBelow, findCredentials } from '../helpers/canary.js';
import { temporaryHome } from '../helpers/cli.js';
import { blocksOf, unused } from '../helpers/docs.js';
import { gate } from '../helpers/gate.js';
import { listening } from '../helpers/ports.js';
import { type Job, playJob } from '../helpers/runner.js';
import { SECRET, social, statusFor } from '../helpers/sandbox.js';

interface Action {
  readonly inputs: Record<string, { default?: string }>;
  readonly outputs: Record<string, unknown>;
  readonly runs: { using: string; main: string; post: string; 'post-if': string };
}
const PASSWORD = 'Kanarie "zang\\vogel" /+=& 7431%0A';
const action = defaultLoaders['.yaml']('action.yml', fs.readFileSync('action.yml', 'utf8')) as Action;

/** Copies what a release's tag has into an empty folder, because a runner has nothing else. */
function checkout(): { main: string; post: string } {
  const folder = temporaryHome();
  for (const name of ['package.json', 'bin', 'dist/cli', 'dist/action'])
    fs.cpSync(name, path.join(folder, name), { recursive: true });
  return { main: path.join(folder, action.runs.main), post: path.join(folder, action.runs.post) };
}

/** Returns the inputs as the runner passes them on: an input that is not set has its default. */
const filled = (inputs: Record<string, string>) => ({
  ...Object.fromEntries(
    Object.entries(action.inputs).map(([name, { default: value = '' }]) => [name, value]),
  ),
  ...inputs,
});

async function database(serverVersion = '3.10.1') {
  const sandbox = await social(serverVersion);
  const ask = (token: string) => statusFor(sandbox, token);
  const inputs = {
    'rest-url': sandbox.restUrl,
    'gsql-url': sandbox.gsqlUrl,
    graph: 'social',
    secret: SECRET,
  };
  return { sandbox, inputs: filled(inputs), ask };
}

/** Fails if the token is in the log, or in a file that the runner does not delete after the step. */
function expectNothingLeft(job: Job, token: string): void {
  const canaries = new Map([
    [SECRET, 'secret'],
    [token, 'token'],
  ]);
  expect(findCredentials(job.log(), canaries)).toEqual([]);
  expect([...filesBelow(job.folder)].map(({ file }) => file)).toEqual([]);
}

test('action.yml has what the runner needs, and revokes the token whatever happened to the job', () => {
  expect(action.runs).toMatchObject({ using: 'node24', 'post-if': 'always()' });
  expect(Object.keys(action.inputs)).toEqual([
    'host',
    'rest-url',
    'gsql-url',
    'graph',
    'secret',
    'username',
    'password',
    'oidc-issuer',
    'oidc-client-id',
    'oidc-scopes',
    'oidc-audience',
    'lifetime',
    'wait',
    'revoke',
    'export',
  ]);
  expect(Object.keys(action.outputs)).toEqual(['token', 'expires-at']);
  const read = fs
    .readdirSync('src/action')
    .map((file) => fs.readFileSync(path.join('src/action', file), 'utf8'))
    .join('');
  for (const name of Object.keys(action.inputs)) expect(read).toContain(`'${name}'`);
});

test.each(['SIGINT', 'SIGTERM', 'SIGUSR1'] as const)(
  'a job that is cancelled by %s while the server makes the token still revokes it',
  async (signal) => {
    const { sandbox, inputs, ask } = await database();
    const { main, post } = checkout();
    const job = playJob();
    let cancel = () => {};
    const restUrl = await gate(sandbox.restUrl, /^POST \/requesttoken/, async () => {
      cancel();
      // Nothing shows from outside that the step has received the signal, so the step gets some time before the server answers.
      await delay(500);
    });
    const changed = { ...inputs, 'rest-url': restUrl };
    const step = await job.spawn(main, changed, (child) => {
      // As a console of Windows does it, where the signal reaches the whole group.
      cancel = () => process.kill(-(child.pid as number), signal);
    });
    expect(step.failed).toBe(false);
    const { token = '' } = job.state;
    expect(await ask(token)).toBe(200);
    await job.spawn(post, changed);
    expect(await ask(token)).toBe(403);
    // It is what Node opens on SIGUSR1.
    expect(job.log()).not.toContain('Debugger');
    expectNothingLeft(job, token);
  },
);

test('a cancelled step that gets no answer ends by itself and reports that a token may be left on the server', async () => {
  const { sandbox, inputs } = await database();
  const { main } = checkout();
  const job = playJob();
  let cancel = () => {};
  const silent = await gate(sandbox.restUrl, /^POST \/requesttoken/, () => {
    cancel();
    return new Promise(() => {});
  });
  const step = await job.spawn(main, { ...inputs, 'rest-url': silent }, (child) => {
    cancel = () => child.kill('SIGINT');
  });
  expect(step.failed).toBe(true);
  expect(job.log()).toMatch(
    /CANCELLED: Interrupted: .* A token may have been made; it stays valid until it expires\./,
  );
  expect(job.state).toEqual({});
});

test('a step whose command is killed fails and reports that a token may be left on the server', async () => {
  const { inputs } = await database();
  const { main } = checkout();
  fs.writeFileSync(path.resolve(main, '../../../bin/graphcred.js'), "process.kill(process.pid, 'SIGKILL')");
  const job = playJob();
  expect((await job.spawn(main, inputs)).failed).toBe(true);
  expect(job.log()).toBe(
    'graphcred: CANCELLED: graphcred ended with SIGKILL. A token may have been made; it stays valid until it expires.\n',
  );
});

test.each(['SIGINT', 'SIGTERM'] as const)('%s does not stop the post step from revoking', async (signal) => {
  const { sandbox, inputs, ask } = await database();
  const { main, post } = checkout();
  const job = playJob();
  let cancel = () => {};
  const restUrl = await gate(
    sandbox.restUrl,
    /^DELETE \/requesttoken/,
    async () => {},
    async () => cancel(),
  );
  const changed = { ...inputs, 'rest-url': restUrl };
  await job.spawn(main, changed);
  const { token = '' } = job.state;
  const step = await job.spawn(post, changed, (child) => {
    cancel = () => child.kill(signal);
  });
  expect(step.failed).toBe(false);
  expect(await ask(token)).toBe(403);
});

/** Repeats the texts in an answer, and returns one of them as the token. */
type Answer = (
  words: string,
  token: string,
) => { status: number; body: string; headers?: Record<string, string> };

const json = (value: unknown, status = 200) => ({ status, body: JSON.stringify(value) });

const ANSWERS: Record<string, Answer> = {
  'gives a credential for a token': (words, token) =>
    json({ error: false, message: words, token, expiration: words, code: words, results: { token, words } }),
  'says no': (words) => json({ error: true, message: words, code: words }),
  'refuses the login': (words) =>
    json({ error: true, message: `wrong password ${words}`, code: 'REST-10016' }, 401),
  'is starting': (words) => ({ status: 503, body: `is starting ${words}` }),
  'sends elsewhere': (words) => ({
    status: 302,
    body: words,
    headers: { location: `/x?${encodeURIComponent(words)}` },
  }),
  'sends a header of its own': (words, token) => ({
    ...json({ error: false, token, expiration: 4_000_000_000 }),
    headers: { 'x-words': encodeURIComponent(words), 'set-cookie': token },
  }),
};

const COMMANDS =
  '\n::set-output name=token::evil\n::add-path::/tmp/evil\n##[add-path]/tmp/evil\r\n::stop-commands::x\n::debug::';

/** Starts a server that repeats all that it receives, in every encoding, and sends commands of the runner. */
function repeatingServer(serverVersion: string, answer: Answer): Promise<string> {
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const { authorization = '' } = request.headers;
    const [, login = ''] = authorization.split(' ');
    const fields = body.startsWith('{') ? Object.values(JSON.parse(body)).map(String) : [];
    const query = new URL(request.url ?? '/', 'http://x').searchParams.values();
    const credentials = [login, Buffer.from(login, 'base64').toString(), ...fields, ...query];
    const words = [authorization, request.url, body, ...credentials.flatMap(encodings)].join(`${COMMANDS} `);
    const isUnknown = request.url === '/gsql/v1/version' && serverVersion.startsWith('3');
    if (request.url?.endsWith('/version'))
      return response.writeHead(isUnknown ? 404 : 200).end(`GSQL version: ${serverVersion}\n${words}`);
    // The server returns a credential as the token, so that it would be printed as one.
    const token = credentials.find((value) => /^[\x21-\x7e]{8,}$/.test(value)) ?? 't'.repeat(32);
    const { status, body: sent, headers } = answer(words, token);
    response.writeHead(status, headers).end(sent);
  });
  return listening(server);
}

describe.each([
  ['3.10.1', { secret: SECRET }],
  ['4.1.2', { username: 'ada', password: PASSWORD }],
])('on a server that says it is %s', (version, credential) => {
  test.each(Object.entries(ANSWERS))(
    'the log holds no credential and no word of the server when it %s',
    async (_, answer) => {
      const url = await repeatingServer(version, answer);
      const { main, post } = checkout();
      const job = playJob();
      const inputs = filled({ 'rest-url': url, 'gsql-url': url, graph: 'social', ...credential });
      const first = await job.spawn(main, inputs);
      // If the main step got no token, the post step still has one to revoke.
      job.state.token ??= 'no0token0no0token0no0token0no0to';
      job.state.address ??= `${url} and ${url}`;
      const last = await job.spawn(post, inputs);
      const canaries = new Map(
        [SECRET, PASSWORD, `ada:${PASSWORD}`, job.state.token].map((one) => [one, one]),
      );
      for (const { raw } of [first, last]) {
        const lines = raw.trimEnd().split('\n');
        for (const line of lines) expect(line).toMatch(/^::(?:add-mask|notice|warning|error)::/);
        const others = lines.filter((line) => !line.startsWith('::add-mask::'));
        expect(others).not.toEqual([]);
        expect(findCredentials(others.join('\n'), canaries)).toEqual([]);
      }
      expect(findCredentials(job.log(), canaries)).toEqual([]);
      expect(job.log()).not.toMatch(/evil|##\[/);
    },
  );
});

test('the five lines of the page give a script a token and revoke it', async () => {
  const { sandbox, ask } = await database();
  const blocks = blocksOf('ci/github-actions.md').filter(({ heading }) => heading === 'With the action');
  expect(blocks).toHaveLength(1);
  const steps = (blocks[0]?.text ?? '').replaceAll('https://graph.example.com', sandbox.gsqlUrl);
  const [use, run] = defaultLoaders['.yaml']('steps.yml', steps) as [
    { id: string; uses: string; with: Record<string, string> },
    { run: string; env: Record<string, string> },
  ];
  const { main, post } = checkout();
  const job = playJob();
  const secrets = (value: string) => value.replace(/\$\{\{ secrets\.GRAPH_SECRET \}\}/, SECRET);
  const inputs = filled(
    Object.fromEntries(Object.entries(use.with).map(([name, value]) => [name, secrets(value)])),
  );
  const { outputs } = await job.spawn(main, inputs);
  const token = outputs.token as string;
  fs.writeFileSync(path.join(job.folder, 'load.sh'), '#!/bin/sh\nprintf %s "$TG_API_TOKEN"', { mode: 0o755 });
  const env = Object.fromEntries(
    Object.entries(run.env).map(([name, value]) => [
      name,
      value.replace(`\${{ steps.${use.id}.outputs.token }}`, token),
    ]),
  );
  const { stdout } = spawnSync('sh', ['-e', '-c', run.run], {
    cwd: job.folder,
    env: { PATH: process.env.PATH, ...env },
    encoding: 'utf8',
  });
  expect(stdout).toBe(token);
  expect(await ask(token)).toBe(200);
  await job.spawn(post, inputs);
  expect(await ask(token)).toBe(403);
});

test('this file runs every block that it lists', () => {
  expect(unused('test/e2e/action-jobs.test.ts')).toEqual([]);
});
