import { describe, expect, test } from 'vitest';
import { GraphException, Sensitive } from '../../src/index.js';
import type { Store, StoreRecord, Turn } from '../../src/store/store.js';
import { type AcquireDeps, type AcquireOptions, acquireToken } from '../../src/tokens/acquire.js';

const NOW = 1_800_000_000;
const SERVERS = { gsqlUrl: 'http://gsql', restUrl: 'http://rest' };
const OPTIONS: AcquireOptions = {
  identity: { ...SERVERS, graph: 'demo', principal: 'user:ada', lifetime: 3600 },
  host: 'http://gsql',
  storeRequired: false,
  waitMs: 1000,
  minTtl: 0,
  freshSince: undefined,
};

/** A store in memory whose turn can run a function first, as if another process had it before. */
function memoryStore(before: (write: Store['write']) => void = () => {}) {
  const held = new Map<string, { record: StoreRecord; value: Sensitive }>();
  const refusals: GraphException[] = [];
  const write = async (record: StoreRecord, value: Sensitive) => void held.set(record.key, { record, value });
  const parts: Partial<Store> = {
    name: 'file',
    check: async () => {},
    find: async (key) => held.get(key)?.record,
    read: async ({ key }) => held.get(key)?.value,
    write,
    takeTurn: async (): Promise<Turn> => {
      before(write);
      return { write, refuse: async (error) => void refusals.push(error), release: async () => {} };
    },
  };
  const values = () => [...held.values()].map(({ value }) => value.reveal());
  return { store: parts as Store, values, refusals };
}

const brokenStore = () => ({
  ...memoryStore().store,
  find: () => Promise.reject(new GraphException('STORE_UNAVAILABLE', 'the store is away')),
});

function cachedAs(token: string): Parameters<Store['write']> {
  const { identity } = OPTIONS;
  const record: StoreRecord = {
    v: 1,
    kind: 'token',
    key: 'token of user:ada for graph demo, 3600s, at http://gsql rest http://rest',
    store: 'file',
    createdAtUnix: NOW,
    expiresAtUnix: NOW + 3600,
    info: { ...identity, graph: 'demo', requestedAtMs: NOW * 1000 },
  };
  return [record, new Sensitive(token)];
}

function acquire(deps: Pick<AcquireDeps, 'store'> & Partial<AcquireDeps>, storeRequired = false) {
  const minted = {
    token: new Sensitive('minted'),
    expiresAtUnix: NOW + 3600,
    lifetimeSeconds: 3600,
    serverVersion: '4.1.2',
    servers: SERVERS,
    requestedAtMs: NOW * 1000,
  };
  const usual = { now: () => NOW * 1000, warn: () => {}, prepare: async () => {}, mint: async () => minted };
  return acquireToken({ ...OPTIONS, storeRequired }, { ...usual, ...deps });
}

describe('while a store fails', () => {
  test('a call that requires it fails too, and asks no fallback and no server', async () => {
    const mint = () => expect.fail('the server was asked');
    const deps = { store: brokenStore(), fallback: memoryStore().store, mint };
    await expect(acquire(deps, true)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  test('another call uses the fallback and stores the token there', async () => {
    const fallback = memoryStore();
    const { token, source } = await acquire({ store: brokenStore(), fallback: fallback.store });
    expect([token.reveal(), source]).toEqual(['minted', 'server']);
    expect(fallback.values()).toEqual(['minted']);
  });
});

describe('in its turn a process', () => {
  test('tells the processes that wait that the server refused', async () => {
    const { store, refusals } = memoryStore();
    const refusal = new GraphException('AUTH_FAILED', 'wrong password');
    await expect(acquire({ store, mint: () => Promise.reject(refusal) })).rejects.toBe(refusal);
    expect(refusals).toEqual([refusal]);
  });

  test('does not tell them of a server that it did not reach', async () => {
    const { store, refusals } = memoryStore();
    const away = new GraphException('NETWORK', 'no route');
    await expect(acquire({ store, mint: () => Promise.reject(away) })).rejects.toBe(away);
    expect(refusals).toEqual([]);
  });

  test('takes the token that was minted in the turn before', async () => {
    const { store } = memoryStore((write) => void write(...cachedAs('theirs')));
    const { token, source } = await acquire({ store });
    expect([token.reveal(), source]).toEqual(['theirs', 'store']);
  });

  test('shares the token that this machine minted while the store failed', async () => {
    const [shared, own] = [memoryStore(), memoryStore()];
    await own.store.write(...cachedAs('own'));
    const { token } = await acquire({ store: shared.store, fallback: own.store });
    expect([token.reveal(), ...shared.values()]).toEqual(['own', 'own']);
  });
});
