import { GraphException } from '../../core/errors.js';
import { type ChildReply, READY } from './helper-parent.js';
import { type Operation, performNatively } from './native.js';

/**
 * The other side of a keychain operation that may hang in a prompt: reads one request from `input`, performs it and
 * answers with one line on `output`. Its argument list holds no credential. When `input` ends, the parent is gone,
 * and this process kills itself, since a pending prompt would keep it alive.
 */
export async function runKeychainChild(
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): Promise<void> {
  output.write(READY);
  const operation = await readRequest(input);
  let reply: ChildReply;
  try {
    const answer = await performNatively(operation);
    reply = { ok: true, ...(answer !== undefined && { answer }) };
  } catch (error) {
    const { code, message, hint, setting } = error instanceof GraphException ? error : unexpected();
    reply = {
      ok: false,
      code,
      message,
      ...(hint !== undefined && { hint }),
      ...(setting !== undefined && { setting }),
    };
  }
  await new Promise<void>((resolve) => output.write(`${JSON.stringify(reply)}\n`, () => resolve()));
  input.removeAllListeners('end').pause();
}

function readRequest(input: NodeJS.ReadableStream): Promise<Operation> {
  return new Promise((resolve, reject) => {
    let text = '';
    input.setEncoding('utf8');
    input.on('data', (chunk: string) => {
      text += chunk;
      if (!text.endsWith('\n')) return;
      try {
        resolve(JSON.parse(text));
      } catch {
        reject(unexpected());
      }
    });
    input.on('end', () => process.kill(process.pid, 'SIGKILL'));
  });
}

function unexpected(): GraphException {
  return new GraphException('INTERNAL', 'the keychain helper got a request it does not understand');
}
