import { GraphException } from '../../core/errors.js';
import type { Sensitive } from '../../core/sensitive.js';
import { partsOf } from '../records.js';
import type { StoreRecord, TokenRecord } from '../store.js';
import type { Cipher, TokenEntry } from './cipher.js';
import { InvalidReply } from './errors.js';
import { bytesOrNothing, integer, list, type Reply, yesOrNo } from './replies.js';
import { evaluate, PUBLISH, RELEASE } from './scripts.js';
import type { Command, RedisServer, ServerOptions } from './server.js';

/** How many names and tokens are read at once. */
const NAMES_AT_ONCE = 1000;
const READ_AT_ONCE = 50;

/** The tokens on the server, and what this process has seen of them. */
export class SharedTokens {
  readonly server: RedisServer;
  readonly cipher: Cipher;
  /** Returns milliseconds since 1970, by the clock that records use. */
  readonly now: () => number;
  readonly #warn: (message: string) => void;
  /**
   * The tokens that were decrypted, so that the server is not asked again. They are not stored on the record, because
   * callers print records.
   */
  readonly #values = new WeakMap<StoreRecord, Sensitive>();
  readonly #firstLook = new Map<string, { readonly generation: number; readonly atMs: number }>();
  #warned = false;

  constructor(server: RedisServer, cipher: Cipher, { now, warn }: Pick<ServerOptions, 'now' | 'warn'>) {
    this.server = server;
    this.cipher = cipher;
    this.now = now;
    this.#warn = warn;
  }

