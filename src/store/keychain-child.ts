/**
 * The other side of a keychain operation that may hang in a prompt: reads one request from stdin, answers on
 * stdout. Nothing secret is ever in its argument list. Ends the process's work; returns when it is done.
 */
export async function runKeychainChild(
  _input: NodeJS.ReadableStream,
  _output: NodeJS.WritableStream,
): Promise<void> {
  throw new Error('not written yet');
}
