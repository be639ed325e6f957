import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { defaultLoaders } from 'cosmiconfig';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/server.js';
import { certificate } from '../helpers/certificate.js';
import { temporaryHome } from '../helpers/cli.js';
import { block, blocksOf, unused } from '../helpers/docs.js';
import { lacking } from '../helpers/lacking.js';
import { COMMAND_LINE, endOf } from '../helpers/process.js';
import { playJob } from '../helpers/runner.js';
import { SECRET, social, statusFor } from '../helpers/sandbox.js';
import { python } from '../helpers/terminal.js';

/** Headings with blocks that other tests run, or that need an identity provider. */
const NOT_HERE = ['With the action', 'With the component', 'Without a stored secret'];

// The pages use this address. It is replaced by that of a sandbox, and nothing else of a recipe is changed.
const ADDRESS = 'https://graph.example.com';
const VERSIONS = ['3.10.1', '4.1.2'];

const isPlayable = lacking('recipes', 'bash', 'curl', 'jq', 'python3').length === 0;
const hasPass = lacking('the recipe for pass', 'pass', 'gpg', 'gpg-agent').length === 0;

interface Output {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Machine {
  readonly sandbox: Sandbox;
  readonly home: string;
  /** The folder in which the recipe runs; it holds `load.sh`. */
  readonly work: string;
  /** The variables that the page tells the reader to set, and those of the programs that stand in for real ones. */
  readonly env: Readonly<Record<string, string>>;
  /** Starts a recipe with the address of the sandbox in it. */
  launch(words: readonly string[], script: string, env?: Record<string, string>): ChildProcess;
  /** Runs it to its end. */
  run(words: readonly string[], script: string, env?: Record<string, string>): Promise<Output>;
  /** Writes a block to the file that the page names. */
  put(file: string, text: string): void;
  /** Puts a program on the PATH. */
  program(name: string, script: string): void;
  /** Returns the environment and the token of every run of `load.sh`. */
  loads(): { env: string; token: string }[];
  /** Returns the HTTP status with which the server answers a request with this token. */
  ask(token: string): Promise<number>;
}

async function machine(serverVersion: string, options: SandboxOptions = {}): Promise<Machine> {
  const sandbox = await social(serverVersion, options);
  const home = temporaryHome();
  const work = path.join(home, 'work');
  const bin = path.join(home, 'bin');
  const record = path.join(home, 'record');
  for (const folder of [work, bin, record]) fs.mkdirSync(folder);
  const program = (name: string, script: string) => {
    fs.writeFileSync(path.join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  };
  program('graphcred', COMMAND_LINE);
  // This program runs the real curl and records the arguments that the process list showed.
  program('curl', `echo "$*" >> '${record}/argv'; PATH=\${PATH#*:} exec curl "$@"`);
  fs.writeFileSync(
    path.join(work, 'load.sh'),
    `#!/bin/sh -e
env > "$(mktemp '${record}/load-XXXXXX')"
echo "Authorization: Bearer $TG_API_TOKEN" | curl --fail --silent --show-error -H @- '${sandbox.gsqlUrl}/restpp/echo'
echo loaded
`,
    { mode: 0o755 },
  );
  const secretFile = path.join(home, 'graph-secret');
  fs.writeFileSync(secretFile, `${SECRET}\n`, { mode: 0o600 });
  const local = (text: string) => text.replaceAll(ADDRESS, sandbox.gsqlUrl);
  const launch: Machine['launch'] = (words, script, env = {}) => {
    const file = path.join(home, 'recipe');
    fs.writeFileSync(file, local(script));
    const [shell = 'sh', ...rest] = words;
    const given = { PATH: `${bin}:${process.env.PATH}`, HOME: home, XDG_RUNTIME_DIR: home, ...env };
    return spawn(shell, [...rest, file], { cwd: work, env: given, stdio: ['ignore', 'pipe', 'pipe'] });
  };
  onTestFinished(() => {
    const argv = path.join(record, 'argv');
    if (fs.existsSync(argv)) expectNoCredential(fs.readFileSync(argv, 'utf8'));
  });
  return {
    sandbox,
    home,
    work,
    env: {
      GRAPHCRED_GSQL_URL: sandbox.gsqlUrl,
      REST_URL: `${sandbox.gsqlUrl}/restpp`,
      GRAPHCRED_REST_URL: `${sandbox.gsqlUrl}/restpp`,
      GRAPHCRED_GRAPH: 'social',
      GRAPHCRED_SECRET_FILE: secretFile,
      GRAPHCRED_STORE: 'file',
    },
    launch,
    run: (...words) => endOf(launch(...words)),
    put: (file, text) => {
      const at = file.startsWith('~/') ? path.join(home, file.slice(2)) : path.join(work, file);
      fs.mkdirSync(path.dirname(at), { recursive: true });
      fs.writeFileSync(at, local(text), { mode: 0o600 });
    },
    program,
    loads: () =>
      fs
        .readdirSync(record)
        .filter((name) => name.startsWith('load-'))
        .map((name) => {
          const env = fs.readFileSync(path.join(record, name), 'utf8');
          return { env, token: /^TG_API_TOKEN=(.+)$/m.exec(env)?.[1] ?? '' };
        }),
    ask: (token) => statusFor(sandbox, token),
  };
}

/** Fails if the text has the secret, or anything that looks like a token or a secret. */
function expectNoCredential(text: string): void {
  expect(text).not.toMatch(/eyJ[\w-]{8,}\.|\b(?=[a-z]*\d)[a-z0-9]{32}\b/);
  expect(text).not.toContain(SECRET);
}

function expectDone({ status, stdout, stderr }: Output, pattern: RegExp = /./): void {
  expect({ status, stdout, stderr }).toMatchObject({ status: 0, stdout: expect.stringMatching(pattern) });
  expectNoCredential(stdout + stderr);
}

const ECHO = /Hello GSQL/;
const loaded = ({ loads }: Machine, output: Output) => {
  expectDone(output, /loaded/);
  expect(loads()).toHaveLength(1);
  expect(loads()[0]?.env).not.toMatch(
    /^(GRAPHCRED_SECRET|GRAPHCRED_PASSWORD|GRAPHCRED_STORE_KEY|TG_SECRET)/m,
  );
};

describe.runIf(isPlayable).each(VERSIONS)('on %s', (serverVersion) => {
  test('shell.md: the script tries again if the server is down, but not if the secret is wrong', async () => {
    const one = await machine(serverVersion);
    const text = blocksOf('ci/shell.md').find(({ name }) => name.endsWith('status=0'))?.text;
    const script = text?.replace('--wait 2m', '--wait 0') ?? '';
    const nowhere = {
      ...one.env,
      GRAPHCRED_GSQL_URL: 'http://127.0.0.1:9',
      GRAPHCRED_REST_URL: 'http://127.0.0.1:9',
    };
    expectDone(await one.run(['sh', '-eux'], script, nowhere), /^try again later$/m);
    fs.writeFileSync(path.join(one.home, 'graph-secret'), 'no-such-secret\n');
    expectDone(await one.run(['sh', '-eux'], script, one.env), /^needs a person \(exit 4\)$/m);
  });

  describe('github-actions.md, steps by bash -e -o pipefail', () => {
    // The blocks with the action are run by action.test.ts.
    const jobs = blocksOf('ci/github-actions.md').filter(({ heading }) => !NOT_HERE.includes(heading));

    test('the job with one command works', async () => {
      const one = await machine(serverVersion);
      const { log } = await githubJob(one, jobs[0]?.text as string);
      expect(log).toContain('loaded');
      expect(await one.ask(one.loads()[0]?.token as string)).toBe(403);
      expect(one.loads()[0]?.env).not.toMatch(/GRAPHCRED_SECRET/);
    });

    test('the job with a token for some steps masks the token before it sets an output, and revokes it', async () => {
      const one = await machine(serverVersion);
      const { log, masks, outputs, variables } = await githubJob(one, jobs[1]?.text as string);
      const { token, 'expires-at': expiresAt } = outputs.graph as Record<string, string>;
      expect(masks).toContain(token);
      expect(Date.parse(expiresAt as string) - Date.now()).toBeGreaterThan(600_000);
      expect(log).toContain(`a token until ${expiresAt}`);
      expect(log).toMatch(ECHO);
      expect(variables).toEqual({});
      expect(await one.ask(token as string)).toBe(403);
    });

    test('and with --export it sets the token for all later steps', async () => {
      const one = await machine(serverVersion);
      const exported = `${jobs[1]?.text}`.replace('-o github', '-o github --export');
      const { log, masks, variables } = await githubJob(one, exported);
      expect(Object.keys(variables)).toEqual(['TG_API_TOKEN']);
      expect(masks).toContain(variables.TG_API_TOKEN);
      expect(log).toMatch(ECHO);
      expect(jobs).toHaveLength(2);
    });

    test('the jobs end as the page says for a fork, which gets no secret', async () => {
      const one = await machine(serverVersion);
      const { GRAPHCRED_SECRET_FILE: _, ...env } = one.env;
      for (const [at, status] of [125, 2].entries()) {
        const { jobs: workflow } = defaultLoaders['.yaml']('workflow.yml', jobs[at]?.text ?? '') as Workflow;
        const [step] = Object.values(workflow)[0]?.steps ?? [];
        const files = {
          GITHUB_OUTPUT: path.join(one.home, 'output'),
          GITHUB_ENV: path.join(one.home, 'env'),
        };
        for (const file of Object.values(files)) fs.writeFileSync(file, '');
        const none = { ...env, ...files, CI: 'true', GITHUB_ACTIONS: 'true', GRAPHCRED_SECRET: '' };
        const ended = await one.run(['bash', '-e'], step?.run ?? '', none);
        expect(ended).toMatchObject({
          status,
          stderr: expect.stringContaining('GRAPHCRED_SECRET is set but empty'),
        });
      }
    });
  });

  describe('gitlab.md', () => {
    // The blocks with the component are run by test/e2e/gitlab-component.test.ts.
    const pages = blocksOf('ci/gitlab.md')
      .filter(({ heading }) => !NOT_HERE.includes(heading))
      .map(({ text }) => text);
    const runners = [
      ['bash', '-e', '-o', 'pipefail'],
      ['sh', '-e'],
    ];

    test.each(runners)('the job with one command works, by %s', async (...shell) => {
      for (const kind of ['GRAPHCRED_SECRET_FILE', 'GRAPHCRED_SECRET']) {
        const one = await machine(serverVersion);
        const value = kind === 'GRAPHCRED_SECRET' ? SECRET : (one.env.GRAPHCRED_SECRET_FILE as string);
        expect((await gitlabJobs(one, pages[0] as string, shell, { [kind]: value })).load).toContain(
          'loaded',
        );
        expect(await one.ask(one.loads()[0]?.token as string)).toBe(403);
      }
    });

    test.each(runners)('the job with several requests works, by %s', async (...shell) => {
      const one = await machine(serverVersion);
      const { GRAPHCRED_SECRET_FILE = '' } = one.env;
      const logs = await gitlabJobs(one, pages[1] as string, shell, { GRAPHCRED_SECRET_FILE });
      expect(logs.query).toMatch(ECHO);
      expect(fs.readFileSync(path.join(one.work, 'people.json'), 'utf8')).toContain('"results"');
    });

    test.each(runners)('the job that passes a token to later jobs works, by %s', async (...shell) => {
      const one = await machine(serverVersion);
      const { GRAPHCRED_SECRET_FILE = '' } = one.env;
      const logs = await gitlabJobs(one, pages[2] as string, shell, { GRAPHCRED_SECRET_FILE });
      expect(logs.use).toMatch(/The server accepts the token[\s\S]*loaded/);
      expect(fs.statSync(path.join(one.work, 'token.env')).mode & 0o777).toBe(0o600);
      expect(pages).toHaveLength(3);
    });
  });

  describe('jenkins.md, by sh -xe', () => {
    const [pipeline = ''] = blocksOf('ci/jenkins.md').map(({ text }) => text);
    const steps = (text: string) =>
      [...text.matchAll(/\bsh '''([\s\S]*?)'''/g)].map(([, script = '']) => script);
    const ask = async (one: Machine, script: string) => {
      const environment = [...pipeline.matchAll(/^ {4}(\w+) = '([^']*)'$/gm)].map(([, name, value = '']) => [
        name,
        value.replaceAll(ADDRESS, one.sandbox.gsqlUrl),
      ]);
      const [, bound = ''] = /variable: '(\w+)'/.exec(pipeline) ?? [];
      const { GRAPHCRED_SECRET_FILE = '' } = one.env;
      return one.run(['sh', '-xe'], script, {
        CI: 'true',
        ...Object.fromEntries(environment),
        [bound]: GRAPHCRED_SECRET_FILE,
      });
    };

    test('the pipeline works', async () => {
      const one = await machine(serverVersion);
      const [load = '', question = '', ...more] = steps(pipeline);
      expect(more).toEqual([]);
      expectDone(await ask(one, load), /loaded/);
      expect(await one.ask(one.loads()[0]?.token as string)).toBe(403);
      expectDone(await ask(one, question), ECHO);
      expect(fs.readFileSync(path.join(one.work, 'people.json'), 'utf8')).toContain('"results"');
      expect(fs.existsSync(path.join(one.home, '.local'))).toBe(false);
    });
  });

  describe('with-other-tools.md', () => {
    const PAGE = 'with-other-tools.md';
    const shell = ['sh', '-eux'];
    const putFiles = (one: Machine, heading: string) => {
      for (const { file, text } of blocksOf(PAGE).filter((some) => some.heading === heading))
        if (file !== undefined) one.put(file, text);
    };
    /** Returns the environment with the config file of the page and no other settings. */
    const bare = (one: Machine, env: Record<string, string> = {}) => ({
      GRAPHCRED_STORE: 'file',
      LOAD_URL: `${one.sandbox.gsqlUrl}/restpp/echo`,
      ...env,
    });

    test('curl works with the token', async () => {
      const one = await machine(serverVersion);
      expectDone(await one.run(shell, block(PAGE, 'curl', 'sh'), one.env), ECHO);
    });

    test('pyTigerGraph and tigergraphx get what the page says (tested with small stand-ins that send their arguments)', async () => {
      const one = await machine(serverVersion);
      putFiles(one, 'tigergraphx');
      one.put('tigergraphx.py', STAND_IN_FOR_TIGERGRAPHX);
      const script = 'graphcred exec -- python3 load_x.py';
      expectDone(await one.run(shell, script, one.env), new RegExp(`${one.sandbox.gsqlUrl} with a token`));
      putFiles(one, 'pyTigerGraph');
      one.put('pyTigerGraph.py', STAND_IN_FOR_PYTIGERGRAPH);
      // The REST server's address is set, because this module does not pass a path before the one it requests.
      const env = { ...one.env, GRAPHCRED_REST_URL: one.sandbox.restUrl };
      expectDone(await one.run(shell, block(PAGE, 'pyTigerGraph', 'sh'), env), /v_id/);
    });

    test.skipIf(!python)('curl, Python and Node check a private certificate by one file', async () => {
      const tls = await certificate('127.0.0.1');
      const one = await machine(serverVersion, { tls });
      one.put('ca.pem', tls.cert);
      const url = `${one.sandbox.gsqlUrl}/api/ping`;
      const load = path.join(one.work, 'load.sh');
      const programs = [
        `curl --fail --silent --show-error ${url}`,
        `${python} -c 'import urllib.request; urllib.request.urlopen("${url}")'`,
        `${process.execPath} -e 'fetch("${url}").catch(() => process.exit(1))'`,
      ];
      for (const program of programs) {
        fs.writeFileSync(load, `#!/bin/sh -e\n${program}\n`, { mode: 0o755 });
        expect((await one.run(shell, './load.sh')).status, program).not.toBe(0);
        const ended = await one.run(shell, block(PAGE, 'A private certificate authority', 'sh'), one.env);
        expect(ended.status, `${program}: ${ended.stderr}`).toBe(0);
      }
    });

    test('exec sets what the JDBC snippet reads (the driver is not installed here)', async () => {
      const one = await machine(serverVersion);
      const names = [...block(PAGE, 'JDBC', 'java').matchAll(/getenv\("(\w+)"\)/g)].map(([, name]) => name);
      expect(names).toEqual(['TG_API_TOKEN', 'TG_GRAPHNAME', 'TG_HOST', 'TG_GS_PORT']);
      const script = `graphcred exec -- sh -c '${names.map((name) => `test -n "$${name}"`).join(' && ')} && echo set'`;
      expectDone(await one.run(shell, script, one.env), /^set$/m);
      const address = `graphcred exec -- sh -c 'echo "$TG_HOST:$TG_GS_PORT"'`;
      expect((await one.run(['sh', '-e'], address, one.env)).stdout.trim()).toBe(one.sandbox.gsqlUrl);
    });

    test('the MCP server and graphcred read .env as the page says (tested with a stand-in)', async () => {
      const one = await machine(serverVersion);
      const heading = 'The MCP server, and everything else that reads `.env`';
      const { hostname, port } = new URL(one.sandbox.gsqlUrl);
      const dotenv = block(PAGE, heading, 'ini').replace(ADDRESS, `http://${hostname}`);
      fs.writeFileSync(path.join(one.work, '.env'), `${dotenv}TG_GS_PORT=${port}\n`);
      one.program('tigergraph-mcp', STAND_IN_FOR_MCP);
      const { GRAPHCRED_SECRET_FILE = '' } = one.env;
      const served = await one.run(shell, block(PAGE, heading, 'sh'), one.env);
      expectDone(served, new RegExp(`^http://${hostname} social token$`, 'm'));
      const script = 'set -a; . ./.env; set +a\ngraphcred config show';
      const shown = await one.run(shell, script, bare(one, { GRAPHCRED_SECRET_FILE }));
      expectDone(shown, new RegExp(`^host +http://${hostname} +TG_HOST`, 'm'));
      expect(shown.stdout).toMatch(/^graph +social +TG_GRAPHNAME/m);
    });

    test('Vault gives the secret (tested with a stand-in that knows one path)', async () => {
      const one = await machine(serverVersion);
      putFiles(one, 'Vault');
      one.program(
        'vault',
        `[ "$*" = "kv get -field=secret kv/graph/prod" ] || { echo "No value found at $4" >&2; exit 2; }
         printf %s '${SECRET}'`,
      );
      await loaded(one, await one.run(shell, block(PAGE, 'Vault', 'sh'), bare(one)));
    });

    test.runIf(hasPass)('pass gives the secret, with a key and a password store of its own', async () => {
      const one = await machine(serverVersion);
      const [, command = ''] =
        /`(secretCommand: .*\bpass\b.*?)`/.exec(fs.readFileSync(`docs/${PAGE}`, 'utf8')) ?? [];
      const profile = block(PAGE, 'Vault', 'yaml').replace(/secretCommand: .*/, command);
      one.put('~/.config/graphcred/config.yaml', profile);
      const GNUPGHOME = path.join(one.home, 'gnupg');
      const env = bare(one, { GNUPGHOME });
      fs.mkdirSync(GNUPGHOME, { mode: 0o700 });
      onTestFinished(async () => {
        await one.run(['sh'], 'gpgconf --kill all', env);
      });
      const prepared = await one.run(['sh', '-e'], PREPARE_PASS, env);
      expect(prepared.status, prepared.stderr).toBe(0);
      await loaded(one, await one.run(shell, block(PAGE, 'Vault', 'sh'), env));
    });
  });
});

