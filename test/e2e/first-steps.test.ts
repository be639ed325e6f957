import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { GraphConnection } from '../../src/index.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { temporaryHome } from '../helpers/cli.js';
import { block, blocksOf } from '../helpers/docs.js';
import { COMMAND } from '../helpers/process.js';

const README = '../README.md';
const STEPS = 'first-steps.md';
const noCurl = !(process.env.PATH ?? '')
  .split(':')
  .some((folder) => fs.existsSync(path.join(folder, 'curl')));
if (noCurl) console.log('the blocks of README and first-steps.md are skipped: curl is not installed');

/** A home with `graphcred` on its PATH, and a sandbox; `shell` runs a block there as a person would. */
async function newcomer(options: Parameters<typeof startSandbox>[0] = {}) {
  const sandbox = await startSandbox({ restPort: 0, gsqlPort: 0, ...options });
  onTestFinished(() => sandbox.close());
  const home = temporaryHome();
  const bin = path.join(home, 'bin');
  fs.mkdirSync(bin);
  const words = COMMAND.map((word) => `'${word}'`).join(' ');
  fs.writeFileSync(path.join(bin, 'graphcred'), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: home, XDG_RUNTIME_DIR: home };
  const shell = (script: string, more: Record<string, string> = {}) =>
    run('sh', ['-e', '-c', here(script, sandbox)], home, { ...env, ...more });
  const put = (text: string) => {
    const file = path.join(home, '.config/graphcred/config.yaml');
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    fs.writeFileSync(file, here(text, sandbox), { mode: 0o600 });
  };
  return { sandbox, home, shell, put };
}

/** The pages name addresses; here they are the sandbox. Nothing else is changed. */
function here(text: string, { restUrl, gsqlUrl }: Sandbox): string {
  return text
    .replaceAll('host: "http://127.0.0.1"', `restUrl: "${restUrl}", gsqlUrl: "${gsqlUrl}"`)
    .replaceAll('http://127.0.0.1:9000', restUrl)
    .replaceAll('https://graph.example.com/restpp', restUrl)
    .replaceAll('https://graph.example.com', gsqlUrl);
}

function run(command: string, args: string[], cwd: string, env: Record<string, string>) {
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  return new Promise<{ status: number | null; stdout: string; stderr: string }>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, stdout, stderr }));
  });
}

describe.skipIf(noCurl)('first-steps.md', () => {
  test('a newcomer who types every block in order ends with a rotated secret, used and cleaned up', async () => {
    const { shell, put } = await newcomer();
    put(block(STEPS, 'Say where the database is', 'yaml'));
    const blocks = blocksOf(STEPS).filter(({ heading, language }) => {
      // Installing changes the machine, and the sandbox of this test runs already.
      return language === 'sh' && heading !== 'Install' && heading !== 'Start the sandbox';
    });
    const shown: string[] = [];
    for (const { heading, text } of blocks) {
      const { status, stdout, stderr } = await shell(text);
      expect({ heading, status, stderr }).toMatchObject({ status: 0 });
      shown.push(stdout);
    }
    const [settings, made, used, rotated, cleaned] = shown;
    expect(settings).toContain('demo');
    expect(made).not.toMatch(/[a-z0-9]{32}/);
    expect(used).toMatch(/"results"[\s\S]*demo/);
    expect(rotated).toContain('"error":false');
    expect(cleaned).toContain('status ends with 3');
  });
});

describe.skipIf(noCurl)('README.md', () => {
  test('the DBA makes a secret, lists it masked and drops it, as shown', async () => {
    const { shell, sandbox } = await newcomer();
    const typed = block(README, 'For a DBA', 'text')
      .split('\n')
      .filter((line) => line.startsWith('$ graphcred secret'))
      .map((line) => line.slice(2));
    expect(typed).toHaveLength(3);
    const { status, stdout } = await shell(typed.join('\n'), {
      GRAPHCRED_REST_URL: sandbox.restUrl,
      GRAPHCRED_GSQL_URL: sandbox.gsqlUrl,
      GRAPHCRED_GRAPH: 'demo',
      GRAPHCRED_USERNAME: 'tigergraph',
      GRAPHCRED_PASSWORD: 'tigergraph',
    });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^[a-z0-9]{32}\nALIAS +SECRET +GRAPH +SAVED\netl +\w{3}\*{4}\w{3} +demo +-\n/);
  });

  test('the profile leads a script to the REST server', async () => {
    const { shell, put } = await newcomer({
      graphs: ['social'],
      users: [{ name: 'alice', password: 'pw', role: 'admin' }],
    });
    put(block(README, 'For a DBA', 'yaml'));
    const env = { GRAPHCRED_PASSWORD: 'pw', GRAPHCRED_STORE: 'file' };
    const { status, stdout, stderr } = await shell(block(README, 'For a script', 'sh'), env);
    expect({ status, stderr }).toMatchObject({ status: 0 });
    expect(stdout).toContain('"error":false');
  });

  test('a CI job runs its command with a token, which is revoked afterwards', async () => {
    const secret = 'k3v9q2m8x1c7b5n4l6h0g3f2d8s9a1p4';
    const { shell, home, sandbox } = await newcomer({
      graphs: ['social'],
      secrets: [{ alias: 'ci', value: secret, user: 'tigergraph', graph: 'social' }],
    });
    fs.writeFileSync(path.join(home, 'load.sh'), '#!/bin/sh\nprintenv TG_API_TOKEN\n', { mode: 0o755 });
    fs.writeFileSync(path.join(home, 'secret'), secret, { mode: 0o600 });
    const { status, stdout, stderr } = await shell(block(README, 'For a CI job', 'sh'), {
      CI: 'true',
      FILE_FROM_THE_CI_SETTINGS: path.join(home, 'secret'),
    });
    expect({ status, stderr }).toMatchObject({ status: 0 });
    const answer = await fetch(`${sandbox.restUrl}/echo`, {
      headers: { authorization: `Bearer ${stdout.trim()}` },
    });
    expect(await answer.text()).toContain('is invalid');
  });

  test.each([
    ['3.10.1', 3],
    ['4.1.2', 2],
  ])(
    'the sample of the library runs on %s, where getToken answers %i elements',
    async (serverVersion, length) => {
      const { sandbox } = await newcomer({ serverVersion });
      const sample = block(README, 'The library', 'ts')
        .replace(/^import .*$/m, '')
        .replace("host: 'http://127.0.0.1'", `restUrl: '${sandbox.restUrl}', gsqlUrl: '${sandbox.gsqlUrl}'`);
      const AsyncFunction = (async () => {}).constructor as new (
        ...words: string[]
      ) => (...values: unknown[]) => Promise<unknown[]>;
      const tuple = await new AsyncFunction('GraphConnection', 'password', `${sample}; return tuple;`)(
        GraphConnection,
        'tigergraph',
      );
      expect(tuple).toHaveLength(length);
    },
  );
});
