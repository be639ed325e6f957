import fs from 'node:fs';
import { parseArgs } from 'node:util';
import inquirer from 'inquirer';
import type { Target } from './target.js';
import type { Account } from './values.js';

export interface Options {
  readonly target: Omit<Target, 'wait'>;
  readonly account: Account;
  readonly serverVersion: string | undefined;
  readonly fillBlockList: boolean;
  readonly dryRun: boolean;
  readonly out: string;
}

export const USAGE = `npm run conformance -- --gsql-url URL --rest-url URL -u USER [options]

Asks a server how it answers, compares that with the sandbox, and writes a recording without credentials.

  --gsql-url URL         the GSQL server, for example https://db.example.com:14240
  --rest-url URL         the REST server: port 9000, or on 4.x the GSQL URL with /restpp
  -u, --username USER    whose secrets and tokens are made and removed
  --password-stdin       read the password from stdin
  --password-file FILE   read it from a file; without either it is asked for at the terminal
  --graph GRAPH          a graph that the user may use
  --server-version X.Y.Z when the server does not tell it
  --ca FILE              trust certificates of this CA (PEM)
  --insecure             do not verify the certificate of the server
  --block-list           on 4.x: also delete 21 tokens, to learn the size of the block list
  --out FOLDER           where conformance-<version>.json is written (default: this folder)
  --dry-run              print what would be sent, and send nothing
`;

/** Parses the command line. Throws an Error with one clear sentence. */
export async function readOptions(argv: readonly string[]): Promise<Options | 'help'> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      'gsql-url': { type: 'string' },
      'rest-url': { type: 'string' },
      username: { type: 'string', short: 'u' },
      'password-stdin': { type: 'boolean', default: false },
      'password-file': { type: 'string' },
      graph: { type: 'string', default: '' },
      'server-version': { type: 'string' },
      ca: { type: 'string' },
      insecure: { type: 'boolean', default: false },
      'block-list': { type: 'boolean', default: false },
      out: { type: 'string', default: '.' },
      'dry-run': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return 'help';
  const dryRun = values['dry-run'];
  const user = values.username ?? '';
  const version = values['server-version'];
  if (version !== undefined && !/^[34]\.\d{1,3}(?:\.\d{1,3})?$/.test(version)) {
    throw new Error('Write --server-version like 3.10.1 or 4.2.2.');
  }
  if (!dryRun && user === '') throw new Error('Give the user: -u USER');
  const gsqlUrl = base('--gsql-url', values['gsql-url'], dryRun);
  const restUrl = base('--rest-url', values['rest-url'], dryRun);
  const password = dryRun ? '' : await readPassword(values);
  const ca = values.ca === undefined ? {} : { ca: fs.readFileSync(values.ca, 'utf8') };
  return {
    target: {
      gsqlUrl,
      restUrl,
      oldRestUrl: oldRestOf(gsqlUrl),
      tls: { ...ca, ...(values.insecure && { rejectUnauthorized: false }) },
    },
    account: { user, password, graph: values.graph },
    serverVersion: version,
    fillBlockList: values['block-list'],
    dryRun,
    out: values.out,
  };
}

/** Checks a base URL and returns it without a trailing slash. It may not have a user name or a query. */
function base(option: string, given: string | undefined, mayMiss: boolean): string {
  if (given === undefined && mayMiss) return 'http://127.0.0.1';
  const url = URL.canParse(given ?? '') ? new URL(given ?? '') : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && url.username + url.password + url.search === '';
  if (!isPlain) throw new Error(`Give ${option} as http:// or https:// URL without a login in it.`);
  return url.href.replace(/\/+$/, '');
}

/** Returns the URL of the REST port that is closed on 4.x, according to the documentation. */
function oldRestOf(gsqlUrl: string): string {
  const url = new URL(gsqlUrl);
  url.port = '9000';
  return url.origin;
}

async function readPassword(values: {
  readonly 'password-stdin': boolean;
  readonly 'password-file'?: string | undefined;
}): Promise<string> {
  const password = values['password-stdin']
    ? fs.readFileSync(0, 'utf8')
    : values['password-file'] !== undefined
      ? fs.readFileSync(values['password-file'], 'utf8')
      : await askPassword();
  const line = password.replace(/\r?\n$/, '');
  if (line === '') throw new Error('The password is empty. Give it by --password-stdin or --password-file.');
  return line;
}

async function askPassword(): Promise<string> {
  if (!process.stdin.isTTY) throw new Error('Give the password by --password-stdin or --password-file.');
  const { password } = await inquirer.prompt([
    { type: 'password', name: 'password', message: 'Password', mask: false },
  ]);
  return String(password);
}
