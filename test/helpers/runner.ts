// Imitates the runner of GitHub Actions: where an action may write, and what the runner does with that.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { temporaryHome } from './cli.js';

export interface StepResult {
  readonly failed: boolean;
  /** Everything that the step printed, before the runner acts on it. */
  readonly raw: string;
  readonly outputs: Record<string, string>;
  readonly variables: Record<string, string>;
}

export interface Job {
  /** The values that the runner hides in the log from now on. */
  readonly masks: string[];
  /** The variables for all later steps. */
  readonly variables: Record<string, string>;
  /** The values that the main step saved for the post step. */
  readonly state: Record<string, string>;
  /** Returns the log as the runner shows it to a person. */
  log(): string;
  /** The folder in which the runner creates the files of this job. */
  readonly folder: string;
  /** Runs a step that `launch` starts with the variables of the runner. */
  step(launch: (env: Record<string, string>) => ChildProcess): Promise<StepResult>;
  /** Runs a built step of an action; `during` is called when it has started. */
  spawn(
    file: string,
    inputs: Record<string, string>,
    during?: (child: ChildProcess) => void,
  ): Promise<StepResult>;
}

const FILES = ['GITHUB_OUTPUT', 'GITHUB_ENV', 'GITHUB_STATE'] as const;

/** Starts a job on a runner of its own. `env` is the environment of the job. */
export function playJob(env: Record<string, string> = {}): Job {
  const folder = temporaryHome();
  const masks: string[] = [];
  const variables: Record<string, string> = {};
  const state: Record<string, string> = {};
  let shown = '';
  let steps = 0;

  /** The runner masks all printed values before it reads the files, and it creates new files for each step. */
  const step: Job['step'] = async (launch) => {
    steps += 1;
    const files = Object.fromEntries(FILES.map((name) => [name, path.join(folder, `${name}_${steps}`)]));
    for (const file of Object.values(files)) fs.writeFileSync(file, '');
    const child = launch({ ...files, ...env, ...variables });
    let raw = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        raw += text;
      });
    const [status] = await once(child, 'close');
    for (const line of raw.split('\n')) shown += show(line, masks);
    const [outputs = {}, set = {}, saved] = Object.values(files).map(readPairs);
    Object.assign(variables, set);
    Object.assign(state, saved);
    for (const file of Object.values(files)) fs.rmSync(file);
    return { failed: status !== 0, raw, outputs, variables: set };
  };
  const named = (prefix: string, pairs: Record<string, string>) =>
    Object.fromEntries(Object.entries(pairs).map(([name, value]) => [`${prefix}${name}`, value]));

  return {
    masks,
    variables,
    state,
    folder,
    log: () => shown,
    step,
    spawn: (file, inputs, during) =>
      step((given) => {
        const upper = Object.entries(inputs).map(([name, value]) => [name.toUpperCase(), value]);
        const child = spawn(process.execPath, [file], {
          cwd: folder,
          env: { ...given, ...named('INPUT_', Object.fromEntries(upper)), ...named('STATE_', state) },
          stdio: ['ignore', 'pipe', 'pipe'],
          // With a process group of its own, so that a test can signal the group.
          detached: true,
        });
        during?.(child);
        return child;
      }),
  };
}

/** Returns a line as the runner shows it. There are two forms of a command; the older one is recognized anywhere in a line. */
function show(line: string, masks: string[]): string {
  const [, command, data = ''] = /^\s*::([\w-]+)(?: [^:]*)?::(.*)$/.exec(line) ?? [];
  const decoded = data.replace(/%0D/g, '\r').replace(/%0A/g, '\n').replace(/%25/g, '%');
  if (command === 'add-mask') {
    // Newer runners also mask each line of a value; an action cannot rely on that.
    masks.push(decoded);
    return '';
  }
  if (command !== undefined && !/^(?:error|warning|notice)$/.test(command))
    throw new Error(`the action gave the runner the command ${command}`);
  if (command === undefined && /##\[/.test(line))
    throw new Error('the action gave the runner an old command');
  const text = command === undefined ? line : decoded;
  const hidden = [...masks].sort((a, b) => b.length - a.length);
  return text === '' ? '' : `${hidden.reduce((rest, value) => rest.replaceAll(value, '***'), text)}\n`;
}

/** Reads a file of variables. Only the form with a delimiter is safe for every value. */
function readPairs(file: string): Record<string, string> {
  const text = fs.readFileSync(file, 'utf8');
  const pattern = /([\w-]+)<<(\S+)\n([\s\S]*?)\n\2\n/g;
  expect(text.replace(pattern, '')).toBe('');
  return Object.fromEntries([...text.matchAll(pattern)].map(([, name, , value]) => [name, value]));
}
