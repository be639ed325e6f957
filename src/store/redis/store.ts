import fs from 'node:fs';
import { GraphException } from '../../core/errors.js';
import { takeMachineTurn } from '../lock/machine-turn.js';
import { readRefusal } from '../lock/shared-error.js';
import { entryPath } from '../records.js';
import type { Store, StoreRecord, Turn, TurnOptions } from '../store.js';
import { bytesOrNothing, integer, openToken, yesOrNo } from './entries.js';
import { listTokens } from './list.js';
import { InvalidReply } from './reply-limits.js';
import { REMOVE_IF } from './scripts.js';
import { createSeal } from './seal.js';
import { RedisServer, type ServerOptions } from './server.js';
import { SharedTokens } from './tokens.js';
import { publish, type TurnDeps, takeFleetTurn } from './turn.js';
import { addressText } from './url.js';

export interface RedisStoreOptions extends ServerOptions {
  /** 32 bytes, the same for the whole fleet. */
  readonly storeKey: Buffer;
  /** The folder of this machine's locks. */
  readonly stateDir: string;
}

/** Returns a store that shares tokens between machines through a Redis server, which sees neither names nor values. */
export function redisStore(options: RedisStoreOptions): Store {
  const { now, warn, stateDir } = options;
  // The same for all processes of this machine that use this server.
  const awayFile = entryPath(stateDir, 'token', options.addresses.map(addressText).join(), 'refused');
  const server = new RedisServer(options, awayFile);
  const seal = createSeal(options.storeKey);
  const tokens = new SharedTokens({ server, seal, now, warn });
  const nameOf = (key: string) => seal.nameOf('token', key);

  return {
    name: 'redis',
    find: async (key) => (await tokens.find(nameOf(key)))?.record,

    async read(record) {
      if (record.store !== 'redis') return undefined;
      return tokens.valueOf(record) ?? (await tokens.find(nameOf(record.key)))?.value;
    },

    async write(record, value) {
      const entry = { record: tokenRecord(record), value, generation: 0 };
      await publish({ server, seal, now, name: nameOf(record.key) }, entry, '');
    },

    async remove(key) {
      const name = nameOf(key);
      const commands = [['DEL', seal.keyOf('t', name)] as const, ['ZREM', seal.index, name] as const];
      return server.run(commands, ([deleted]) => yesOrNo(deleted));
    },

    async removeIf({ key }, value) {
      const name = nameOf(key);
      const token = seal.keyOf('t', name);
      const commands = [['PTTL', token] as const, ['GET', token] as const];
      const { life, sealed } = await server.run(commands, ([pttl, bytes]) => ({
        life: integer(pttl),
        sealed: bytesOrNothing(bytes),
      }));
      if (sealed === undefined) return false;
      const current = openToken(seal, name, sealed, life, now());
      if (current?.value.reveal() !== value?.reveal()) return false;
      const script = [['EVAL', REMOVE_IF, 2, token, seal.index, sealed, name] as const];
      return server.run(script, ([removed]) => yesOrNo(removed));
    },

    check: () =>
      server.run([['PING']], ([reply]) => {
        if (bytesOrNothing(reply)?.toString() !== 'PONG') throw new InvalidReply('it does not answer PING');
      }),

    list: async () => (await listTokens({ server, seal, now })).map((entry) => tokens.remember(entry).record),

    async takeTurn(key, turn) {
      const name = nameOf(key);
      const since = await tokens.firstGeneration(name);
      const deps = { server, seal, name, since, now, find: () => tokens.find(name) };
      return takeBothTurns(turn, { key, stateDir, awayFile }, deps);
    },
  };
}

/** Where the lock of this machine lies, and the note that the server is away. */
interface Machine {
  readonly key: string;
  readonly stateDir: string;
  readonly awayFile: string;
}

/** Waits for the turn of this machine, then for that of the fleet. */
async function takeBothTurns(turn: TurnOptions, at: Machine, deps: TurnDeps): Promise<Turn | undefined> {
  const deadline = deps.now() + turn.waitMs;
  const machine = await takeMachineTurnFirst(turn, at, deps);
  try {
    const fleet = await takeFleetTurn({ ...turn, waitMs: Math.max(0, deadline - deps.now()) }, deps);
    if (fleet)
      return {
        write: async (record, value) => fleet.write(tokenRecord(record), value),
        async refuse(error) {
          await fleet.refuse(error);
          await machine?.refuse(error);
        },
        async release() {
          await fleet.release();
          await machine?.release();
        },
      };
  } catch (error) {
    await machine?.release();
    throw error;
  }
  await machine?.release();
  return undefined;
}

/**
 * Waits for the turn of this machine, since only one process of a machine asks the server: this spares the server, and
 * no server, whatever it answers, can make this machine mint more than one token at a time.
 */
async function takeMachineTurnFirst(
  turn: TurnOptions,
  { key, stateDir, awayFile }: Machine,
  { server, now }: TurnDeps,
): Promise<Turn | undefined> {
  const begun = now();
  let away: GraphException | undefined;
  // Processes that wait here need no connection.
  if (fs.existsSync(entryPath(stateDir, 'token', key, 'lock'))) server.disconnect();
  const find = async () => {
    away = readRefusal(awayFile, begun, now());
    if (away) throw away;
    return undefined;
  };
  try {
    return await takeMachineTurn(key, async () => {}, { ...turn, stateDir, lookIn: { find } });
  } catch (error) {
    // Without a writable folder only the fleet's lock is used.
    const cannotLock = error instanceof GraphException && error.code === 'STORE_UNAVAILABLE';
    if (cannotLock && error !== away) return undefined;
    throw error;
  }
}

function tokenRecord(record: StoreRecord): StoreRecord {
  if (record.kind !== 'token' || record.expiresAtUnix === undefined) {
    throw new GraphException('USAGE', `a ${record.kind} is never stored on a Redis server`, {
      hint: 'use --store keychain or file for it, or secretCommand with a vault',
    });
  }
  return { ...record, store: 'redis' };
}
