import fs from 'node:fs';
import { GraphException } from '../../core/errors.js';
import type { Sensitive } from '../../core/sensitive.js';
import { takeMachineTurn } from '../lock/machine-turn.js';
import { readRefusal } from '../lock/shared-error.js';
import { entryPath } from '../records.js';
import type { Store, StoreRecord, Turn, TurnOptions } from '../store.js';
import { createEngine, type EngineOptions } from './engine.js';
import { bytesOrNothing, integer, list, openToken, type TokenEntry, yesOrNo } from './entries.js';
import { listTokens } from './list.js';
import { InvalidReply } from './reply-limits.js';
import { REMOVE_IF } from './scripts.js';
import { createSeal } from './seal.js';
import { publish, takeFleetTurn } from './turn.js';
import { addressText } from './url.js';

export interface RedisStoreOptions extends EngineOptions {
  /** 32 bytes, the same for the whole fleet. */
  readonly storeKey: Buffer;
  /** The folder of this machine's locks. */
  readonly stateDir: string;
}

/** Returns a store that shares tokens between machines through a Redis server, which sees neither names nor values. */
export function redisStore(options: RedisStoreOptions): Store {
  const { now, warn } = options;
  // The same for all processes of this machine that use this server.
  const awayFile = entryPath(options.stateDir, 'token', options.addresses.map(addressText).join(), 'refused');
  const engine = createEngine(options, awayFile);
  const seal = createSeal(options.storeKey);
  /**
   * The tokens that `find` decrypted, so that `read` does not ask again. They are not stored on the record, because
   * callers print records.
   */
  const cachedValues = new WeakMap<StoreRecord, Sensitive>();
  /** For each name, the turn that was current when this process looked first, and the time of that look. */
  const firstLook = new Map<string, { readonly generation: number; readonly atMs: number }>();

  let warned = false;

  async function findEntry(name: string): Promise<TokenEntry | undefined> {
    const [token, counter] = [seal.keyOf('t', name), seal.keyOf('g', name)];
    const { life, sealed, generation } = await engine.run(
      // The life is read before the token: if the token is replaced in between, the new one gets too short a life,
      // rather than the old one too long a life.
      () => [
        ['PTTL', token],
        ['MGET', token, counter],
      ],
      ([pttl, values]) => {
        const [bytes, count] = list(values, 2).map(bytesOrNothing);
        return { life: integer(pttl), sealed: bytes, generation: counted(count) };
      },
    );
    const entry = sealed && openToken(seal, name, sealed, life, now());
    if (sealed && !entry && !warned) {
      warned = true;
      warn('Ignoring a token on the Redis server: it was changed there, or is not meant for this place.');
    }
    if (!firstLook.has(name))
      // The engine may have lost the counter but not the token.
      firstLook.set(name, { generation: Math.max(generation, entry?.generation ?? 0), atMs: now() });
    return entry && remember(inLocalTime(entry, firstLook.get(name)));
  }

  function remember(entry: TokenEntry): TokenEntry {
    cachedValues.set(entry.record, entry.value);
    return entry;
  }

  const nameOf = (key: string) => seal.nameOf('token', key);

  return {
    name: 'redis',

    async find(key) {
      return (await findEntry(nameOf(key)))?.record;
    },

    async read(record) {
      if (record.store !== 'redis') return undefined;
      return cachedValues.get(record) ?? (await findEntry(nameOf(record.key)))?.value;
    },

    async write(record, value) {
      const stored = tokenRecord(record);
      await publish(
        { engine, seal, now, name: nameOf(stored.key) },
        { record: stored, value, generation: 0 },
        '',
      );
    },

    async remove(key) {
      const name = nameOf(key);
      return engine.run(
        () => [
          ['DEL', seal.keyOf('t', name)],
          ['ZREM', seal.index, name],
        ],
        ([deleted]) => yesOrNo(deleted),
      );
    },

    async removeIf(record, value) {
      const name = nameOf(record.key);
      const token = seal.keyOf('t', name);
      const { life, bytes } = await engine.run(
        () => [
          ['PTTL', token],
          ['GET', token],
        ],
        ([pttl, bytes]) => ({ life: integer(pttl), bytes: bytesOrNothing(bytes) }),
      );
      if (bytes === undefined) return false;
      const current = openToken(seal, name, bytes, life, now());
      if (current?.value.reveal() !== value?.reveal()) return false;
      return engine.run(
        () => [['EVAL', REMOVE_IF, 2, token, seal.index, bytes, name]],
        ([removed]) => yesOrNo(removed),
      );
    },

    async check() {
      await engine.run(
        () => [['PING']],
        ([reply]) => {
          if (bytesOrNothing(reply)?.toString() !== 'PONG') throw new InvalidReply('it does not answer PING');
        },
      );
    },

    async list() {
      const entries = await listTokens({ engine, seal, now });
      return entries.map((entry) => remember(entry).record);
    },

    async takeTurn(key, turnOptions) {
      const name = nameOf(key);
      const find = () => findEntry(name);
      if (!firstLook.has(name)) await find();
      const since = firstLook.get(name)?.generation ?? 0;
      const deadline = now() + turnOptions.waitMs;
      const machine = await takeMachineTurnFirst(key, turnOptions);
      try {
        const waitMs = Math.max(0, deadline - now());
        const turn = await takeFleetTurn(
          { ...turnOptions, waitMs },
          { engine, seal, name, since, now, find },
        );
        if (!turn) await machine?.release();
        return (
          turn && {
            write: async (record, value) => turn.write(tokenRecord(record), value),
            async refuse(error) {
              await turn.refuse(error);
              await machine?.refuse(error);
            },
            async release() {
              await turn.release();
              await machine?.release();
            },
          }
        );
      } catch (error) {
        await machine?.release();
        throw error;
      }
    },
  };

  /**
   * Waits for the turn of this machine, since only one process of a machine asks the engine: this spares the engine, and
   * no engine, whatever it answers, can make this machine mint more than one token at a time.
   */
  async function takeMachineTurnFirst(key: string, turnOptions: TurnOptions): Promise<Turn | undefined> {
    const { stateDir } = options;
    const begun = now();
    let away: GraphException | undefined;
    // Processes that wait here need no connection.
    if (fs.existsSync(entryPath(stateDir, 'token', key, 'lock'))) engine.disconnect();
    try {
      return await takeMachineTurn(key, async () => {}, {
        ...turnOptions,
        stateDir,
        lookIn: {
          find: async () => {
            away = readRefusal(awayFile, begun, now());
            if (away) throw away;
            return undefined;
          },
        },
      });
    } catch (error) {
      // Without a writable folder only the fleet's lock is used.
      const cannotLock = error instanceof GraphException && error.code === 'STORE_UNAVAILABLE';
      if (cannotLock && error !== away) return undefined;
      throw error;
    }
  }
}

/**
 * Estimates the time of the mint by this machine's clock: after this process looked first if the turn began after that,
 * else before.
 */
function inLocalTime(entry: TokenEntry, first: { generation: number; atMs: number } | undefined): TokenEntry {
  const { record } = entry;
  if (record.info.requestedAtMs === undefined || first === undefined) return entry;
  const requestedAtMs = entry.generation > first.generation ? first.atMs : 0;
  return { ...entry, record: { ...record, info: { ...record.info, requestedAtMs } } };
}

function tokenRecord(record: StoreRecord): StoreRecord {
  if (record.kind !== 'token' || record.expiresAtUnix === undefined) {
    throw new GraphException('USAGE', `a ${record.kind} is never stored on a Redis server`, {
      hint: 'use --store keychain or file for it, or secretCommand with a vault',
    });
  }
  return { ...record, store: 'redis' };
}

function counted(bytes: Buffer | undefined): number {
  const text = bytes?.toString() ?? '0';
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidReply('it sent a counter that is no number');
}
