import fs from 'node:fs';
import path from 'node:path';
import { defined } from '../helpers/defined.js';
import { blocksOf } from '../helpers/docs.js';
import { type Ended, run } from '../helpers/driver.js';
import { SECRET } from '../helpers/sandbox.js';
import { type Program, type Step, WITH_TOKEN } from './programs.js';
import type { Stage } from './run.js';

/** Runs the program as docs/with-other-tools.md says, with a token from `graphcred exec` or `token get`. */
export async function useToken(program: Program, folder: string, one: Stage): Promise<Step> {
  const { status, stdout, stderr } = await runAsDocumented(program, folder, one);
  const seen = `exit ${status}\n${stdout}${stderr}`;
  const done = status === 0 && /v_id|"count": 2|Hello GSQL|- Name: |^Ada\nBen$/m.test(stdout);
  if (!done) return { step: WITH_TOKEN, error: seen };
  const { requests } = one.sandbox;
  const mints = requests.filter(({ path: route }) => /\/(requesttoken|tokens)$/.test(route));
  const used = requests.slice(requests.indexOf(defined(mints[0])) + 1);
  const sentOtherwise = used.filter(({ login }) => login !== 'bearer').map(({ path: route }) => route);
  const error =
    mints.length === 1 && used.length > 0 && sentOtherwise.length === 0
      ? null
      : `${mints.length} mints, and no token sent to ${sentOtherwise}\n${seen}`;
  return { step: WITH_TOKEN, error };
}

function runAsDocumented(program: Program, folder: string, one: Stage): Promise<Ended> {
  const text = blockOf(program);
  const put = (name: string, content: string) => {
    const file = path.join(one.home, name);
    fs.writeFileSync(file, content);
    return file;
  };
  const bin = path.join(folder, 'bin');
  if (program.language === 'java') {
    const file = put('Load.java', javaProgram(text));
    return shell(`graphcred exec -- java -cp '${folder}/jars/*' ${file}`, one, []);
  }
  if (program.language === 'shell') return shell(text, one, []);
  if (text.includes('import os'))
    return shell(`graphcred exec --lifetime 1h -- python3 ${put('load.py', text)}`, one, [bin]);
  // The program that starts an MCP server uses stdin and stdout to talk to it.
  const client = path.resolve('test/clients/python/tigergraph_mcp_exec.py');
  return shell(`python3 ${client} sh ${put('serve', text)}`, one, [bin]);
}

/** Returns the block of docs/with-other-tools.md that shows how the program uses a token; of an async connection, in a coroutine. */
export function blockOf({ withToken, async, afterBlock = '' }: Program): string {
  const blocks = blocksOf('with-other-tools.md');
  const found = blocks.find(
    ({ heading, language, file }) => withToken === file || withToken === `${heading}: ${language}`,
  );
  if (found === undefined) throw new Error(`docs/with-other-tools.md has no block ${withToken}`);
  return async ? inCoroutine(found.text) : `${found.text}\n${afterBlock}`;
}

const inCoroutine = (text: string) => `import asyncio
async def main():
${text
  .replaceAll('TigerGraphConnection', 'AsyncTigerGraphConnection')
  .replace('print(conn.', 'print(await conn.')
  .replaceAll(/^/gm, '    ')}
asyncio.run(main())
`;

/** Returns a program that runs these statements, for as many seconds as its argument says. */
export const javaProgram = (text: string) => `import java.sql.*;
import java.util.Properties;

class Load {
  public static void main(String[] words) throws Exception {
    long seconds = words.length > 0 ? Long.parseLong(words[0]) : 0;
    long end = System.nanoTime() + seconds * 1000000000L;
    do {
      ${text}
      if (seconds > 0) Thread.sleep(500);
    } while (System.nanoTime() < end);
  }
}
`;

/** Runs a script as a user would, with these folders on the PATH. */
export function shell(script: string, one: Stage, folders: readonly string[]): Promise<Ended> {
  return run(['sh', '-eu', '-c', script], environmentOf(one, folders));
}

/** Returns the environment of a program that calls graphcred. */
export function environmentOf({ sandbox, home }: Stage, folders: readonly string[]): Record<string, string> {
  return {
    PATH: [path.join(home, 'bin'), ...folders, process.env.PATH].join(path.delimiter),
    HOME: home,
    PYTHONDONTWRITEBYTECODE: '1',
    GRAPHCRED_GSQL_URL: sandbox.gsqlUrl,
    GRAPHCRED_REST_URL: sandbox.restUrl,
    GRAPHCRED_GRAPH: sandbox.graph,
    GRAPHCRED_SECRET: SECRET,
    GRAPHCRED_STORE: 'none',
  };
}
