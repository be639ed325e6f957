import { GraphException } from '../core/errors.js';
import type { CredentialSource } from '../credentials/resolve.js';
import type { Store, StoreRecord } from '../store/store.js';
import type { Session } from './session.js';

/** What the store has kept for this database, user and graph. */
export function savedSources(session: Session, store: Store): CredentialSource[] {
  const fits = ({ kind, info }: StoreRecord) =>
    (kind === 'secret' || kind === 'password') &&
    info.gsqlUrl === session.target.gsqlUrl &&
    (session.username === undefined || info.username === session.username) &&
    (info.graph === null || session.graph === undefined || info.graph === session.graph);
  const kept = store.list().filter(fits);
  // The one saved last is the one meant; on equal times the order must still be the same in every process.
  kept.sort((a, b) => b.createdAtUnix - a.createdAtUnix || (a.key < b.key ? -1 : 1));
  return kept.map(
    (record): CredentialSource => ({
      kind: record.kind as 'secret' | 'password',
      level: 'store',
      label: `saved ${record.kind} ${record.info.alias ?? ''}`.trim(),
      username: String(record.info.username),
      ...(record.kind === 'secret' && { reference: `saved:${record.info.username}/${record.info.alias}` }),
      read: async () => {
        const value = await store.read(record);
        if (value !== undefined) return value;
        throw new GraphException(
          'NOT_FOUND',
          `The saved ${record.kind} is no longer in the ${store.name} store.`,
          {
            hint: 'save it again: graphcred secret create NAME --save',
          },
        );
      },
    }),
  );
}
