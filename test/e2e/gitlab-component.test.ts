// Tests templates/graphcred.yml: it is checked against GitLab's own schema and run by gitlab-ci-local, which contains that schema.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { defaultLoaders } from 'cosmiconfig';
import { describe, expect, test } from 'vitest';
import { findCredentials } from '../helpers/canary.js';
import { temporaryHome } from '../helpers/cli.js';
import { blocksOf, unused } from '../helpers/docs.js';
import { lacking } from '../helpers/lacking.js';
import { COMMAND_LINE } from '../helpers/process.js';
import { SECRET, social, statusFor } from '../helpers/sandbox.js';

const TEMPLATE = fs.readFileSync('templates/graphcred.yml', 'utf8');
const { version } = JSON.parse(fs.readFileSync('package.json', 'utf8')) as { version: string };

const isPlayable = lacking('the GitLab component', 'bash', 'git', 'rsync').length === 0;

/** gitlab-ci-local needs Node 22. This is the only function of it that Node 20 lacks. */
const SHIM = `data:text/javascript,${encodeURIComponent(
  'Set.prototype.union ??= function (other) { return new Set([...this, ...other]); };',
)}`;

interface Project {
  readonly home: string;
  readonly work: string;
  /** Puts a program on the PATH. */
  program(name: string, script: string): void;
  gitlab(...words: string[]): Promise<{ status: number; log: string }>;
}

/** Creates a repository with the component, and the configuration of a user who includes it. */
function project(configuration: string, template = TEMPLATE): Project {
  const home = temporaryHome();
  const work = path.join(home, 'work');
  const bin = path.join(home, 'bin');
  for (const folder of [work, bin, path.join(work, 'templates')]) fs.mkdirSync(folder);
  fs.writeFileSync(path.join(work, 'templates/graphcred.yml'), template);
  fs.writeFileSync(path.join(work, '.gitlab-ci.yml'), configuration);
  fs.writeFileSync(
    path.join(work, 'load.sh'),
    `#!/bin/sh -e
printf '%s' "$TG_API_TOKEN" > '${home}/token'
env > '${home}/env'
echo "loaded $*"
`,
    { mode: 0o755 },
  );
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: home, GIT_CONFIG_GLOBAL: path.join(home, 'git') };
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...words], {
      cwd: work,
      env,
    });
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('commit', '-q', '-m', 'all');
  git('remote', 'add', 'origin', 'git@gitlab.example.com:a/b.git');
  return {
    home,
    work,
    program: (name, script) =>
      fs.writeFileSync(path.join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 }),
    gitlab: (...words) => {
      const child = spawn(
        process.execPath,
        [
          '--import',
          SHIM,
          path.resolve('node_modules/gitlab-ci-local/dist/index.js'),
          '--force-shell-executor',
          ...words,
        ],
        { cwd: work, env, stdio: ['ignore', 'pipe', 'pipe'] },
      );
      let log = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          log += text;
        });
      return new Promise((resolve) =>
        child.once('close', (status) => resolve({ status: status ?? -1, log })),
      );
    },
  };
}

async function database(serverVersion: string) {
  const sandbox = await social(serverVersion);
  const ask = (token: string) => statusFor(sandbox, token);
  return { sandbox, ask };
}

/** Returns the block of the page, with the component of this repository and the address of the sandbox. */
function documented(gsqlUrl: string): string {
  const [block] = blocksOf('ci/gitlab.md').filter(({ heading }) => heading === 'With the component');
  return (block?.text ?? '')
    .replace(/component: \S+/, 'local: templates/graphcred.yml')
    .replaceAll('https://graph.example.com', gsqlUrl);
}

const include = (inputs: Record<string, string | boolean>) =>
  JSON.stringify({ include: [{ local: 'templates/graphcred.yml', inputs }] });

test('the default version of the component is that of the package', () => {
  const [head = ''] = TEMPLATE.split(/^---$/m);
  const { spec } = defaultLoaders['.yaml']('graphcred.yml', head) as {
    spec: { inputs: Record<string, { default?: unknown; description: string }> };
  };
  expect(spec.inputs.version?.default).toBe(version);
  // Everybody who may read the configuration can read the inputs.
  expect(Object.keys(spec.inputs).filter((name) => /secret|password|token/.test(name))).toEqual([]);
});

