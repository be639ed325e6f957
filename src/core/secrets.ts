import { type ErrorDetails, GraphException } from './errors.js';
import type { DropResult } from './options.js';
import { type Session, VersionChanged } from './protocol/session.js';
import type { Protocol } from './protocol/types.js';

const LIST_ALIASES: ErrorDetails = { hint: 'list the aliases', remedies: ['list-secrets'] };

/** Whether a new secret can have this alias. */
export function isPlainAlias(alias: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(alias);
}

/** Throws USAGE when there is no alias to drop, or an empty one. */
export function checkAliases(aliases: readonly string[]): void {
  const isAlias = (alias: unknown) => typeof alias === 'string' && alias !== '';
  if (Array.isArray(aliases) && aliases.length > 0 && aliases.every(isAlias)) return;
  throw new GraphException('USAGE', 'Name at least one secret to drop, and no empty alias.', LIST_ALIASES);
}

/** Drops one alias after the other, until one fails. */
export async function dropEach(
  session: Session,
  protocol: Protocol,
  aliases: readonly string[],
): Promise<DropResult> {
  const done: DropResult = { dropped: [], missing: [] };
  for (const alias of new Set(aliases)) {
    try {
      done[await protocol.dropSecret(session, alias)].push(alias);
    } catch (error) {
      if (error instanceof VersionChanged) throw error;
      return { ...done, failed: { alias, error } };
    }
  }
  return done;
}

/** Describes what was dropped. Throws the error of a failed drop, and NOT_FOUND for an unknown alias unless it is ignored. */
export function describeDrop({ dropped, missing, failed }: DropResult, ignoreMissing: boolean): string {
  if (failed !== undefined) throw failed.error;
  const done = dropped.length > 0 ? `Dropped: ${dropped.join(', ')}.` : 'Nothing dropped.';
  if (missing.length === 0) return done;
  const notFound = `Not found: ${missing.join(', ')}.`;
  if (ignoreMissing) return `${done} ${notFound}`;
  throw new GraphException('NOT_FOUND', `${notFound} ${done}`, LIST_ALIASES);
}
