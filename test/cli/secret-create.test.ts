import { expect, onTestFinished, test } from 'vitest';
import { parseFault } from '../../src/sandbox/args.js';
import { bench } from '../helpers/cli.js';

/** Starts a sandbox, and sends Ctrl-C to the command that makes a request to this path. */
async function interruptedAt(route: string) {
  const before = process.listeners('SIGINT');
  const ours = () => process.listeners('SIGINT').filter((listener) => !before.includes(listener));
  onTestFinished(() => {
    for (const listener of ours()) process.off('SIGINT', listener);
  });
  return bench({
    log: (line) => {
      if (JSON.parse(line).path === route)
        for (const listener of ours()) (listener as NodeJS.SignalsListener)('SIGINT');
    },
  });
}

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
