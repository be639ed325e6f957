// Runs every program for 20 s through the door of `graphcred proxy`, at servers whose tokens live 5 s.
import fs from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { RUN_BY } from '../helpers/code-blocks.js';
import { defined } from '../helpers/defined.js';
import { block, unused } from '../helpers/docs.js';
import { installAll } from './install.js';
import { knownFailures } from './known-failures.js';
import { OTHERS, type Program, PYTIGERGRAPH, SERVERS, WITH_TOKEN } from './programs.js';
import { stage } from './run.js';
import { type Result, RUNS, runThroughDoor, TOKEN_LIVES } from './through-door.js';
import { blockOf, javaProgram, shell } from './with-token.js';

const TIMEOUT_MS = 600_000;
/** Each server has a process for every program, so not all of them run at once. */
const AT_ONCE = 3;

const PROGRAMS = [...PYTIGERGRAPH, ...OTHERS].filter(({ mintsItself }) => mintsItself !== true);
const folders = new Map<Program, string>();
const results = new Map<string, Result>();

/** Whether the program is made for this server at all. */
function works(program: Program, server: string): boolean {
  const known = knownFailures(program, server);
  return !known.includes(WITH_TOKEN) && !known.includes('log in');
}

beforeAll(async () => {
  const installed = await installAll(PROGRAMS);
  const waiting = [...SERVERS];
  for (const [program, found] of installed)
    if ('folder' in found) folders.set(program, found.folder);
    else console.log(`${program.name} is skipped: ${found.skip}`);
  const worker = async () => {
    for (let server = waiting.shift(); server !== undefined; server = waiting.shift()) {
      const programs = new Map([...folders].filter(([program]) => works(program, server)));
      results.set(server, await runThroughDoor(server, programs));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}, TIMEOUT_MS);

describe.each(SERVERS)('on %s', (server) => {
  const result = () => defined(results.get(server));

  // holds: C8.11
  test('no program has a failed request in 20 s, and each ran for as long', () => {
    const failed = [...result().outcomes].flatMap(([{ name }, { problem }]) =>
      problem === undefined ? [] : [`${name}: ${problem}`],
    );
    expect(failed).toEqual([]);
    // A shell counts whole seconds.
    for (const { ms } of result().outcomes.values()) expect(ms).toBeGreaterThan((RUNS - 1) * 1000);
  });

  // holds: C8.11
  test('a token is renewed each time before it ends', () => {
    expect(result().mints).toBeGreaterThan(RUNS / TOKEN_LIVES);
  });
});

test(
  'the recipes of docs/proxy.md for pyTigerGraph and JDBC run',
  async (context) => {
    const one = await stage('3.10.1');
    const put = (name: string, text: string) => fs.writeFileSync(path.join(one.home, name), text);
    const [jdbc, jars] = [...folders].find(([{ language }]) => language === 'java') ?? [];
    const pyTigerGraph = defined(PYTIGERGRAPH.findLast(({ name }) => !name.includes('async')));
    const python = folders.get(pyTigerGraph);
    if (python === undefined || jars === undefined) return context.skip('a client is not installed');
    put('load.py', blockOf(pyTigerGraph));
    put('Load.java', javaProgram(blockOf(defined(jdbc))));
    fs.symlinkSync(path.join(jars, 'jars'), path.join(one.home, 'jars'));
    const recipe = block('proxy.md', 'pyTigerGraph and JDBC', 'sh');
    const { status, stdout, stderr } = await shell(`cd '${one.home}'\n${recipe}`, one, [
      path.join(python, 'bin'),
    ]);
    expect([status, stdout], stderr).toEqual([0, expect.stringMatching(/v_id.*v_id.*\nAda\nBen\n$/)]);
    expect(unused(RUN_BY['test/clients/proxy.test.ts'])).toEqual([]);
  },
  TIMEOUT_MS,
);
