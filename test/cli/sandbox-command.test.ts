// Tests that each option of `graphcred sandbox` reaches the servers. What the servers do is tested in test/contract.
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { certificate } from '../helpers/certificate.js';
import { cli, type RunOptions, temporaryHome } from '../helpers/cli.js';
import { put } from '../helpers/home.js';
import { freePort } from '../helpers/ports.js';
import { BIN } from '../helpers/process.js';

/** Runs `graphcred sandbox` while `work` asks its servers, and returns what the sandbox printed. */
async function serve(
  argv: readonly string[],
  work: () => Promise<void> = async () => {},
  options: RunOptions = {},
) {
  const stopped = async (): Promise<NodeJS.Signals> => {
    await work();
    return 'SIGTERM';
  };
  const result = await cli(temporaryHome(), ['sandbox', ...argv], { stopped, ...options });
  return { ...result, ready: result.status === 0 ? JSON.parse(result.stdout) : undefined };
}

const ANY_PORTS = ['--rest-port', '0', '--gsql-port', '0'];

test('the options name the ports, users, graphs, secrets, faults, the version and the file of the state', async () => {
  const [rest, gsql] = [await freePort(), await freePort()];
  const state = path.join(temporaryHome(), 'state.json');
  const words = `--rest-port ${rest} --gsql-port ${gsql} --server-version 3.9.3 --user ann:one --user ben:two:reader --graph g1 --graph g2 --graph g1 --secret ci:${'s'.repeat(32)}:ben:g2 --state ${state} --fault route=/echo,action=status,status=503 --fault route=/version,action=status,status=504`;
  const answers: unknown[] = [];
  const { ready, stderr } = await serve(words.split(' '), async () => {
    const lookUp = await fetch(`http://127.0.0.1:${rest}/requesttoken`, {
      method: 'POST',
      body: JSON.stringify({ secret: 's'.repeat(32) }),
    });
    for (const path of ['echo', 'version'])
      answers.push((await fetch(`http://127.0.0.1:${rest}/${path}`)).status);
    answers.push(lookUp.status);
  });
  expect({ ready, stderr, answers }).toEqual({
    ready: {
      restUrl: `http://127.0.0.1:${rest}`,
      gsqlUrl: `http://127.0.0.1:${gsql}`,
      serverVersion: '3.9.3',
      username: 'ann',
      password: 'one',
      graph: 'g1',
    },
    stderr: '',
    answers: [503, 504, 200],
  });
  const saved = JSON.parse(fs.readFileSync(state, 'utf8'));
  expect(saved.users.map(({ name }: { name: string }) => name)).toEqual(['ann', 'ben']);
  expect(saved).toMatchObject({ graphs: ['g1', 'g2'], secrets: [{ alias: 'ci', graph: 'g2' }] });
});

test('--rest-auth off lets a request without a token in, and --lifetime-unit ms counts a lifetime in milliseconds', async () => {
  const [rest, gsql] = [await freePort(), await freePort()];
  const ports = ['--rest-port', `${rest}`, '--gsql-port', `${gsql}`];
  const graph = `http://127.0.0.1:${rest}/graph/demo/vertices`;
  let open = 'REST-10016';
  await serve([...ports, '--rest-auth', 'off'], async () => {
    open = await (await fetch(graph)).text();
  });
  expect(open).not.toContain('REST-10016');
  let seconds = Number.NaN;
  await serve([...ports, '--server-version', '4.1.2', '--lifetime-unit', 'ms'], async () => {
    const response = await fetch(`http://127.0.0.1:${gsql}/gsql/v1/tokens`, {
      method: 'POST',
      headers: { Authorization: `Basic ${Buffer.from('tigergraph:tigergraph').toString('base64')}` },
      body: JSON.stringify({ graph: 'demo', lifetime: 60_000 }),
    });
    const { token } = (await response.json()) as { token: string };
    const { exp } = JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString());
    seconds = exp - Date.now() / 1000;
  });
  expect(seconds).toBeLessThan(600);
});

