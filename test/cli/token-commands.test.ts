import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assignment } from '../../src/cli/print-token.js';
import { bench } from '../helpers/cli.js';

interface Token {
  token: string;
}

describe.each(['3.10.1', '4.1.2'])('token check on %s', (serverVersion) => {
  // holds: C2.18
  test('exits 0 for an accepted token, 4 for a rejected one, which it deletes, and 3 if none is cached', async () => {
    const { run, json } = await bench({ serverVersion });
    expect((await run('token check')).status).toBe(3);
    const { token } = await json<Token>('token get');
    expect(await json('token check')).toEqual({ schemaVersion: 1, accepted: true });
    expect((await run('token check --token-stdin', { stdin: `${token}\n` })).status).toBe(0);
    await run('token delete --token-stdin --store none', { stdin: token });
    const rejected = await run('token check -o json');
    expect(rejected).toMatchObject({ status: 4, stdout: '{"schemaVersion":1,"accepted":false}\n' });
    expect(await json('token list')).toEqual({ schemaVersion: 1, tokens: [] });
  });
});

describe('formats', () => {
  // holds: C6.5, C6.6
  test('header and env print the token in their form', async () => {
    const { run, json } = await bench();
    const { token } = await json<Token>('token get');
    expect((await run('token get -o header')).stdout).toBe(`Authorization: Bearer ${token}\n`);
    expect((await run('token get -o env')).stdout).toBe(`export TG_API_TOKEN='${token}'\n`);
    expect((await run('token get -o env --shell fish')).stdout).toBe(`set -gx TG_API_TOKEN '${token}'\n`);
    expect((await run('token get -o env --shell powershell')).stdout).toBe(
      `$env:TG_API_TOKEN = '${token}'\n`,
    );
  });

  // holds: C6.5
  test('env can be evaluated by a POSIX shell, whatever the value contains', () => {
    const value = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 40, size: 'max' })
      .filter((text) => !/[\0\ud800-\udfff]/.test(text));
    fc.assert(
      fc.property(value, (text) => {
        const script = `${assignment('X', text)}\nprintf %s "$X"`;
        expect(execFileSync('sh', ['-c', script], { encoding: 'utf8' })).toBe(text);
      }),
      { numRuns: 200 },
    );
  });

  // holds: C6.7
  test('github prints the mask, and writes token and expiry with a delimiter that changes', async () => {
    const { run, json, home } = await bench();
    const { token, expiresAt } = await json<Token & { expiresAt: string }>('token get');
    const env = { GITHUB_OUTPUT: path.join(home, 'output'), GITHUB_ENV: path.join(home, 'env') };
    for (let i = 0; i < 2; i++) {
      const result = await run('token get -o github --export', { env });
      expect(result).toEqual({ status: 0, stdout: `::add-mask::${token}\n`, stderr: '' });
    }
    const lines = fs.readFileSync(env.GITHUB_OUTPUT, 'utf8').split('\n');
    const [, first] = /^token<<(graphcred_[0-9a-f]{32})$/.exec(lines[0] as string) ?? [];
    expect(lines.slice(0, 6)).toEqual([
      `token<<${first}`,
      token,
      first,
      `expires-at<<${first}`,
      expiresAt,
      first,
    ]);
    expect(lines[6]).not.toBe(lines[0]);
    expect(fs.readFileSync(env.GITHUB_ENV, 'utf8')).toContain(`\n${token}\n`);
  });

  // holds: C6.8
  test('gitlab writes a private dotenv file', async () => {
    const { run, json, home } = await bench();
    const { token } = await json<Token>('token get');
    expect(await run('token get -o gitlab --dotenv out.env')).toMatchObject({ status: 0, stdout: '' });
    const file = path.join(home, 'out.env');
    expect(fs.readFileSync(file, 'utf8')).toBe(`TG_API_TOKEN=${token}\n`);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  });
});

describe('the note that the server makes a secret for the token', () => {
  test.each([
    ['3.10.1', 'a password', false],
    ['4.1.2', 'a password', true],
    ['4.1.2', 'a secret', false],
  ])('on %s with %s: %s', async (serverVersion, credential, isPrinted) => {
    const { run } = await bench({ serverVersion });
    const stdin = credential === 'a secret' ? (await run('secret create ci')).stdout : '';
    const flag = credential === 'a secret' ? ' --secret-stdin' : '';
    const minted = await run(`token get --fresh${flag}`, { stdin });
    expect(minted.status).toBe(0);
    expect(minted.stderr.includes('a 4.x server create a secret')).toBe(isPrinted);
    if (isPrinted) expect((await run('token get')).stderr).toBe('');
  });
});

test('on 3.x, where each token is another one, exec --revoke asks for the whole lifetime', async () => {
  const { run, sandbox } = await bench({ serverVersion: '3.2.0' });
  expect((await run('exec --revoke --lifetime 1h -- true')).status).toBe(0);
  const sent = sandbox.requests.map(({ query }) => query.lifetime).filter((value) => value !== undefined);
  expect(sent).toEqual(['3600']);
});
