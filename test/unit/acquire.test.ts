import { describe, expect, test, vi } from 'vitest';
import { keepToken } from '../../src/app/tokens/keep-token.js';
import { mintAndKeep, mintUnderLock } from '../../src/app/tokens/new-token.js';
import { findToken, identityKey, type Token, type TokenCache } from '../../src/app/tokens/token-cache.js';
import { type Credential, fingerprint } from '../../src/auth/credential.js';
import { textOf } from '../../src/cli/output/hints.js';
import type { Hint } from '../../src/core/errors.js';
import { BoundCredential } from '../../src/core/sensitive.js';
import { GraphException, Sensitive } from '../../src/index.js';
import type { Run } from '../../src/run/run.js';
import { withFallback } from '../../src/store/open.js';
import { partsOf, tokenKey } from '../../src/store/records.js';
import {
  type Lock,
  noneStore,
  type Store,
  type StoreRecord,
  type TokenRecord,
} from '../../src/store/store.js';
import { tokenRecord } from '../helpers/store-options.js';

const NOW = 1_800_000_000;
const SERVERS = { gsqlUrl: 'http://gsql', restUrl: 'http://rest' };
const IDENTITY = { ...SERVERS, graph: 'demo', principal: 'user:ada', lifetime: 3600 };

/** A store in memory whose lock can run a function first, as if another process had it before. */
function memoryStore(before: (put: Store['put']) => void = () => {}) {
  const held = new Map<string, { record: TokenRecord; value: Sensitive }>();
  const refusals: GraphException[] = [];
  const put = async (record: StoreRecord, value: Sensitive) =>
    void held.set(record.key, { record: record as TokenRecord, value });
  const parts: Partial<Store> = {
    name: 'file',
    check: async () => {},
    get: async ({ key }) => held.get(key)?.value,
    delete: async (key) => held.delete(key),
    list: async (of) =>
      [...held.values()]
        .map(({ record }) => record)
        .filter(({ key }) => [undefined, key, partsOf(key).identity].includes(of)),
    put,
    lock: async (): Promise<Lock> => {
      before(put);
      return { refuse: async (error) => void refusals.push(error), release: async () => {} };
    },
  };
  const values = () => [...held.values()].map(({ value }) => value.reveal());
  return { store: parts as Store, values, refusals };
}

const brokenStore = () => ({
  ...memoryStore().store,
  list: () => Promise.reject(new GraphException('STORE_UNAVAILABLE', 'the store is away')),
});

function cachedAs(token: string): [record: TokenRecord, value: Sensitive] {
  const record = tokenRecord({
    key: 'token of user:ada for graph demo, 3600s, at http://gsql rest http://rest',
    createdAtUnix: NOW,
    expiresAtUnix: NOW + 3600,
    info: { ...IDENTITY, requestedAtMs: NOW * 1000 },
  });
  return [record, new Sensitive(token)];
}

interface World {
  now?(): number;
  warn?(words: string): void;
  storeRequired?: boolean;
}

/** Returns what these functions see of a run. */
function runIn({ now = () => NOW * 1000, warn = () => {} }: World): Run {
  const { signal } = new AbortController();
  const interruption = {
    signal,
    status: undefined,
    during: (work: () => Promise<unknown>) => work(),
    begin() {},
  };
  const run = {
    settings: { waitMs: 0 },
    time: { limitMs: 1000 },
    target: { host: 'http://gsql' },
    asked: {},
    ports: { now, interruption, reporter: { warn: (text: Hint) => warn(textOf(text, { typed: {} })) } },
  };
  return run as unknown as Run;
}

interface Stores {
  store: Store;
  fallback?: Store | undefined;
}

const tokenOf = (
  value: string,
  more: { expiresAtUnix?: number; clockAhead?: number; servers?: object } = {},
) => {
  const { expiresAtUnix = NOW + 1800, clockAhead: clockAheadSeconds = 7, servers } = more;
  const token = new BoundCredential(new Sensitive(value), { ...SERVERS, ...servers });
  const life = { lifetime: 3600, serverVersion: '4.1.2', requestedAtMs: NOW * 1000 - 250, clockAheadSeconds };
  return { token, expiresAtUnix, life };
};

const cacheIn = (run: Run, store: Store): TokenCache => ({ run, store, identity: IDENTITY, whose: {} });

interface Minter {
  prepare?(): Promise<void>;
  mint?(): Promise<Token>;
}

