// Each credential in this test is a known value (a canary). Every command is run as a process, and afterwards the test searches for these values
// everywhere else: in both streams, in every file, in the command line and environment of every process.

import fs from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { COMMANDS } from '../../src/cli/args/catalogue.js';
import type { SandboxOptions } from '../../src/sandbox/server.js';
import { filesBelow, findCredentials } from '../helpers/canary.js';
import { cli } from '../helpers/cli.js';
import { EVERY_COMMAND } from '../helpers/every-command.js';
import { rsaJwt } from '../helpers/jwt.js';
import { keyringSkipReason, processesOf, withKeyring } from '../helpers/keyring.js';
import { listening } from '../helpers/ports.js';
import { COMMAND, type Running, standaloneSkipReason, start } from '../helpers/process.js';
import { AUDIENCE, CLIENT, JOB, signInByHttp, startProvider } from '../helpers/provider.js';
import { testSandbox } from '../helpers/sandbox.js';
import { openFileStore } from '../helpers/store-options.js';

// The password has blanks, quotes and a backslash, so that every encoding changes it. None of its words is common.
const PASSWORD = 'Kanarie "zang\\vogel" /+=& 7431';
const SECRET = 'kan4r1e0secret0value0of0the0user';
const WRONG = 'Valse "kanarie" 9 \\ fluit';
const STORE_KEY = Buffer.from('kanarie-van-32-tekens-precies-!!').toString('base64');

const JWT = rsaJwt({ sub: 'kanarie', exp: 4_000_000_000 });

/** A place where a credential is meant to be, with the section of the contract that says so. */
interface Allowed {
  readonly place: RegExp;
  readonly what: RegExp;
  readonly section: string;
}

const TOKEN_SHOWN: Allowed = { place: /^stdout$/, what: /^token/, section: '2: token get prints the token' };
const SECRET_SHOWN: Allowed = {
  place: /^stdout$/,
  what: /^secret/,
  section: '2: the value is shown this once',
};
const TOKEN_OF_CHILD: Allowed = {
  place: /^environment of exec-child$/,
  what: /^token/,
  section: '8: the child gets TG_API_TOKEN',
};
const file = (name: string, section: string): Allowed => ({
  place: new RegExp(`^file ${name}$`),
  what: /^token/,
  section,
});
const TYPED: Allowed = {
  place: /^argv of graphcred$/,
  what: /./,
  section: '2: typed by the user, and refused',
};

interface Case {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly exit?: number | 'any';
  readonly allowed?: readonly Allowed[];
  /** What a person does meanwhile. */
  readonly during?: (child: Running['child']) => void;
}

interface Place {
  readonly root: string;
  readonly version: string;
  /** A part of names, so that the run with text output and the run with JSON use different names. */
  readonly mark: string;
  readonly held: () => Promise<string>;
}

const is4 = (version: string) => version.startsWith('4');
const given = (root: string, name: string) => path.join(root, 'given', name);
/** With this environment no password is set, and the credential comes from elsewhere. */
const BARE = { GRAPHCRED_PASSWORD: '' };

