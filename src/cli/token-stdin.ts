import type { Sensitive } from '../core/sensitive.js';
import type { Call } from './call.js';

/** The token given with `--token-stdin`, if it was. */
export async function tokenFromStdin({ ctx, flags }: Call): Promise<Sensitive | undefined> {
  if (flags['token-stdin'] !== true) return undefined;
  const { fromStdin } = await import('../credentials/sources.js');
  return fromStdin(ctx.stdin.read, '--token-stdin');
}
