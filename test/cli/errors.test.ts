import { describe, expect, test } from 'vitest';
import { type Bench, bench, cli, type RunOptions, temporaryHome } from '../helpers/cli.js';

interface PrintedError {
  code: string;
  message: string;
  hint: string;
  exitCode: number;
}

/** Returns the error of a command line. */
async function refusal({ run }: Bench, line: string, options?: RunOptions): Promise<PrintedError> {
  const { stderr } = await run(`${line} --store none -o json`, options);
  return JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error;
}

const SERVERS = ['3.2.0', '3.10.1', '4.1.2'];
const NO_PASSWORD = { GRAPHCRED_PASSWORD: '' };
const FROM_SECRET = /a secret.*graphcred token get --secret-stdin/i;

async function withSecret(serverVersion: string): Promise<{ at: Bench; secret: string }> {
  const at = await bench({ serverVersion });
  return { at, secret: (await at.run('secret create ci')).stdout.trim() };
}

describe.each(SERVERS)('on %s', (serverVersion) => {
  const is4 = serverVersion.startsWith('4');

  test.each(['secret list', 'api --service /gsql/v1/version'])(
    'a token cannot log in for %s: exit 2 before anything is sent, with the reason',
    async (line) => {
      const { at, secret } = await withSecret(serverVersion);
      const env = { ...NO_PASSWORD, TG_API_TOKEN: secret };
      at.requests();
      const { code, exitCode, hint } = await refusal(at, line, { env });
      expect({ code, exitCode }).toEqual({ code: 'INPUT_REQUIRED', exitCode: 2 });
      expect(hint).toContain('GRAPHCRED_PASSWORD');
      expect(hint).toContain('TG_API_TOKEN does not log in here');
      expect(hint).not.toContain(secret);
      expect(at.requests()).toEqual([]);
    },
  );

  test('the error for a secret used as a token shows how to mint a token', async () => {
    const { at, secret } = await withSecret(serverVersion);
    const env = { TG_API_TOKEN: secret };
    for (const line of ['api /echo', 'token check']) {
      const { code, exitCode, hint } = await refusal(at, line, { env });
      expect({ code, exitCode }).toEqual({ code: 'AUTH_FAILED', exitCode: 4 });
      expect(hint).toMatch(FROM_SECRET);
    }
    const minted = await at.run('token get --secret-stdin --store none', { stdin: `${secret}\n` });
    expect(minted).toMatchObject({ status: 0, stderr: '' });
  });

  test('repeated wrong passwords cause a warning about the server’s lock, and an error when it is in force', async () => {
    const at = await bench({ serverVersion });
    const wrong = () => refusal(at, 'secret list', { env: { GRAPHCRED_PASSWORD: 'wrong' } });
    const first = await wrong();
    expect(first).toMatchObject({
      code: 'AUTH_FAILED',
      exitCode: 4,
      message: expect.stringContaining(' refused the login'),
    });
    expect(first.hint).toContain('After some wrong tries the server makes the user wait');
    let last = first;
    for (let n = 0; n < 5; n++) last = await wrong();
    expect(last).toMatchObject({ code: 'AUTH_FAILED', exitCode: 4 });
    if (is4) {
      expect(last.message).toBe('Too many failed logins: the server makes this user wait.');
      expect(last.hint).toMatch(/re-login after \d+ seconds/);
    }
  });
});

// holds: C4.4
test.each([
  ['3.6.2', 'basic'],
  ['3.10.0', 'basic'],
  ['3.10.1', 'gsql-secret'],
  ['4.2.0', 'gsql-secret'],
])(
  'on %s a secret alone lists the secrets, sent as %s, and is named when it is refused',
  async (...given) => {
    const [serverVersion, login] = given;
    const { at, secret } = await withSecret(serverVersion);
    const alone = (value: string) => ({ env: { ...NO_PASSWORD, GRAPHCRED_SECRET: value } });
    const { secrets } = await at.json<{ secrets: unknown[] }>('secret list', alone(secret));
    expect(secrets).toHaveLength(1);
    expect(at.sandbox.requests.at(-1)).toMatchObject({ login });
    const { code, message } = await refusal(at, 'secret list', alone('z'.repeat(32)));
    expect([code, message]).toEqual([
      'AUTH_FAILED',
      expect.stringContaining('the secret from GRAPHCRED_SECRET'),
    ]);
  },
);

// holds: C4.4
test.each(['3.2.0', '3.6.1'])(
  'a secret cannot log in for secret commands on %s, and the error says so',
  async (serverVersion) => {
    const { at, secret } = await withSecret(serverVersion);
    const { code, message, hint } = await refusal(at, 'secret list', {
      env: { ...NO_PASSWORD, GRAPHCRED_SECRET: secret },
    });
    expect(code).toBe('INPUT_REQUIRED');
    expect(message).toMatch(/^A (user name|password) is needed/);
    expect(hint).toContain('the secret (GRAPHCRED_SECRET) does not log in on a server before 3.6.2');
    expect(hint).toContain('GRAPHCRED_PASSWORD');
  },
);

// holds: C3.6
test('the error for a host with a port names the options to use instead', async () => {
  const { status, stderr } = await cli(temporaryHome(), ['status', '--host', 'http://127.0.0.1:9000']);
  expect(status).toBe(2);
  for (const option of ['--rest-url', '--gsql-url']) expect(stderr).toContain(option);
});

test.each(['GRAPHCRED_SECRET', 'GRAPHCRED_SECRET_FILE', 'TG_SECRET'])(
  'the error names a %s that a job sets to an empty text, and not a missing user name',
  async (name) => {
    const { run } = await bench();
    const env = { GRAPHCRED_USERNAME: undefined, GRAPHCRED_PASSWORD: undefined, [name]: '' };
    const { status, stderr } = await run('token get', { env });
    expect(status).toBe(2);
    expect(stderr).toMatch(new RegExp(`^graphcred: ${name} is empty, and there is no other credential for `));
    expect(stderr).not.toContain('user name is needed');
  },
);

test('the error does not call a token lost that was never minted', async () => {
  const { run } = await bench();
  const env = { GRAPHCRED_STORE: undefined, GRAPHCRED_PASSWORD: 'wrong' };
  const refused = await run('token get', { env });
  expect(refused.status).toBe(4);
  expect(refused.stderr).not.toContain('not kept');
  const minted = await run('token get', { env: { GRAPHCRED_STORE: undefined } });
  expect(minted).toMatchObject({ status: 0, stderr: expect.stringContaining('the token is not kept') });
});
