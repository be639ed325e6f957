// One program of each language, by other authors, that uses the servers whose credentials graphcred manages.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { block, blocksOf } from '../helpers/docs.js';

export const SERVERS = ['3.2.0', '3.9.3', '3.10.1', '4.1.2', '4.2.0'];

const PAGE = 'with-other-tools.md';
const here = (name: string) => path.resolve('test/clients', name);

export interface Program {
  readonly name: string;
  /** The command lines that install it into a folder. */
  install(folder: string): string[][];
  /** The command line that makes secrets and tokens of its own, and reports each step. */
  own?(folder: string): string[];
  /**
   * Writes the program of docs/with-other-tools.md into the home. Returns the command line that runs it once, and then
   * again for the seconds that are left.
   */
  load(folder: string, home: string, seconds?: number): string;
  /** The script that gives it a token from graphcred, where that is not `graphcred exec`. */
  readonly script?: string;
  /** The steps that fail on a server, because of a bug of the program or because it is made for others. */
  readonly failing: Readonly<Record<string, readonly string[]>>;
}

function put(home: string, name: string, content: string): string {
  const file = path.join(home, name);
  fs.writeFileSync(file, content);
  return file;
}

const javaProgram = (text: string) => `import java.sql.*;
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

/** It mints a token for all graphs first, to ask for the version, which 3.x cannot do; then it sends that token to the GSQL server. */
const SINCE_3_5 = ['drop a secret', 'list secrets after a mint'];

export const PYTIGERGRAPH: Program = {
  name: 'pyTigerGraph',
  install: (folder) => [
    ['python3', '-m', 'venv', folder],
    [
      ...[`${folder}/bin/python`, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'],
      ...['--requirement', here('python/requirements.txt')],
    ],
  ],
  own: (folder) => [`${folder}/bin/python`, here('python/pytigergraph.py')],
  load: (folder, home, seconds = 0) => {
    const text = blocksOf(PAGE).find(({ file }) => file === 'load.py')?.text ?? '';
    return `${folder}/bin/python ${here('python/repeat.py')} ${seconds} ${put(home, 'load.py', text)}`;
  },
  failing: {
    // Below 3.5 it uses a variable that it has not set, so that no request for a token is sent.
    '3.2.0': [
      'mint with a secret',
      'read vertices with the token',
      "find the server's version",
      'mint with a password',
      'refresh a token',
      'delete a token',
      'see that a token is unknown',
      'see that a secret is invalid',
      'see that a password is wrong',
      'drop a secret',
      'see that an alias is unknown',
    ],
    '3.9.3': SINCE_3_5,
    '3.10.1': SINCE_3_5,
  },
};

export const JDBC: Program = {
  name: 'TigerGraph JDBC driver',
  install: (folder) => [
    [
      ...['mvn', '--batch-mode', '--quiet', '--file', here('java/pom.xml')],
      ...['dependency:copy-dependencies', `-DoutputDirectory=${folder}/jars`],
    ],
    ['javac', '-d', `${folder}/classes`, '-cp', `${folder}/jars/*`, here('java/Jdbc.java')],
  ],
  own: (folder) => ['java', '-cp', `${folder}/jars/*:${folder}/classes`, 'Jdbc'],
  load: (folder, home, seconds = 0) => {
    const file = put(home, 'Load.java', javaProgram(block(PAGE, 'JDBC', 'java')));
    return `java -cp '${folder}/jars/*' ${file} ${seconds}`;
  },
  failing: {},
};

export const CURL: Program = {
  name: 'curl',
  install: () => [],
  load: (_folder, home, seconds = 0) => {
    const url = '"$TG_HOST:$TG_GS_PORT/restpp/echo"';
    const curl = `curl --fail -sS -H "Authorization: Bearer $TG_API_TOKEN" ${url}`;
    const loop = `${curl}; while [ $(date +%s) -lt $end ]; do sleep 0.5; ${curl}; done`;
    return `sh -eu ${put(home, 'load.sh', `end=$(($(date +%s) + ${seconds})); ${loop}\n`)}`;
  },
  script: block(PAGE, 'curl', 'sh'),
  failing: {},
};

/** Installs a program once. The folder's name is a hash of all that its content is made from. */
export async function installed({ install }: Program): Promise<string> {
  const run = promisify(execFile);
  const files = ['python/requirements.txt', 'java/pom.xml', 'java/Jdbc.java'].map((name) => here(name));
  const { stdout } = await run('python3', ['-c', 'import sys; print(sys.prefix, sys.version)']);
  const made = [JSON.stringify(install('')), stdout, ...files.map((file) => fs.readFileSync(file, 'utf8'))];
  const key = createHash('sha256').update(made.join('\0')).digest('hex').slice(0, 16);
  const cache = process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache');
  const folder = path.join(cache, 'graphcred-test-clients', key);
  const complete = path.join(folder, 'complete');
  if (fs.existsSync(complete)) return folder;
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  for (const [command = '', ...args] of install(folder)) await run(command, args);
  fs.writeFileSync(complete, '');
  return folder;
}
