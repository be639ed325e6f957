import fs from 'node:fs';
import path from 'node:path';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/server.js';
import { temporaryHome } from '../helpers/cli.js';
import { run } from '../helpers/driver.js';
import { PEM, rsaJwt } from '../helpers/jwt.js';
import { freePort } from '../helpers/ports.js';
import { COMMAND_LINE } from '../helpers/process.js';
import { SECRET, social } from '../helpers/sandbox.js';
import { curlSteps } from './curl.js';
import type { JavaProgram, Program, PythonProgram, Step } from './programs.js';

export interface Stage {
  readonly sandbox: Sandbox;
  readonly home: string;
}

/** Starts a sandbox, and creates a home with `graphcred` on its PATH. */
export async function stage(serverVersion: string, options: SandboxOptions = {}): Promise<Stage> {
  const secrets = [{ alias: 'seeded', value: SECRET, user: 'tigergraph', graph: 'social' }];
  const sandbox = await social(serverVersion, { secrets, provider: { key: PEM }, ...options });
  const home = temporaryHome();
  fs.mkdirSync(path.join(home, 'bin'));
  fs.writeFileSync(path.join(home, 'bin/graphcred'), `#!/bin/sh\n${COMMAND_LINE}\n`, { mode: 0o755 });
  return { sandbox, home };
}

/** Lets the program create its own secrets and tokens, and returns the steps that worked and those that failed. */
export async function ownSteps(program: Program, folder: string, { sandbox, home }: Stage): Promise<Step[]> {
  if (program.language === 'shell') return curlSteps(sandbox.serverVersion, home);
  const steps = path.join(home, 'steps');
  const port = (url: string) => new URL(url).port;
  const { status, stdout, stderr } = await run(commandOf(program, folder), {
    PATH: process.env.PATH ?? '',
    HOME: home,
    PYTHONDONTWRITEBYTECODE: '1',
    STEPS: steps,
    CLIENT_HOST: 'http://127.0.0.1',
    CLIENT_REST_PORT: port(sandbox.restUrl),
    CLIENT_GSQL_PORT: port(sandbox.gsqlUrl),
    CLIENT_CLOSED_PORT: String(await freePort()),
    CLIENT_GRAPH: sandbox.graph,
    CLIENT_USERNAME: sandbox.username,
    CLIENT_PASSWORD: sandbox.password,
    CLIENT_SECRET: SECRET,
    CLIENT_SERVER_VERSION: sandbox.serverVersion,
    // What an identity provider would issue. Servers take such JWTs from 3.10 on.
    CLIENT_JWT: rsaJwt({ sub: sandbox.username, exp: Math.floor(Date.now() / 1000) + 3600 }),
  });
  if (status !== 0 || !fs.existsSync(steps)) throw new Error(`it broke off:\n${stdout}${stderr}`);
  const lines = fs.readFileSync(steps, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Step);
}

function commandOf(program: PythonProgram | JavaProgram, folder: string): string[] {
  if (program.language === 'java') return ['java', '-cp', `${folder}/jars/*:${folder}/classes`, 'Jdbc'];
  const [script, ...args] = program.script;
  return [path.join(folder, 'bin/python'), path.resolve('test/clients/python', script), ...args];
}