const STAND_IN_FOR_PYTIGERGRAPH = `
import json
import urllib.request


class TigerGraphConnection:
    def __init__(self, host, graphname, restppPort, gsPort, apiToken):
        # As the real one does: behind the GSQL server when both ports are the same.
        self.rest = f"{host}:{restppPort}" + ("/restpp" if restppPort == gsPort else "")
        self.graph = graphname
        self.token = apiToken

    def getVertices(self, kind, limit):
        url = f"{self.rest}/graph/{self.graph}/vertices/{kind}?limit={limit}"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)["results"]
`;

const STAND_IN_FOR_TIGERGRAPHX = `
class TigerGraphDatabase:
    def __init__(self, config):
        self.found = "{host}:{gsql_port} with".format(**config) + (" a token" if config["token"] else "")

    def gsql(self, _statement):
        return self.found
`;

/** This program uses a value of the file only if the environment does not set it. */
const STAND_IN_FOR_MCP = `
while IFS='=' read -r name value; do
  eval "[ -n \\"\\\${$name+x}\\" ] || export $name=\\$value"
done < .env
echo "$TG_HOST $TG_GRAPHNAME \${TG_API_TOKEN:+token}\${TG_PASSWORD+ password}\${TG_SECRET+ secret}"
`;

const PREPARE_PASS = `
gpg --batch --quiet --passphrase '' --quick-generate-key 'recipes <recipes@example.com>' default default never
pass init recipes@example.com
pass insert --echo graph/prod < "$HOME/graph-secret"
`;

