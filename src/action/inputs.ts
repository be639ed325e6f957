import { GraphConnection } from '../core/connection.js';
import { isLoopback, serversOf } from '../core/endpoints.js';
import { GraphException } from '../core/errors.js';
import { readProxyVariables } from '../core/http/proxy.js';
import type { Sensitive } from '../core/sensitive.js';
import { credentialInput, input, log, type Runner } from './runner.js';

const UNITS = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const;
/** An hour is long enough for a job, and a token that could not be revoked expires soon after it. */
const DEFAULT_LIFETIME = '1h';

export interface Settings {
  readonly connection: GraphConnection;
  /** The secret; undefined when user name and password are used. */
  readonly secret: Sensitive | undefined;
  readonly graph: string;
  readonly gsqlUrl: string;
  /** The lifetime of the token, in seconds. */
  readonly lifetime: number;
  readonly revoke: boolean;
  /** Whether later steps find the token in their environment. */
  readonly exportVariables: boolean;
}

/**
 * Reads and checks the inputs of the action.
 * @throws GraphException USAGE or INPUT_REQUIRED naming the input
 */
export function readSettings(runner: Runner, limits: { timeoutMs: number; signal?: AbortSignal }): Settings {
  const secret = credentialInput(runner, 'secret');
  const password = credentialInput(runner, 'password');
  const username = input(runner, 'username');
  requireOneCredential(secret, username, password);
  const endpoints = addresses(runner);
  const { gsqlUrl } = serversOf(endpoints);
  for (const address of new Set([gsqlUrl, endpoints.restUrl ?? gsqlUrl])) warnOfPlainHttp(runner, address);
  const graph = input(runner, 'graph');
  const connection = new GraphConnection({
    ...endpoints,
    graph,
    username,
    password,
    secret,
    userAgent: 'graphcred-action',
    proxy: readProxyVariables(runner.env),
    ...limits,
  });
  return {
    connection,
    secret,
    graph,
    gsqlUrl,
    lifetime: lifetimeSeconds(input(runner, 'lifetime') || DEFAULT_LIFETIME),
    revoke: switchInput(runner, 'revoke', true),
    exportVariables: switchInput(runner, 'export', false),
  };
}

function requireOneCredential(
  secret: Sensitive | undefined,
  username: string,
  password: Sensitive | undefined,
): void {
  if (secret !== undefined && password !== undefined) {
    throw new GraphException('USAGE', 'The inputs secret and password are both set.', {
      hint: 'Keep one of them; a secret can do less, so it is the better one for a job.',
    });
  }
  if (secret !== undefined || (password !== undefined && username !== '')) return;
  const missing = password !== undefined ? 'username' : username !== '' ? 'password' : 'secret';
  throw new GraphException('INPUT_REQUIRED', `The input ${missing} is missing or empty.`, {
    hint: 'Set secret, or username and password. Pull requests from forks get no secrets from GitHub.',
  });
}

function addresses(runner: Runner) {
  const [host, restUrl, gsqlUrl] = ['host', 'rest-url', 'gsql-url'].map(
    (name) => input(runner, name) || undefined,
  );
  const both = restUrl !== undefined && gsqlUrl !== undefined;
  if (host === undefined && !both) {
    throw new GraphException('INPUT_REQUIRED', 'The address of the database is missing.', {
      hint: 'Set host, or both rest-url and gsql-url.',
    });
  }
  if (host !== undefined && (restUrl ?? gsqlUrl) !== undefined) {
    throw new GraphException('USAGE', 'The input host is set beside rest-url or gsql-url.', {
      hint: 'Set host alone for the ports 9000 and 14240, else both URLs.',
    });
  }
  return { host, restUrl, gsqlUrl };
}

function warnOfPlainHttp(runner: Runner, address: string): void {
  if (address.startsWith('http:') && !isLoopback(address))
    log(
      runner,
      'warning',
      `graphcred: ${address} is not encrypted: credentials can be read on the way. Use https.`,
    );
}

function lifetimeSeconds(text: string): number {
  const [, number, unit] = /^([1-9]\d{0,8})([smhdw]?)$/.exec(text) ?? [];
  if (number === undefined) {
    throw new GraphException('USAGE', 'The input lifetime is not a duration.', {
      hint: 'Write seconds, or a number with a unit: 900, 15m, 2h.',
    });
  }
  return Number(number) * UNITS[(unit || 's') as keyof typeof UNITS];
}

function switchInput(runner: Runner, name: string, otherwise: boolean): boolean {
  const text = input(runner, name).toLowerCase();
  if (text === '') return otherwise;
  if (text === 'true' || text === 'false') return text === 'true';
  throw new GraphException('USAGE', `The input ${name} is neither true nor false.`, {
    hint: `Set ${name}: true or ${name}: false.`,
  });
}
