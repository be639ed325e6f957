// Tests a hostile server from the command line: no control character that it sends reaches the terminal, and an answer that is not valid is reported
// as such. The library is tested in test/contract/core-hostile.test.ts.
import { describe, expect, test } from 'vitest';
import { answering } from '../contract/core-support.js';
import { cli, type RunOptions, temporaryHome } from '../helpers/cli.js';
import { EVERY_COMMAND } from '../helpers/every-command.js';

const ESC = '\u001b';
const TAG = String.fromCodePoint(0xe0041);
/**
 * Colours, a title, a link and a command that clears the screen, each in 7 and in 8 bits; direction marks; characters that hide or overwrite others; commands to the runner of a CI job.
 */
const EVIL =
  `${ESC}[31mred${ESC}]0;title\u0007${ESC}]8;;http://evil.example/${ESC}\\click${ESC}]8;;${ESC}\\${ESC}[2J${ESC}c${ESC}P1$q${ESC}\\` +
  `\u009b31m\u009d0;title\u009c\u0085\u202eabc\u202c\u2066x\u2069\u200f\u061c\u200b\ufeff\u2028\u2029${TAG}\b\b\r over\n::stop-commands::x\n##[add-path]y ##vso[task.complete]z`;
/** Matches every character of the Unicode category C except the line feed, the two Unicode line ends, which terminals do not treat as such, and those commands. */
const OBEYED = /[^\P{C}\n]|[\u2028\u2029]|^[^\S\n]*::|##(?:vso)?\[/imu;

const TOKEN = `${'t'.repeat(31)}1`;

type Answer = [status: number, body: string, headers?: Record<string, string>];

async function server(answer: (route: string, body: string) => Answer): Promise<Record<string, string>> {
  const { url } = await answering(({ line, body }) => {
    const [status, text, headers] = answer(
      String(line.split('?')[0]),
      decodeURIComponent(body.replaceAll('+', ' ')),
    );
    return { status, headers, body: text };
  });
  return {
    GRAPHCRED_REST_URL: url,
    GRAPHCRED_GSQL_URL: url,
    GRAPHCRED_GRAPH: 'demo',
    GRAPHCRED_USERNAME: 'ada',
    GRAPHCRED_PASSWORD: 'correct-horse',
    // graphcred's own colours would be found too.
    NO_COLOR: '1',
    GRAPHCRED_STORE: 'file',
  };
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

const LINES = EVERY_COMMAND.flatMap(({ lines }) => lines).filter(
  (line) =>
    /^(secret|token|status|doctor|api|login|logout|config show)/.test(line) && !line.includes('--wait'),
);

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
      const env = await server(answer);
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
    const env = await server(() => EVERY_TIME[what] as Answer);
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

test('a token that would be a command to a CI runner stays as it is in the Secret for Kubernetes', async () => {
  const token = 'tok##[add-path]en';
  const env = await server((route) =>
    route.startsWith('POST /requesttoken') ? json({ error: false, token }) : json({ error: true }, 404),
  );
  const argv = 'token get -o k8s-secret --name a --server-version 3.10.1'.split(' ');
  const { stdout } = await cli(temporaryHome(), argv, { env });
  expect([JSON.parse(stdout).stringData, stdout.includes('##[')]).toEqual([{ token }, false]);
});
