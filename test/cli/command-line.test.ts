import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/args/catalogue.js';
import { parseCommandLine } from '../../src/cli/args/parse.js';
import { parseTokenGet } from '../../src/cli/args/parse-token-get.js';
import type { CommandSpec } from '../../src/cli/command.js';
import type { Context } from '../../src/cli/context.js';
import { bench } from '../helpers/cli.js';
import { put } from '../helpers/home.js';

describe('the fast parser and commander', () => {
  const hot = COMMANDS.find(({ path }) => path === 'token get') as CommandSpec;
  const nobody = { isTTY: false, columns: undefined, write: () => {} };
  const quickly = (argv: readonly string[]) => parseTokenGet(['token', 'get', ...argv]);
  const slowly = async (argv: readonly string[]) => {
    const line = ['token', 'get', ...argv];
    const ctx = { argv: line, version: '0', stdout: nobody, stderr: nobody } as unknown as Context;
    const { args, flags } = (await parseCommandLine(ctx, line)) ?? { args: undefined, flags: undefined };
    return { args, flags };
  };

  test.each(['--help', '-h', 'word', '--bogus', '--fresh=yes', '-o xml', '--graph', '--graph=', '--gra x'])(
    'the fast parser leaves %s to commander',
    (line) => {
      expect(quickly(line.split(' '))).toBeUndefined();
    },
  );

  test.each(['-o json token list', 'token -o json list', 'token list -o json'])(
    'an option stands before, in or behind the command: %s',
    async (line) => {
      const { json } = await bench();
      expect(await json(line)).toEqual({ schemaVersion: 1, tokens: [] });
    },
  );

  test.each(['-- status', 'secret -- list', '--no-color -- token get'])(
    'a command behind -- is refused: %s',
    async (line) => {
      const { run } = await bench();
      expect(await run(line)).toMatchObject({ status: 2, stdout: '' });
    },
  );

  test('agree on every command line that the fast parser accepts', async () => {
    const words = hot.options.flatMap(({ name, short, value, choices }) => {
      const shown = choices?.[0] ?? 'x';
      const long = value === undefined ? [`--${name}`, `--${name}=x`] : [`--${name}`, `--${name}=${shown}`];
      return short ? [...long, `-${short}`, `-${short}${shown}`, `-${short}=${shown}`] : long;
    });
    const word = fc.constantFrom(...words, 'json', 'x', '', '-', '--', '-1', '--no-', '-vq', '-h', 'a b');
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 5 }), async (argv) => {
        const quick = quickly(argv);
        if (quick) expect(await slowly(argv)).toEqual({ args: quick.args, flags: { ...quick.flags } });
      }),
      { numRuns: 1500 },
    );
  });
});

describe('a credential on the command line', () => {
  const SECRET = 'abcdefghijklmnop0123456789abcdef';

  // holds: C2.3
  test.each([
    [['token', 'get', '--password=hunter2'], '--password-stdin'],
    [['--token', 'hunter2', 'token', 'delete'], '--token-stdin'],
    [['no-such-command', '--secret=hunter2'], '--secret-stdin'],
    [['token', 'get', '-p', 'sandbox', '--password=hunter2'], '--password-stdin'],
    [['secret', 'create', SECRET], 'secret list'],
    [['exec', '--password=hunter2', '--', 'true'], '--password-stdin'],
    [['secret', 'drop', '--', 'ok', SECRET], 'secret list'],
    [['token', 'delete', `eyJhbGciOiJIUzI1NiJ9.${SECRET}.c2ln`], 'secret list'],
    [['token', 'get', `-p=${SECRET}`], 'secret list'],
    [['token', 'delete', `Bearer eyJhbGciOiJIUzI1NiJ9.${SECRET}.c2ln`], 'secret list'],
  ])('%j is refused, not repeated, and nothing is sent', async (argv, way) => {
    const { run, requests } = await bench();
    for (const more of [[], ['-o', 'json']]) {
      const at = argv.indexOf('--');
      const line = at === -1 ? [...argv, ...more] : argv.toSpliced(at, 0, ...more);
      const { status, stdout, stderr } = await run(line);
      expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
      expect(stderr).not.toMatch(/hunter2|abcdefghijklmnop/);
      const told = more.length === 0 ? stderr : JSON.parse(stderr).error.hint;
      expect(told).toContain(way);
    }
    expect(requests()).toEqual([]);
  });
});

