import fs from 'node:fs';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { listEntries } from '../../src/store/records.js';
import { cli, type Result, temporaryHome } from '../helpers/cli.js';
import { gate } from '../helpers/gate.js';
import { keyringSkipReason, startKeyring, withKeyring } from '../helpers/keyring.js';
import { sandboxFor, start } from '../helpers/process.js';
import { foldersOf } from '../helpers/storm.js';
import { neverMixed } from '../helpers/two-people.js';

const PASSWORDS: Record<string, string> = { ann: 'ann-pw-hunter2', bob: 'bob-pw-hunter2' };
const NOTHING_HELD = 3;
const NO_LOGIN = 2;

type Run = (line: string) => Promise<Result>;

/** Creates two users of one server. Each has a profile with a password and a profile with only the user name. */
async function accounts(home: string, serverVersion: string) {
  const is4 = serverVersion.startsWith('4');
  const { sandbox } = await sandboxFor(home, {
    serverVersion,
    gsqlPort: 0,
    ...(is4 ? {} : { restPort: 0 }),
    users: Object.entries(PASSWORDS).map(([name, password]) => ({ name, password, role: 'admin' })),
  });
  const sent: string[] = [];
  const note = async (request: IncomingMessage) => {
    if (request.headers.authorization) sent.push(request.headers.authorization);
  };
  const front = (target: string) => gate(target, /./, async () => {}, note);
  const gsqlUrl = await front(sandbox.gsqlUrl);
  const restUrl = is4 ? `${gsqlUrl}/restpp` : await front(sandbox.restUrl);
  const profiles = Object.fromEntries(
    Object.entries(PASSWORDS).flatMap(([username, password]) => {
      const base = { gsqlUrl, restUrl, graph: sandbox.graph, username };
      return [
        [username, { ...base, password }],
        // This profile uses another lifetime, because 4.x gives one user the same token for two requests of one second with one lifetime.
        [`${username}-saved`, { ...base, lifetime: '12h' }],
      ];
    }),
  );
  const folder = path.join(home, '.config/graphcred');
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, 'config.json'), JSON.stringify({ profiles }), { mode: 0o600 });
  return { home, sandbox, sent, restUrl };
}

