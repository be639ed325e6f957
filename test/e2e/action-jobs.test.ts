// Runs the built steps of action.yml as processes, as the runner of GitHub Actions starts them.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { defaultLoaders } from 'cosmiconfig';
import { describe, expect, test } from 'vitest';
import { filesBelow, findCredentials } from '../helpers/canary.js';
import { temporaryHome } from '../helpers/cli.js';
import { RUN_BY } from '../helpers/code-blocks.js';
import { blocksOf, unused } from '../helpers/docs.js';
import { gate } from '../helpers/gate.js';
import { ANSWERS, repeatingServer } from '../helpers/repeating-server.js';
import { type Job, playJob } from '../helpers/runner.js';
import { SECRET, startSocial, statusFor } from '../helpers/social.js';

interface Action {
  readonly inputs: Record<string, { default?: string }>;
  readonly outputs: Record<string, unknown>;
  readonly runs: { using: string; main: string; post: string; 'post-if': string };
}
const action = defaultLoaders['.yaml']('action.yml', fs.readFileSync('action.yml', 'utf8')) as Action;

/** Copies the built steps into an empty folder without node_modules, because a runner has nothing else. */
function checkout(): { main: string; post: string } {
  const folder = temporaryHome();
  const put = (file: string) => {
    fs.copyFileSync(file, path.join(folder, path.basename(file)));
    return path.join(folder, path.basename(file));
  };
  return { main: put(action.runs.main), post: put(action.runs.post) };
}

/** Returns the inputs as the runner passes them on: an input that is not set has its default. */
const filled = (inputs: Record<string, string>) => ({
  ...Object.fromEntries(
    Object.entries(action.inputs).map(([name, { default: value = '' }]) => [name, value]),
  ),
  ...inputs,
});

async function database(serverVersion = '3.10.1') {
  const sandbox = await startSocial(serverVersion);
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
    'lifetime',
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

describe.each(['3.10.1', '4.1.2'])('on %s', (version) => {
  test('a job has a token in its environment, stores nothing on the runner, and revokes the token when a step failed', async () => {
    const { inputs, ask } = await database(version);
    const { main, post } = checkout();
    const job = playJob({ PATH: process.env.PATH ?? '', HOME: temporaryHome() });
    expect((await job.spawn(main, { ...inputs, export: 'true' })).failed).toBe(false);
    const { TG_API_TOKEN: token = '' } = job.variables;
    expect(await ask(token)).toBe(200);
    // The steps in between fail here, and the runner still runs the post step.
    expect((await job.spawn(post, inputs)).failed).toBe(false);
    expect(await ask(token)).toBe(403);
    expectNothingLeft(job, token);
  });
});

test.each(['SIGINT', 'SIGTERM'] as const)(
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
      cancel = () => child.kill(signal);
    });
    expect(step.failed).toBe(false);
    const { token = '' } = job.state;
    expect(await ask(token)).toBe(200);
    await job.spawn(post, changed);
    expect(await ask(token)).toBe(403);
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
  expect(job.log()).toMatch(/CANCELLED: .*A token may have been made all the same; it lives until its end/);
  expect(job.state).toEqual({});
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

test('two jobs that run at the same time on one machine do not revoke each other’s token', async () => {
  const { inputs, ask } = await database('4.1.2');
  const { main, post } = checkout();
  const home = temporaryHome();
  const jobs = [playJob({ HOME: home }), playJob({ HOME: home })] as const;
  await Promise.all(jobs.map((job, at) => job.spawn(main, { ...inputs, lifetime: `${at + 1}h` })));
  const [first = '', second = ''] = jobs.map(({ state }) => state.token);
  await jobs[0].spawn(post, inputs);
  expect([await ask(first), await ask(second)]).toEqual([403, 200]);
  await jobs[1].spawn(post, inputs);
  expect(await ask(second)).toBe(403);
  expect(fs.readdirSync(home)).toEqual([]);
});

test('in the log of a whole job on a hostile server, every credential is masked', async () => {
  const answer = ANSWERS['says yes, and gives a credential for a token'] as (typeof ANSWERS)[string];
  const { url } = await repeatingServer(false, answer);
  const { main, post } = checkout();
  const job = playJob();
  const inputs = filled({
    'rest-url': url,
    'gsql-url': url,
    graph: 'social',
    secret: SECRET,
    export: 'true',
  });
  const first = await job.spawn(main, inputs);
  const token = job.variables.TG_API_TOKEN as string;
  // This step prints its environment and the server's answer, which repeats what the step sent.
  const script = path.join(job.folder, 'step.cjs');
  fs.writeFileSync(
    script,
    `const { TG_API_TOKEN: token } = process.env;
    console.log('token', token);
    fetch('${url}/echo', { headers: { authorization: 'Bearer ' + token } })
      .then((reply) => reply.json())
      .then(({ message }) => console.log('server', message.split('\\n')[0]));`,
  );
  await job.spawn(script, {});
  fs.rmSync(script);
  const last = await job.spawn(post, inputs);
  expect(job.log()).toMatch(/^token \*\*\*$[\s\S]*^server Bearer \*\*\*/m);
  for (const { raw } of [first, last]) {
    const others = raw.split('\n').filter((line) => !line.startsWith('::add-mask::'));
    expect(
      findCredentials(
        others.join('\n'),
        new Map([
          [SECRET, 'secret'],
          [token, 'token'],
        ]),
      ),
    ).toEqual([]);
  }
  expectNothingLeft(job, token);
});

test('the five lines of the page give a script a token and revoke it', async () => {
  const { sandbox, ask } = await database();
  const blocks = blocksOf('ci/github-actions.md').filter(({ heading }) => heading === 'With the action');
  expect(blocks).toHaveLength(1);
  const text = (blocks[0]?.text ?? '').replaceAll('https://graph.example.com', sandbox.gsqlUrl);
  const [use, run] = defaultLoaders['.yaml']('steps.yml', text) as [
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

test('outside GitHub Actions a step fails with one line and without a stack', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [checkout().main], {
    env: { INPUT_SECRET: SECRET, INPUT_HOST: 'http://127.0.0.1' },
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
  expect(stdout).toMatch(
    /^::add-mask::.*\n::error::graphcred: USAGE: The variable GITHUB_STATE is not set.*\n$/,
  );
});

test('this file runs every block that it lists', () => {
  expect(unused(RUN_BY['test/e2e/action-jobs.test.ts'])).toEqual([]);
});
