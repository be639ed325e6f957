// Both ends of the helper process that performs a keychain operation, since a prompt or a silent keychain may block it.
// It gets one request as a line on its stdin, so that no credential is in its argument list, and answers with one line.
import type { GraphException } from '../../core/errors.js';
import { errorFrom } from '../lock.js';
import type { KeychainOptions } from '../store.js';
import { type Answer, locked, type Operation, performNatively, unavailable } from './native.js';

type Reply = { readonly answer?: Answer; readonly error?: Record<string, unknown> };

/** The helper writes this when it has started. The time limit of the keychain counts from then on. */
const READY = '\n';
const ANSWER_MS = 5_000;
export const PROMPT_MS = 60_000;
/** The helper may take this many times longer to start than the keychain to answer, since the machine may be busy. */
const START_FACTOR = 3;

/**
 * Lets a helper process perform the operation, and kills it when the time limit ends: a process that waits for a prompt
 * cannot end itself. Throws STORE_LOCKED when a prompt was not answered, else STORE_UNAVAILABLE.
 * @param prompting whether the keychain waits for a person to answer its prompt
 */
export async function askHelper(
  operation: Operation,
  options: KeychainOptions,
  prompting: boolean,
): Promise<Answer> {
  const { command, args } = options.child;
  const child = process.getBuiltinModule('node:child_process').spawn(command, args, {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: options.env,
    windowsHide: true,
  });
  let timer: NodeJS.Timeout | undefined;
  try {
    const line = await new Promise<string>((resolve, reject) => {
      const waitFor = (ms: number) => {
        clearTimeout(timer);
        const error = prompting ? locked() : noAnswer(`within ${ms / 1000} s`);
        // On a busy machine the timer may fire although the answer has arrived, so that is read first.
        timer = setTimeout(() => setImmediate(reject, error), ms);
      };
      waitFor(prompting ? PROMPT_MS : ANSWER_MS * START_FACTOR);
      child.on('error', ({ code = 'unknown error' }: NodeJS.ErrnoException) =>
        reject(noAnswer(`because its helper process did not start (${code})`)),
      );
      child.on('close', (status, signal) =>
        reject(noAnswer(`because its helper process ended early (${signal ?? `status ${status}`})`)),
      );
      let received = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        if (received === '') waitFor(prompting ? PROMPT_MS : ANSWER_MS);
        received += text;
        if (received !== READY && received.endsWith('\n')) resolve(received);
      });
      // stdin stays open, because its end tells the helper that this process is gone. Its errors are reported by 'close'.
      child.stdin.on('error', () => {}).write(`${JSON.stringify(operation)}\n`);
    });
    const { answer, error }: Reply = JSON.parse(line);
    if (error) throw errorFrom(error);
    return answer;
  } finally {
    clearTimeout(timer);
    // The helper is killed, because what libsecret or its own helpers still have open would keep this process waiting.
    child.kill('SIGKILL');
    child.stdout.destroy();
  }
}

function noAnswer(how: string): GraphException {
  return unavailable(`the OS keychain did not answer ${how}`);
}

/**
 * Runs in the helper process. The end of `input` means that the parent is gone; the process then kills itself, since a
 * pending prompt would keep it alive.
 */
export async function runKeychainHelper(
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): Promise<void> {
  output.write(READY);
  const request = await readLine(input);
  const reply: Reply = await performNatively(JSON.parse(request)).then(
    (answer) => ({ answer }),
    (error: GraphException) => ({ error: { ...error.toJSON() } }),
  );
  await new Promise<void>((resolve) => output.write(`${JSON.stringify(reply)}\n`, () => resolve()));
  input.removeAllListeners('end').pause();
}

function readLine(input: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    input.setEncoding('utf8');
    input.on('data', (chunk: string) => {
      text += chunk;
      if (text.endsWith('\n')) resolve(text);
    });
    input.on('end', () => process.kill(process.pid, 'SIGKILL'));
  });
}
