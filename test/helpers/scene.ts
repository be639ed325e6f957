import { run as runProgram } from './driver.js';
import { COMMAND, sandboxFor } from './process.js';

/** Starts a sandbox, and returns functions that run the built command with the file store and ask the server about what it printed. */
export async function scene(home: string) {
  const { sandbox, env, mints } = await sandboxFor(home);
  const all: Record<string, string> = { PATH: process.env.PATH ?? '', ...env, GRAPHCRED_STORE: 'file' };
  const accepted = async (token: string) => {
    const reply = await fetch(`${sandbox.restUrl}/echo`, {
      headers: { authorization: `Bearer ${token.trim()}` },
    });
    return reply.status === 200;
  };
  /** Whether the server accepts this secret. */
  const mintsFrom = async (secret: string) => {
    const reply = await fetch(`${sandbox.restUrl}/requesttoken`, {
      method: 'POST',
      body: JSON.stringify({ secret: secret.trim(), lifetime: '60' }),
    });
    return ((await reply.json()) as { error: boolean }).error === false;
  };
  const run = (line: string, prefix: readonly string[] = [], more: Record<string, string> = {}) =>
    runProgram([...prefix, ...COMMAND, ...line.split(' ')], { ...all, ...more });
  return { sandbox, env: all, accepted, mintsFrom, mints, run };
}
