import crypto from 'node:crypto';
import fs from 'node:fs';
import { GraphException } from '../core/errors.js';
import { Sensitive } from '../core/sensitive.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** The job's runner, as an action sees it: inputs in the environment, files to write to, commands on stdout. */
export interface Runner {
  readonly env: Environment;
  write(text: string): void;
}

/** The files the runner reads after a step: `GITHUB_STATE` for the post step, the others for the steps that follow. */
export type RunnerFile = 'GITHUB_STATE' | 'GITHUB_OUTPUT' | 'GITHUB_ENV';

type Level = 'error' | 'warning' | 'notice';

/** Returns an input; empty when the workflow does not set it. */
export function input(runner: Runner, name: string): string {
  return rawInput(runner, name).trim();
}

/** Masks the inputs that hold credentials. Nothing may be printed before. */
export function maskCredentials(runner: Runner): void {
  for (const name of ['secret', 'password']) mask(runner, rawInput(runner, name));
}

/**
 * Returns an input that holds a credential; undefined when the workflow does not set it.
 * @throws GraphException USAGE when it has several lines
 */
export function credentialInput(runner: Runner, name: 'secret' | 'password'): Sensitive | undefined {
  // A secret that was piped or pasted into the repository's settings may have a line break or blanks around it.
  const value = input(runner, name);
  if (/[\r\n\0]/.test(value)) {
    throw new GraphException('USAGE', `The input ${name} has more than one line.`, {
      hint: `Set ${name} to the credential alone, on one line.`,
    });
  }
  return value === '' ? undefined : new Sensitive(value);
}

function rawInput({ env }: Runner, name: string): string {
  return env[`INPUT_${name.toUpperCase()}`] ?? '';
}

/** Returns a value that the main step saved for the post step. */
export function savedState({ env }: Runner, name: string): string {
  return env[`STATE_${name}`] ?? '';
}

/**
 * Makes the runner replace the value by `***` in the log. The log is masked line by line, so each line of the value is
 * masked.
 */
export function mask(runner: Runner, value: string): void {
  const lines = [value, ...value.split(/\r\n|\r|\n/)];
  // The credential is sent without the blanks around it, so it is masked without them too.
  for (const part of new Set(lines.flatMap((line) => [line, line.trim()])))
    if (part.trim() !== '') runner.write(`::add-mask::${escaped(part)}\n`);
}

/**
 * Writes a line of the log as a command of the runner, so that it can contain neither a line break nor a command of
 * its own.
 */
export function log(runner: Runner, level: Level, text: string): void {
  runner.write(`::${level}::${escaped(text)}\n`);
}

function escaped(data: string): string {
  return data.replace(/%/g, '%25').replace(/\r/g, '%0D').replace(/\n/g, '%0A');
}

/**
 * Checks the runner's files before anything is minted.
 * @throws GraphException when the runner did not provide one of them
 */
export function requireFiles({ env }: Runner, names: readonly RunnerFile[]): void {
  for (const name of names) {
    const file = env[name];
    try {
      if (file) fs.accessSync(file, fs.constants.W_OK);
    } catch {
      throw new GraphException('USAGE', `The file named by ${name} cannot be written.`, {
        hint: 'Check the runner: it makes this file before each step.',
      });
    }
    if (!file)
      throw new GraphException('USAGE', `The variable ${name} is not set.`, {
        hint: 'Run this as a step of GitHub Actions, on runner 2.327.1 or later.',
      });
  }
}

export function appendTo(
  { env }: Runner,
  file: RunnerFile,
  pairs: Readonly<Record<string, string | undefined>>,
): void {
  // The delimiter is random: a value that contained it could set further variables.
  const end = `graphcred_${crypto.randomBytes(16).toString('hex')}`;
  const text = Object.entries(pairs)
    .map(([name, value]) => (value === undefined ? '' : `${name}<<${end}\n${value}\n${end}\n`))
    .join('');
  fs.appendFileSync(env[file] as string, text);
}
