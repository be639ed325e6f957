import { GraphException } from '../core/errors.js';
import { type Answer, locked, type Operation, OTHER_STORE } from './native.js';
import type { KeychainOptions } from './store.js';

/** One line on the child's stdout. */
export type ChildReply =
  | { readonly ok: true; readonly answer?: Exclude<Answer, undefined> }
  | {
      readonly ok: false;
      readonly code: GraphException['code'];
      readonly message: string;
      readonly hint?: string;
    };

export interface Limit {
  readonly ms: number;
  /** Whether it is a person who is being waited for. */
  readonly prompting: boolean;
}

/**
 * Has a child process perform the operation, and kills it when the time is up: a process that waits for a
 * prompt cannot end itself. Throws STORE_LOCKED when a prompt was not answered, else STORE_UNAVAILABLE.
 */
export function askChild(operation: Operation, options: KeychainOptions, limit: Limit): Promise<Answer> {
  const { spawn } = process.getBuiltinModule('node:child_process');
  return new Promise((resolve, reject) => {
    const child = spawn(options.child.command, options.child.args, {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: options.env,
      windowsHide: true,
    });
    let reply = '';
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(limit.prompting ? locked() : noAnswer(`within ${limit.ms / 1000} s`));
    }, limit.ms);
    child.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      reject(noAnswer(`because its helper process did not start (${error.code ?? 'unknown error'})`));
    });
    child.on('close', (status, signal) => {
      clearTimeout(timer);
      const parsed = parseReply(reply);
      if (parsed?.ok) resolve(parsed.answer);
      else if (parsed)
        reject(new GraphException(parsed.code, parsed.message, { hint: parsed.hint ?? OTHER_STORE }));
      else reject(noAnswer(`because its helper process ended early (${signal ?? `status ${status}`})`));
    });
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      reply += text;
      // It has said all; whatever libsecret still has open must not hold us up.
      if (reply.endsWith('\n')) child.kill('SIGKILL');
    });
    // The pipe stays open: its end tells the child that this process is gone. Errors show in 'close'.
    child.stdin.on('error', () => {});
    child.stdin.write(`${JSON.stringify(operation)}\n`);
  });
}

function parseReply(text: string): ChildReply | undefined {
  try {
    return text.endsWith('\n') ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

function noAnswer(how: string): GraphException {
  return new GraphException('STORE_UNAVAILABLE', `the OS keychain did not answer ${how}`, {
    hint: OTHER_STORE,
  });
}
