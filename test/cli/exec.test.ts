// Tests what `exec` gives the command and what it revokes. Signals and terminals are tested in test/e2e/exec-signals.test.ts.
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bench, interruptedAt } from '../helpers/cli.js';
import { put } from '../helpers/home.js';
import { freePort } from '../helpers/ports.js';
import { type Running, start } from '../helpers/process.js';

function exec(env: Record<string, string>, ...argv: string[]): Running {
  return start(['exec', '--store', 'none', ...argv], env);
}

// holds: C8.8
test('without a command, the shell of a person gets the token; a script is told what is missing', async () => {
  const { run, home } = await bench();
  const SHELL = path.join(home, 'shell');
  fs.writeFileSync(SHELL, '#!/bin/sh\ntest -n "$TG_API_TOKEN" && exit 7\n', { mode: 0o700 });
  expect(await run('exec', { person: true, env: { SHELL } })).toMatchObject({
    status: 7,
    stderr: expect.stringContaining('to leave the shell: exit'),
  });
  expect(await run('exec', { env: { SHELL } })).toMatchObject({ status: 2, stdout: '' });
});

// holds: C3.18
test('where TG_ variables cannot name both servers, graphcred in the command finds them by its own', async () => {
  const { env, sandbox } = await bench();
  const restUrl = sandbox.restUrl.replace('127.0.0.1', 'localhost');
  const given = { ...env, GRAPHCRED_GSQL_URL: undefined, GRAPHCRED_REST_URL: undefined } as never;
  const print = ['--', 'sh', '-c', 'echo "$GRAPHCRED_GSQL_URL $GRAPHCRED_REST_URL"'];
  const on = (rest: string) => exec(given, '--gsql-url', sandbox.gsqlUrl, '--rest-url', rest, ...print).ended;
  expect((await on(restUrl)).stdout).toBe(`${sandbox.gsqlUrl} ${restUrl}\n`);
  expect((await on(sandbox.restUrl)).stdout).toBe(' \n');
  const ports = ['--', 'sh', '-c', 'echo "$TG_TGCLOUD$TG_SSL_PORT"'];
  expect((await exec({ ...env, TG_TGCLOUD: 'true', TG_SSL_PORT: '1' }, ...ports).ended).stdout).toBe('\n');
});

// holds: C8.2
test('a debugger that was opened before the program began is closed', async () => {
  const { env } = await bench();
  const port = await freePort();
  const NODE_OPTIONS = `--inspect=${port}`;
  const whileOpen = 'while curl -s -o "$0" "$1"; do :; done';
  const ask = ['--', 'sh', '-c', whileOpen, '/dev/null', `http://127.0.0.1:${port}/json/version`];
  expect((await exec({ ...env, NODE_OPTIONS }, ...ask).ended).status).toBe(0);
});

// holds: C3.23
test('--all-graphs mints without the graph that is set, on 4.x alone', async () => {
  const { run, json, env, sandbox, requests } = await bench({ serverVersion: '4.1.2' });
  const ofGraph = await json<{ token: string }>('token get');
  const { token, graph } = await json<{ token: string; graph: null }>('token get --all-graphs');
  expect({ graph, isOther: token !== ofGraph.token }).toEqual({ graph: null, isOther: true });
  const { stdout } = await exec(env, '--all-graphs', '--', 'sh', '-c', 'echo "$TG_GRAPHNAME"').ended;
  expect(stdout).toBe('demo\n');
  const mints = sandbox.requests.filter(({ path: route }) => route === '/gsql/v1/tokens');
  expect(mints.map(({ fields }) => fields.includes('graph'))).toEqual([true, false, false]);
  requests();
  for (const line of ['token get --all-graphs --graph demo', 'exec --all-graphs --graph=demo -- true'])
    expect(await run(line)).toMatchObject({ status: 2, stderr: expect.stringContaining('contradict') });
  expect(requests()).toEqual([]);
  const of3 = await bench();
  for (const line of ['token get --all-graphs', 'exec --revoke --all-graphs -- true'])
    expect(await of3.run(line)).toMatchObject({ status: 2, stderr: expect.stringContaining('--graph NAME') });
  expect(of3.requests().filter((line) => !line.includes('version'))).toEqual([]);
});

test('on 4.x exec --revoke ends no token that was minted for the same lifetime in the same second', async () => {
  const now = Date.now();
  const { run } = await bench({ serverVersion: '4.1.2', now: () => now });
  await run('token get --lifetime 1h');
  expect(await run('exec --revoke --lifetime 1h -- true')).toMatchObject({ status: 0 });
  expect(await run('token check')).toMatchObject({ status: 0 });
});

