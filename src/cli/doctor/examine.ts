import type { Call } from '../call.js';
import { type Check, type CheckId, type Found, IDS, skipped } from './check.js';
import { isVouchedFor, lookAtStore, openQuietly } from './machine.js';
import { lookAtLogin, lookAtNetwork, lookAtServer } from './server.js';

/** Every check, in the order of IDS. What cannot be looked at because of an earlier finding is skipped. */
export async function examine(call: Call): Promise<(Check & { id: CheckId })[]> {
  const found: Found = {};
  // Never a question: the answers go into a ticket.
  const session = await openQuietly({ ...call, flags: { ...call.flags, 'no-input': true } }, found);
  let rest = 'the settings cannot be read';
  if (session) {
    const store = await lookAtStore(session, found);
    rest = 'the config file is not trusted, so no server is asked';
    if (await isVouchedFor(session, found)) {
      rest = 'the server cannot be asked';
      await lookAtNetwork(session, found);
      const connected = await lookAtServer(session, found);
      if (connected) await lookAtLogin(session, connected, store, found);
    }
  }
  return IDS.map((id) => ({ id, ...(found[id] ?? skipped(rest)) }));
}
