// Tests a hostile server from the command line: no control character that it sends reaches the terminal, and an answer that is not valid is reported
// as such. The library is tested in test/contract/core-hostile.test.ts.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cli, type RunOptions, temporaryHome } from '../helpers/cli.js';

const ESC = '\u001b';
const TAG = String.fromCodePoint(0xe0041);
/**
 * Colours, a title, a link and a command that clears the screen, each in 7 and in 8 bits; direction marks; characters that hide or overwrite others.
 */
const EVIL =
  `${ESC}[31mred${ESC}]0;title\u0007${ESC}]8;;http://evil.example/${ESC}\\click${ESC}]8;;${ESC}\\${ESC}[2J${ESC}c${ESC}P1$q${ESC}\\` +
  `\u009b31m\u009d0;title\u009c\u0085\u202eabc\u202c\u2066x\u2069\u200f\u061c\u200b\ufeff\u2028\u2029${TAG}\b\b\r over`;
/** Matches every character of the Unicode category C except the line feed, and the two Unicode line ends, which terminals do not treat as such. */
const OBEYED = /[^\P{C}\n]|[\u2028\u2029]/u;

const TOKEN = `${'t'.repeat(31)}1`;

type Answer = [status: number, body: string, headers?: Record<string, string>];

async function server(
  answer: (route: string, body: string) => Answer | 'drip',
): Promise<{ env: Record<string, string>; asked: string[] }> {
  const asked: string[] = [];
  const created = createServer((request: IncomingMessage, response: ServerResponse) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text) => {
      body += text;
    });
    request.on('end', () => {
      const route = `${request.method} ${request.url?.split('?')[0]}`;
      asked.push(route);
      const made = answer(route, decodeURIComponent(body.replaceAll('+', ' ')));
      if (made === 'drip') {
        response.writeHead(200, { 'content-type': 'application/json' });
        const timer = setInterval(() => response.write(' '), 50);
        response.on('close', () => clearInterval(timer));
        return;
      }
      const [status, text, headers] = made;
      response.writeHead(status, headers).end(text);
    });
  });
  await new Promise<void>((resolve) => created.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    created.close();
    created.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(created.address() as AddressInfo).port}`;
  const env = {
    GRAPHCRED_REST_URL: url,
    GRAPHCRED_GSQL_URL: url,
    GRAPHCRED_GRAPH: 'demo',
    GRAPHCRED_USERNAME: 'ada',
    GRAPHCRED_PASSWORD: 'correct-horse',
    // graphcred's own colours would be found too.
    NO_COLOR: '1',
    GRAPHCRED_STORE: 'file',
  };
  return { env, asked };
}

const VALUE = 's3cret0000000000000000000000wxyz';
const json = (value: unknown, status = 200): Answer => [
  status,
  JSON.stringify(value),
  { 'x-evil': '\u009b31m' },
];

/** Starts a server that accepts every request and puts control characters into its answers. */
function agreeable(is4: boolean) {
  return (route: string, body: string): Answer => {
    const listed = [
      { alias: `AUTO_GENERATED_ALIAS_${EVIL}`, value: VALUE },
      { alias: 'ci', value: `${VALUE.slice(0, 31)}${is4 ? '' : EVIL}` },
    ];
    if (route === 'GET /gsql/v1/version') return is4 ? [200, `GSQL version: 4.1.2\n${EVIL}`] : [404, EVIL];
    if (route === 'POST /gsqlserver/gsql/version') return [200, `GSQL version: 3.10.1 ${EVIL}`];
    if (route.endsWith('/gsql/file')) {
      if (body.includes('CREATE'))
        return [200, `The secret: ${VALUE} has been created for user "${EVIL}".\n`];
      if (body.includes('DROP')) return [200, `Successfully dropped secrets: [${EVIL}].\n`];
      const entry = ({ alias, value }: { alias: string; value: string }) =>
        `    - Secret: ${value.replace(/[\r\n\u2028\u2029\u0085]/g, '')}\n      - Alias: ${alias.replace(/[\r\n]/g, '')}\n      - GraphName: ${EVIL.replace(/[\r\n]/g, '')}\n`;
      return [200, `Using graph 'demo'\n${listed.map(entry).join('')}__GSQL__RETURN__CODE__,0\n`];
    }
    if (route === 'GET /gsql/v1/secrets') return json({ error: false, message: EVIL, results: listed });
    if (route === 'POST /gsql/v1/secrets')
      return json({ error: false, message: EVIL, results: { alias: `a${EVIL}`, value: VALUE } });
    if (/token/.test(route))
      return json({ error: false, message: EVIL, token: 't'.repeat(32), expiration: EVIL });
    return json({ error: false, message: EVIL, results: [{ [EVIL]: EVIL }] });
  };
}

function disagreeable(is4: boolean, status: number, words: string) {
  const yes = agreeable(is4);
  return (route: string, body: string): Answer => {
    if (/version$/.test(route)) return yes(route, body);
    if (route.endsWith('/gsql/file')) return [status, `${words} ${EVIL}\n`];
    return json({ error: true, code: `REST-${EVIL}`, message: `${words} ${EVIL}` }, status);
  };
}

const LINES = [
  'secret list',
  'secret create fresh',
  'secret create kept --save',
  'secret drop ci other',
  'secret prune --dry-run',
  'secret prune --yes',
  'secret rotate ci',
  'token get',
  'token get --fresh',
  'token refresh',
  'token list',
  'token check',
  'status',
  'status --all-profiles',
  'doctor',
  'api /echo -i',
  'api --service /gsql/v1/auth/simple',
  'login -p other',
  'config show',
  'token delete',
  'logout --revoke',
];

describe.each(['3.10.1', '4.1.2'])('%s', (version) => {
  const is4 = version.startsWith('4');
  const servers: [string, (route: string, body: string) => Answer][] = [
    ['says yes', agreeable(is4)],
    ['says no', disagreeable(is4, 200, 'no')],
    ['does not know the graph', disagreeable(is4, 200, 'graph could not be found')],
    ['wants another login', disagreeable(is4, 401, 'Please re-login after')],
    ['denies it', disagreeable(is4, 403, 'permission denied')],
    ['is starting', disagreeable(is4, 503, 'is starting')],
    ['shows a page', () => [500, `<html>${EVIL}</html>`]],
    ['talks', () => [200, EVIL]],
  ];

  test.each(servers)(
    'no control character of a server that %s reaches the terminal',
    async (_name, answer) => {
      const { env } = await server(answer);
      const home = temporaryHome();
      const obeyed: string[] = [];
      for (const line of LINES)
        for (const more of [['-v'], ['-v', '-o', 'json']]) {
          const options: RunOptions = { env, terminal: true };
          const { stdout, stderr } = await cli(home, [...line.split(' '), ...more], options);
          for (const [name, text] of Object.entries({ stdout, stderr }))
            if (OBEYED.test(text.replace(/\t/g, ' ')))
              obeyed.push(`${line} ${more.join(' ')}: ${name}: ${JSON.stringify(text)}`);
          // Without a terminal the lines are the same, except for `api`, which prints the answer unchanged.
          if (line.startsWith('api')) continue;
          const piped = await cli(home, [...line.split(' '), ...more], { env });
          if (OBEYED.test(piped.stdout + piped.stderr)) obeyed.push(`${line} ${more.join(' ')}, piped`);
        }
      expect(obeyed).toEqual([]);
    },
  );
});

describe('an answer that is not valid', () => {
  const answers: [string, Answer | 'drip', exit: number, code: string][] = [
    ['a web page', [200, '<!doctype html><html>Hello</html>'], 8, 'BAD_RESPONSE'],
    ['half an object', [200, '{"error":false,"token":"abc'], 8, 'BAD_RESPONSE'],
    ['a list', [200, '[]'], 8, 'BAD_RESPONSE'],
    ['a token that is a number', [200, '{"error":false,"token":42}'], 8, 'BAD_RESPONSE'],
    ['a token with a line break', [200, '{"error":false,"token":"abc\\r\\nX-Evil: 1"}'], 8, 'BAD_RESPONSE'],
    ['a flag of a third kind', [200, '{"error":["no"],"token":"abcdefgh"}'], 8, 'BAD_RESPONSE'],
    ['error true and 200', [200, '{"error":true,"message":"No.","token":"abcdefgh"}'], 8, 'SERVER_ERROR'],
    ['error "true" and 200', [200, '{"error":"true","message":"No.","token":"abcdefgh"}'], 8, 'SERVER_ERROR'],
    [
      'more than is read',
      [200, `{"error":false,"token":"abcdefgh"}${' '.repeat(1_100_000)}`],
      8,
      'BAD_RESPONSE',
    ],
    ['a redirect', [302, '', { location: 'http://127.0.0.1:1/' }], 8, 'BAD_RESPONSE'],
    ['a compressed text', [200, 'x', { 'content-encoding': 'gzip' }], 8, 'BAD_RESPONSE'],
    ['a body that drips', 'drip', 7, 'TIMEOUT'],
  ];

  test.each(answers)('%s', async (_name, answer, exit, code) => {
    const play = async (version: string) => {
      const { env, asked } = await server(() => answer);
      const home = temporaryHome();
      const started = performance.now();
      const argv = [
        'token',
        'get',
        '--secret-stdin',
        '--timeout',
        '1',
        '--server-version',
        version,
        '-o',
        'json',
      ];
      const { status, stdout, stderr } = await cli(home, argv, { env, stdin: VALUE });
      expect({ status, stdout }).toEqual({ status: exit, stdout: '' });
      expect(JSON.parse(stderr).error).toMatchObject({ code, exitCode: exit });
      expect(asked.length).toBe(1);
      expect(performance.now() - started).toBeLessThan(20_000);
      // Nothing of this answer is stored, so the next call asks again.
      await cli(home, argv, { env, stdin: VALUE });
      expect(asked.length).toBe(2);
    };
    await Promise.all(['3.2.0', '3.10.1', '4.1.2'].map(play));
  });

  test('error "false" means success', async () => {
    const { env } = await server(() => [200, '{"error":"false","token":"abcdefgh"}']);
    const argv = ['token', 'get', '--secret-stdin', '--server-version', '3.10.1'];
    expect(await cli(temporaryHome(), argv, { env, stdin: VALUE })).toMatchObject({
      status: 0,
      stdout: 'abcdefgh\n',
    });
  });

  const EVERY_TIME: Record<string, Answer> = {
    'a health page': [200, '{"status":"UP"}'],
    '404': [404, '{"error":"Not Found"}'],
    '120 KB of brackets': [200, '['.repeat(120_000)],
    '120 KB of JSON': [200, JSON.stringify({ message: 'x'.repeat(120_000) })],
    '120 KB with status 500': [500, '{"error":true,"message":"'.padEnd(120_000, '[')],
  };
  const ASKING = [
    'token get',
    'token get --secret-stdin',
    'token refresh --token-stdin',
    'token delete --token-stdin',
    'token check --token-stdin',
    'exec -- echo Deleted',
    'exec --revoke -- echo Deleted',
    'secret list',
    'secret create abc',
    'secret create abc --save',
    'secret drop abc --yes',
    'secret rotate abc --yes',
    'secret prune --yes',
    'login -p other',
    'status',
    'doctor',
  ];
  const DONE =
    /Deleted|accepts|Dropped|is accepted|Created|created|Saved|saved|Logged in|revoked|\bok +credential/;

  // holds: C9.6
  test.each(
    ['3.2.0', '3.10.1', '4.1.2'].flatMap((version) => Object.keys(EVERY_TIME).map((what) => [what, version])),
  )('no command takes %s on %s for something done', async (what = '', version = '') => {
    const { env } = await server(() => EVERY_TIME[what] as Answer);
    for (const line of ASKING) {
      const [command = '', ...child] = line.split(' -- ');
      const rest = child.length === 0 ? [] : ['--', ...(child[0] as string).split(' ')];
      const argv = [...command.split(' '), '--server-version', version, '--timeout', '5', ...rest];
      const { status, stdout } = await cli(temporaryHome(), argv, { env, stdin: TOKEN });
      // doctor ends with 0 where nothing could be asked, and says so.
      if (line !== 'doctor') expect(status, line).not.toBe(0);
      expect(stdout, line).not.toMatch(DONE);
    }
  });
});