async function neverMeet(run: Run, { home, sent, restUrl, sandbox }: Awaited<ReturnType<typeof accounts>>) {
  const works = async (token: string) =>
    (await fetch(`${restUrl}/echo`, { headers: { authorization: `Bearer ${token}` } })).status === 200;
  const good = async (line: string) => {
    const { status, stdout, stderr } = await run(line);
    expect(status, `${line}: ${stderr}`).toBe(0);
    return stdout.trim();
  };
  const names = new Map<unknown, string>();
  const principals = async () => {
    for (const { record } of listEntries(foldersOf(home).stateDir, () => {})) {
      const { id, username, alias } = record.info;
      if (record.kind === 'secret') names.set(id, `saved:${username}/${alias}`);
    }
    const { tokens } = JSON.parse(await good('token list -o json')) as { tokens: { principal: string }[] };
    return tokens.map(({ principal }) => names.get(principal) ?? principal).sort();
  };
  const refusedAtOnce = async (line: string, status: number) => {
    sent.length = 0;
    const refused = await run(line);
    expect({ line, status: refused.status, stdout: refused.stdout }).toEqual({ line, status, stdout: '' });
    expect(sent).toEqual([]);
  };

  // Only the user ann has stored anything on this machine.
  const annToken = await good('token get -p ann');
  for (const line of ['token check', 'token delete', 'token delete --all', 'logout', 'logout --revoke'])
    await refusedAtOnce(`${line} -p bob`, NOTHING_HELD);
  if (sandbox.serverVersion.startsWith('3')) await refusedAtOnce('token refresh -p bob', NOTHING_HELD);
  await good('secret create ci --save -p ann');
  for (const line of ['token get', 'api /echo', 'secret list', 'secret drop ci'])
    await refusedAtOnce(`${line} -p bob-saved`, NO_LOGIN);
  await refusedAtOnce('token check -p bob-saved', NOTHING_HELD);
  await refusedAtOnce('exec -p bob-saved -- true', 125);
  const status = await run('status -p bob -o json');
  expect(JSON.parse(status.stdout)).toMatchObject({ token: { state: 'none' } });

  // Now both users have secrets and tokens under the same names.
  await good('secret create ci --save -p bob');
  const tokens: Record<string, string> = { ann: annToken };
  for (const profile of ['bob', 'ann-saved', 'bob-saved'])
    tokens[profile] = await good(`token get -p ${profile}`);
  expect(new Set(Object.values(tokens)).size).toBe(4);
  expect(await principals()).toEqual(['saved:ann/ci', 'saved:bob/ci', 'user:ann', 'user:bob']);
  for (const [profile, token] of Object.entries(tokens)) {
    sent.length = 0;
    expect(await good(`token get -p ${profile}`)).toBe(token);
    expect(await good(`exec -p ${profile} -- printenv TG_API_TOKEN`)).toBe(token);
    expect(sent).toEqual([]);
    await good(`api -p ${profile} /echo`);
    await good(`token check -p ${profile}`);
    expect(new Set(sent.filter((header) => header.startsWith('Bearer ')))).toEqual(
      new Set([`Bearer ${token}`]),
    );
    const others = Object.entries(PASSWORDS).filter(([name]) => !profile.startsWith(name));
    for (const [name, password] of others)
      expect(sent).not.toContain(`Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`);
  }

  // A command of the user bob does not change what belongs to ann.
  await good('secret rotate ci -p bob');
  expect(await principals()).toEqual(['saved:ann/ci', 'user:ann', 'user:bob']);
  await good('secret prune --yes -p bob');
  await good('token get -p bob-saved');
  await good('token delete -p bob-saved');
  expect(await principals()).toEqual(['saved:ann/ci', 'user:ann', 'user:bob']);
  await good('token delete --all -p bob');
  expect(await principals()).toEqual(['saved:ann/ci', 'user:ann']);
  await good('token get -p bob');
  await good('token get -p bob-saved');
  sent.length = 0;
  // A credential revokes only the tokens that it minted.
  const partly = await run('logout --revoke -p bob');
  expect(partly.status).toBe(10);
  expect(partly.stderr).toMatch(/the token of secret:\w+ for graph demo: not revoked/);
  await good('logout --revoke -p bob-saved');
  for (const own of [tokens.ann, tokens['ann-saved']]) {
    expect(sent.join(' ')).not.toContain(own);
    expect(await works(own as string)).toBe(true);
  }
  expect(await principals()).toEqual(['saved:ann/ci', 'user:ann']);
  await refusedAtOnce('token get -p bob-saved', NO_LOGIN);
  await good('secret drop ci -p bob');
  expect(await good('token get -p ann')).toBe(tokens.ann);
  expect(await good('token get -p ann-saved')).toBe(tokens['ann-saved']);
  await good('token get --fresh -p ann-saved');
  expect(sandbox.unknownRoutes).toEqual([]);
}

describe.each(['3.10.1', '4.1.2'])('two users of one server, on %s', (serverVersion) => {
  test('do not use each other’s credentials in the file store', async () => {
    const home = temporaryHome();
    const made = await accounts(home, serverVersion);
    const run: Run = (line) =>
      // `exec` gives its child the stdout of our process, so it is run as a process of its own.
      line.startsWith('exec')
        ? start(line.split(' '), { HOME: home, GRAPHCRED_STORE: 'file' }).ended
        : cli(home, line.split(' '), { env: { GRAPHCRED_STORE: 'file' } });
    await neverMeet(run, made);
  });
});

const skip = keyringSkipReason();
if (skip !== undefined) console.log(`two users of one keychain are not tried here: ${skip}`);

test.skipIf(skip !== undefined).each(['3.10.1', '4.1.2'])(
  'two users of one server, on %s, do not use each other’s credentials in the keychain',
  async (serverVersion) => {
    await withKeyring({ state: 'unlocked' }, async (keyring) => {
      const made = await accounts(keyring.home, serverVersion);
      const env = { ...keyring.env, GRAPHCRED_STORE: 'keychain' };
      await neverMeet((line) => start(line.split(' '), env).ended, made);
    });
  },
);

test.skipIf(skip !== undefined).each(['3.10.1', '4.1.2'])(
  'on %s two people with two profiles never get each other’s token from the keychain',
  async (serverVersion) => {
    await neverMixed(serverVersion, 2, async ({ env }) => {
      const keyring = await startKeyring({ state: 'unlocked' });
      onTestFinished(() => keyring.stop());
      return {
        run: (line, { env: more, stdin }) =>
          start(
            line.split(' '),
            { ...env, ...keyring.env, GRAPHCRED_STORE: 'keychain', ...(more as Record<string, string>) },
            String(stdin ?? ''),
          ).ended,
      };
    });
  },
);
