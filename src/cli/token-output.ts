import { GraphException } from '../core/errors.js';
import type { HeldToken } from '../tokens/find.js';
import { isoSeconds, times } from './output.js';
import { outputOf, type Session } from './session.js';

/**
 * Prints a token in the format asked for.
 * @throws GraphException USAGE when it cannot be written where it should go
 */
export async function printToken(session: Session, held: HeldToken): Promise<void> {
  try {
    await print(session, held);
  } catch (error) {
    if (!(error instanceof GraphException) || held.source === 'store') throw error;
    const hint = `a token was made and lives until ${isoSeconds(held.expiresAtUnix)}; if a store keeps it, graphcred token get prints it`;
    throw new GraphException(error.code, error.message, { hint });
  }
}

async function print(session: Session, held: HeldToken): Promise<void> {
  const { call, settings, graph, target } = session;
  const { report, flags } = call;
  const token = held.token.reveal();
  switch (outputOf(call, settings)) {
    case 'json':
      report.document({
        token,
        ...times('expires', held.expiresAtUnix),
        lifetimeSeconds: held.lifetimeSeconds,
        source: held.source,
        serverVersion: held.serverVersion,
        graph: graph ?? null,
        host: target.host,
      });
      return;
    case 'header':
      return report.result(`Authorization: Bearer ${token}`);
    case 'env':
      return report.result(
        (await import('./formats.js')).assignment('TG_API_TOKEN', token, flags.shell as string | undefined),
      );
    case 'github':
      return (await import('./formats.js')).toGithub(call, token, isoSeconds(held.expiresAtUnix));
    case 'gitlab':
      return (await import('./formats.js')).toGitlab(call, token);
    default:
      return report.result(token);
  }
}

/** Formats that need more than the token are checked before one is minted for nothing. */
export async function checkOutput({ call, settings }: Session): Promise<void> {
  const output = outputOf(call, settings);
  if (output === 'github' || output === 'gitlab') (await import('./formats.js')).requireFiles(call, output);
}
