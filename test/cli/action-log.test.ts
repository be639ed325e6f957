// Compares the whole log of jobs that use the action, in which a credential is shown as the runner shows it: ***.
import { expect, test } from 'vitest';
import { mint } from '../../src/action/request-token.js';
import { revoke } from '../../src/action/revoke.js';
import type { Runner } from '../../src/action/runner.js';
import { type Job, playJob } from '../helpers/runner.js';
import { SECRET, startSocial } from '../helpers/social.js';

const MINT = (runner: Runner) => mint(runner, { timeoutMs: 10_000, signal: new AbortController().signal });
const REVOKE = (runner: Runner) => revoke(runner, { timeoutMs: 10_000 });
const LOGIN = { username: 'tigergraph', password: 'tigergraph' };

async function play(
  serverVersion: string,
  play: (job: Job, addresses: Record<string, string>) => Promise<void>,
) {
  const sandbox = await startSocial(serverVersion);
  const job = playJob();
  await play(job, { 'rest-url': sandbox.restUrl, 'gsql-url': sandbox.gsqlUrl, graph: 'social' });
  return job
    .log()
    .replaceAll(sandbox.restUrl, 'REST')
    .replaceAll(sandbox.gsqlUrl, 'GSQL')
    .replace(/\d{4}-\d\d-\d\dT[\d:]+Z/g, 'END');
}

test('the log of a job with a secret says until when the token lives, and that it was revoked', async () => {
  const log = await play('3.10.1', async (job, addresses) => {
    await job.run(MINT, { ...addresses, secret: SECRET });
    await job.run(REVOKE, { ...addresses, secret: SECRET });
  });
  expect(log).toMatchInlineSnapshot(`
    "graphcred: a token for GSQL until END; it is revoked at the end of the job
    graphcred: the token is revoked
    "
  `);
});

test('the log of a job with a password on 4.x says what the server keeps of it', async () => {
  const log = await play('4.1.2', async (job, addresses) => {
    await job.run(MINT, { ...addresses, ...LOGIN });
    await job.run(REVOKE, { ...addresses, ...LOGIN });
  });
  expect(log).toMatchInlineSnapshot(`
    "graphcred: with a password, a 4.x server makes a secret of its own for each token (AUTO_GENERATED_ALIAS_…). To avoid that, set the input secret.
    graphcred: a token for GSQL until END; it is revoked at the end of the job
    graphcred: the token is revoked; on 4.x it uses 1 of 20 entries of the user’s token block list until it expires
    "
  `);
});

test('the log of a job with a secret on 4.x that keeps its token says so', async () => {
  const log = await play('4.1.2', async (job, addresses) => {
    await job.run(MINT, { ...addresses, secret: SECRET, revoke: 'false' });
    await job.run(REVOKE, { ...addresses, secret: SECRET, revoke: 'false' });
  });
  expect(log).toMatchInlineSnapshot(`
    "graphcred: a token for GSQL until END; it is not revoked
    "
  `);
});

test('the log of a job whose address was changed meanwhile names both', async () => {
  const log = await play('3.10.1', async (job, addresses) => {
    await job.run(MINT, { ...addresses, secret: SECRET });
    await job.run(REVOKE, { ...addresses, secret: SECRET, 'gsql-url': 'http://127.0.0.1:1' });
    await job.run(REVOKE, { ...addresses, secret: SECRET, 'rest-url': 'http://127.0.0.1:2' });
  });
  expect(log).toMatchInlineSnapshot(`
    "graphcred: a token for GSQL until END; it is revoked at the end of the job
    graphcred: the token was not revoked; it lives until END
    graphcred: HOST_MISMATCH: The token was made at GSQL, but the inputs now lead to http://127.0.0.1:1. Write the addresses into the workflow, or take them from vars; later steps can change env.
    graphcred: the token was not revoked; it lives until END
    graphcred: HOST_MISMATCH: The token was made at REST, but the inputs now lead to http://127.0.0.1:2. Write the addresses into the workflow, or take them from vars; later steps can change env.
    "
  `);
});