/** The cases run in this order, and each finds what the earlier ones left. */
const CASES: Record<string, (place: Place) => Case[] | Promise<Case[]>> = {
  'secret create': ({ mark }) => [
    { argv: [`shown_${mark}`], allowed: [SECRET_SHOWN] },
    { argv: [`kept_${mark}`, '--save'] },
    { argv: [`kept_${mark}`, '--save'], exit: 8 },
    { argv: ['not an alias'], exit: 2 },
    { argv: [`none_${mark}`, '--save', '--store', 'none'], exit: 2 },
  ],
  'secret list': () => [
    { argv: [] },
    { argv: ['--password-stdin'], env: BARE, stdin: `${PASSWORD}\n` },
    { argv: [], env: { GRAPHCRED_PASSWORD: WRONG }, exit: 4 },
  ],
  'token get': ({ root }) => [
    { argv: [], allowed: [TOKEN_SHOWN] },
    { argv: [], allowed: [TOKEN_SHOWN] },
    { argv: ['--secret-stdin'], env: BARE, stdin: SECRET, allowed: [TOKEN_SHOWN] },
    { argv: ['--secret-file', given(root, 'secret.txt')], env: BARE, allowed: [TOKEN_SHOWN] },
    {
      argv: [],
      env: { ...BARE, GRAPHCRED_SECRET: SECRET, GRAPHCRED_LIFETIME: '2h' },
      allowed: [TOKEN_SHOWN],
    },
    // These profiles give a credential in three ways: as plain text, by a command that prints it, and by a command that fails.
    { argv: ['--config', given(root, 'literal.json')], env: BARE, allowed: [TOKEN_SHOWN] },
    {
      argv: ['--config', given(root, 'command.json'), '--lifetime', '3h'],
      env: BARE,
      allowed: [TOKEN_SHOWN],
    },
    { argv: ['--config', given(root, 'failing.json'), '--lifetime', '3h'], env: BARE, exit: 2 },
    { argv: ['--config', given(root, 'broken.json')], exit: 5 },
    { argv: ['--config', given(root, 'broken.yaml')], exit: 5 },
    { argv: ['-o', 'env'], allowed: [TOKEN_SHOWN] },
    { argv: ['-o', 'header'], allowed: [TOKEN_SHOWN] },
    {
      argv: ['-o', 'github', '--export'],
      env: {
        GITHUB_OUTPUT: path.join(root, 'cwd/github-output'),
        GITHUB_ENV: path.join(root, 'cwd/github-env'),
      },
      allowed: [TOKEN_SHOWN, file('cwd/github-(output|env)', '6: github')],
    },
    {
      argv: ['-o', 'gitlab', '--dotenv', path.join(root, 'cwd/gitlab.env')],
      allowed: [file('cwd/gitlab\\.env', '6: gitlab')],
    },
    { argv: ['--lifetime', '4h'], env: { GRAPHCRED_PASSWORD: WRONG }, exit: 4 },
    { argv: [`--token=${SECRET}`], exit: 2, allowed: [TYPED] },
    { argv: ['--password', PASSWORD], exit: 2, allowed: [TYPED] },
    { argv: [SECRET], exit: 2, allowed: [TYPED] },
    { argv: [`--lifetime=${SECRET}`], exit: 2, allowed: [TYPED] },
    { argv: [`--what=${SECRET}`], exit: 2, allowed: [TYPED] },
  ],
  'token refresh': ({ version }) => [
    is4(version) ? { argv: [], exit: 8 } : { argv: ['--lifetime', '12h'], allowed: [TOKEN_SHOWN] },
  ],
  'token check': async ({ held }) => [
    { argv: [] },
    { argv: ['--token-stdin'], stdin: await held() },
    { argv: ['--token-stdin'], stdin: SECRET, exit: 4 },
  ],
  exec: ({ root }) => [
    { argv: ['--', 'sh', given(root, 'exec-child.sh')], allowed: [TOKEN_OF_CHILD] },
    { argv: ['--revoke', '--', 'sh', given(root, 'exec-child.sh')], allowed: [TOKEN_OF_CHILD] },
    { argv: ['--', given(root, 'no-such-program')], exit: 127 },
    { argv: ['--lifetime', '5h', '--', 'true'], env: { GRAPHCRED_PASSWORD: WRONG }, exit: 125 },
  ],
  // The command sees a key for the local server, never the token.
  proxy: ({ root }) => [
    { argv: ['--', 'sh', given(root, 'exec-child.sh')] },
    { argv: ['--lifetime', '6h', '--', 'true'], env: { GRAPHCRED_PASSWORD: WRONG }, exit: 125 },
  ],
  api: ({ version }) => [
    { argv: ['/graph/demo/vertices/Person?limit=1'] },
    { argv: ['/echo', '-i'] },
    { argv: ['--service', is4(version) ? '/gsql/v1/auth/simple' : '/gsqlserver/gsql/simpleauth'] },
    { argv: ['/echo'], env: { TG_API_TOKEN: SECRET }, exit: 4 },
    { argv: ['/graph/nowhere/vertices/Person'], exit: 3 },
  ],
  status: ({ root }) => [
    { argv: [] },
    { argv: ['--offline'] },
    { argv: ['--all-profiles', '--config', given(root, 'literal.json')] },
  ],
  doctor: () => [{ argv: [] }, { argv: [], env: { GRAPHCRED_PASSWORD: WRONG }, exit: 4 }],
  'config show': ({ root }) => [
    { argv: [] },
    { argv: ['--config', given(root, 'literal.json')], env: { GRAPHCRED_SECRET: SECRET } },
    { argv: ['--config', given(root, 'broken.json')], exit: 5 },
  ],
  'config trust': ({ root }) => [{ argv: [given(root, 'literal.json')] }],
  // In the second run the file exists, because `login` has written it.
  'config path': ({ root, mark }) => [
    { argv: [], exit: mark === 'text' ? 3 : 0 },
    { argv: ['--config', given(root, 'literal.json')] },
  ],
  'secret rotate': ({ mark }) => [{ argv: [`kept_${mark}`] }, { argv: ['nowhere'], exit: 3 }],
  login: ({ mark }) => [
    { argv: ['-p', `by_password_${mark}`] },
    { argv: ['-p', `by_secret_${mark}`, '--secret-stdin'], env: BARE, stdin: SECRET },
    { argv: ['-p', `wrong_${mark}`], env: { GRAPHCRED_PASSWORD: WRONG }, exit: 4 },
  ],
  'secret prune': () => [{ argv: ['--dry-run'] }, { argv: ['--yes'] }],
  'secret drop': ({ mark }) => [{ argv: [`shown_${mark}`] }, { argv: [`shown_${mark}`], exit: 3 }],
  'token delete': async ({ held }) => [
    { argv: ['--token-stdin'], stdin: await held() },
    { argv: ['--skip-missing'] },
    { argv: ['--token-stdin', '--skip-missing'], stdin: SECRET },
  ],
  'profile list': ({ root }) => [{ argv: [] }, { argv: ['--config', given(root, 'literal.json')] }],
  'profile use': ({ mark }) => [{ argv: [`by_secret_${mark}`] }, { argv: ['nowhere'], exit: 3 }],
  'profile remove': ({ mark }) => [
    { argv: [`by_password_${mark}`, '--yes'] },
    { argv: [`wrong_${mark}`, '--yes'], exit: 3 },
  ],
  // The store also holds tokens of other credentials, which this credential may not revoke.
  logout: () => [{ argv: ['--revoke'] }, { argv: [], exit: 3 }],
  sandbox: ({ root, version }) => [
    {
      argv: [
        ...['--server-version', version, '--secret', `seeded:${SECRET}:tigergraph:demo`],
        ...['--', 'sh', given(root, 'sandbox-child.sh')],
      ],
      allowed: [
        { place: /^argv of graphcred$/, what: /^secret/, section: '2, Sandbox: its own option --secret' },
        {
          place: /^environment of a child$/,
          what: /^store key$/,
          section: '2, Sandbox: the command runs in the environment of the user, with some variables set',
        },
      ],
    },
  ],
};