test('--tls and --host change the addresses, and -v prints each request', async () => {
  const { cert, key } = await certificate('localhost');
  const home = temporaryHome();
  const files = ['cert.pem', 'key.pem'].map((name) => path.join(home, name));
  fs.writeFileSync(files[0] as string, cert);
  fs.writeFileSync(files[1] as string, key);
  const { ready } = await serve([...ANY_PORTS, '--tls', files.join(':'), '--host', 'localhost']);
  expect(ready).toMatchObject({
    restUrl: expect.stringMatching(/^https:\/\/localhost:\d+$/),
    gsqlUrl: expect.stringMatching(/^https:\/\/localhost:\d+$/),
  });
  const gsql = await freePort();
  const argv = ['--rest-port', '0', '--gsql-port', `${gsql}`];
  const ask = async () => void (await fetch(`http://127.0.0.1:${gsql}/api/ping`));
  expect((await serve(argv, ask)).stderr).not.toContain('/api/ping');
  expect((await serve([...argv, '-v'], ask)).stderr).toContain('"path":"/api/ping"');
});

test.each([
  ['3.10.1', 2],
  ['4.1.2', 1],
])('on %s a command beside it opens %i free ports and no others', async (version, ports) => {
  const listen = vi.spyOn(net.Server.prototype, 'listen');
  onTestFinished(() => listen.mockRestore());
  const argv = ['sandbox', '--server-version', version, '--', 'true'];
  expect(await cli(temporaryHome(), argv)).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(listen).toHaveBeenCalledTimes(ports);
  for (const [where] of listen.mock.calls as unknown[][]) expect(where).not.toSatisfy(isUsual);
});

const isUsual = (where: unknown) => /\b(9000|14240)\b/.test(JSON.stringify(where));

test('on a terminal the sandbox says that it is ready, and what to type in another terminal', async () => {
  const { stderr } = await serve(ANY_PORTS, undefined, { terminal: true });
  expect(stderr).toContain('graphcred: ready; the password of tigergraph is tigergraph');
  expect(stderr).toMatch(
    /in another terminal type:\s*graphcred secret create try --rest-url \S+ --gsql-url \S+ --graph demo -u tigergraph/,
  );
});

test('a shell that is typed beside it says what it is and how to leave it', async () => {
  const shell = path.join(temporaryHome(), 'sh');
  fs.symlinkSync('/bin/true', shell);
  const { stderr } = await cli(temporaryHome(), ['sandbox', '--', shell], { person: true });
  expect(stderr).toContain('with a practice database; to leave it: exit');
});

test('the folder of its state is for this user alone, whatever the umask, and is deleted with it', async () => {
  const old = process.umask(0o177);
  onTestFinished(() => void process.umask(old));
  const file = path.join(temporaryHome(), 'found');
  const script = `stat -c '%a %n' "$XDG_STATE_HOME" > '${file}'`;
  await cli(temporaryHome(), ['sandbox', '--', 'sh', '-c', script]);
  const [mode, folder] = fs.readFileSync(file, 'utf8').trim().split(' ');
  expect([mode, fs.existsSync(folder ?? '')]).toEqual(['700', false]);
});

test('a login in it changes no profile of the user', async () => {
  const home = temporaryHome();
  const before = put(home, '.config/graphcred/config.json', {
    profiles: { default: { host: 'https://own.example' } },
  });
  const text = fs.readFileSync(before, 'utf8');
  const login = `${process.execPath} ${BIN} login --no-input`;
  const run = await cli(home, ['sandbox', '--', 'sh', '-c', login], { env: { HOME: home } });
  expect(run.status).toBe(0);
  expect(fs.readFileSync(before, 'utf8')).toBe(text);
});

test('a command that is no program is exit 126', async () => {
  expect(await serve(['--', '/etc/passwd'])).toMatchObject({
    status: 126,
    stderr: expect.stringContaining('could not be started'),
  });
});