async function acquire({ now, warn, storeRequired = false, ...deps }: Stores & Minter & World) {
  const minted = tokenOf('minted', { expiresAtUnix: NOW + 3600, clockAhead: 0 });
  const run = runIn({ ...(now && { now }), ...(warn && { warn }) });
  const { prepare = async () => {}, mint = async () => minted } = deps;
  const shared: Store = { ...deps.store, name: 'redis' };
  const own = deps.fallback ? withFallback(shared, deps.fallback, run.ports, storeRequired) : deps.store;
  const store = storeRequired ? own : withFallback(own, noneStore, run.ports, storeRequired);
  const cache = cacheIn(run, store);
  const wanted = { minTtl: 0, freshSince: undefined, askedAt: run.ports.now() };
  const cached = await findToken(cache, wanted);
  if (cached) return cached;
  await prepare();
  return mintUnderLock(cache, wanted, mint);
}

describe('while a store fails', () => {
  test('a call that requires it fails too, and asks no fallback and no server', async () => {
    const mint = () => expect.fail('the server was asked');
    const deps = { store: brokenStore(), fallback: memoryStore().store, mint };
    await expect(acquire({ ...deps, storeRequired: true })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
  });

  test('a call says what that means, with the hint of the store', async () => {
    const failure = new GraphException('STORE_UNAVAILABLE', 'the store is away', { hint: 'start it' });
    const store = { ...memoryStore().store, list: () => Promise.reject(failure) };
    const warnings: string[] = [];
    const warn = (words: string) => warnings.push(words);
    await acquire({ store, fallback: memoryStore().store, warn });
    await acquire({ store, warn });
    expect(warnings).toEqual([
      'the store is away; this machine keeps its own tokens instead; start it',
      'the store is away; the token is not kept; start it',
    ]);
    await acquire({ store: brokenStore(), warn });
    expect(warnings.at(-1)).toBe('the store is away; the token is not kept');
  });

  test('no token means no warning that it is not kept', async () => {
    const refusal = new GraphException('AUTH_FAILED', 'wrong password');
    const deps = { warn: () => expect.fail('it was warned'), mint: () => Promise.reject(refusal) };
    await expect(acquire({ store: brokenStore(), ...deps })).rejects.toBe(refusal);
  });

  test('that is no failure of the store ends the call', async () => {
    const mistake = new TypeError('a mistake');
    const store = { ...memoryStore().store, list: () => Promise.reject(mistake) };
    await expect(acquire({ store, fallback: memoryStore().store })).rejects.toBe(mistake);
  });

  test('a token that cannot be written is kept on this machine, or not at all, and used', async () => {
    const full = new GraphException('STORE_UNAVAILABLE', 'the disk is full', { hint: 'free some space' });
    const store: Store = { ...memoryStore().store, put: () => Promise.reject(full) };
    const fallback = memoryStore();
    const warnings: string[] = [];
    const warn = (words: string) => warnings.push(words);
    for (const other of [fallback.store, undefined])
      expect((await acquire({ store, fallback: other, warn })).token.reveal()).toBe('minted');
    expect(fallback.values()).toEqual(['minted']);
    expect(warnings).toEqual([
      'the disk is full; this machine keeps its own tokens instead; free some space',
      'the disk is full; the token is not kept; free some space',
    ]);
  });

  test('a token of this machine that is changed is not put into the store that machines share', async () => {
    const [shared, own] = [memoryStore(), memoryStore()];
    const redis: Store = { ...shared.store, name: 'redis' };
    await withFallback(redis, own.store, runIn({}).ports, true).put(...cachedAs('own'));
    expect([shared.values(), own.values()]).toEqual([[], ['own']]);
  });

  test('nobody waits for a lock in it', async () => {
    const away = new GraphException('STORE_UNAVAILABLE', 'the store is away');
    const store = memoryStore(() => expect.fail('a lock was taken')).store;
    store.check = () => Promise.reject(away);
    const fallback = memoryStore();
    expect((await acquire({ store, fallback: fallback.store })).isCached).toBeUndefined();
    expect(fallback.values()).toEqual(['minted']);
  });

  test('refusals count from the time when the token was asked for, in the fallback too', async () => {
    const times: number[] = [];
    const timesOf = (store: Store, answer: () => Promise<Lock>): Store => ({
      ...store,
      lock: async (_key, { since }) => {
        times.push(since);
        return answer();
      },
    });
    const { store } = memoryStore();
    const away = () => Promise.reject(new GraphException('STORE_UNAVAILABLE', 'the store is away'));
    const held = () => store.lock('', { waitMs: 0, since: 0, now: Date.now, accepts: () => false });
    let clock = NOW * 1000;
    await acquire({
      store: timesOf(memoryStore().store, away),
      fallback: timesOf(store, held as () => Promise<Lock>),
      now: () => (clock += 1000),
    });
    expect(times).toEqual([NOW * 1000 + 1000, NOW * 1000 + 1000]);
  });

  test('a call whose fallback fails too asks it once, and keeps the token nowhere', async () => {
    let looks = 0;
    const list = async () => {
      // A store that is asked again and again would never end the test.
      if (++looks > 1) throw new Error('the fallback was asked again');
      throw new GraphException('STORE_UNAVAILABLE', 'the fallback is away too');
    };
    const warnings: string[] = [];
    const fallback = { ...memoryStore().store, list };
    const { token } = await acquire({
      store: brokenStore(),
      fallback,
      warn: (words) => warnings.push(words),
    });
    expect(token.reveal()).toBe('minted');
    expect(warnings).toEqual([
      'the store is away; this machine keeps its own tokens instead',
      'the fallback is away too; the token is not kept',
    ]);
  });
});

test.each([
  ['prompt', 3000],
  ['file', 0],
] as const)('a password of the level %s is told what was refused from %i ms on', async (level, ms) => {
  let clock = NOW * 1000;
  const store = memoryStore().store;
  const ended = new GraphException('AUTH_FAILED', 'wrong password');
  let refusedSince = 0;
  store.lock = async (_key, { since }) => {
    refusedSince = since;
    throw ended;
  };
  const read = async () => {
    clock += 3000;
    return new Sensitive('typed');
  };
  const credential = { kind: 'password', level, read } as unknown as Credential;
  const cache = cacheIn(runIn({ now: () => clock }), store);
  const wanted = { minTtl: 0, freshSince: undefined, askedAt: clock };
  await expect(mintAndKeep(cache, credential, wanted)).rejects.toBe(ended);
  expect(refusedSince).toBe(NOW * 1000 + ms);
});

describe('under the lock a process', () => {
  test('tells the processes that wait that the server refused', async () => {
    const { store, refusals } = memoryStore();
    const refusal = new GraphException('AUTH_FAILED', 'wrong password');
    await expect(acquire({ store, mint: () => Promise.reject(refusal) })).rejects.toBe(refusal);
    expect(refusals).toEqual([refusal]);
  });

  test('tells them before it releases the lock, so that none of them asks the server again', async () => {
    const order: string[] = [];
    const { store } = memoryStore();
    store.lock = async () => ({
      put: async () => {},
      refuse: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        order.push('told');
      },
      release: async () => void order.push('released'),
    });
    const refusal = new GraphException('PERMISSION_DENIED', 'no right');
    await expect(acquire({ store, mint: () => Promise.reject(refusal) })).rejects.toBe(refusal);
    expect(order).toEqual(['told', 'released']);
  });

  test('does not tell them of a server that it did not reach', async () => {
    const { store, refusals } = memoryStore();
    const away = new GraphException('NETWORK', 'no route');
    await expect(acquire({ store, mint: () => Promise.reject(away) })).rejects.toBe(away);
    expect(refusals).toEqual([]);
  });

  test('takes the token that was minted under the lock before', async () => {
    const { store } = memoryStore((put) => void put(...cachedAs('theirs')));
    const { token, isCached } = await acquire({ store });
    expect([token.reveal(), isCached]).toEqual(['theirs', true]);
  });

  test('that waited for it needs none when another process has minted the token', async () => {
    const { store } = memoryStore();
    store.lock = async () => {
      await store.put(...cachedAs('theirs'));
      return undefined;
    };
    const { token, isCached } = await acquire({ store, mint: () => expect.fail('the server was asked') });
    expect([token.reveal(), isCached]).toEqual(['theirs', true]);
  });

  test('takes the lock all the same when the token of another one cannot be read', async () => {
    const { store } = memoryStore();
    const accepted: boolean[] = [];
    const lock = store.lock;
    store.get = async () => undefined;
    store.lock = async (key, wait) => {
      const [record, value] = cachedAs('theirs');
      await store.put(record, value);
      accepted.push(wait.accepts(record));
      return accepted.length === 1 ? undefined : lock(key, wait);
    };
    const { token, isCached } = await acquire({ store });
    expect([token.reveal(), isCached]).toEqual(['minted', undefined]);
    // The record that it cannot read must not end its second wait.
    expect(accepted).toEqual([true, false]);
  });

  test('ends it, whether the server gave a token or not', async () => {
    const ends: string[] = [];
    const { store } = memoryStore();
    const lock = store.lock;
    store.lock = async (key, wait) => {
      const held = (await lock(key, wait)) ?? expect.fail('there is no lock');
      return { ...held, release: async () => void ends.push('released') };
    };
    const away = new GraphException('NETWORK', 'no route');
    await expect(acquire({ store, mint: () => Promise.reject(away) })).rejects.toBe(away);
    await acquire({ store });
    expect(ends).toEqual(['released', 'released']);
  });

  test('mints although the store fails now, unless the store is required or the failure is another', async () => {
    let failure: Error = new GraphException('STORE_LOCKED', 'the store is locked');
    const inTurn = (required: boolean) => {
      const { store } = memoryStore(() => {
        store.list = () => Promise.reject(failure);
      });
      return acquire({ store, storeRequired: required });
    };
    expect((await inTurn(false)).isCached).toBeUndefined();
    await expect(inTurn(true)).rejects.toBe(failure);
    failure = new TypeError('a mistake');
    await expect(inTurn(false)).rejects.toBe(failure);
  });

  test('takes the token that this machine minted while the store failed', async () => {
    const [shared, own] = [memoryStore(), memoryStore()];
    await own.store.put(...cachedAs('own'));
    const { token } = await acquire({ store: shared.store, fallback: own.store });
    expect(token.reveal()).toBe('own');
  });

  test('uses the shared store although its fallback cannot be read', async () => {
    const shared = memoryStore();
    await acquire({ store: shared.store, fallback: brokenStore() });
    expect(shared.values()).toEqual(['minted']);
  });
});

