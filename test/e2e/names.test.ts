import { describe, expect, test } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/server.js';
import { temporaryHome } from '../helpers/cli.js';
import { sandboxFor, start } from '../helpers/process.js';

/** Starts a sandbox, and returns a function that runs the built command in a home of its own. */
async function scene(options: SandboxOptions) {
  const home = temporaryHome();
  const { env } = await sandboxFor(home, options);
  return (argv: readonly string[], more: Record<string, string> = {}) =>
    start(argv, { ...env, GRAPHCRED_STORE: 'file', ...more }, '', home).ended;
}

const words = (line: string) => line.split(' ');

const NAMES = [
  `it's "quoted"`,
  '$(touch pwned)',
  '`touch pwned`;rm',
  'line\nbreak\r\u2028x',
  '\u001b[31mred\u0007',
  'grüße 図 🦆',
  '--output=json',
  '-o',
  '__proto__',
  '$HOME%0A\\',
];

/** Matches characters that a terminal may interpret, except the line breaks of a table. */
const CONTROL = /(?!\n)[\p{Cc}\u2028\u2029]/u;

describe('names that somebody else has chosen', () => {
  // Each name is tried on 3.x, and the worst of them on 4.x as well.
  const on3 = NAMES.map((name) => [name, '3.10.1'] as const);
  test.each([...on3, [NAMES.join(''), '4.1.2'] as const])(
    '%j as graph and user on %s are escaped',
    async (name, serverVersion) => {
      const print = await scene({
        serverVersion,
        graphs: ['demo', name],
        users: [
          { name: 'tigergraph', password: 'tigergraph', role: 'superuser' },
          { name, password: 'x', role: 'superuser' },
        ],
      });
      const more = { GRAPHCRED_GRAPH: name, GRAPHCRED_USERNAME: name, GRAPHCRED_PASSWORD: 'x' };
      const json = async (line: string) => {
        const { stdout, stderr } = await print(words(`${line} -v -o json`), more);
        expect({ line, stderr, stdout }).toMatchObject({ stdout: expect.stringMatching(/^\{[^\n]*\}\n$/) });
        return JSON.parse(stdout);
      };
      expect(await json('token get')).toMatchObject({ graph: name });
      const { tokens } = await json('token list');
      expect(tokens).toContainEqual(expect.objectContaining({ graph: name, principal: `user:${name}` }));
      expect(await json('status')).toMatchObject({ token: { state: 'valid' } });
      const { settings } = await json('config show');
      expect(settings).toContainEqual(expect.objectContaining({ name: 'username', value: name }));
      // For people the list has one line for each record, and no character that a terminal would interpret.
      const list = (await print(words('token list'), more)).stdout;
      expect(list.split('\n')).toHaveLength(tokens.length + 2);
      const shown = await print(words('config show'), more);
      for (const text of [list, shown.stdout, shown.stderr]) expect(text).not.toMatch(CONTROL);
      const script = 'process.stdout.write(process.env.TG_GRAPHNAME)';
      const child = await print(['exec', '--', process.execPath, '-e', script], more);
      expect(child).toMatchObject({ status: 0, stdout: name });
    },
  );
});
