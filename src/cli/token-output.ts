import type { HeldToken } from '../tokens/acquire.js';
import { times } from './output.js';
import { outputOf, type Session } from './session.js';

/** Prints a token in the format asked for. */
export function printToken(session: Session, held: HeldToken): void {
  const { call, settings, graph, target } = session;
  const { report } = call;
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
    default:
      report.result(token);
  }
}