  /** Returns the record of a token. */
  async find(key: string): Promise<TokenRecord | undefined> {
    const [{ entry }] = (await this.#readAll([this.cipher.nameOf(key)])) as [Read];
    return entry && this.#remember(entry);
  }

  /** Returns the record of the newest token of an identity. */
  async newest(identity: string): Promise<TokenRecord | undefined> {
    const name = this.cipher.nameOf(identity);
    const { token, counter } = this.cipher.keysOf(name);
    const commands: Command[] = [
      ['PTTL', token],
      ['MGET', token, counter],
    ];
    const { entry, generation } = await this.server.run(commands, ([life, both]) => {
      const [stored, count] = list(both, 2);
      return { ...this.#open(name, life, stored), generation: readCounter(bytesOrNothing(count)) };
    });
    // The server may have lost the counter but not the token.
    const look = { generation: Math.max(generation, entry?.generation ?? 0), atMs: this.now() };
    const first = this.#firstLook.get(identity) ?? look;
    this.#firstLook.set(identity, first);
    if (entry?.record.info.requestedAtMs === undefined) return entry && this.#remember(entry);
    // The time of the mint by this machine's clock is not known: after this process looked first if the lock was taken
    // after that, else before.
    const requestedAtMs = entry.generation > first.generation ? first.atMs : 0;
    const info = { ...entry.record.info, requestedAtMs };
    return this.#remember({ ...entry, record: { ...entry.record, info } });
  }

  /** Returns the number of the lock that was the last one when this process looked first. */
  async firstGeneration(identity: string): Promise<number> {
    if (!this.#firstLook.has(identity)) await this.newest(identity);
    return this.#firstLook.get(identity)?.generation ?? 0;
  }

  /** Returns the value of a record. */
  async read(record: StoreRecord): Promise<Sensitive | undefined> {
    const found = this.#values.has(record) ? record : await this.find(record.key);
    return found && this.#values.get(found);
  }

  /**
   * Stores a token.
   * @param nonce of the lock; '' without one, when the token always becomes the newest of its identity
   */
  async publish({ record, value, generation }: TokenEntry<StoreRecord>, nonce = ''): Promise<void> {
    if (record.kind !== 'token')
      throw new GraphException('USAGE', `a ${record.kind} is never stored on a Redis server`, {
        hint: 'use --store keychain or file for it, or secretCommand with a vault',
      });
    const { key, expiresAtUnix } = record;
    const { cipher } = this;
    const own: TokenEntry = { record: { ...record, store: 'redis' }, value, generation };
    const [name, newest] = [key, partsOf(key).identity].map((one) => cipher.nameOf(one)) as [string, string];
    const { token, lock } = cipher.keysOf(newest);
    const encrypted = cipher.encryptToken(newest, own);
    const life = expiresAtUnix * 1000 - this.now();
    if (life <= 0) return;
    const commands: Command[] = [
      evaluate(
        PUBLISH,
        [lock, token, cipher.index, cipher.keysOf(name).token],
        ...[nonce, encrypted, life, name, cipher.encryptToken(name, own)],
      ),
      ['GET', token],
    ];
    await this.server.run(commands, ([published, stored]) => {
      // Without this check, a Redis server that does not store the token would make every job of the fleet mint. Another
      // process may have replaced it since.
      if (yesOrNo(published) && bytesOrNothing(stored) === undefined)
        throw new InvalidReply('it did not keep the token');
    });
  }

  async delete(key: string): Promise<boolean> {
    const { cipher } = this;
    const [name, newest] = [key, partsOf(key).identity].map((one) => cipher.nameOf(one)) as [string, string];
    const [own, last] = (await this.#readAll([name, newest])) as [Read, Read];
    const commands: Command[] = [
      ['DEL', cipher.keysOf(name).token],
      ['ZREM', cipher.index, name],
    ];
    if (last.encrypted && last.entry?.record.key === key)
      commands.push(evaluate(RELEASE, [cipher.keysOf(newest).token], last.encrypted));
    return this.server.run(commands, () => own.encrypted !== undefined);
  }

  /** Returns the records of all tokens in no order, and how many could not be decrypted. */
  async list(): Promise<{ records: TokenRecord[]; unreadable: number }> {
    const names = await this.#listNames();
    const all: Read[] = [];
    for (let at = 0; at < names.length; at += READ_AT_ONCE)
      all.push(...(await this.#readAll(names.slice(at, at + READ_AT_ONCE))));
    const records = all.flatMap(({ entry }) => (entry ? [this.#remember(entry)] : []));
    const stored = all.filter(({ encrypted }) => encrypted !== undefined);
    return { records, unreadable: stored.length - records.length };
  }

  /** The counters are not read: a malformed one concerns the next mint, and no list. */
  #readAll(names: readonly string[]): Promise<Read[]> {
    const commands = names.flatMap((name): Command[] => {
      const { token } = this.cipher.keysOf(name);
      return [
        ['PTTL', token],
        ['GET', token],
      ];
    });
    return this.server.run(commands, (replies) =>
      names.map((name, index) => this.#open(name, replies[2 * index], replies[2 * index + 1])),
    );
  }

  /**
   * Decrypts a token.
   * @param life the reply that was given before the token's own: if the token is replaced in between, the new one gets
   *   too short a life, rather than the old one too long a life
   */
  #open(name: string, life: Reply | undefined, stored: Reply | undefined): Read {
    const lifeMs = integer(life);
    const encrypted = bytesOrNothing(stored);
    const entry = encrypted && this.cipher.decryptToken(name, encrypted, lifeMs, this.now());
    if (encrypted && !entry && !this.#warned) {
      this.#warned = true;
      this.#warn(
        'Ignoring a token on the Redis server: it was changed there, or is not meant for this place.',
      );
    }
    return { encrypted, entry };
  }

  /** Returns the names of all tokens, page by page. */
  async #listNames(): Promise<string[]> {
    const names = new Set<string>();
    for (let at = 0; ; ) {
      const range = ['-inf', '+inf', 'LIMIT', at, NAMES_AT_ONCE] as const;
      const page = ['ZRANGEBYSCORE', this.cipher.index, ...range] as const;
      const some = await this.server.run([page], ([reply]) => list(reply).map(readName));
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
  }

  #remember({ record, value }: TokenEntry): TokenRecord {
    this.#values.set(record, value);
    return record;
  }
}

/** What is stored under a name; without an entry it cannot be decrypted. */
interface Read {
  readonly encrypted: Buffer | undefined;
  readonly entry: TokenEntry | undefined;
}

function readName(reply: Reply): string {
  const text = bytesOrNothing(reply)?.toString();
  if (text !== undefined && /^[0-9a-f]{32}$/.test(text)) return text;
  throw new InvalidReply('it sent names that are not of this store');
}

function readCounter(bytes: Buffer | undefined): number {
  const text = bytes?.toString() ?? '0';
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidReply('it sent a counter that is no number');
}
