import type { Call } from '../auth/call.js';
import { findCredential } from '../auth/choose.js';
import { bind, findVersion } from '../auth/connect.js';
import { readTls } from '../auth/open-connection.js';
import type { Interruption, Ports } from '../auth/ports.js';
import { chooseStore } from '../auth/stores.js';
import type { Servers } from '../core/endpoints.js';
import { GraphException } from '../core/errors.js';
import { type Door, openDoor } from '../core/http/door.js';
import { readProxyVariables } from '../core/http/proxy.js';
import type { Authorization } from '../core/http/types.js';
import { isoSeconds } from '../core/protocol/reply.js';
import { FreshToken } from '../core/provider.js';
import { BoundCredential, bindTo } from '../core/sensitive.js';
import { tokenSource } from './get-token.js';
import type { CachedToken } from './token-cache.js';

/** A local server that adds a valid token to every request. */
export interface LocalProxy {
  /** The URL in place of the REST server's. */
  readonly restUrl: string;
  /** The URL in place of the GSQL server's; undefined when the credential does not log in there. */
  readonly gsqlUrl: string | undefined;
  /** What a client sends in place of a token or a password. */
  readonly key: string;
  /** The name to log in with at the GSQL server. */
  readonly username: string | undefined;
  close(): Promise<void>;
}

const KEY_LENGTH = 32;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** Timers cannot count further. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const SHORTEST_TIMER_MS = 100;

/**
 * Opens the doors to the servers of this call, and keeps the token behind them fresh until `close`.
 * @param port the REST server's door listens on it; 0 for a free one
 * @throws GraphException when no token can be had, or when the port is taken
 */
export async function openProxy(call: Call, port: number): Promise<LocalProxy> {
  const { reporter, now } = call.ports;
  const given: Call = { ...call, ports: { ...call.ports, readStdin: once(call.ports.readStdin) } };
  let served = 0;
  let timer: NodeJS.Timeout | undefined;
  const tokens = new FreshToken<CachedToken>({
    acquire: acquirer(given),
    now,
    lifeOf: ({ requestedAtMs, expiresAtUnix }) => ({ fromMs: requestedAtMs, endMs: expiresAtUnix * 1000 }),
    onToken: ({ expiresAtUnix }) => {
      reporter.detail(`the token ends at ${isoSeconds(expiresAtUnix)}; requests served: ${served}`);
    },
    onFailure: (error) => {
      reporter.warn(
        `the token could not be renewed: ${messageOf(error)}; the present one serves until it ends`,
      );
    },
  });
  const schedule = () => {
    clearTimeout(timer);
    const waitMs = (tokens.renewAtMs ?? 0) - now();
    const renew = () => tokens.get().catch(tell).finally(schedule);
    timer = setTimeout(renew, Math.min(Math.max(waitMs, SHORTEST_TIMER_MS), LONGEST_TIMER_MS));
    timer.unref();
  };
  let told: unknown;
  const tell = (error: unknown) => {
    if (error !== told) reporter.warn(`there is no valid token: ${messageOf(error)}`);
    told = error;
  };
  const { servers } = await tokens.get();
  schedule();
  const login = await gsqlLogin(given, servers);
  const current = async (): Promise<Authorization> => {
    const token = await tokens.get().catch((error) => {
      tell(error);
      throw error;
    });
    return new TokenLogin(token, servers);
  };
  const options = {
    key: randomKey(),
    servers,
    login: async ({ server, scheme }) =>
      server === 'service' && scheme === 'Basic' ? login?.authorization : current(),
    again: async (refused) => {
      const next = refused instanceof TokenLogin ? await tokens.replace(refused.token) : undefined;
      return next && new TokenLogin(next, servers);
    },
    onFutile: () => tokens.noteFutile(),
    onServed: () => {
      served++;
    },
    tls: await readTls(call),
    proxy: readProxyVariables(call.ports.env),
    timeoutMs: call.timeoutMs,
  } satisfies Omit<Parameters<typeof openDoor>[0], 'port' | 'route'>;
  const { doors, restUrl, gsqlUrl } = await openDoors(options, port, login !== undefined);
  return {
    restUrl,
    gsqlUrl,
    key: options.key,
    username: login?.username,
    close: async () => {
      clearTimeout(timer);
      await Promise.all(doors.map((door) => door.close()));
    },
  };
}

/** The login of a request with the token in it, by which the token is known again when it is refused. */
class TokenLogin implements Authorization {
  readonly scheme = 'Bearer';
  readonly token: CachedToken;
  readonly credential: BoundCredential;

  constructor(token: CachedToken, servers: Servers) {
    this.token = token;
    // `send` compares the pair: a token for other servers, as after an upgrade, is not sent.
    this.credential = new BoundCredential(token.token, token.servers ?? servers);
  }
}

type DoorSettings = Omit<Parameters<typeof openDoor>[0], 'port' | 'route'>;

