import { expect, test } from 'vitest';
import { parseFault } from '../../src/sandbox/faults/faults.js';
import { bench, interruptedAt } from '../helpers/cli.js';

test.each([
  [
    '',
    'a secret with a generated name',
    'see the generated names: graphcred secret prune --dry-run; drop the one that is new: graphcred secret drop ALIAS; then make it again',
  ],
  ['ci', 'the secret ci', 'drop it, then make it again: graphcred secret drop ci --ignore-missing'],
])(
  'if the answer to secret create %j is lost, %s is named, and the hint is %j',
  async (alias, named, hint) => {
    const { run, sandbox } = await bench({ serverVersion: '4.1.2' });
    sandbox.addFault(parseFault('action=drop-after,route=POST /gsql/v1/secrets'));
    const { status, stderr } = await run(`secret create ${alias}`.trim());
    expect({ status, stderr }).toEqual({
      status: 7,
      stderr: expect.stringMatching(new RegExp(` So ${named} may have been made.*\\nhint: ${hint}\\n`)),
    });
  },
);

test('after Ctrl-C a command that changes something ends with 130 and says what may have happened', async () => {
  const { run, sandbox } = await interruptedAt('/gsqlserver/gsql/file');
  sandbox.addFault(parseFault('action=status,status=500,route=/gsqlserver/gsql/file'));
  const { status, stdout } = await run('secret create ci');
  expect({ status, stdout }).toEqual({ status: 130, stdout: '' });
});

const MADE = 'A token may have been made, which lives until it expires.\n';

// holds: C2.24
test.each([
  ['3.10.1', 'token get', 'POST /requesttoken', MADE],
  ['4.1.2', 'token get', 'POST /gsql/v1/tokens', `${MADE}hint: a secret may have been made too`],
  ['3.10.1', 'token refresh --token-stdin', 'PUT /requesttoken', 'The token may live longer now.\n'],
])('after Ctrl-C on %s, %s tells what may have been done', async (serverVersion, line, route, told) => {
  const { run } = await interruptedAt(route, { serverVersion });
  const { status, stderr } = await run(line, { stdin: 't'.repeat(32) });
  expect(status).toBe(130);
  expect(stderr).toContain(told);
  expect(stderr.includes('4.x') || (serverVersion[0] === '3' && stderr.includes('secret prune'))).toBe(false);
});

// holds: C2.5
test('secret list in CI prints no alias as a command that the runner of the job obeys', async () => {
  const secrets = ['::stop-commands::x', '\u0007 ::error::y', 'a##[add-mask]z'].map((alias) => ({
    alias,
    value: 'v'.repeat(32),
    user: 'tigergraph',
    graph: 'demo',
  }));
  const { run } = await bench({ secrets });
  const { stdout } = await run('secret list', { env: { CI: 'true' } });
  expect(stdout).toContain('\\::stop-commands::x');
  expect(stdout).toContain('\\::error::y');
  expect(stdout).not.toMatch(/^\s*::|##\[/m);
});

test('secret list without secrets prints a note for people, which on 4.x names no graph, as a secret belongs to none', async () => {
  const { run } = await bench({ serverVersion: '4.1.2' });
  const stderr = 'graphcred: there are no secrets; make one: graphcred secret create NAME\n';
  expect(await run('secret list')).toEqual({ status: 0, stdout: '', stderr });
});

test('secret list does not mark a secret whose saved value it cannot compare', async () => {
  const { run } = await bench({ serverVersion: '3.6.1' });
  const stdin = (await run('secret create ci')).stdout;
  expect((await run('login -p dev --secret-stdin', { stdin })).status).toBe(0);
  expect((await run('secret list')).stdout).toMatch(/^ci .* here$/m);
  const env = { GRAPHCRED_STORE_KEY: Buffer.alloc(32, 7).toString('base64') };
  expect((await run('secret list', { env })).stdout).toMatch(/^ci .* -$/m);
});
