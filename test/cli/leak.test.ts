import { describe, expect, test } from 'vitest';
import { bench, cli } from '../helpers/cli.js';
import { blocksOf, unused } from '../helpers/docs.js';

/** Runs the commands under a heading of the page; a file on stdin is given as text. */
async function runSteps(
  heading: string,
  run: (line: string, stdin: string) => Promise<{ status: number }>,
  stdin = '',
) {
  for (const { text } of blocksOf('leak.md').filter((one) => one.heading === heading))
    for (const line of text.trim().split('\n')) {
      const words = line.replace(/^(?:\(umask 077; )?graphcred /, '').replace(/ [<>] .*/, '');
      expect(await run(words, stdin), line).toMatchObject({ status: 0 });
    }
}

describe.each(['3.10.1', '4.1.2'])('the steps of docs/leak.md on %s', (serverVersion) => {
  const prepare = async () => {
    const used = await bench({ serverVersion });
    await used.run('secret create nightly --save');
    const { GRAPHCRED_PASSWORD: _, ...env } = used.env;
    const saved = (line: string) => cli(used.home, line.split(' '), { env });
    const { token } = JSON.parse((await saved('token get -o json')).stdout) as { token: string };
    const status = async () => (await used.run('token check --token-stdin', { stdin: token })).status;
    const run = (line: string, stdin: string) => used.run(line, { stdin });
    expect(await status()).toBe(0);
    return { ...used, token, status, steps: run };
  };

  // holds: C2.29, C2.35
  test.each(['A secret', 'A token', 'A store key'])('%s: the leaked token is refused', async (heading) => {
    const { steps, token, status, json } = await prepare();
    await runSteps(heading, steps, token);
    expect(await status()).toBe(4);
    expect(await json('token list')).toEqual({ schemaVersion: 1, tokens: [] });
  });
});

test('every block of the page was run', () => {
  expect(unused('test/cli/leak.test.ts')).toEqual([]);
});