/** Opens one door where one address leads to both servers, as on 4.x, else one for each. */
async function openDoors(options: DoorSettings, port: number, logsIn: boolean) {
  const { restUrl, gsqlUrl } = options.servers;
  const address = ({ port }: Door) => `http://127.0.0.1:${port}`;
  if (restUrl.startsWith(`${gsqlUrl}/`)) {
    const prefix = restUrl.slice(gsqlUrl.length);
    const door = await listen(port, {
      ...options,
      route: (path) =>
        path.startsWith(`${prefix}/`)
          ? { server: 'rest', path: path.slice(prefix.length) }
          : { server: 'service', path },
    });
    return {
      doors: [door],
      restUrl: `${address(door)}${prefix}`,
      gsqlUrl: logsIn ? address(door) : undefined,
    };
  }
  const rest = await listen(port, { ...options, route: (path) => ({ server: 'rest', path }) });
  if (!logsIn) return { doors: [rest], restUrl: address(rest), gsqlUrl: undefined };
  const gsql = await listen(0, {
    ...options,
    route: (path) => ({ server: 'service', path }),
  });
  return { doors: [rest, gsql], restUrl: address(rest), gsqlUrl: address(gsql) };
}

async function listen(port: number, options: Omit<Parameters<typeof openDoor>[0], 'port'>): Promise<Door> {
  try {
    return await openDoor({ ...options, port });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'is taken' : `cannot be opened (${code})`;
    throw new GraphException('USAGE', `Port ${port} of 127.0.0.1 ${why}.`, {
      hint: 'choose another one with --port, or leave it out for a free one',
    });
  }
}

/** Returns a function that gets tokens as `token get` does: from the store, or under its lock from the server. */
function acquirer(
  given: Call,
): (previous: CachedToken | undefined, refused: boolean) => Promise<CachedToken> {
  const quiet: Call = { ...given, canPrompt: false, learned: {}, ports: quietPorts(given.ports) };
  let first: ReturnType<typeof tokenSource> | undefined;
  return async (previous, refused) => {
    if (first === undefined) {
      first = tokenSource(given);
      return (await first).obtain();
    }
    // Each renewal has the whole time limit.
    delete quiet.learned.deadline;
    // A file or a program may give another credential by now; one that was typed is asked for once.
    const source = await tokenSource(quiet).catch(() => first as ReturnType<typeof tokenSource>);
    const { now } = given.ports;
    if (previous === undefined) return source.obtain();
    if (!refused) return source.obtain({ minTtl: previous.expiresAtUnix - now() / 1000 + 1 });
    const failure = await source.forget(previous.token);
    const next = await source.obtain(failure && { freshSince: now() });
    if (next.token.reveal() !== previous.token.reveal()) return next;
    // A 4.x server gives the same token twice within one second.
    await new Promise((resolve) => setTimeout(resolve, 1000 - (now() % 1000)));
    await source.forget(next.token);
    return source.obtain({ freshSince: now() });
  };
}

/** In the background nobody is asked, nothing is drawn, and a signal is the command's. */
function quietPorts(ports: Ports): Ports {
  const interruption: Interruption & { stop(): void } = {
    signal: new AbortController().signal,
    status: undefined,
    begin: () => {},
    stop: () => {},
  };
  return {
    ...ports,
    listen: () => interruption,
    reporter: {
      ...ports.reporter,
      note: () => {},
      spinner: async () => ({ start: () => {}, stop: () => {} }),
      requests: async () => ({ onStart: () => {}, onRequest: () => {} }),
    },
  };
}

interface GsqlLogin {
  readonly authorization: Authorization;
  readonly username: string;
}

/** Returns the login for the GSQL server; undefined when the credential at hand is none. */
async function gsqlLogin(call: Call, servers: Servers): Promise<GsqlLogin | undefined> {
  try {
    const quiet = { ...call, canPrompt: false };
    await findVersion(quiet);
    const found = await findCredential(quiet, 'login', () => chooseStore(quiet));
    const credential = bindTo(servers, await bind(found)) as BoundCredential;
    const { kind, username = '' } = found;
    if (kind === 'password') return { username, authorization: { scheme: 'Basic', username, credential } };
    const scheme = kind === 'jwt' ? 'Bearer' : 'GSQL-Secret';
    return { username: username || '__GSQL__secret', authorization: { scheme, credential } };
  } catch (error) {
    if (error instanceof GraphException) return undefined;
    throw error;
  }
}

function randomKey(): string {
  const crypto = process.getBuiltinModule('node:crypto');
  return Array.from({ length: KEY_LENGTH }, () => LETTERS[crypto.randomInt(LETTERS.length)]).join('');
}

function messageOf(error: unknown): string {
  return error instanceof GraphException ? error.message.replace(/\.$/, '') : 'graphcred ran into a bug';
}

function once(read: Ports['readStdin']): Ports['readStdin'] {
  let answer: Promise<Buffer> | undefined;
  return (limits) => {
    answer ??= read(limits);
    return answer;
  };
}
