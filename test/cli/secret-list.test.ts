import { expect, test } from 'vitest';
import { bench } from '../helpers/cli.js';

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
  const { run } = await bench();
  const stdin = (await run('secret create ci')).stdout;
  expect((await run('login -p dev --secret-stdin', { stdin })).status).toBe(0);
  expect((await run('secret list')).stdout).toMatch(/^ci .* here$/m);
  const env = { GRAPHCRED_STORE_KEY: Buffer.alloc(32, 7).toString('base64') };
  expect((await run('secret list', { env })).stdout).toMatch(/^ci .* -$/m);
});