test.each(['exec', 'proxy'])('%s passes on an argument that looks like a secret', async (command) => {
  const { run } = await bench();
  const argv = [command, '--store', 'none', '--', 'test', 'abcdefghijklmnop0123456789abcdef', '=', 'other'];
  expect(await run(argv)).toMatchObject({ status: 1, stderr: '' });
});

describe('wrong arguments', () => {
  test.each([
    [['token', 'hunter2'], /Unknown command[\s\S]*get, refresh/],
    [['token', 'get', 'hunter2'], /Too many arguments/],
    [['token', 'get', '--pass=hunter2'], /Unknown option '--pass'/],
    [['token', 'get', '-xhunter2'], /Unknown option '-x'/],
    [['secret', 'drop', 'hunter2', '--yes', '-p', ''], /--profile is empty/],
    [['token', 'delete', '01234567', ''], /value of <id> is empty/],
    [['token', 'delete', '--token-stdin', '--all'], /cannot be combined/],
    [['exec', '-q', '--', ''], /value of <command> is empty/],
    [['__proto__', 'toString'], /Unknown command/],
    [['token', 'get', '--server-version', 'hunter2'], /server version/],
    [['token', 'get', '--gsql-url', 'http://me:hunter2@127.0.0.1:1'], /--gsql-url/],
  ])('%j cause one line and a hint, without the typed words', async (argv, message) => {
    const { run, requests } = await bench();
    const text = await run(argv);
    expect(text).toMatchObject({ status: 2, stdout: '' });
    expect(text.stderr).toMatch(/^graphcred: [^\n]+\nhint: [^\n]+\n$/);
    expect(text.stderr).toMatch(message);
    expect(text.stderr).not.toContain('hunter2');
    // `-o json` applies although it stands before the mistake.
    const json = await run([...argv.slice(0, 2), '-o', 'json', ...argv.slice(2)]);
    expect(json).toMatchObject({ status: 2, stdout: '' });
    const sentence = expect.any(String);
    expect(JSON.parse(json.stderr)).toEqual({
      error: { code: 'USAGE', message: sentence, hint: sentence, exitCode: 2, retryable: false },
    });
    expect(json.stderr).not.toContain('hunter2');
    expect(requests()).toEqual([]);
  });

  test.each([
    ['exec -o github', 'choose one of: text, json\n'],
    ['secret list --json', 'did you mean -o json? '],
    ['completion --json', 'see: graphcred completion --help\n'],
  ])('%s names what gives that', async (line, hint) => {
    const { run } = await bench();
    expect((await run(line)).stderr).toContain(`\nhint: ${hint}`);
  });

  test.each([
    ['wait', 'soon'],
    ['server-version', '3.x'],
    ['server-version', '5'],
  ])(
    '--%s %s is refused with or without a cached token, and with exit 5 if a file sets it',
    async (name, value) => {
      const { run, home } = await bench();
      await run('token get');
      expect(await run(`token get --${name} ${value}`)).toMatchObject({ status: 2, stdout: '' });
      expect(
        await run('token get', {
          env: { [`GRAPHCRED_${name.replace('-', '_').toUpperCase()}`]: value },
        }),
      ).toMatchObject({ status: 2, stdout: '' });
      const file = put(home, 'named.json', { [name === 'wait' ? name : 'serverVersion']: value });
      const inFile = await run(`token get -o json --config ${file}`);
      expect({ status: inFile.status, code: JSON.parse(inFile.stderr).error.code }).toEqual({
        status: 5,
        code: 'CONFIG_INVALID',
      });
    },
  );
});
