import { describe, expect, test } from 'vitest';
import { GraphConnection } from '../../src/index.js';
import { blocksOf, unused } from '../helpers/docs.js';
import { testSandbox } from '../helpers/sandbox.js';

const EXAMPLES = blocksOf('library.md').filter(({ language }) => language === 'js');
/** The constructor of async functions. It makes a function from a text, as `new Function` does. */
const AsyncFunction = (async () => {}).constructor as new (
  ...words: string[]
) => (...values: unknown[]) => Promise<void>;

describe.each(['3.10.1', '4.1.2'])('on a server of version %s', (serverVersion) => {
  test('the examples of the library page run in order, and return what the page says', async () => {
    const sandbox = await testSandbox({ serverVersion, graphs: ['social'] });
    const { restUrl, gsqlUrl, username, password } = sandbox;
    const connection = new GraphConnection({ restUrl, gsqlUrl, graph: 'social', username, password });
    const [introduction, ...examples] = EXAMPLES;
    expect(introduction?.text).toContain("from 'graphcred'");
    expect(examples.length).toBeGreaterThan(12);
    const shown: unknown[] = [];
    const console = { log: (...values: unknown[]) => shown.push(...values) };
    for (const { heading, text } of examples) {
      if (heading === 'getToken') expect(await connection.getSecrets()).not.toHaveProperty('report');
      await expect(
        new AsyncFunction('connection', 'console', text)(connection, console),
        `${heading} does not run`,
      ).resolves.toBeUndefined();
    }
    expect(connection.apiToken).toMatch(/\S{20}/);
    expect(Object.keys(await connection.getSecrets())).toContain('nightly');
  });
});

test('this file runs every block that it lists', () => {
  expect(unused('test/cli/library-page.test.ts')).toEqual([]);
});