interface Workflow {
  readonly jobs: Record<string, { env: Record<string, string>; steps: Step[] }>;
}
interface Step {
  readonly id?: string;
  readonly run: string;
  readonly env?: Record<string, string>;
}

/** Does what GitHub's runner does with the steps of the job, and with the expressions in them. */
async function githubJob(one: Machine, text: string) {
  const { jobs } = defaultLoaders['.yaml']('workflow.yml', text) as Workflow;
  const [workflow] = Object.values(jobs);
  const job = playJob({ CI: 'true', GITHUB_ACTIONS: 'true' });
  job.masks.push(SECRET);
  const outputs: Record<string, Record<string, string>> = {};
  const filled = (value: string) =>
    value
      .replaceAll(ADDRESS, one.sandbox.gsqlUrl)
      .replace(/\$\{\{ secrets\.GRAPH_SECRET \}\}/g, SECRET)
      .replace(
        /\$\{\{ steps\.([\w-]+)\.outputs\.([\w-]+) \}\}/g,
        (_, step, name) => outputs[step]?.[name] ?? '',
      );
  // GitHub does not set -x, but users do.
  const shell = ['bash', '--noprofile', '--norc', '-ex', '-o', 'pipefail'];
  for (const [at, { id = `step${at}`, run, env }] of (workflow?.steps ?? []).entries()) {
    const said = Object.entries({ ...workflow?.env, ...env }).map(([name, value]) => [name, filled(value)]);
    const ended = await job.step((given) =>
      one.launch(shell, filled(run), { ...given, ...Object.fromEntries(said) }),
    );
    expect({ failed: ended.failed, log: job.log() }).toMatchObject({ failed: false });
    outputs[id] = ended.outputs;
  }
  expectNoCredential(job.log());
  return { log: job.log(), masks: job.masks, outputs, variables: job.variables };
}

