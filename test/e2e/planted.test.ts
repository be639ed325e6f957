import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { bench, cli } from '../helpers/cli.js';
import { EVERY_COMMAND } from '../helpers/every-command.js';
import { rsaJwt } from '../helpers/jwt.js';
import { start } from '../helpers/process.js';

// The working directory holds files of an attacker, as after a clone or an unpacked archive. Whatever command is typed there, none of the files is
// run, nothing is written there, and no request goes to a host that only such a file names.

const SECRET_LOOKALIKE = 'canary0123456789canary0123456789';

const JWT = rsaJwt({ sub: 'tigergraph', exp: 4_000_000_000 });

/** A file that is named to `config trust` is meant. Completion reads config files too. */
const LINES = [
  ...EVERY_COMMAND.filter(({ path }) => path !== 'config trust').flatMap(({ lines }) => lines),
  '__complete bash 3 graphcred -p ',
];

/** Creates files that a careless search for settings would run or read. Each of them writes to the file `mark` when it is run. */
function plantPrograms(folder: string, mark: string, evilUrl: string): void {
  const cjs = `require('node:fs').writeFileSync(${JSON.stringify(mark)}, 'ran'); module.exports = { gsqlUrl: '${evilUrl}' };\n`;
  const esm = `import fs from 'node:fs'; fs.writeFileSync(${JSON.stringify(mark)}, 'ran'); export default { gsqlUrl: '${evilUrl}' };\n`;
  const data = JSON.stringify({
    host: evilUrl,
    gsqlUrl: evilUrl,
    restUrl: evilUrl,
    graphcred: { gsqlUrl: evilUrl },
  });
  const files: Record<string, string> = {
    'package.json': JSON.stringify({
      name: 'planted',
      main: 'index.js',
      graphcred: { gsqlUrl: evilUrl, restUrl: evilUrl },
    }),
    'package.yaml': `graphcred:\n  gsqlUrl: ${evilUrl}\n`,
    '.env': `GRAPHCRED_GSQL_URL=${evilUrl}\nGRAPHCRED_REST_URL=${evilUrl}\nTG_HOST=${evilUrl}\n`,
    'graphcred.json': data,
    'config.json': data,
    'index.js': cjs,
  };
  for (const base of [
    '.graphcredrc',
    'graphcred.config',
    '.config/graphcredrc',
    '.config/config',
    '.config/graphcred/config',
  ]) {
    Object.assign(files, {
      [`${base}.js`]: cjs,
      [`${base}.cjs`]: cjs,
      [`${base}.mjs`]: esm,
      [`${base}.ts`]: esm,
    });
    if (base !== '.graphcredrc')
      Object.assign(files, { [`${base}.json`]: data, [`${base}.yaml`]: data, [`${base}.yml`]: data });
  }
  files['.config/graphcredrc'] = data;
  for (const name of ['cosmiconfig', 'keytar', 'typescript', 'commander', 'js-yaml'])
    files[`node_modules/${name}/index.js`] = cjs;
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(folder, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text, { mode: 0o755 });
  }
}

/** Returns name, type, mode, modification time and content of everything in a folder. */
function photograph(folder: string): string[] {
  return (fs.readdirSync(folder, { recursive: true }) as string[]).sort().map((name) => {
    const file = path.join(folder, name);
    const stat = fs.lstatSync(file);
    return `${name} ${stat.mode} ${stat.mtimeMs} ${stat.isFile() ? fs.readFileSync(file, 'utf8') : ''}`;
  });
}

/** Creates a user with a cached token and a saved secret for their own server, and the attacker's server. */
async function victim() {
  // On 4.x two tokens of one user that are made in the same second are the same text: a command that revokes one would
  // revoke the other.
  const [own, evil] = [await bench({ serverVersion: '3.10.1' }), await bench({ serverVersion: '3.10.1' })];
  await own.run('token get');
  await own.run('secret create ci --save');
  const saved = { GRAPHCRED_PASSWORD: '' };
  await own.run('token get', { env: saved });
  const project = path.join(own.home, 'cloned');
  const cwd = path.join(project, 'deep', 'deeper');
  fs.mkdirSync(cwd, { recursive: true });
  return { own, evil, project, cwd, mark: path.join(own.home, 'ran') };
}

type Victim = Awaited<ReturnType<typeof victim>>;

/** The environments to try. None of them sets the address of the server; the last one sets a part of it. */
function environments({ own }: Victim): Record<string, Record<string, string>> {
  const store = { GRAPHCRED_STORE: 'file' };
  return {
    'nothing but what is held and saved': store,
    'only the user name': { ...store, GRAPHCRED_USERNAME: own.sandbox.username },
    'user name and password': {
      ...store,
      GRAPHCRED_USERNAME: own.sandbox.username,
      GRAPHCRED_PASSWORD: own.sandbox.password,
      GRAPHCRED_GRAPH: 'demo',
    },
    'a secret': { ...store, GRAPHCRED_SECRET: SECRET_LOOKALIKE, GRAPHCRED_GRAPH: 'demo' },
    'names and passwords of the field, and a token': {
      ...store,
      TG_USERNAME: own.sandbox.username,
      TG_PASSWORD: own.sandbox.password,
      TG_SECRET: SECRET_LOOKALIKE,
      TG_GRAPHNAME: 'demo',
      TG_API_TOKEN: SECRET_LOOKALIKE,
      TG_JWT_TOKEN: JWT,
      GRAPHCRED_OIDC_CLIENT_SECRET: SECRET_LOOKALIKE,
    },
  };
}

