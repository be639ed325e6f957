import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { writeEntry } from '../../src/store/records.js';
import { bench } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';
import { configure, stateOf } from '../helpers/home.js';
import { tokenRecord } from '../helpers/store-options.js';

const ADMIN = { name: 'tigergraph', password: 'tigergraph', role: 'superuser' } as const;

interface List {
  tokens: unknown[];
}

interface Token {
  token: string;
}

// holds: C2.18
test('token check exits 0 for an accepted token, 4 for a rejected one, which it deletes, and 3 if none is cached', async () => {
  const { run, json } = await bench();
  expect((await run('token check')).status).toBe(3);
  const { token } = await json<Token>('token get');
  expect(await json('token check')).toEqual({ schemaVersion: 1, accepted: true });
  await run('token delete --token-stdin --store none', { stdin: token });
  const rejected = await run('token check -o json');
  expect(rejected).toMatchObject({ status: 4, stdout: '{"schemaVersion":1,"accepted":false}\n' });
  expect(await json('token list')).toEqual({ schemaVersion: 1, tokens: [] });
});

// holds: C2.26
test.each(['token check', 'api /echo'])(
  '%s keeps a token that does not reach the server, as behind a proxy that removes the header',
  async (line) => {
    const { run, json, sandbox } = await bench({ serverVersion: '3.10.1' });
    const { token } = await json<Token>('token get');
    const message = "Access Denied because the input token = '' is empty or too short";
    const body = JSON.stringify({ error: true, code: 'REST-10016', message });
    sandbox.addFault({ action: 'status', status: 403, route: '/echo', body });
    const refused = await run(line);
    expect(refused.status).toBe(4);
    expect(refused.stderr).toContain('pass on the header Authorization');
    expect((await json<Token>('token get')).token).toBe(token);
  },
);

test('each user is told that a 4.x server makes a secret for a mint with a password', async () => {
  const users = ['ann', 'bob'].map((name) => ({ name, password: name, role: 'superuser' as const }));
  const { run } = await bench({ serverVersion: '4.1.2', users });
  const told = async (name: string) => {
    const { stderr } = await run('token get --fresh', {
      env: { GRAPHCRED_USERNAME: name, GRAPHCRED_PASSWORD: name },
    });
    return stderr.includes('AUTO_GENERATED_ALIAS_');
  };
  expect([await told('ann'), await told('ann'), await told('bob')]).toEqual([true, false, true]);
});

// holds: C2.18
test('what cannot be read is passed over: the owner’s next token is checked, told and refreshed', async () => {
  const { run } = await bench({ serverVersion: '3.10.1' });
  const key = () => ({ GRAPHCRED_STORE_KEY: randomBytes(32).toString('base64') });
  expect((await run('token get --lifetime 60d', { env: key() })).status).toBe(0);
  const env = key();
  const { token } = JSON.parse((await run('token get --lifetime 1h -o json', { env })).stdout);
  expect((await run('token check', { env })).status).toBe(0);
  const { token: found } = JSON.parse((await run('status -o json', { env })).stdout);
  expect(found.state).toBe('valid');
  expect(found.expiresAtUnix).toBeLessThan(Date.now() / 1000 + 4000);
  expect((await run('token refresh', { env })).stdout).toBe(`${token}\n`);
});

// holds: C5.5
test('token refresh forgets a token that the server no longer knows, and none for another thing that is missing', async () => {
  const { run, json, sandbox } = await bench({ serverVersion: '3.10.1' });
  const { token } = await json<Token>('token get');
  const body = JSON.stringify({ error: true, code: 'REST-1004', message: 'Graph demo does not exist' });
  sandbox.addFault({ action: 'status', status: 200, route: 'PUT /requesttoken', times: 1, body });
  expect((await run('token refresh')).status).toBe(3);
  expect((await json<Token>('token get')).token).toBe(token);
  await run('token delete --token-stdin --store none', { stdin: token });
  expect((await run('token refresh')).status).toBe(3);
  expect((await json<Token>('token get')).token).not.toBe(token);
});

// holds: C2.15
test.each(['by two users', 'by its own user'])(
  'two of token refresh %s at once leave one record of the token',
  async (whose) => {
    const { run, json, sandbox } = await bench({ serverVersion: '3.10.1' });
    const { secret } = await json<{ secret: string }>('secret create ci');
    const own = { env: { GRAPHCRED_SECRET: secret } };
    const { token } = await json<Token>('token get --lifetime 1h', own);
    sandbox.addFault({ action: 'delay', ms: 300, route: 'PUT /requesttoken' });
    const line = whose === 'by two users' ? 'token refresh --token-stdin' : 'token refresh';
    const other = whose === 'by two users' ? {} : own;
    const both = [run(`${line} --lifetime 5h`, { stdin: token, ...own })];
    both.push(run(`${line} --lifetime 2h`, { stdin: token, ...other }));
    expect((await Promise.all(both)).map(({ status }) => status)).toEqual([0, 0]);
    const { tokens } = await json<{ tokens: { expiresAtUnix: number }[] }>('token list');
    expect(tokens).toHaveLength(1);
  },
);

