import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { GraphException } from '../core/errors.js';
import { env, input, log } from './runner.js';

/** The runner sends SIGINT when a job is cancelled, SIGTERM 7.5 s later, SIGKILL after 2.5 s more. */
const CANCEL_MS = 6000;
const MAY_BE_MINTED = 'A token may have been made; it stays valid until it expires.';
export const ADDRESS = ['host', 'rest-url', 'gsql-url'];
const CLIENT = ['oidc-issuer', 'oidc-client-id', 'oidc-scopes', 'oidc-audience'];
const INPUTS = [...ADDRESS, 'graph', 'secret', 'username', 'password', 'lifetime', 'wait', ...CLIENT];
/** In place of messages that may quote the server, whose text must not be in the log, or that name no inputs. */
const OWN_WORDS: Readonly<Record<string, string>> = {
  AUTH_FAILED: 'The server refused the credential. Check the input secret, or username and password.',
  PERMISSION_DENIED: 'This user may not do that. Ask an administrator of the database for the privilege.',
  NOT_FOUND: 'There is no such graph, or this user may not see it. Check the input graph.',
  INPUT_REQUIRED:
    'Set the input secret, or username and password. Pull requests from forks get no secrets from GitHub.',
  SERVER_ERROR:
    'The server refused the request. To see its answer, run graphcred with the same settings, but not in a job.',
};

export function address(): string {
  return ADDRESS.map(input).filter(Boolean).join(' and ');
}

/** Runs the built command, and returns its JSON document. Its notes and warnings become lines of the log. */
export async function graphcred(words: readonly string[], stdin = ''): Promise<Record<string, string>> {
  // Detached, because the Ctrl-C by which the runner cancels a job on Windows must reach this process alone.
  const options = { env: settings(), detached: true, windowsHide: true };
  const child = spawn(process.execPath, [path.join(__dirname, '../../bin/graphcred.js'), ...words], options);
  // A request that is under way may be making a token, and with its answer the post step can revoke it.
  const finishSoon = () => void setTimeout(() => child.kill('SIGINT'), CANCEL_MS).unref();
  process.on('SIGINT', finishSoon).on('SIGTERM', finishSoon);
  child.stdin.on('error', () => {}).end(stdin);
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const [status, signal] = await once(child, 'close');
  const [document, said] = await output;
  for (const [, level, line = ''] of said.matchAll(/^graphcred: (warning: )?(.*)$/gm))
    log(level ? 'warning' : 'notice', asInputs(line.replace(/( could not be \w+): .*/, '$1')));
  if (status === 0) return JSON.parse(document);
  const failure = /^\{"error":.*$/m.exec(said)?.[0];
  if (failure === undefined)
    throw new GraphException('CANCELLED', `graphcred ended with ${signal ?? status}. ${MAY_BE_MINTED}`);
  const { code, message, hint } = JSON.parse(failure).error;
  const own = OWN_WORDS[code];
  if (own && code !== 'SERVER_ERROR') throw new GraphException(code, own);
  throw new GraphException(code, asInputs(`${own ?? message}${hint && ` Hint: ${hint}`}`));
}

/** Makes the settings from the inputs alone: no variable of another step and no file may lead a credential elsewhere. */
function settings(): Record<string, string | undefined> {
  if (!input('host') && !input('gsql-url'))
    throw new GraphException('INPUT_REQUIRED', 'Set the input host, or rest-url and gsql-url.');
  const { root } = path.parse(process.execPath);
  const variableOf = (name: string) => `GRAPHCRED_${name.toUpperCase().replaceAll('-', '_')}`;
  const variables = Object.fromEntries([
    ...Object.entries(env).filter(([name]) => !/^(GRAPHCRED|TG|XDG|INPUT|STATE)_/i.test(name)),
    ...INPUTS.filter(input).map((name) => [variableOf(name), input(name)]),
  ]);
  // At an identity provider GitHub vouches for the job.
  const grant = { GRAPHCRED_OIDC_GRANT: 'client_credentials', GRAPHCRED_OIDC_CLIENT_ASSERTION: 'github' };
  return {
    ...variables,
    ...(input('oidc-issuer') && grant),
    // A token that could not be revoked ends soon after the job.
    GRAPHCRED_LIFETIME: input('lifetime') || '1h',
    ...{ HOME: root, USERPROFILE: root, GRAPHCRED_CONFIG: 'none', GRAPHCRED_STORE: 'none' },
    ...{ GRAPHCRED_NO_INPUT: 'true', GRAPHCRED_OUTPUT: 'json' },
  };
}

function asInputs(said: string): string {
  const named = (_: string, name: string) => `the input ${name.toLowerCase().replaceAll('_', '-')}`;
  return said
    .replace(/\bGRAPHCRED_([A-Z_]+)/g, named)
    .replace('--ca FILE', 'NODE_EXTRA_CA_CERTS')
    .replace(/--(?:(wait) 3m|(gsql-url) URL)/, 'the input $1$2')
    .replace(/: graphcred doctor.*/, '')
    .replace(/graphcred secret create NAME.*/, 'set the input secret');
}
