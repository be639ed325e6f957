import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { defined } from '../helpers/defined.js';
import type { JavaProgram, Program, PythonProgram } from './programs.js';

const CONSTRAINTS = path.resolve('test/clients/python/constraints.txt');
const POM = path.resolve('test/clients/java/pom.xml');
const JDBC = path.resolve('test/clients/java/Jdbc.java');

/** The folder of the installed program, or why it cannot run here. */
export type Installed = { readonly folder: string } | { readonly skip: string };

interface Ended {
  readonly status: number;
  readonly output: string;
}

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(command, args, { env, maxBuffer: 64 << 20 }, (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : 1, output: stdout + stderr + (error?.message ?? '') }),
    );
  });
}

// Matches the messages of pip and Maven for a registry that does not answer, as opposed to a package that does not exist.
const OUT_OF_REACH =
  /Failed to establish a new connection|NewConnectionError|Connection refused|Temporary failure in name resolution|Name or service not known|No address associated|Unknown host|UnknownHostException|timed out|Network is unreachable|Could not transfer (artifact|metadata)/i;

/** Installs a program once. The folder's name is a hash of everything that determines its content. */
export async function install(program: Program, env: NodeJS.ProcessEnv = process.env): Promise<Installed> {
  const lacking = lacks(program, env.PATH ?? '');
  if (lacking.length > 0) return { skip: `not installed: ${lacking.join(', ')}` };
  if (program.language === 'shell') return { folder: '' };
  const folder = path.join(cacheFolder(env), await keyOf(program, env));
  const complete = path.join(folder, 'complete');
  if (fs.existsSync(complete)) return { folder };
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  for (const [command, ...args] of program.language === 'python'
    ? pythonSteps(program, folder)
    : javaSteps(program, folder)) {
    const { status, output } = await run(command, args, env);
    if (status === 0) continue;
    if (OUT_OF_REACH.test(output)) return { skip: 'its registry is out of reach' };
    throw new Error(`${program.name} cannot be installed: ${command} ${args.join(' ')}\n${output}`);
  }
  fs.writeFileSync(complete, '');
  return { folder };
}

/** Installs two programs at a time, because each uses a core while it unpacks. Programs with the same packages share a folder. */
export async function installAll(programs: readonly Program[]): Promise<Map<Program, Installed>> {
  const groups = new Map<string, Program[]>();
  for (const program of programs) {
    const packages = program.language === 'python' ? program.requirements.join(' ') : program.name;
    groups.set(packages, [...(groups.get(packages) ?? []), program]);
  }
  const installed = new Map<Program, Installed>();
  const waiting = [...groups.values()];
  const worker = async () => {
    for (let group = waiting.shift(); group; group = waiting.shift()) {
      const found = await install(defined(group[0]));
      for (const program of group) installed.set(program, found);
    }
  };
  await Promise.all([worker(), worker()]);
  return installed;
}

function lacks(program: Program, PATH: string): string[] {
  const needed = { python: ['python3'], java: ['mvn', 'java', 'javac'], shell: ['curl'] }[program.language];
  const folders = PATH.split(path.delimiter);
  return needed.filter((name) => !folders.some((folder) => fs.existsSync(path.join(folder, name))));
}

function cacheFolder(env: NodeJS.ProcessEnv): string {
  return path.join(env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache'), 'graphcred-test-clients');
}

async function keyOf(program: PythonProgram | JavaProgram, env: NodeJS.ProcessEnv): Promise<string> {
  const hash = createHash('sha256');
  if (program.language === 'python') {
    const { output } = await run('python3', ['-c', 'import sys; print(sys.prefix, sys.version)'], env);
    hash.update(JSON.stringify([program.requirements, program.only === true, output]));
    hash.update(fs.readFileSync(CONSTRAINTS));
    return `python-${hash.digest('hex').slice(0, 16)}`;
  }
  hash.update(program.version);
  for (const file of [POM, JDBC]) hash.update(fs.readFileSync(file));
  return `java-${hash.digest('hex').slice(0, 16)}`;
}

type Step = readonly [string, ...string[]];

function pythonSteps({ requirements, only }: PythonProgram, folder: string): Step[] {
  const quiet = ['--quiet', '--disable-pip-version-check', '--retries', '2', '--timeout', '15'];
  const pins = [...(only ? ['--no-deps'] : []), '--constraint', CONSTRAINTS, ...requirements];
  return [
    ['python3', '-m', 'venv', folder],
    [path.join(folder, 'bin/python'), '-m', 'pip', 'install', ...quiet, ...pins],
  ];
}

function javaSteps({ version }: JavaProgram, folder: string): Step[] {
  const jars = path.join(folder, 'jars');
  const copy = ['dependency:copy-dependencies', `-DoutputDirectory=${jars}`, `-Djdbc.version=${version}`];
  return [
    ['mvn', '--batch-mode', '--quiet', '--file', POM, ...copy],
    ['javac', '-d', path.join(folder, 'classes'), '-cp', path.join(jars, '*'), JDBC],
  ];
}