/** A command without a case has the lines that all tests of every command use. */
for (const { path: words, lines } of EVERY_COMMAND)
  CASES[words] ??= () =>
    lines.map((line) => ({ argv: line.slice(words.length).split(' ').filter(Boolean), exit: 'any' }));

const PRELOAD = `
const fs = require('node:fs');
fs.writeFileSync(process.env.CANARY_TRACE + '/' + process.pid + '.json', JSON.stringify({
  ppid: process.ppid,
  argv: fs.readFileSync('/proc/self/cmdline', 'utf8'),
  environment: fs.readFileSync('/proc/self/environ', 'utf8'),
}));
`;

/** Creates the folders, scripts and config files of a user who stores credentials in every supported way. */
function prepare({ restUrl, gsqlUrl }: { restUrl: string; gsqlUrl: string }): {
  root: string;
  env: Record<string, string>;
} {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-canary-'));
  onTestFinished(() => fs.rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  for (const name of ['home', 'tmp', 'cwd', 'given', 'trace', 'config', 'state', 'cache', 'run'])
    fs.mkdirSync(path.join(root, name), { mode: 0o700 });
  const write = (name: string, text: string) => fs.writeFileSync(given(root, name), text, { mode: 0o600 });
  const profile = (more: object) =>
    JSON.stringify({ profiles: { default: { restUrl, gsqlUrl, graph: 'demo', username: 'ada', ...more } } });
  const dump = (name: string) => `cat /proc/$$/environ > '${root}/trace/${name}.environment'\n`;
  write('secret.txt', `${SECRET}\n`);
  write('jwt.txt', JWT);
  write('literal.json', profile({ secret: SECRET }));
  write('command.json', profile({ secretCommand: ['sh', given(root, 'secret-command.sh')] }));
  write('failing.json', profile({ secretCommand: ['sh', given(root, 'failing.sh')] }));
  write('broken.json', `{"profiles":{"default":{"username":"ada","password":${JSON.stringify(PASSWORD)} oh`);
  write('broken.yaml', `profiles:\n  default:\n    password: '${PASSWORD}\n  : : ${SECRET}: [`);
  write('secret-command.sh', `${dump('secret-command')}cat '${given(root, 'secret.txt')}'\n`);
  write('failing.sh', `${dump('secret-command')}echo "no access with ${SECRET}" >&2\nexit 1\n`);
  write('exec-child.sh', dump('exec-child'));
  write(
    'sandbox-child.sh',
    `exec ${COMMAND.map((word) => `'${word}'`).join(' ')} token get --store none -q --secret-file '${given(root, 'secret.txt')}' > /dev/null\n`,
  );
  write('preload.cjs', PRELOAD);
  const env = {
    HOME: path.join(root, 'home'),
    TMPDIR: path.join(root, 'tmp'),
    XDG_CONFIG_HOME: path.join(root, 'config'),
    XDG_STATE_HOME: path.join(root, 'state'),
    XDG_CACHE_HOME: path.join(root, 'cache'),
    XDG_RUNTIME_DIR: path.join(root, 'run'),
    NODE_OPTIONS: `--require ${given(root, 'preload.cjs')}`,
    CANARY_TRACE: path.join(root, 'trace'),
    GRAPHCRED_REST_URL: restUrl,
    GRAPHCRED_GSQL_URL: gsqlUrl,
    GRAPHCRED_GRAPH: 'demo',
    GRAPHCRED_USERNAME: 'ada',
    GRAPHCRED_PASSWORD: PASSWORD,
    GRAPHCRED_STORE: 'file',
    GRAPHCRED_STORE_KEY: STORE_KEY,
  };
  return { root, env };
}

interface Trace {
  readonly ppid: number;
  readonly argv: string;
  readonly environment: string;
}

/** Runs one command line and returns every place where a credential was found that is not allowed there. */
async function leaksOf(
  { root, env }: ReturnType<typeof prepare>,
  argv: readonly string[],
  { stdin, env: more, exit = 0, allowed = [], during }: Omit<Case, 'argv'>,
  canaries: () => Promise<Map<string, string>>,
): Promise<string[]> {
  for (const folder of ['trace', 'cwd'])
    for (const name of fs.readdirSync(path.join(root, folder))) fs.rmSync(path.join(root, folder, name));
  const { child, ended } = start(argv, { ...env, ...more }, stdin ?? '', path.join(root, 'cwd'));
  during?.(child);
  // The command line of a program that is not Node can be seen only while the program runs.
  const lines = new Set<string>();
  const look = setInterval(() => {
    for (const pid of processesOf(env.HOME as string)) {
      try {
        const line = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        // A child that has not yet started its program has the command line of its parent.
        if (!line.endsWith(`${argv.join('\0')}\0`)) lines.add(line);
      } catch {
        // The process has ended meanwhile.
      }
    }
  }, 40);
  const { status, stdout, stderr } = await ended;
  clearInterval(look);
  const seen: [place: string, text: string][] = [
    ['stdout', stdout],
    ['stderr', stderr],
    ...[...lines].map((line): [string, string] => ['argv of a child', line]),
  ];
  for (const { file: name, text } of filesBelow(root)) {
    if (name.startsWith('given/')) continue;
    const traced = /^trace\/(.+)\.environment$/.exec(name)?.[1];
    if (traced !== undefined) seen.push([`environment of ${traced}`, text]);
    else if (name.startsWith('trace/')) {
      const { ppid, argv: line, environment } = JSON.parse(text) as Trace;
      const own = name === `trace/${child.pid}.json`;
      seen.push([own ? 'argv of graphcred' : 'argv of a child', line]);
      // The variables that the user set are in graphcred's own environment. They must not be in the environment of a child.
      if (!own && ppid === child.pid) seen.push(['environment of a child', environment]);
    } else seen.push([`file ${name}`, text]);
  }
  const names = await canaries();
  const told = argv
    .slice(0, 6)
    .map((word) => (findCredentials(word, names).length > 0 ? '<canary>' : word))
    .join(' ');
  const leaks = seen.flatMap(([place, text]) =>
    findCredentials(text, names)
      .filter((what) => !allowed.some((one) => one.place.test(place) && one.what.test(what)))
      .map((what) => `${told}: ${what} in ${place}`),
  );
  if (exit !== 'any' && status !== exit) leaks.push(`${told}: exit ${status}, not ${exit}: ${stderr}`);
  return leaks;
}

/** Starts a sandbox that uses the known values, for a user who has stored them in every supported way. */
async function sandboxAndPlace(serverVersion: string, options: SandboxOptions = {}) {
  const stateFile = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-canary-server-')), 'state');
  onTestFinished(() => fs.rmSync(path.dirname(stateFile), { recursive: true, force: true }));
  const sandbox = await testSandbox({
    serverVersion,
    stateFile,
    users: [{ name: 'ada', password: PASSWORD, role: 'superuser' }],
    secrets: [{ alias: 'seeded', value: SECRET, user: 'ada', graph: 'demo' }],
    ...options,
  });
  return { place: prepare(sandbox), stateFile };
}

function commandLine(words: string, argv: readonly string[], json: boolean): string[] | undefined {
  const { options } = COMMANDS.find((spec) => spec.path === words) ?? { options: [] };
  const has = (name: string) => options.some((option) => option.name === name);
  if (json && (!has('output') || argv.includes('-o'))) return undefined;
  return [...words.split(' '), ...(has('verbose') ? ['-v'] : []), ...(json ? ['-o', 'json'] : []), ...argv];
}

describe.each(['3.2.0', '3.10.1', '4.1.2'])('on %s', (version) => {
  // holds: C10.1
  test('no command leaves a credential anywhere, whether it succeeds or fails', async () => {
    const { place, stateFile } = await sandboxAndPlace(version);
    const canaries = new Map([
      [PASSWORD, 'password'],
      [WRONG, 'wrong password'],
      [SECRET, 'secret'],
      [STORE_KEY, 'store key'],
    ]);
    const held = async () => {
      const folder = (name: string) => path.join(place.root, name, 'graphcred');
      const folders = { stateDir: folder('state'), configDir: folder('config') };
      const store = await openFileStore(folders, STORE_KEY);
      const kept = (await store.list()).map(
        async (record) => [(await store.get(record))?.reveal(), record.kind] as const,
      );
      return (await Promise.all(kept)).filter((entry): entry is [string, 'token'] => entry[0] !== undefined);
    };
    /** Returns all credentials that the server has issued so far. */
    const known = async () => {
      const { secrets, tokens } = JSON.parse(fs.readFileSync(stateFile, 'utf8'));
      for (const { value } of secrets) if (!canaries.has(value)) canaries.set(value, 'secret');
      for (const token of tokens) canaries.set(token.value ?? token[0] ?? token, 'token');
      for (const [value, kind] of await held()) if (!canaries.has(value)) canaries.set(value, kind);
      return canaries;
    };
    const leaks: string[] = [];
    let runs = 0;
    for (const json of version === '3.2.0' ? [false] : [false, true]) {
      const mark = json ? 'json' : 'text';
      const token = async () => (await held()).find(([, kind]) => kind === 'token')?.[0] ?? '';
      for (const [words, cases] of Object.entries(CASES)) {
        for (const { argv, ...more } of await cases({ root: place.root, version, mark, held: token })) {
          const line = commandLine(words, argv, json);
          if (line === undefined) continue;
          leaks.push(...(await leaksOf(place, line, more, known)));
          runs++;
        }
      }
    }
    expect(leaks).toEqual([]);
    expect(runs).toBeGreaterThan(version === '3.2.0' ? 50 : 100);
    expect(canaries.size).toBeGreaterThan(10);
  }, 600_000);
});

const PRINTED_URL = /to log in: (\S+)\s/;

/** What a person signs in with at the provider, what a job shows, and a JWT given as it is; in this order. */
function identityCases(root: string, issuer: string, jwt: string, signIn: Required<Case>['during']) {
  const login = ['--oidc-issuer', issuer, '--oidc-client-id', CLIENT, '--no-browser'];
  const mine = { argv: ['-p', 'work'], env: BARE };
  const job = {
    ...BARE,
    GRAPHCRED_OIDC_USE: 'access_token',
    GRAPHCRED_OIDC_ISSUER: issuer,
    GRAPHCRED_OIDC_CLIENT_ID: JOB.id,
    GRAPHCRED_OIDC_GRANT: 'client_credentials',
    GRAPHCRED_OIDC_AUDIENCE: AUDIENCE,
    GRAPHCRED_OIDC_CLIENT_SECRET: JOB.secret,
  };
  const given: Case = { argv: [], env: { ...BARE, TG_JWT_TOKEN: jwt, TG_HOST: '' } };
  const wrong = { ...BARE, GRAPHCRED_JWT: `${jwt}x` };
  const child = ['--', 'sh', path.join(root, 'given/exec-child.sh')];
  const rows: [words: string, one: Case][] = [
    ['login', { ...mine, argv: [...mine.argv, ...login], during: signIn }],
    ['token get', { ...mine, allowed: [TOKEN_SHOWN] }],
    ['token get', { ...mine, argv: [...mine.argv, '--fresh'], allowed: [TOKEN_SHOWN] }],
    ['exec', { ...mine, argv: [...mine.argv, ...child], allowed: [TOKEN_OF_CHILD] }],
    ['proxy', { ...mine, argv: [...mine.argv, ...child] }],
    ['api', { ...mine, argv: [...mine.argv, '/echo'] }],
    ['status', mine],
    ['doctor', mine],
    ['config show', mine],
    ['token list', mine],
    ['token get', { argv: [], env: job, allowed: [TOKEN_SHOWN] }],
    ['doctor', { argv: [], env: job }],
    [
      'token get',
      { argv: [], env: { ...job, GRAPHCRED_OIDC_CLIENT_SECRET: WRONG, GRAPHCRED_STORE: 'none' }, exit: 4 },
    ],
    ['token get', { ...given, allowed: [TOKEN_SHOWN] }],
    ['token get', { argv: ['--jwt-stdin'], env: BARE, stdin: jwt, allowed: [TOKEN_SHOWN] }],
    ['secret list', given],
    ['exec', { ...given, argv: child, allowed: [TOKEN_OF_CHILD] }],
    ['config show', given],
    ['api', { argv: ['/echo'], env: wrong, exit: 4 }],
    ['doctor', { argv: [], env: wrong, exit: 4 }],
    ['token get', { argv: [`--jwt=${jwt}`], exit: 2, allowed: [TYPED] }],
    ['logout', mine],
  ];
  return rows;
}

// holds: C10.1
test('no command leaves a JWT, refresh token, code or client secret anywhere', async () => {
  const provider = await startProvider();
  const { place } = await sandboxAndPlace('4.2.0', {
    provider: provider.sandbox,
    users: ['ada', JOB.id].map((name) => ({ name, password: PASSWORD, role: 'superuser' })),
  });
  const jwt = rsaJwt({ sub: 'ada', iss: provider.issuer, exp: Math.floor(Date.now() / 1000) + 3600 });
  const canaries = new Map([
    [JOB.secret, 'client secret'],
    [WRONG, 'wrong client secret'],
    [STORE_KEY, 'store key'],
  ]);
  // The claims and the signature of a JWT are worth hiding too.
  const add = (value: string, what: string) => {
    for (const part of [value, ...value.split('.').slice(1)]) canaries.set(part, what);
  };
  add(jwt, 'token');
  const known = async () => {
    for (const value of provider.secrets)
      add(value, value.startsWith('eyJ') ? 'token' : 'code or refresh token');
    return canaries;
  };
  const signIn = (child: Running['child']) => {
    let text = '';
    child.stderr?.on('data', (more: string) => {
      const [, before] = PRINTED_URL.exec(text) ?? [];
      text += more;
      const [, url] = PRINTED_URL.exec(text) ?? [];
      if (url !== undefined && before === undefined) void signInByHttp(url, 'ada');
    });
  };
  const leaks: string[] = [];
  for (const json of [false, true])
    for (const [words, { argv, ...more }] of identityCases(place.root, provider.issuer, jwt, signIn)) {
      const line = commandLine(words, argv, json);
      if (line) leaks.push(...(await leaksOf(place, line, more, known)));
    }
  expect(leaks).toEqual([]);
  expect(canaries.size).toBeGreaterThan(10);
}, 600_000);

/** Starts a hostile server that repeats the credentials, and returns its address. */
async function echoing(): Promise<string> {
  const server = createServer((request: IncomingMessage, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text) => {
      body += text;
    });
    request.on('end', () => {
      const { authorization = '' } = request.headers;
      const [, word = ''] = authorization.split(' ');
      const login = Buffer.from(word, 'base64').toString();
      const decoded = decodeURIComponent(body.replaceAll('+', ' '));
      const said = [request.url, decodeURIComponent(request.url ?? ''), authorization, login, body, decoded];
      // Each letter has a colour of its own, so a terminal still shows the whole word.
      const coloured = [...login].join('\u001b[0m');
      const statuses = [200, 400, 401, 403, 404, 500, 503];
      const status = statuses[asked++ % statuses.length] ?? 400;
      const message = `${said.join(' ')} ${coloured}`;
      response.setHeader('x-said', encodeURI(said.join(' ')).slice(0, 2000));
      response.writeHead(status).end(asked % 2 === 0 ? message : JSON.stringify({ error: true, message }));
    });
  });
  let asked = 0;
  return listening(server);
}

