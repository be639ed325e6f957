// Runs the main use case against the sandbox, step by step, on a 3.x and a 4.x server. Exits with 0 only if every step succeeded. It uses temporary
// folders, so no file of the user is read or changed. It uses the OS keychain if there is one, and removes its entries at the end.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const bin = path.join(path.dirname(path.dirname(fileURLToPath(import.meta.url))), 'bin', 'graphcred.js');
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-demo-'));
const own = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(GRAPHCRED|TG)_/.test(name)),
);
// With CI set, graphcred would store nothing, but the demo shows the store.
delete own.CI;
const base = {
  ...own,
  HOME: home,
  XDG_CONFIG_HOME: path.join(home, 'config'),
  XDG_STATE_HOME: path.join(home, 'state'),
};

try {
  await main();
} finally {
  fs.rmSync(home, { recursive: true, force: true });
}

async function main() {
  for (const version of ['3.10.1', '4.1.2']) {
    const sandbox = await startSandbox(version);
    try {
      play(version, sandbox.ready);
    } finally {
      sandbox.process.kill('SIGTERM');
    }
  }
  console.log('\nThat was the whole job: a secret made, a token minted, used and cleaned up.');
}

function play(version, ready) {
  const env = {
    ...base,
    GRAPHCRED_REST_URL: ready.restUrl,
    GRAPHCRED_GSQL_URL: ready.gsqlUrl,
    GRAPHCRED_GRAPH: ready.graph,
    GRAPHCRED_USERNAME: ready.username,
    GRAPHCRED_PASSWORD: ready.password,
  };
  console.log(`\n== A server of version ${version} (an imitation, at ${ready.gsqlUrl})`);
  const secret = step(
    'The DBA makes a secret. Its value is shown this once.',
    ['secret', 'create', 'demo_job'],
    env,
  );
  step('From now on lists show it masked.', ['secret', 'list'], env);

  // The job gets the secret, and no user name or password.
  const { GRAPHCRED_USERNAME: _user, GRAPHCRED_PASSWORD: _password, ...jobEnv } = env;
  const job = { ...jobEnv, GRAPHCRED_SECRET: secret };
  job.GRAPHCRED_STORE = usableStore(job);
  const isKeychain = job.GRAPHCRED_STORE === 'keychain';
  console.log(
    `\n   Tokens are kept in the ${isKeychain ? 'OS keychain' : 'encrypted file store (no usable OS keychain here)'}.`,
  );
  const minted = step('A job mints a token from the secret.', ['token', 'get'], job, masked);
  const found = step('It asks again: the same token, found on this machine.', ['token', 'get'], job, masked);
  expect(found === minted, 'the second token is the cached one');
  useToken(ready.restUrl, job);

  if (version.startsWith('3')) {
    const refreshed = step(
      '3.x can give it a new lifetime.',
      ['token', 'refresh', '--lifetime', '2h'],
      job,
      masked,
    );
    expect(refreshed === minted, 'a refreshed token keeps its text');
  } else {
    step('4.x cannot refresh; graphcred says so and what to do.', ['token', 'refresh'], job, masked, 8);
  }
  step('The job cleans up: the token ends on the server and is forgotten here.', ['token', 'delete'], job);
  step('The DBA drops the secret.', ['secret', 'drop', 'demo_job'], env);
}

/** Runs one command and prints it as a person would see it. Stops the demo if the result is not the expected one. */
function step(title, args, env, show = (text) => text, expected = 0) {
  console.log(`\n-- ${title}\n   $ graphcred ${args.join(' ')}`);
  const result = graphcred(args, env);
  for (const line of `${show(result.stdout)}${result.stderr}`.trimEnd().split('\n'))
    console.log(`     ${line}`);
  expect(
    result.status === expected,
    `graphcred ${args.slice(0, 2).join(' ')} ends with ${expected}, not ${result.status}`,
  );
  return result.stdout.trim();
}

/** Sends one request as a job does. Nobody else can read a pipe. */
function useToken(restUrl, env) {
  console.log('\n-- The token opens the REST server. It reaches curl through a pipe.');
  console.log(`   $ graphcred token get -o header |\n       curl -sSH @- ${restUrl}/echo`);
  const { stdout: header } = graphcred(['token', 'get', '-o', 'header'], env);
  const { stdout, stderr } = spawnSync('curl', ['-sSH', '@-', `${restUrl}/echo`], {
    env,
    input: header,
    encoding: 'utf8',
  });
  console.log(`     ${stdout}${stderr ?? ''}`);
  expect(stdout?.includes('Hello'), 'the REST server takes the token from curl');
}

function graphcred(args, env) {
  return spawnSync(process.execPath, [bin, ...args], {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Returns the keychain if it works, else the file store. To find out, it mints a token that must be stored. */
function usableStore(env) {
  const { status } = graphcred(['token', 'get', '--store', 'keychain', '--lifetime', '60'], env);
  if (status !== 0) return 'file';
  graphcred(['token', 'delete', '--store', 'keychain', '--skip-missing'], env);
  return 'keychain';
}

/** Shows only the ends of a token, because a demo's screen is often recorded. */
function masked(token) {
  return token.replace(/^(\S{3})\S+(\S{3})$/m, '$1****$2');
}

function startSandbox(version) {
  const args = ['sandbox', '--server-version', version, '--gsql-port', '0'];
  if (version.startsWith('3')) args.push('--rest-port', '0');
  const child = spawn(process.execPath, [bin, ...args], { env: base, stdio: ['ignore', 'pipe', 'inherit'] });
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', (line) =>
      resolve({ process: child, ready: JSON.parse(line) }),
    );
    child.once('exit', (status) => reject(new Error(`the sandbox ended with ${status}`)));
  });
}

function expect(condition, what) {
  if (condition) return;
  console.error(`\nThe demo failed: expected that ${what}.`);
  fs.rmSync(home, { recursive: true, force: true });
  process.exit(1);
}
