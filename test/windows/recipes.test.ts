// Runs the recipes of docs/windows.md.
import fs from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { block, unused } from '../helpers/docs.js';
import { BIN, sandboxFor } from '../helpers/process.js';
import { native, type Windows, windows, windowsSkipReason } from './windows.js';

const onWindows = process.platform === 'win32';
const page = (heading: string, language: string, at = 0) => block('windows.md', heading, language, at);

describe.skipIf(windowsSkipReason() !== undefined)('on Windows', () => {
  let machine: Windows;
  beforeAll(async () => {
    machine = await windows();
    // As npm installs the command.
    put('bin/graphcred.cmd', `@"${machine.node}" "${native(BIN)}" %*`);
    put('load.cmd', `@"${machine.node}" -e "console.log(process.env.TG_API_TOKEN.length); process.exit(7)"`);
    return () => machine.remove();
  }, 120_000);

  function put(name: string, text: string): string {
    const file = path.join(machine.work, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text.replace(/\r?\n/g, '\r\n'));
    return native(file);
  }

  async function options() {
    const { env } = await sandboxFor(machine.home);
    return { env, path: `${native(path.join(machine.work, 'bin'))};${path.win32.dirname(machine.node)}` };
  }
  const cmd = async (script: string, more: Record<string, string> = {}) => {
    const { env, path: first } = await options();
    const words = ['/d', '/c', put('job.cmd', script)];
    return machine.run('cmd', words, { env: { ...env, ...more }, path: first });
  };

  test('the script of cmd runs a program with a token and ends with its status', async () => {
    const result = await cmd(page('A script of cmd', 'bat'), { GRAPHCRED_STORE: 'none' });
    expect(result).toMatchObject({ status: 7, stdout: '32\n' });
  });

  test.skipIf(!onWindows)('the script of cmd with a variable runs a program with a token', async () => {
    const result = await cmd(page('A variable of cmd', 'bat'), { GRAPHCRED_STORE: 'none' });
    expect(result).toMatchObject({ status: 7, stdout: '32\n' });
  });

  test('the job of the Task Scheduler writes what happens to a file', async () => {
    expect(await cmd(page('Task Scheduler', 'bat'))).toMatchObject({ status: 7, stdout: '' });
    const log = path.join(machine.home, 'AppData/Local/load.log');
    expect(fs.readFileSync(log, 'utf8')).toBe('32\n');
  });

  test('the step of the Windows runner runs a program with a token', async () => {
    const words = ['exec', '--revoke', '--lifetime', '15m', '--', '.\\load.cmd'];
    const result = await machine.graphcred(words, { ...(await options()), cwd: machine.work });
    expect(result).toMatchObject({ status: 7, stdout: '32\n' });
  });

  test.skipIf(!onWindows)('the script of PowerShell runs a program with a token', async () => {
    const script = put('job.ps1', page('A script of PowerShell', 'powershell'));
    const words = ['-NoProfile', '-ExecutionPolicy', 'Bypass', '-File', script];
    const { env, path: first } = await options();
    const result = await machine.run('powershell', words, {
      env: { ...env, GRAPHCRED_STORE: 'none' },
      path: first,
    });
    expect(result.stdout).toContain('32');
  });

  test('every recipe of the page was run', () => {
    const left = unused('test/windows/recipes.test.ts');
    // Wine has no PowerShell, and its cmd cannot read the output of a program.
    const onWine = /A script of PowerShell|A variable of cmd/;
    expect(onWindows ? left : left.filter((name) => !onWine.test(name))).toEqual([]);
  });
});
