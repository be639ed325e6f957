import fs from 'node:fs';
import path from 'node:path';
import { questionsFor } from './ask.js';
import { compare, table } from './compare.js';
import { readOptions, USAGE } from './options.js';
import { GENERATIONS, type Question } from './question.js';
import { findVersion, generationOf, realWait, record, recordSandbox } from './run.js';
import type { Target } from './target.js';

/**
 * Runs the command line. Its exit status is 0 if the server answers as the sandbox does, 1 if it differs or something was left behind, 2 for wrong
 * usage or no answers, and 130 after an interruption.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const stop = new AbortController();
  const interrupt = () => {
    if (stop.signal.aborted) process.exit(130);
    process.stderr.write('Interrupted: removing the secrets and tokens of this run. Wait a moment.\n');
    stop.abort();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  try {
    return await run(argv, stop.signal);
  } catch (error) {
    if (stop.signal.aborted) return 130;
    process.stderr.write(`${error instanceof Error ? error.message : 'The run failed.'}\n`);
    return 2;
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

async function run(argv: readonly string[], signal: AbortSignal): Promise<number> {
  const options = await readOptions(argv);
  if (options === 'help') {
    process.stdout.write(USAGE);
    return 0;
  }
  const { account, serverVersion, fillBlockList } = options;
  if (options.dryRun) {
    process.stdout.write(dryRun(serverVersion, fillBlockList));
    return 0;
  }
  const target: Target = { ...options.target, wait: realWait };
  const version = serverVersion ?? (await findVersion(target, account, signal));
  if (version === undefined) {
    throw new Error('The server does not tell its version. Give it: --server-version 4.2.2');
  }
  if (generationOf(version) !== '4' && account.graph === '') {
    throw new Error('On 3.x secrets belong to a graph. Give one: --graph GRAPH');
  }
  const onQuestion = ({ about }: Question) => {
    if (process.stderr.isTTY) process.stderr.write(`${about}\n`);
  };
  const { left, ...recording } = await record(target, {
    version,
    account,
    fillBlockList,
    signal,
    onQuestion,
  });
  const name = `conformance-${version}${recording.restAuth === 'off' ? '-auth-off' : ''}.json`;
  const file = path.join(options.out, name);
  fs.writeFileSync(file, `${JSON.stringify(recording, null, 2)}\n`);
  const ours = await recordSandbox(recording, account);
  const rows = compare(questionsFor(generationOf(version), fillBlockList), { ...recording, left: [] }, ours);
  process.stdout.write(`Server ${version}, beside the sandbox of that version:\n${table(rows)}`);
  process.stderr.write(`The redacted answers are in ${file}. Read them before you publish them.\n`);
  for (const one of left) process.stderr.write(`Could not remove ${one}: remove it yourself.\n`);
  return left.length > 0 || rows.some(({ verdict }) => verdict === 'differs') ? 1 : 0;
}

/** Returns the requests that would be sent. Values are shown as names in braces, so there is no credential in it. */
function dryRun(version: string | undefined, fillBlockList: boolean): string {
  const generations = version === undefined ? GENERATIONS : [generationOf(version)];
  const names = { '3.0': '3.0 to 3.4', '3.5': '3.5 to 3.11', '4': '4.x' } as const;
  return generations
    .map((generation) => {
      const lines = questionsFor(generation, fillBlockList).map((question) => `  ${described(question)}\n`);
      return `To a server of ${names[generation]}:\n${lines.join('')}`;
    })
    .join('');
}

function described({
  server,
  method,
  path: where,
  query,
  json,
  text,
  login,
  about,
  after,
}: Question): string {
  const base = { rest: '<rest-url>', gsql: '<gsql-url>', 'old-rest': '<port 9000>' }[server];
  const search = query && Object.entries(query).map(([name, value]) => `${name}=${value}`);
  const body = json ? JSON.stringify(json) : text && JSON.stringify(text);
  const as =
    login === undefined
      ? 'no login'
      : typeof login === 'string'
        ? `login {user} with ${login === 'password' ? 'the password' : 'a wrong password'}`
        : 'bearer' in login
          ? `token {${login.bearer}}`
          : `secret {${login.secret}}`;
  const wait = after === undefined ? '' : ` after ${after} seconds`;
  const url = `${base}${where}${search && search.length > 0 ? `?${search.join('&')}` : ''}`;
  return `${about}${wait}: ${method} ${url} (${as})${body === undefined ? '' : ` ${body}`}`;
}
