import { GraphException } from '../../core/errors.js';
import { type ChildReply, READY } from './helper-parent.js';
import { performNatively } from './native.js';

/**
 * Runs in the child process that performs a keychain operation, since a prompt may block it. It reads one request from
 * `input`, performs it and answers with one line on `output`, so that no credential is in its argument list. The end of
 * `input` means that the parent is gone; the process then kills itself, since a pending prompt would keep it alive.
 */
export async function runKeychainChild(
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): Promise<void> {
  output.write(READY);
  const request = await readLine(input);
  let reply: ChildReply;
  try {
    reply = { ok: true, answer: await performNatively(JSON.parse(request)) };
  } catch (error) {
    const { code, message, hint } = error instanceof GraphException ? error : unexpected();
    reply = { ok: false, code, message, hint };
  }
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

function unexpected(): GraphException {
  return new GraphException('INTERNAL', 'the keychain helper got a request it does not understand');
}
