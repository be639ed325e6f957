// Runs every built command once, as a process with files of its own. test/cli tests what each command does.
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { EVERY_COMMAND } from '../helpers/every-command.js';
import { sandboxFor, start } from '../helpers/process.js';

/** The command lines, run in this order in one home: the command, its other words, and the expected output; then the rest. */
const JOB: [command: string, words: string, printed: RegExp][] = [
  ['completion', 'bash', /\ncomplete -F _graphcred graphcred\n$/],
  ['secret create', 'ci --save', /^Secret "ci" is saved in the file store\.\n$/],
  ['secret list', '', /\nci +\S{3}\*{4}\S{3} +demo +here\n$/],
  ['token get', '', /^[a-z0-9]{32}\n$/],
  ['token list', '', /demo +tigergraph +file/],
  ['token check', '', /^The server accepts the token\.\n$/],
  ['token refresh', '', /^[a-z0-9]{32}\n$/],
  ['exec', '-- printenv TG_GRAPHNAME', /^demo\n$/],
  ['proxy', '-- printenv TG_HOST', /^http:\/\/127\.0\.0\.1\n$/],
  ['api', '/echo', /"message":"Hello GSQL"/],
  ['status', '', /\n {2}token +valid, 30d left until /],
  ['doctor', '', /\nok +rest-auth +on\n/],
  ['login', '-p dev', /^Logged in to \S+ as profile "dev" /],
  ['profile list', '', /\* +dev /],
  ['profile use', 'dev', /^The default profile is now "dev" /],
  ['config path', '', /config\.json\n$/],
  ['config show', '', /\ngraph +demo +GRAPHCRED_GRAPH /],
  ['config trust', 'here.json', /^Trusted until its content changes: /],
  ['secret rotate', 'ci', /^Secret "ci" has a new value/],
  ['secret prune', '--yes', /no unused secret is named AUTO_GENERATED_ALIAS_…/],
  ['token delete', '--all', /^Deleted 1 token\.\n$/],
  ['logout', '', /^Deleted 1 saved credential from /],
  ['secret drop', 'ci', /^Dropped: ci\n$/],
  ['profile remove', 'dev --yes', /dev/],
];

test('every built command starts and does its work', async () => {
  const home = temporaryHome();
  const { env } = await sandboxFor(home, { serverVersion: '3.10.1' });
  const all = { ...env, GRAPHCRED_STORE: 'file' };
  fs.writeFileSync(path.join(home, 'here.json'), '{"graph":"demo"}', { mode: 0o600 });
  for (const [command, words, printed] of JOB) {
    const argv = `${command} ${words}`.split(' ').filter(Boolean);
    const { status, stdout, stderr } = await start(argv, all, '', home).ended;
    expect({ command, status, printed: stdout + stderr }).toEqual({
      command,
      status: 0,
      printed: expect.stringMatching(printed),
    });
  }
  const { child, ended } = start(['sandbox', '--rest-port', '0', '--gsql-port', '0'], { HOME: home });
  await once(child.stdout as NodeJS.ReadableStream, 'data');
  child.kill('SIGTERM');
  expect(await ended).toMatchObject({
    status: 0,
    signal: null,
    stdout: expect.stringContaining('http://127.0.0.1:'),
  });
  const known = [...JOB.map(([command]) => command), 'sandbox'];
  for (const { path: command, lines } of EVERY_COMMAND.filter((one) => !known.includes(one.path)))
    for (const line of lines)
      expect({ command, ...(await start(line.split(' '), all, '', home).ended) }).not.toMatchObject({
        status: 1,
      });
});