/** Puts inputs into the text, as GitLab does before it parses it, and returns the job. */
function interpolated(inputs: Readonly<Record<string, string>>) {
  const [head = '', body = ''] = TEMPLATE.split(/^---$/m);
  const { spec } = defaultLoaders['.yaml']('head', head) as {
    spec: { inputs: Record<string, { default?: unknown; regex?: string }> };
  };
  const text = body.replace(/\$\[\[ inputs\.([\w-]+) \]\]/g, (_, name: string) => {
    const value = inputs[name] ?? String(spec.inputs[name]?.default);
    const { regex } = spec.inputs[name] ?? {};
    if (regex !== undefined && !new RegExp(regex, 'u').test(value)) throw new Error(`${name} is refused`);
    return value;
  });
  const jobs = defaultLoaders['.yaml']('body', text) as Record<string, Job>;
  const [[name, job] = []] = Object.entries(jobs);
  if (name === undefined || job === undefined) throw new Error('there is no job');
  return { name, job };
}

interface Job {
  readonly stage: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly script: readonly string[];
}

/** Texts that YAML or the shell would read otherwise: each kind of mark at the beginning, and within. */
const NASTY = [
  './load.sh',
  `curl -H "Authorization: Bearer $TG_API_TOKEN" 'https://graph.example.com'`,
  'echo a: b # c',
  '# only a comment',
  ...['- a list', '? a key', ': a value', '{ a: b }', '[ a, b ]', '| block', '> folded', '---'],
  ...['*alias', '&anchor', '!tag', '%directive', '@at', '`date`', '"quoted"', "'quoted'", "it's"],
  ...['a \\', 'a \\" b', 'a\tb', '  leading blanks', 'trailing blanks  ', 'no', 'null', '1e3', '~'],
  `echo $(date) $\{HOME} $$ "$\{A:-b}" && false || true; !! && !$`,
  'a <<< "b" > c 2>&1 <<EOF',
  'echo ümläut 漢字',
];

test.each(NASTY)('the component hands on the command as it is typed: %s', (command) => {
  const { job } = interpolated({ command, username: 'a #b', graph: 'no', stage: 'on' });
  expect(job.stage).toBe('on');
  expect(job.variables).toMatchObject({ GRAPHCRED_USERNAME: 'a #b', GRAPHCRED_GRAPH: 'no' });
  const last = job.script.at(-1) as string;
  const stub = 'graphcred() { for word; do last=$word; done; printf %s "$last"; }';
  expect(execFileSync('sh', ['-c', `${stub}\n${last}`], { encoding: 'utf8' })).toBe(command);
});

test.each([
  ['command', 'a\nb'],
  ['command', ''],
  ['job', "a'\nb: c"],
  ['stage', "a'"],
  ['image', 'a\nb'],
  ['version', '1; touch pwn'],
  ['host', "'"],
  ['rest-url', 'a b'],
  ['username', 'a\n    B: c'],
  ['lifetime', '1h; x'],
])('the component refuses an input that could end its place: %s %j', (name, value) => {
  expect(() => interpolated({ command: 'true', [name]: value })).toThrow(`${name} is refused`);
});

