import { describe, expect, test } from 'vitest';
import { bench } from '../helpers/cli.js';

interface Token {
  token: string;
}

describe.each(['3.2.0', '3.10.1', '4.1.2'])('token check on %s', (serverVersion) => {
  // holds: C3.5
  test('uses stdin before TG_API_TOKEN, and TG_API_TOKEN before the cached token', async () => {
    const { run, json } = await bench({ serverVersion });
    const { token } = await json<Token>('token get');
    const wrong = serverVersion.startsWith('4') ? `${token}x` : `${token.slice(1)}0`;
    const env = { TG_API_TOKEN: wrong };
    expect((await run('token check')).status).toBe(0);
    expect((await run('token check', { env })).status).toBe(4);
    expect((await run('token check --token-stdin', { env, stdin: `${token}\n` })).status).toBe(0);
    expect((await run('token check --token-stdin', { stdin: wrong })).status).toBe(4);
    // Only a token in this machine's store can be deleted from it.
    expect((await run('token check')).status).toBe(0);
  });

  test('prints no part of the token, and a server that does not answer is exit 7 and deletes nothing', async () => {
    const { run, json, sandbox } = await bench({ serverVersion });
    const { token } = await json<Token>('token get');
    const rejected = await run('token check -v -o json', { env: { TG_API_TOKEN: `${token}x` } });
    expect(rejected).toMatchObject({ status: 4, stdout: '{"schemaVersion":1,"accepted":false}\n' });
    expect(rejected.stderr).not.toContain(token);
    await sandbox.close();
    expect(await run('token check')).toMatchObject({ status: 7, stdout: '' });
    expect((await json<{ tokens: unknown[] }>('token list')).tokens).toHaveLength(1);
  });

  test('a token from stdin needs no login', async () => {
    const { run, json } = await bench({ serverVersion });
    const { token } = await json<Token>('token get --store none');
    const env = { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' };
    expect(await run('token check --token-stdin', { env, stdin: token })).toEqual({
      status: 0,
      stdout: 'The server accepts the token.\n',
      stderr: '',
    });
  });
});

test('an error that another credential would not mend is reported as it is, whatever TG_API_TOKEN is for', async () => {
  const { run } = await bench();
  const env = { TG_API_TOKEN: 'canarycanarycanarycanarycanary12', TG_HOST: 'http://a.example' };
  const wrong = await run('api /echo', { env: { ...env, GRAPHCRED_PASSWORD: 'wrong' } });
  expect(wrong).toMatchObject({
    status: 4,
    stderr: expect.stringContaining('TG_API_TOKEN is for the servers in TG_HOST and is not used here'),
  });
  expect((await run('api /echo', { env: { ...env, GRAPHCRED_PASSWORD: undefined } })).status).toBe(5);
});