describe('a token is stored', () => {
  const MINTED = tokenOf('minted');
  const now = () => NOW * 1000 + 999;
  const keep = (store: Store, call = runIn({ now })) => keepToken(cacheIn(call, store), MINTED);

  test('with all that is known of it', async () => {
    const { store, values } = memoryStore();
    const written: StoreRecord[] = [];
    const kept: Store = {
      ...store,
      name: 'keychain',
      put: (record, value) => {
        written.push(record);
        return store.put(record, value);
      },
    };
    const key = tokenKey(identityKey(IDENTITY), fingerprint(MINTED.token));
    expect(await keep(kept)).toEqual(written[0]);
    expect(values()).toEqual(['minted']);
    expect(written).toEqual([
      {
        v: 1,
        kind: 'token',
        key,
        store: 'keychain',
        createdAtUnix: NOW + 0.999,
        expiresAtUnix: NOW + 1800,
        info: {
          host: 'http://gsql',
          restUrl: 'http://rest',
          gsqlUrl: 'http://gsql',
          graph: 'demo',
          principal: 'user:ada',
          lifetime: 3600,
          serverVersion: '4.1.2',
          requestedAtMs: NOW * 1000 - 250,
          clockAheadSeconds: 7,
        },
      },
    ]);
  });

  test('before the call ends, because a process may end with it', async () => {
    const done: string[] = [];
    const held: Lock = { refuse: async () => {}, release: async () => void done.push('released') };
    const put: Store['put'] = async (_record, _value, lock) => {
      await new Promise(setImmediate);
      expect(lock).toBe(held);
      done.push('stored');
    };
    const store = { ...memoryStore().store, put, lock: async () => held };
    await acquire({ store });
    expect(done).toEqual(['stored', 'released']);
  });

  test('for the servers that gave it, which need not be those of the lock', async () => {
    const { store } = memoryStore();
    const put = vi.spyOn(store, 'put');
    const servers = { ...SERVERS, restUrl: 'http://new' };
    const held: Lock = { refuse: async () => {}, release: async () => {} };
    await keepToken(cacheIn(runIn({ now }), store), tokenOf('minted', { servers }), held);
    const [found] = await store.list(identityKey({ ...IDENTITY, ...servers }));
    expect(found?.info).toMatchObject({ restUrl: 'http://new' });
    expect(put.mock.calls[0]?.[2]).toBeUndefined();
  });

  test('not where nothing is kept', async () => {
    const warn = () => expect.fail('it was warned');
    expect(await keep(noneStore, runIn({ now, warn }))).toBeUndefined();
  });

  test('with a warning when the store fails in another way', async () => {
    const warnings: string[] = [];
    const warn = (words: string) => warnings.push(words);
    const put = () => Promise.reject(new TypeError('a mistake'));
    const store: Store = { ...memoryStore().store, name: 'keychain', put };
    expect(await keep(store, runIn({ now, warn }))).toBeUndefined();
    expect(warnings).toEqual(['the keychain store failed; the token is not kept']);
  });
});

// holds: C2.26
test('each token has a record of its own, which goes only when the clock of its server has passed the end', async () => {
  const { store, values } = memoryStore();
  const put = async (number: number, now: number, serverTimeUnix?: number) => {
    const minted = tokenOf(`token ${number}`, { expiresAtUnix: NOW + 3600, clockAhead: 100 });
    const run = { ...runIn({ now: () => now * 1000 }), asked: { serverTimeUnix } };
    await keepToken(cacheIn(run as Run, store), minted);
  };
  for (let number = 0; number < 10; number++) await put(number, NOW);
  expect(values()).toHaveLength(10);
  await put(10, NOW + 99_999);
  await put(11, NOW, NOW + 3700);
  expect(values()).toHaveLength(12);
  await put(12, NOW, NOW + 3701);
  expect(values()).toEqual([]);
});