/** These commands ask no server, or print what it answers. */
const LOCAL = /^(profile|config|completion|sandbox|api|proxy|logout|token list)/;

test.each(['3.2.0', '3.10.1', '4.1.2'])(
  '%s: no command prints or keeps a credential that the server repeats',
  async (version) => {
    const url = await echoing();
    const { root, env } = prepare({ restUrl: url, gsqlUrl: url });
    const canaries = new Map([
      [PASSWORD, 'password'],
      [SECRET, 'secret'],
      ...JWT.split('.')
        .map((part) => [part, 'JWT'] as const)
        .slice(1),
    ]);
    const file = `--secret-file ${given(root, 'secret.txt')}`;
    const jwt = `--jwt-file ${given(root, 'jwt.txt')}`;
    const lines = EVERY_COMMAND.filter(({ path: words }) => !LOCAL.test(words))
      .flatMap((one) => one.lines)
      .concat(`token get ${file}`, `login ${file}`, `secret list ${jwt}`, `token check ${jwt}`);
    for (const line of lines)
      for (const more of [['-v'], ['-v', '-o', 'json'], ['-v', '--server-version', 'auto']]) {
        const [command = '', ...child] = line.split(/(?= -- )/);
        const argv = [...command.split(' '), ...more, ...child.join('').split(' ').filter(Boolean)];
        const stdin = line.includes('--token-stdin') ? SECRET : '';
        const options = { env: { ...env, GRAPHCRED_SERVER_VERSION: version }, stdin };
        const { stdout, stderr } = await cli(env.HOME as string, argv, options);
        expect({ argv, found: findCredentials(stdout + stderr, canaries) }).toEqual({ argv, found: [] });
      }
    const kept = [...filesBelow(root)].filter(({ file }) => !file.startsWith('given/'));
    expect(kept.filter(({ text }) => findCredentials(text, canaries).length > 0)).toEqual([]);
  },
);