// holds: C2.15
test('token refresh keeps the record of the old token where the server answers with another one', async () => {
  const { run, json, sandbox } = await bench({ serverVersion: '3.10.1' });
  await run('token get');
  const body = JSON.stringify({ error: false, token: 'a'.repeat(32), expiration: 3600, message: '' });
  sandbox.addFault({ action: 'status', status: 200, route: 'PUT /requesttoken', times: 1, body });
  expect(await json<Token>('token refresh')).toMatchObject({ token: 'a'.repeat(32) });
  expect((await json<{ tokens: unknown[] }>('token list')).tokens).toHaveLength(2);
});

// holds: C3.18
test('a token that is held here for one server is not sent to another one, wherever it comes from', async () => {
  const a = await bench({ serverVersion: '3.10.1' });
  const { token } = await a.json<Token>('token get');
  const b = await bench({ serverVersion: '3.10.1' });
  const env = { ...b.env, HOME: a.env.HOME };
  for (const line of ['api /echo', 'token check'])
    expect(await a.run(line, { env: { ...env, TG_API_TOKEN: token } })).toMatchObject({ status: 5 });
  expect(b.sandbox.requests.filter(({ login }) => login === 'bearer')).toEqual([]);
});

// holds: C3.5
test.each(['3.10.1', '4.1.2'])(
  'token check on %s takes stdin before TG_API_TOKEN, and that before the cached token, which a refusal of another leaves',
  async (serverVersion) => {
    const { run, json, sandbox } = await bench({ serverVersion });
    const { token } = await json<Token>('token get');
    const wrong = `${token}x`;
    const env = { TG_API_TOKEN: wrong };
    const refused = await run('token check -v', { env });
    expect([refused.status, refused.stderr.includes(token)]).toEqual([4, false]);
    expect(refused.stderr).toContain('hint: unset TG_API_TOKEN, ');
    expect((await run('api /echo', { env })).stderr).toContain('hint: unset TG_API_TOKEN, ');
    expect((await run('token check --token-stdin', { env, stdin: `${token}\n` })).status).toBe(0);
    const typed = await run('token check --token-stdin', { env, stdin: wrong });
    expect([typed.status, typed.stderr.includes('unset')]).toEqual([4, false]);
    expect((await run('token check')).status).toBe(0);
    await sandbox.close();
    expect(await run('token check')).toMatchObject({ status: 7, stdout: '' });
    expect((await json<List>('token list')).tokens).toHaveLength(1);
  },
);

// holds: C7.3
test.each(['3.10.1', '4.1.2'])(
  'if REST authentication on %s is turned off later, token check and delete are exit 8 and keep the token, and status says off',
  async (serverVersion) => {
    const before = await bench({ serverVersion });
    const { expiresAt, expiresAtUnix } = await before.json('token get');
    await before.sandbox.close();
    const port = (url: string) => Number(new URL(url).port);
    const [gsqlPort, restPort] = [port(before.sandbox.gsqlUrl), port(before.sandbox.restUrl)];
    await bench({ serverVersion, restAuth: 'off', gsqlPort, ...(restPort !== gsqlPort && { restPort }) });
    for (const command of ['token check', 'token delete --skip-missing']) {
      const { status, stderr } = await before.run(`${command} -o json`);
      expect([status, stderr]).toEqual([8, expect.stringContaining('REST_AUTH_DISABLED')]);
    }
    expect(await before.json('status')).toMatchObject({
      restAuth: 'off',
      token: { state: 'unverified', expiresAt, expiresAtUnix },
    });
  },
);

test('token list without a chosen store shows the tokens of every store of this machine', async () => {
  const { run, home } = await bench();
  await run('secret create ci --save');
  await run('token get', { env: { GRAPHCRED_PASSWORD: undefined } });
  const info = { gsqlUrl: 'https://old.example', graph: null, principal: 'user:ann' };
  const record = tokenRecord({ key: 'old', store: 'keychain', expiresAtUnix: 2 ** 32, info });
  writeEntry(stateOf(home), { record });
  const { stdout } = await run('token list', { env: { GRAPHCRED_STORE: undefined } });
  expect(stdout).toMatch(/^[0-9a-f]{8} +127\.0\.0\.1:\d+ +demo +tigergraph \(secret ci\) +file /m);
  expect(stdout).toMatch(/^[0-9a-f]{8} +old\.example +- +ann +keychain /m);
  expect((await run('token list --store file')).stdout).not.toContain('keychain');
});

