import { GraphException } from '../../core/errors.js';
import type { KeychainOptions } from '../store.js';
import { type Answer, locked, type Operation, OTHER_STORE } from './native.js';
import { waitAtMost } from './timeout.js';

/** The child's reply, sent as one line on its stdout. */
export type ChildReply =
  | { readonly ok: true; readonly answer?: Answer }
  | {
      readonly ok: false;
      readonly code: GraphException['code'];
      readonly message: string;
      readonly hint?: string | undefined;
    };

/** The child writes this when it has started. The time limit of the keychain counts from then on. */
export const READY = '\n';
/** The child may take this many times longer to start than the keychain to answer, since the machine may be busy. */
const START_FACTOR = 3;

export interface Limit {
  /** The time limit in ms, counted from the time at which the child is ready. */
  readonly ms: number;
  /** Whether the keychain waits for a person to answer its prompt. */
  readonly prompting: boolean;
}

/**
 * Lets a child process perform the operation, and kills it when the time limit ends: a process that waits for a prompt
 * cannot end itself. Throws STORE_LOCKED when a prompt was not answered, else STORE_UNAVAILABLE.
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
    const end = (settle: () => void) => {
      answered();
      // The child is killed, because what libsecret or its helper processes still have open would keep this process
      // waiting.
      child.kill('SIGKILL');
      child.stdout.destroy();
      settle();
    };
    const refuse = (error: GraphException) => end(() => reject(error));
    const waitFor = (ms: number) =>
      waitAtMost(ms, () => refuse(limit.prompting ? locked() : noAnswer(`within ${ms / 1000} s`)));
    let answered = waitFor(limit.prompting ? limit.ms : limit.ms * START_FACTOR);
    let ready = false;
    child.on('error', (error: NodeJS.ErrnoException) => {
      refuse(noAnswer(`because its helper process did not start (${error.code ?? 'unknown error'})`));
    });
    child.on('close', (status, signal) => {
      refuse(noAnswer(`because its helper process ended early (${signal ?? `status ${status}`})`));
    });
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      reply += text;
      if (!ready) {
        ready = true;
        reply = reply.slice(READY.length);
        answered();
        answered = waitFor(limit.ms);
      }
      if (!reply.endsWith('\n')) return;
      const parsed = parseReply(reply);
      if (parsed?.ok) end(() => resolve(parsed.answer));
      else if (parsed)
        refuse(
          new GraphException(parsed.code, parsed.message, {
            hint: parsed.hint ?? OTHER_STORE,
            setting: 'store',
          }),
        );
      else refuse(noAnswer('in a way that can be understood'));
    });
    // stdin stays open, because its end tells the child that this process is gone. Its errors are reported by 'close'.
    child.stdin.on('error', () => {});
    child.stdin.write(`${JSON.stringify(operation)}\n`);
  });
}

function parseReply(text: string): ChildReply | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function noAnswer(how: string): GraphException {
  return new GraphException('STORE_UNAVAILABLE', `the OS keychain did not answer ${how}`, {
    hint: OTHER_STORE,
    setting: 'store',
  });
}
