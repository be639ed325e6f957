import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { bench, cli } from '../helpers/cli.js';

interface Row {
  id: string;
}

interface List {
  tokens: Row[];
}

const USERS = [
  { name: 'tigergraph', password: 'tigergraph', role: 'superuser' as const },
  { name: 'ada', password: 'pw-ada', role: 'admin' as const },
];

/** On 4.x two tokens of one second are the same token, so the server's clock goes on between two mints. */
async function benchWithClock(serverVersion: string) {
  const clock = { seconds: 0 };
  const used = await bench({ serverVersion, users: USERS, now: () => Date.now() + clock.seconds * 1000 });
  const mint = async (line: string) => {
    clock.seconds++;
    return used.json<{ token: string; source: string }>(line);
  };
  const list = async (options = '') => (await used.json<List>(`token list${options}`)).tokens;
  return { ...used, mint, list };
}

describe.each(['3.10.1', '4.1.2'])('a live token on %s', (serverVersion) => {
  // holds: C2.26
  test('is listed and deleted after --fresh has replaced it, and is never used again', async () => {
    const { run, json, mint, list } = await benchWithClock(serverVersion);
    const first = await mint('token get');
    const second = await mint('token get --fresh');
    expect(await mint('token get')).toMatchObject({ token: second.token, source: 'store' });
    expect(await list()).toHaveLength(2);
    await run('token delete --token-stdin', { stdin: second.token });
    expect(await list()).toHaveLength(1);
    expect(await json('token delete')).toMatchObject({ deleted: 1, missing: 0 });
    expect((await run('token check --token-stdin', { stdin: first.token })).status).toBe(4);
  });

  // holds: C2.28
  test('is deleted by the id of its row, and an unknown id deletes nothing', async () => {
    const { run, mint, list, json } = await benchWithClock(serverVersion);
    await mint('token get --lifetime 1h');
    const { token } = await mint('token get --lifetime 2h');
    const [{ id: long }, { id: short }] = (await list()) as [Row, Row];
    expect((await run('token list')).stdout).toContain(long);
    expect(await run(`token delete ${short} 00000000`)).toMatchObject({ status: 3, stdout: '' });
    expect(await list()).toHaveLength(2);
    expect(await json(`token delete ${short}`)).toMatchObject({ deleted: 1, missing: 0 });
    expect(await mint('token get --lifetime 2h')).toMatchObject({ token, source: 'store' });
    expect((await run(`token delete ${long} --all`)).status).toBe(2);
  });
});

// holds: C2.27
test('a token deleted with the login of another user is gone from every record of it', async () => {
  const { run, mint, list, json } = await benchWithClock('3.10.1');
  const ada = { env: { GRAPHCRED_USERNAME: 'ada', GRAPHCRED_PASSWORD: 'pw-ada' } };
  const { token } = await json<{ token: string }>('token get', ada);
  await run('token refresh --token-stdin --lifetime 1h', { stdin: token });
  expect(await list()).toHaveLength(2);
  await mint('token get --lifetime 2h');
  expect(await json('token delete --token-stdin', { stdin: token })).toMatchObject({ deleted: 1 });
  expect(await list()).toHaveLength(1);
  expect(await json('token get', ada)).toMatchObject({ source: 'server' });
});

const PROFILES = (one: string, two: string) => `
profiles:
  one: { ${one}, graph: demo, username: tigergraph, password: tigergraph }
  two: { ${two}, graph: demo, username: ada, password: pw-ada }
`;

// holds: C2.28, C2.35
test('--everything revokes each token with the credential of its own server and user, and keeps what it cannot', async () => {
  const old = await bench({ serverVersion: '3.10.1' });
  const other = await bench({ serverVersion: '4.1.0', users: USERS });
  const address = ({ sandbox }: typeof old) => `restUrl: "${sandbox.restUrl}", gsqlUrl: "${sandbox.gsqlUrl}"`;
  const config = path.join(old.home, 'config.yaml');
  fs.writeFileSync(config, PROFILES(address(old), address(other)), { mode: 0o600 });
  const env = { GRAPHCRED_STORE: 'file', GRAPHCRED_CONFIG: config };
  const run = (line: string, stdin?: string) =>
    cli(old.home, line.split(' '), { env, ...(stdin !== undefined && { stdin }) });
  const stranger = `token get --graph demo --gsql-url ${other.sandbox.gsqlUrl} --rest-url ${other.sandbox.restUrl} -u tigergraph --password-stdin`;
  await run('token get -p one');
  await run('token get -p two');
  expect((await run(stranger, 'tigergraph')).status).toBe(0);
  expect(JSON.parse((await run('token list -p one -o json')).stdout).tokens).toMatchObject([
    { gsqlUrl: old.sandbox.gsqlUrl },
  ]);
  const deleted = await run('token delete --everything -p one');
  expect(deleted).toMatchObject({ status: 10, stdout: 'Deleted 2 tokens.\n' });
  expect(deleted.stderr).toContain(`user:tigergraph, graph demo, ${other.sandbox.gsqlUrl}`);
  const left = JSON.parse((await run('token list -o json')).stdout).tokens;
  expect(left).toMatchObject([{ gsqlUrl: other.sandbox.gsqlUrl, principal: 'user:tigergraph' }]);
  // The one that could not be revoked is kept until it is forgotten on purpose.
  expect(await run('logout --all --revoke')).toMatchObject({ status: 10, stdout: '' });
  expect((await run('logout --all')).stdout).toBe('Forgot 1 token, of every server and user.\n');
  expect((await run('logout --all')).status).toBe(3);
});
