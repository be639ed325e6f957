// Which programs graphcred finds on Windows, and what reaches them.
import fs from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { sandboxFor } from '../helpers/process.js';
import { native, type RunOptions, type Windows, windows, windowsSkipReason } from './windows.js';

/** Arguments that a batch file is given unchanged. */
const SAFE = [
  ...['plain', '', 'two words', 'a  b', '^', 'a^b', '^^', '&', 'a&calc', '&&', '|', 'a|b', '<in', '>out'],
  ...['(x)', ')', 'a,b', 'a;b', 'a=b', 'trailing\\', 'tr ailing\\', 'two\\\\', 'two \\\\', '\\', '/?'],
  ...['\\\\srv\\share\\', 'tab\tx', "it's", '$HOME', '`x`', '@x', '~', '*', '?', '{a}', '[b]', '-flag', '/c'],
  ...['äöü', '日本', '#', ' ', '2>&1', 'a & b | c > d ^'],
];
/** Those that cmd.exe, or a batch file that turns delayed expansion on, may read as something else. */
const UNSAFE = ['"', 'a"b', '"&calc', 'x\\"y', '%PATH%', '100%', '%', '!', '!PATH!', 'new\nline', 'cr\rx'];

describe.skipIf(windowsSkipReason() !== undefined)('on Windows', () => {
  let machine: Windows;
  beforeAll(async () => {
    machine = await windows();
    put('show.cjs', 'console.log(JSON.stringify(process.argv.slice(2)));');
    put('tools/show.cmd', `@echo off\r\n"${machine.node}" "${native(file('show.cjs'))}" %*\r\n`);
    put('seven.bat', '@exit 7\r\n');
    return () => machine.remove();
  }, 120_000);

  const file = (name: string) => path.join(machine.work, name);
  function put(name: string, text: string): string {
    fs.mkdirSync(path.dirname(file(name)), { recursive: true });
    fs.writeFileSync(file(name), text);
    return native(file(name));
  }

  async function execIn() {
    const { env } = await sandboxFor(machine.home);
    return (command: readonly string[], options: RunOptions = {}) =>
      machine.graphcred(['exec', '--store', 'none', '--', ...command], { env, ...options });
  }

  // holds: C14.2
  test('an .exe is given every argument unchanged', async () => {
    const exec = await execIn();
    const args = [...SAFE, ...UNSAFE];
    const { stdout, status } = await exec([machine.node, native(file('show.cjs')), ...args]);
    expect({ args: JSON.parse(stdout), status }).toEqual({ args, status: 0 });
  });

  // holds: C14.2
  test('a .cmd is given each argument unchanged, or is not run', async () => {
    const exec = await execIn();
    const tools = native(file('tools'));
    const { stdout, status } = await exec(['show', ...SAFE], { path: tools });
    expect({ args: JSON.parse(stdout), status }).toEqual({ args: SAFE, status: 0 });
    for (const arg of UNSAFE) {
      const refused = await exec(['show', 'first', arg], { path: tools });
      expect({ arg, ...refused }).toMatchObject({ arg, status: 2, stdout: '' });
      expect(refused.stderr).toContain('Argument 2 of the batch file show.cmd');
    }
  });

  // holds: C14.2
  test('exec finds a batch file where cmd does, and ends with its status', async () => {
    const exec = await execIn();
    for (const name of ['seven', 'seven.bat', native(file('seven')), '..\\work\\seven.bat'])
      expect(await exec([name])).toMatchObject({ status: 7 });
    expect(await exec(['not-there'])).toMatchObject({ status: 127 });
    expect(await exec(['seven'], { cwd: file('tools') })).toMatchObject({ status: 127 });
    const text = await exec([put('notes.txt', 'x')]);
    expect(text).toMatchObject({ status: 126, stderr: expect.stringContaining('powershell -File') });
  });

  // holds: C4.5
  test('a program of a setting is never one of the working folder', async () => {
    const { restUrl, gsqlUrl, graph, username, password } = (await sandboxFor(machine.home)).sandbox;
    const profiles = { default: { restUrl, gsqlUrl, graph, username, passwordCommand: ['pass-tool'] } };
    const config = put('clone/own.json', JSON.stringify({ profiles }));
    for (const name of ['clone/pass-tool.cmd', 'clone/bin/pass-tool.exe', 'clone/pass-tool.exe'])
      put(name, '@echo planted\r\n');
    const line = ['token', 'get', '--config', config, '--store', 'none'];
    const cwd = file('clone');
    const missing = await machine.graphcred(line, { cwd, path: '.;;bin' });
    expect(missing).toMatchObject({ status: 2, stderr: expect.stringContaining('pass-tool was not found') });
    put('tools/pass-tool.cmd', `@echo ${password}\r\n`);
    const found = await machine.graphcred(line, { cwd, path: `.;;bin;${native(file('tools'))}` });
    expect(found).toMatchObject({ status: 0, stderr: '' });
  });
});
