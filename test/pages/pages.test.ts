// Runs the code blocks of the pages that no other test runs.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { defaultLoaders } from 'cosmiconfig';
import { expect, test } from 'vitest';
import { parseFault } from '../../src/sandbox/faults.js';
import { settingsFor, temporaryHome } from '../helpers/cli.js';
import { block, unused } from '../helpers/docs.js';
import { endOf, putCommand, start } from '../helpers/process.js';
import { testSandbox } from '../helpers/sandbox.js';

const linesOf = (text: string) => text.trimEnd().split('\n');

/** Creates a home with `graphcred` on its PATH. */
function homeWithCommand(): { home: string; env: Record<string, string>; bin: string } {
  const home = temporaryHome();
  const bin = putCommand(home);
  return { home, bin, env: { PATH: `${bin}:${process.env.PATH}`, HOME: home } };
}

const shell = (script: string, cwd: string, env: Record<string, string>) =>
  endOf(spawn('sh', ['-e', '-c', script], { cwd, env }));

test('sandbox.md: each of its command lines does what the page says', async () => {
  const [usual = '', any = '', beside = ''] = linesOf(block('dev/sandbox.md', 'The sandbox', 'sh'));
  const words = (line: string) => line.replace(/ *#.*/, '').split(' ').slice(1);
  for (const [line, version] of [
    [`${words(usual).join(' ')} --rest-port 0 --gsql-port 0`, '3.10.1'],
    [words(any).join(' '), '4.1.2'],
  ] as const) {
    const { child, ended } = start(line.split(' '), { HOME: temporaryHome() }, 'open');
    const ready = new Promise<string>((resolve) =>
      child.stdout?.once('data', (text) => resolve(String(text))),
    );
    expect(JSON.parse(await ready)).toMatchObject({ serverVersion: version });
    child.kill('SIGTERM');
    expect((await ended).status).toBe(0);
  }
  const { home, env } = homeWithCommand();
  expect(await shell(beside, home, env)).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^[a-z0-9]{32}\n$/),
  });
});

test('sandbox.md: each of its faults is valid', async () => {
  const faults = linesOf(block('dev/sandbox.md', 'Faults', 'sh')).map(
    (line) => /^--fault '(.*)'$/.exec(line)?.[1],
  );
  expect(faults.length).toBeGreaterThan(3);
  for (const fault of faults) expect(() => parseFault(fault ?? '')).not.toThrow();
});

test('fidelity.md: the requests can be printed without sending them', async () => {
  const script = block('dev/fidelity.md', 'Ask a real server', 'sh').replace('npm run', 'npm run --silent');
  const { status, stdout } = await shell(script, process.cwd(), process.env as Record<string, string>);
  expect(status).toBe(0);
  expect(stdout).toContain('To a server of 4.x:');
});

test('kubernetes.md: the command of the CronJob gives kubectl a Secret', async () => {
  const text = block('ci/kubernetes.md', 'A token in a Secret', 'yaml');
  const job = defaultLoaders['.yaml']('job.yaml', text);
  const [container] = job.spec.jobTemplate.spec.template.spec.containers;
  const [program, flags, script] = container.command;
  expect([program, flags]).toEqual(['sh', '-ec']);
  const { home, env, bin } = homeWithCommand();
  fs.writeFileSync(path.join(bin, 'kubectl'), '#!/bin/sh\ncat "$3"\n', { mode: 0o755 });
  const sandbox = await testSandbox();
  const { status, stdout } = await shell(script.replaceAll('/dev/shm', home), home, {
    ...env,
    ...settingsFor(sandbox),
  });
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ kind: 'Secret', metadata: { name: 'graph-token' } });
});

test('fleet.md: the rights are those of the Redis users in the tests', () => {
  const lines = linesOf(block('fleet.md', 'Rights', 'text'));
  const ours = fs.readFileSync('test/helpers/redis.ts', 'utf8').replace(/>(minting|reading) /g, '>PASSWORD ');
  expect(lines).toHaveLength(2);
  for (const line of lines) expect(ours).toContain(line);
});

test('this file runs every block that it lists', () => {
  expect(unused('test/pages/pages.test.ts')).toEqual([]);
});