const noKeyring = keyringSkipReason() ?? standaloneSkipReason;
test.skipIf(noKeyring !== undefined)(
  'the helper process for the keychain gets credentials only through its pipe',
  async () => {
    await withKeyring({}, async (keyring) => {
      const { place, stateFile } = await sandboxAndPlace('3.10.1');
      const env = {
        ...place.env,
        GRAPHCRED_STORE: 'keychain',
        DBUS_SESSION_BUS_ADDRESS: keyring.env.DBUS_SESSION_BUS_ADDRESS as string,
      };
      const tokens = new Map([
        [PASSWORD, 'password'],
        [SECRET, 'secret'],
        [STORE_KEY, 'store key'],
      ]);
      let helpers = 0;
      for (const argv of [
        ['token', 'get', '-v'],
        ['token', 'get', '-v'],
        ['secret', 'create', 'a', '--save', '-v'],
        ['token', 'list', '-v'],
        ['logout', '--revoke', '-v'],
      ]) {
        const shown: Allowed[] = argv[1] === 'get' ? [TOKEN_SHOWN] : [];
        const leaks = await leaksOf({ ...place, env }, argv, { allowed: shown }, async () => {
          const { secrets, tokens: minted } = JSON.parse(fs.readFileSync(stateFile, 'utf8'));
          for (const { value } of secrets) if (!tokens.has(value)) tokens.set(value, 'secret');
          for (const { value } of minted) tokens.set(value, 'token');
          return tokens;
        });
        expect(leaks).toEqual([]);
        helpers +=
          fs.readdirSync(path.join(place.root, 'trace')).filter((name) => name.endsWith('.json')).length - 1;
      }
      expect(helpers).toBeGreaterThan(2);
      expect(tokens.size).toBeGreaterThan(4);
    });
  },
);
