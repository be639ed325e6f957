import type { HeldToken } from '../tokens/find.js';
import { outputOf, type Session } from './session.js';

/**
 * Prints a token in the format asked for.
 * @throws GraphException USAGE when it cannot be written where it should go
 */
export async function printToken(session: Session, held: HeldToken): Promise<void> {
  const format = outputOf(session.call, session.settings);
  try {
    if (format === 'text') session.call.report.result(held.token.reveal());
    else (await import('./formats.js')).printAs(format, session, held);
  } catch (error) {
    throw held.source === 'store' ? error : (await import('./formats.js')).notPrinted(error, held);
  }
}

/** Formats that need more than the token are checked before one is minted for nothing. */
export async function checkOutput({ call, settings }: Session): Promise<void> {
  const output = outputOf(call, settings);
  if (output === 'github' || output === 'gitlab') (await import('./formats.js')).requireFiles(call, output);
}