/** Config files that lead to the attacker's server in different ways. */
function lures({ evil, own }: Victim): Record<string, Record<string, unknown>> {
  const { gsqlUrl, restUrl } = evil.sandbox;
  const { port, hostname } = new URL(gsqlUrl);
  const username = own.sandbox.username;
  const away = { gsqlUrl, restUrl, graph: 'demo', username };
  return {
    'URLs at the top': away,
    'host and ports': {
      host: `http://${hostname}`,
      gsqlPort: Number(port),
      restPort: Number(new URL(restUrl).port),
      graph: 'demo',
    },
    'a profile that it makes the default': { defaultProfile: 'p', profiles: { p: away } },
    'a credential of its own in another profile': {
      ...away,
      profiles: { other: { ...away, password: 'of-the-attacker' } },
    },
    'settings that weaken': {
      ...away,
      tls: { insecure: true },
      store: 'none',
      secretCommand: ['touch', 'ran'],
      jwtCommand: ['touch', 'ran'],
      oidc: { issuer: gsqlUrl, clientId: 'cli', clientSecretFile: '/etc/hostname' },
      passwordFile: '/etc/hostname',
      serverVersion: '4',
    },
  };
}

function withoutTrace(made: Victim, before: string[], where: string): void {
  expect(fs.existsSync(made.mark), `${where}: a planted program ran`).toBe(false);
  expect(photograph(made.project), where).toEqual(before);
  expect(made.evil.requests(), where).toEqual([]);
}

/** Splits a command line into words. */
const words = (line: string) => line.split(' ');

describe('in a folder with files of an attacker', () => {
  test('no program is run, and each command behaves as in any other folder', async () => {
    const made = await victim();
    for (const folder of [made.cwd, made.project])
      plantPrograms(folder, made.mark, made.evil.sandbox.gsqlUrl);
    const before = photograph(made.project);
    for (const line of LINES) {
      const elsewhere = fs.mkdtempSync(path.join(made.own.home, 'elsewhere-'));
      const options = { env: made.own.env, stdin: `${SECRET_LOOKALIKE}\n` };
      const there = await cli(made.own.home, words(line), { ...options, cwd: elsewhere });
      const here = await cli(made.own.home, words(line), { ...options, cwd: made.cwd });
      withoutTrace(made, before, line);
      // Commands that create or delete something are left out, because the earlier run has already done so.
      if (!/create|drop|delete|remove|logout|refresh/.test(line))
        expect({ line, status: here.status }).toEqual({ line, status: there.status });
    }
    // These run as processes of their own, in which no module is loaded yet.
    const env = { ...made.own.env, HOME: made.own.home };
    for (const line of ['token get', 'config show', 'doctor', 'login', 'exec -- true']) {
      const { status, stderr } = await start(words(line), env, '', made.cwd).ended;
      expect({ line, status, stderr }).toMatchObject({ line, status: 0 });
      withoutTrace(made, before, line);
    }
  });

  test('no config file sends a request to the attacker’s host, here or from a folder above', async () => {
    const made = await victim();
    for (const [index, [lure, content]] of Object.entries(lures(made)).entries()) {
      const name = ['.graphcredrc', '.graphcredrc.json', '.graphcredrc.yaml', '.graphcredrc.yml'][index % 4];
      const file = path.join(index % 2 === 0 ? made.cwd : made.project, name as string);
      fs.writeFileSync(file, JSON.stringify(content, null, 1));
      const before = photograph(made.project);
      for (const [what, env] of Object.entries(environments(made)))
        for (const line of LINES) {
          // This command does send a request to the other profile's host, with the credential of that profile only.
          if (line === 'status --all-profiles' && lure.includes('another profile')) continue;
          const options = { cwd: made.cwd, env, stdin: `${SECRET_LOOKALIKE}\n` };
          const { stdout, stderr } = await cli(made.own.home, words(line), options);
          withoutTrace(made, before, `${line} with ${what}, lured by ${lure}`);
          expect(stdout + stderr, line).not.toContain(SECRET_LOOKALIKE);
          expect(stderr, line).not.toContain(JWT);
        }
      fs.rmSync(file);
    }
    // The cached token and the saved secret are still there and still work.
    expect((await made.own.run('token get', { env: { GRAPHCRED_PASSWORD: '' } })).status).toBe(0);
  });
});
