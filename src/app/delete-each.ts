import type { Run } from '../auth/run.js';
import type { GraphConnection } from '../core/connection.js';
import { type ErrorCode, expected, GraphException } from '../core/errors.js';

/** What became of one of several secrets or tokens. */
export interface Outcome<Entry> {
  readonly entry: Entry;
  /** Whether the server deleted it, did not know it, or may still accept it. */
  readonly state: 'deleted' | 'missing' | 'kept';
  /** The error of the server that does not know it. */
  readonly unknown?: GraphException | undefined;
  /** Why it is kept, or still stored here. Undefined for a kept token whose value cannot be read from the store. */
  readonly error?: GraphException | undefined;
  /** Whether the error is that of another entry, after which this one was not tried. */
  readonly isUntried?: boolean;
}

/** What became of an entry, without the entry. */
export type Result = Omit<Outcome<unknown>, 'entry'>;

/** Sends requests, unless an earlier one to this server failed in a way that these would too. */
type Send = <V>(connection: GraphConnection, request: () => Promise<V>) => Promise<V>;

const MAY_CONCERN_ONE: readonly ErrorCode[] = ['PERMISSION_DENIED', 'SERVER_ERROR', 'BAD_RESPONSE'];

/**
 * Whether an error may concern one secret or token alone. Any other would meet the next one of the same server too: a
 * refused login, a server that cannot be reached, a time-out, Ctrl-C.
 */
export function mayConcernOne({ code }: GraphException): boolean {
  return MAY_CONCERN_ONE.includes(code);
}

/**
 * Deletes one entry after the other, all that it can. What would fail for every entry is not sent again.
 * @param deleteOne deletes an entry; undefined when that was done with an earlier one
 */
export async function deleteEach<Entry>(
  { ports }: Run,
  entries: readonly Entry[],
  deleteOne: (entry: Entry, send: Send) => Promise<Result | undefined>,
): Promise<Outcome<Entry>[]> {
  const failures = new Map<GraphConnection, GraphException>();
  const outcomes: Outcome<Entry>[] = [];
  const send: Send = async (connection, request) => {
    const failed = failures.get(connection);
    if (failed) throw failed;
    return request().catch((error: unknown) => {
      if (error instanceof GraphException && !mayConcernOne(error)) failures.set(connection, error);
      throw error;
    });
  };
  ports.interruption.begin();
  for (const entry of entries) {
    try {
      const cancelled = outcomes.find(({ error }) => error?.code === 'CANCELLED');
      if (cancelled) throw cancelled.error;
      const result = await deleteOne(entry, send);
      if (result) outcomes.push({ entry, ...result });
    } catch (error) {
      const isUntried = outcomes.some((earlier) => earlier.error === error);
      outcomes.push({ entry, state: 'kept', error: expected(error), isUntried });
    }
  }
  return outcomes;
}