// holds: C2.36
test.each([
  'token list',
  'logout',
  'token delete --skip-missing',
  'token delete --everything --skip-missing',
  'token delete 01234567',
  'token refresh',
])('%s names records that it cannot read, and is PARTIAL', async (line) => {
  const { run, file, write } = await benchWithToken();
  write(({ v: _, ...record }) => JSON.stringify({ ...record, v: 2 }));
  const { status, stderr } = await run(line);
  expect(status).toBe(10);
  expect(stderr).toContain(
    `could be read: ${file}: a newer graphcred wrote it.\nhint: use that version of graphcred\n`,
  );
  expect(fs.existsSync(file)).toBe(true);
});

// holds: C5.9
test('token get passes over a record that cannot be used, and leaves it as it is', async () => {
  const { run, file, write, read } = await benchWithToken();
  const whole = read();
  fs.chmodSync(file, 0o666);
  const other = await run('token get');
  expect(other).toMatchObject({ status: 0, stderr: expect.stringContaining(`${file} is ignored`) });
  expect(read()).toBe(whole);
  expect((await run('token list')).stderr).toContain(`\nhint: to use that file: chmod go-w ${file}\n`);
  fs.chmodSync(file, 0o600);
  write(() => 'cut off');
  expect((await run('token list')).stderr).toContain(`\nhint: delete it: rm ${file}\n`);
  expect((await run('token get')).stdout).toBe(other.stdout);
  expect(read()).toBe('cut off');
});

/** Creates a bench whose machine holds one token, and returns the file of its record. */
async function benchWithToken() {
  const { run, home } = await bench();
  await run('token get');
  const name = defined(fs.readdirSync(stateOf(home)).find((one) => one.startsWith('token-')));
  const file = path.join(stateOf(home), name);
  const read = () => fs.readFileSync(file, 'utf8');
  const write = (change: (record: Record<string, unknown>) => string) =>
    fs.writeFileSync(file, change(JSON.parse(read())));
  return { run, file, read, write };
}

test('token list -p lists all tokens of the servers of a profile that names nobody', async () => {
  const { run, home, sandbox, json } = await bench({
    users: [ADMIN, { name: 'ada', password: 'pw-ada', role: 'superuser' }],
  });
  const { restUrl, gsqlUrl } = sandbox;
  await run('token get');
  await run('token get -u ada', { env: { GRAPHCRED_PASSWORD: 'pw-ada' } });
  configure(home, { profiles: { open: { restUrl, gsqlUrl } } });
  const env = { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' };
  expect(await json('token list -p open', { env })).toMatchObject({ tokens: [{}, {}] });
});

test('token list -p lists the tokens of a profile that names a secret of an unknown user', async () => {
  const { run, json } = await bench({ serverVersion: '4.1.2' });
  const { secret } = await json<{ secret: string }>('secret create ci');
  const env = { GRAPHCRED_PASSWORD: '', GRAPHCRED_USERNAME: undefined };
  expect((await run('login -p dev --secret-stdin', { stdin: secret, env })).status).toBe(0);
  expect((await run('token get -p dev', { env })).status).toBe(0);
  expect((await run('token list -p dev -o json', { env })).stdout).toContain('"principal":"secret:');
});

test('token refresh writes the same owner into a record with a label as token get', async () => {
  const { run, json, home } = await bench({ serverVersion: '3.10.1' });
  const { secret: GRAPHCRED_SECRET } = await json<{ secret: string }>('secret create ci');
  const env = { GRAPHCRED_SECRET, GRAPHCRED_PASSWORD: '', GRAPHCRED_USERNAME: undefined };
  const ownerAfter = async (command: string) => {
    expect((await run(`${command} --principal nightly`, { env })).status).toBe(0);
    const names = fs.readdirSync(stateOf(home)).filter((name) => /^token-.*\.json$/.test(name));
    const records = names.map((name) => JSON.parse(fs.readFileSync(path.join(stateOf(home), name), 'utf8')));
    return records.map(({ info }) => info.owner);
  };
  expect(await ownerAfter('token get')).toEqual(['nightly']);
  expect(await ownerAfter('token refresh')).toEqual(['nightly']);
});