describe.runIf(isPlayable)('in a pipeline', () => {
  test.each(['3.10.1', '4.1.2'])(
    'the five lines of the page run a command with a token and revoke it, on %s',
    async (serverVersion) => {
      const { sandbox, ask } = await database(serverVersion);
      const one = project(documented(sandbox.gsqlUrl));
      one.program('graphcred', COMMAND_LINE);
      const secretFile = path.join(one.home, 'secret');
      fs.writeFileSync(secretFile, SECRET);
      // So the docker executor makes it.
      fs.chmodSync(secretFile, 0o666);
      const { status, log } = await one.gitlab('--variable', `GRAPHCRED_SECRET_FILE=${secretFile}`, 'load');
      expect({ status, log }).toMatchObject({
        status: 0,
        log: expect.stringMatching(/loaded[\s\S]*PASS.*load/),
      });
      expect(log).toContain('json schema validated');
      const token = fs.readFileSync(path.join(one.home, 'token'), 'utf8');
      expect(await ask(token)).toBe(403);
      expect(
        findCredentials(
          log,
          new Map([
            [SECRET, 'secret'],
            [token, 'token'],
          ]),
        ),
      ).toEqual([]);
      const seen = fs.readFileSync(path.join(one.home, 'env'), 'utf8');
      expect(seen).toMatch(/^TG_GRAPHNAME=social$/m);
      expect(seen).not.toMatch(/^GRAPHCRED_SECRET/m);
    },
  );

  test('a command that fails makes the job fail, and its token is revoked', async () => {
    const { sandbox, ask } = await database('3.10.1');
    const inputs = { 'gsql-url': sandbox.gsqlUrl, 'rest-url': sandbox.restUrl, graph: 'social' };
    const one = project(include({ ...inputs, command: "sh -c './load.sh && exit 3'" }));
    one.program('graphcred', COMMAND_LINE);
    const { status, log } = await one.gitlab('--variable', `GRAPHCRED_SECRET=${SECRET}`, 'graphcred');
    expect(status).not.toBe(0);
    expect(log).toMatch(/FAIL.*graphcred/);
    expect(await ask(fs.readFileSync(path.join(one.home, 'token'), 'utf8'))).toBe(403);
  });

  test('with revoke: false the token stays valid, and the command may be a line of shell', async () => {
    const { sandbox, ask } = await database('3.10.1');
    const inputs = { 'gsql-url': sandbox.gsqlUrl, 'rest-url': sandbox.restUrl, graph: 'social' };
    const one = project(
      include({ ...inputs, revoke: false, command: './load.sh "$CI_JOB_NAME" two\\ words' }),
    );
    one.program('graphcred', COMMAND_LINE);
    const { log } = await one.gitlab('--variable', `GRAPHCRED_SECRET=${SECRET}`, 'graphcred');
    expect(log).toContain('loaded graphcred two words');
    expect(await ask(fs.readFileSync(path.join(one.home, 'token'), 'utf8'))).toBe(200);
  });

  test('if the image has no graphcred, npm installs the version of the component', async () => {
    const { sandbox } = await database('3.10.1');
    const inputs = { 'gsql-url': sandbox.gsqlUrl, 'rest-url': sandbox.restUrl, graph: 'social' };
    const one = project(include({ ...inputs, command: './load.sh' }));
    // This program replaces npm, which would ask a registry.
    one.program(
      'npm',
      `echo "npm $*"; printf '#!/bin/sh\\n%s\\n' ${JSON.stringify(COMMAND_LINE).replace(/\$/g, '\\$')} > '${one.home}/bin/graphcred'; chmod +x '${one.home}/bin/graphcred'`,
    );
    const { status, log } = await one.gitlab('--variable', `GRAPHCRED_SECRET=${SECRET}`, 'graphcred');
    expect({ status, log }).toMatchObject({ status: 0 });
    expect(log).toMatch(new RegExp(`npm install --global .*graphcred@${version}$`, 'm'));
    expect(log).toContain('loaded');
  });

  test.each<[string, string, RegExp]>([
    ['a lifetime that is none', include({ command: 'x', lifetime: 'soon; rm -rf /' }), /lifetime/],
    ['no command', include({}), /command/],
  ])('%s is refused before the pipeline starts', async (_name, configuration, pattern) => {
    const { status, log } = await project(configuration).gitlab('--list');
    expect(status).not.toBe(0);
    expect(log).toMatch(pattern);
  });

  test('a job with a keyword that is not in GitLab’s schema is refused', async () => {
    const wrong = TEMPLATE.replace('  stage: ', '  stagee: ');
    expect(wrong).not.toBe(TEMPLATE);
    const { status, log } = await project(include({ command: 'x' }), wrong).gitlab('--list');
    expect(status).not.toBe(0);
    expect(log).toContain('stagee');
  });

  test('this file runs every block that it lists', () => {
    expect(unused('test/e2e/gitlab-component.test.ts')).toEqual([]);
  });
});