test('the log of a job with wrong inputs says which, and what to set', async () => {
  const log = await play('3.10.1', async (job, addresses) => {
    for (const inputs of [
      {},
      addresses,
      { ...addresses, username: 'tigergraph' },
      { ...addresses, password: 'tigergraph' },
      { ...addresses, ...LOGIN, secret: SECRET },
      { ...addresses, secret: 'k3v9\nq7w2' },
      { graph: 'social', secret: SECRET },
      { 'gsql-url': 'http://127.0.0.1:1', secret: SECRET },
      { ...addresses, host: 'http://127.0.0.1', secret: SECRET },
      { ...addresses, secret: SECRET, lifetime: '0' },
      { ...addresses, secret: SECRET, revoke: 'maybe' },
      { ...addresses, secret: SECRET, export: 'yes' },
      { ...addresses, ...LOGIN, password: 'wrong' },
      { ...addresses, ...LOGIN, graph: 'nowhere' },
    ])
      await job.run(MINT, inputs);
  });
  expect(log).toMatchInlineSnapshot(`
    "graphcred: INPUT_REQUIRED: The input secret is missing or empty. Set secret, or username and password. Pull requests from forks get no secrets from GitHub.
    graphcred: INPUT_REQUIRED: The input secret is missing or empty. Set secret, or username and password. Pull requests from forks get no secrets from GitHub.
    graphcred: INPUT_REQUIRED: The input password is missing or empty. Set secret, or username and password. Pull requests from forks get no secrets from GitHub.
    graphcred: INPUT_REQUIRED: The input username is missing or empty. Set secret, or username and password. Pull requests from forks get no secrets from GitHub.
    graphcred: USAGE: The inputs secret and password are both set. Keep one of them; a secret can do less, so it is the better one for a job.
    graphcred: USAGE: The input secret has more than one line. Set secret to the credential alone, on one line.
    graphcred: INPUT_REQUIRED: The address of the database is missing. Set host, or both rest-url and gsql-url.
    graphcred: INPUT_REQUIRED: The address of the database is missing. Set host, or both rest-url and gsql-url.
    graphcred: USAGE: The input host is set beside rest-url or gsql-url. Set host alone for the ports 9000 and 14240, else both URLs.
    graphcred: USAGE: The input lifetime is not a duration. Write seconds, or a number with a unit: 900, 15m, 2h.
    graphcred: USAGE: The input revoke is neither true nor false. Set revoke: true or revoke: false.
    graphcred: USAGE: The input export is neither true nor false. Set export: true or export: false.
    graphcred: AUTH_FAILED: The server refused the credential (HTTP 200). Check the input secret, or username and password.
    graphcred: NOT_FOUND: There is no such graph, or this user may not see it (HTTP 200). Check the input graph.
    "
  `);
});

test('the log of a job on a runner without its files says what to do', async () => {
  const log = await play('3.10.1', async (job, addresses) => {
    for (const env of [
      { GITHUB_STATE: '' },
      { GITHUB_OUTPUT: `${job.folder}/none/output` },
      { GITHUB_ENV: '' },
    ])
      await job.run((runner) => MINT({ ...runner, env: { ...runner.env, ...env } }), {
        ...addresses,
        secret: SECRET,
        export: 'true',
        revoke: 'false',
      });
  });
  expect(log).toMatchInlineSnapshot(`
    "graphcred: USAGE: The variable GITHUB_STATE is not set. Run this as a step of GitHub Actions, on runner 2.327.1 or later.
    graphcred: USAGE: The file named by GITHUB_OUTPUT cannot be written. Check the runner: it makes this file before each step.
    graphcred: USAGE: The variable GITHUB_ENV is not set. Run this as a step of GitHub Actions, on runner 2.327.1 or later.
    "
  `);
});