interface GitlabJob {
  readonly variables: Record<string, string>;
  readonly script: string[];
  readonly needs?: string[];
  readonly artifacts?: { reports: { dotenv: string } };
}

/** Runs the jobs in order. Each gets the variables from the dotenv reports of the jobs it needs. Returns the logs. */
async function gitlabJobs(
  one: Machine,
  text: string,
  shell: readonly string[],
  settings: Record<string, string>,
): Promise<Record<string, string>> {
  const jobs = defaultLoaders['.yaml']('.gitlab-ci.yml', text) as Record<string, GitlabJob>;
  const logs: Record<string, string> = {};
  const reports: Record<string, Record<string, string>> = {};
  for (const [name, { variables, script, needs = [], artifacts }] of Object.entries(jobs)) {
    const filled = Object.entries(variables).map(([key, value]) => [
      key,
      value.replaceAll(ADDRESS, one.sandbox.gsqlUrl),
    ]);
    const output = await one.run(shell, script.join('\n'), {
      CI: 'true',
      GITLAB_CI: 'true',
      ...settings,
      ...Object.fromEntries(filled),
      ...Object.assign({}, ...needs.map((need) => reports[need])),
    });
    expect(output).toMatchObject({ status: 0 });
    expectNoCredential(output.stdout + output.stderr);
    logs[name] = output.stdout;
    if (artifacts) {
      const lines = fs.readFileSync(path.join(one.work, artifacts.reports.dotenv), 'utf8').trim().split('\n');
      reports[name] = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
      expect(Object.keys(reports[name] as object)).toEqual(['TG_API_TOKEN']);
    }
  }
  return logs;
}

test.runIf(isPlayable && hasPass)('this file runs every block that it lists', () => {
  expect(unused('test/pages/recipes.test.ts')).toEqual([]);
});