describe('exec', () => {
  test('--version after the command belongs to the command', async () => {
    const b = await bench();
    const said = path.join(b.home, 'said');
    const argv = ['exec', '--', 'sh', '-c', 'echo "$1" > "$0"', said, '--version'];
    expect(await b.run(argv)).toMatchObject({ status: 0, stdout: '' });
    expect(fs.readFileSync(said, 'utf8')).toBe('--version\n');
  });

  test('a profile that was typed is passed on, and a graph of the environment not with it', async () => {
    const b = await bench({ serverVersion: '4.1.2' });
    const env = { GRAPHCRED_GRAPH: '', TG_GRAPHNAME: 'stale' };
    expect((await b.run('login -p dev', { env: { GRAPHCRED_GRAPH: '' } })).status).toBe(0);
    const graph = path.join(b.home, 'graph');
    const argv = [
      'exec',
      '-p',
      'dev',
      '--',
      'sh',
      '-c',
      'echo "$TG_GRAPHNAME $GRAPHCRED_PROFILE" > "$0"',
      graph,
    ];
    expect(await b.run(argv, { env })).toMatchObject({ status: 0 });
    expect(fs.readFileSync(graph, 'utf8')).toBe(' dev\n');
  });

  test('what stands in the way before the command runs is exit 125, but an option that was typed 2', async () => {
    const { run } = await bench();
    for (const [status, argv, env] of [
      [125, [], { GRAPHCRED_TIMEOUT: 'x' }],
      [125, [], { GRAPHCRED_GRAPH: '' }],
      [2, ['--timeout', 'x'], {}],
      [2, ['--ca', '/nowhere'], {}],
      [2, ['--graph', 'a;b'], {}],
    ] as const)
      expect((await run(['exec', ...argv, '--', 'true'], { env })).status, String(argv)).toBe(status);
  });

  test('a bug before the command runs is exit 125 and shown only by its kind', async () => {
    const { run } = await bench();
    const now = () => {
      throw new TypeError('canary');
    };
    const { status, stdout, stderr } = await run(['exec', '--', 'echo', 'ran'], { now });
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
    expect(stderr).toBe(
      'graphcred: graphcred ran into a bug (TypeError).\nhint: please report it with the command you typed, and what it prints with -v\n',
    );
  });
});

test('after Ctrl-C during the mint, exec --revoke does not start the command', async () => {
  const { run, home } = await interruptedAt('POST /requesttoken');
  const { status, stderr } = await run(['exec', '--revoke', '--', 'touch', path.join(home, 'ran')]);
  expect({ status, ran: fs.existsSync(path.join(home, 'ran')) }).toEqual({ status: 130, ran: false });
  expect(stderr).toContain('Interrupted');
});

test('after Ctrl-C when the token is there, exec --revoke ends it before it ends itself', async () => {
  const { run, requests } = await bench();
  const before = process.listeners('SIGINT');
  // What another test has left would end this process.
  const ours = () => process.listeners('SIGINT').filter((listener) => !before.includes(listener));
  const onStderr = (text: string) => {
    if (/POST \/requesttoken 200/.test(text))
      for (const listener of ours()) (listener as NodeJS.SignalsListener)('SIGINT');
  };
  onTestFinished(() => {
    for (const listener of ours()) process.off('SIGINT', listener);
  });
  const { status, stderr } = await run('exec -v --revoke -- true', { onStderr });
  expect({ status, deleted: requests().includes('DELETE /requesttoken') }).toEqual({
    status: 130,
    deleted: true,
  });
  expect(stderr).toContain('the token is revoked');
});

test('the config file that was typed is passed on as an absolute path', async () => {
  const { run, home } = await bench();
  put(home, 'own.json', {});
  const named = path.join(home, 'named');
  for (const [typed, passed] of [
    ['own.json', path.join(home, 'own.json')],
    ['none', 'none'],
  ] as const) {
    await run(['exec', '--config', typed, '--', 'sh', '-c', 'echo "$GRAPHCRED_CONFIG" > "$0"', named], {
      cwd: home,
    });
    expect(fs.readFileSync(named, 'utf8')).toBe(`${passed}\n`);
  }
});

test('a refusal without a reason does not mean that the token of exec --revoke has ended', async () => {
  const { run, sandbox } = await bench();
  const [status, body] = [401, '{"error":true,"message":"Unauthorized"}'];
  sandbox.addFault({ action: 'status', status, body, route: 'DELETE /requesttoken' });
  sandbox.addFault({ action: 'status', status, body, route: 'GET /echo' });
  expect(await run('exec --revoke -- true')).toMatchObject({
    status: 10,
    stderr: expect.stringContaining('the token could not be revoked'),
  });
});
