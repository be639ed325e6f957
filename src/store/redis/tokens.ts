import type { Sensitive } from '../../core/sensitive.js';
import type { StoreRecord } from '../store.js';
import { bytesOrNothing, integer, list, openToken, type TokenEntry } from './entries.js';
import { InvalidReply } from './reply-limits.js';
import type { Seal } from './seal.js';
import type { RedisServer } from './server.js';

interface FirstLook {
  /** The turn that was current when this process looked first. */
  readonly generation: number;
  readonly atMs: number;
}

interface Options {
  readonly server: RedisServer;
  readonly seal: Seal;
  /** Returns milliseconds since 1970, by the clock that records use. */
  now(): number;
  warn(message: string): void;
}

/** The tokens on the server, and what this process has seen of them. */
export class SharedTokens {
  readonly #options: Options;
  /**
   * The tokens that were decrypted, so that the server is not asked again. They are not stored on the record, because
   * callers print records.
   */
  readonly #values = new WeakMap<StoreRecord, Sensitive>();
  readonly #firstLook = new Map<string, FirstLook>();
  #warned = false;

  constructor(options: Options) {
    this.#options = options;
  }

  async find(name: string): Promise<TokenEntry | undefined> {
    const { server, seal, now, warn } = this.#options;
    const [token, counter] = [seal.keyOf('t', name), seal.keyOf('g', name)];
    const { life, sealed, generation } = await server.run(
      // The life is read before the token: if the token is replaced in between, the new one gets too short a life,
      // rather than the old one too long a life.
      [
        ['PTTL', token],
        ['MGET', token, counter],
      ],
      ([pttl, values]) => {
        const [bytes, count] = list(values, 2).map(bytesOrNothing);
        return { life: integer(pttl), sealed: bytes, generation: counted(count) };
      },
    );
    const entry = sealed && openToken(seal, name, sealed, life, now());
    if (sealed && !entry && !this.#warned) {
      this.#warned = true;
      warn('Ignoring a token on the Redis server: it was changed there, or is not meant for this place.');
    }
    // The server may have lost the counter but not the token.
    const look = { generation: Math.max(generation, entry?.generation ?? 0), atMs: now() };
    const first = this.#firstLook.get(name) ?? look;
    this.#firstLook.set(name, first);
    return entry && this.remember(inLocalTime(entry, first));
  }

  remember(entry: TokenEntry): TokenEntry {
    this.#values.set(entry.record, entry.value);
    return entry;
  }

  /** Returns the value of a record that came from here. */
  valueOf(record: StoreRecord): Sensitive | undefined {
    return this.#values.get(record);
  }

  /** Returns the turn that was current when this process looked first. */
  async firstGeneration(name: string): Promise<number> {
    if (!this.#firstLook.has(name)) await this.find(name);
    return this.#firstLook.get(name)?.generation ?? 0;
  }
}

/**
 * Estimates the time of the mint by this machine's clock: after this process looked first if the turn began after that,
 * else before.
 */
function inLocalTime(entry: TokenEntry, first: FirstLook): TokenEntry {
  const { record } = entry;
  if (record.info.requestedAtMs === undefined) return entry;
  const requestedAtMs = entry.generation > first.generation ? first.atMs : 0;
  return { ...entry, record: { ...record, info: { ...record.info, requestedAtMs } } };
}

function counted(bytes: Buffer | undefined): number {
  const text = bytes?.toString() ?? '0';
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidReply('it sent a counter that is no number');
}
