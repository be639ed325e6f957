import { GraphException } from '../../core/errors.js';
import type { Command } from './connection.js';
import { bytesOrNothing, integer, list, openToken, type TokenEntry } from './entries.js';
import { InvalidReply } from './reply-limits.js';
import type { TurnDeps } from './turn.js';

/** How many names and tokens are read at once. */
const NAMES_AT_ONCE = 1000;
const READ_AT_ONCE = 50;
/** A hostile server could send names without end. */
const MOST_PAGES = 200;

type ListDeps = Pick<TurnDeps, 'server' | 'seal' | 'now'>;

/** Returns all tokens that can be read, in no order. */
export async function listTokens(deps: ListDeps): Promise<TokenEntry[]> {
  const { server, seal, now } = deps;
  const names = await listNames(deps);
  const found: TokenEntry[] = [];
  for (let at = 0; at < names.length; at += READ_AT_ONCE) {
    const some = names.slice(at, at + READ_AT_ONCE);
    const commands = some.flatMap((name): Command[] => [
      ['PTTL', seal.keyOf('t', name)],
      ['GET', seal.keyOf('t', name)],
    ]);
    const entries = await server.run(commands, (replies) =>
      some.map((name, index) => {
        const life = integer(replies[2 * index]);
        const sealed = bytesOrNothing(replies[2 * index + 1]);
        return sealed && openToken(seal, name, sealed, life, now());
      }),
    );
    found.push(...entries.filter((entry) => entry !== undefined));
  }
  return found;
}

/** Returns the names of all tokens. They are read in pages, because a reply is limited in size. */
async function listNames({ server, seal }: ListDeps): Promise<string[]> {
  const names = new Set<string>();
  let at = 0;
  for (let page = 0; page < MOST_PAGES; page++) {
    const command = ['ZRANGEBYSCORE', seal.index, '-inf', '+inf', 'LIMIT', at, NAMES_AT_ONCE] as const;
    const some = await server.run([command], ([reply]) =>
      list(reply).map((name) => entryName(bytesOrNothing(name)?.toString())),
    );
    // A page begins with the last name of the page before. If it does not, names were removed meanwhile, and others
    // have moved to where this process has already been.
    if (at > 0 && !names.has(some[0] ?? '')) {
      at = Math.max(0, at - READ_AT_ONCE);
      continue;
    }
    for (const name of some) names.add(name);
    if (some.length < NAMES_AT_ONCE) return [...names];
    at += NAMES_AT_ONCE - 1;
  }
  throw new GraphException('STORE_UNAVAILABLE', 'the Redis server lists more tokens than can be read');
}

function entryName(text: string | undefined): string {
  if (text !== undefined && /^[0-9a-f]{32}$/.test(text)) return text;
  throw new InvalidReply('it sent names that are not of this store');
}
