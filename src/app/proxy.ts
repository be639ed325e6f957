import type { Call } from '../auth/call.js';
import { findCredential } from '../auth/choose.js';
import { bind, findVersion } from '../auth/connect.js';
import type { Credential } from '../auth/credential.js';
import { readTls } from '../auth/open-connection.js';
import type { Ports } from '../auth/ports.js';
import { chooseStore } from '../auth/stores.js';
import { GraphException } from '../core/errors.js';
import { type Door, type DoorOptions, openDoor } from '../core/http/door.js';
import { readProxyVariables } from '../core/http/proxy.js';
import type { Authorization } from '../core/http/types.js';
import { SECRET_USER } from '../core/protocol/meanings.js';
import { isoSeconds } from '../core/protocol/reply.js';
import { secretLogin } from '../core/protocol/session.js';
import { FreshToken } from '../core/provider.js';
import { BoundCredential, bindTo } from '../core/sensitive.js';
import { type TokenSource, tokenSource } from './get-token.js';
import type { CachedToken } from './token-cache.js';

/** A local server that adds a valid token to every request. */
export interface LocalProxy {
  /** The URL in place of the REST server's. */
  readonly restUrl: string;
  /** The URL in place of the GSQL server's. */
  readonly gsqlUrl: string;
  /** What a client sends in place of a token or a password. */
  readonly key: string;
  /** The name to log in with at the GSQL server; undefined when the credential does not log in there. */
  readonly username: string | undefined;
  close(): Promise<void>;
}

/** The ports to listen on; 0 for a free one. */
export interface LocalPorts {
  readonly rest: number;
  readonly service: number;
}

/** A machine that was asleep, or whose clock was set, finds out within this time that the token is to be renewed. */
const LONGEST_WAIT_MS = 60_000;
const SHORTEST_WAIT_MS = 100;

/**
 * Opens the doors to the servers of this call, and keeps the token behind them fresh until `close`.
 * @throws GraphException when no token can be had, or when a port is taken
 */
export async function openProxy(call: Call, ports: LocalPorts): Promise<LocalProxy> {
  const { reporter, env } = call.ports;
  let served = 0;
  const source = await tokenSource(call);
  const tokens = freshToken(call, source, () => served);
  const held = await tokens.get();
  const { servers } = held;
  const login = await gsqlLogin(call, source, held);
  const withToken = async () => new TokenLogin(await tokens.get());
  const options: DoorSettings = {
    key: randomKey(),
    servers,
    login: async ({ server, scheme }) => {
      if (server === 'rest' || scheme === 'Bearer') return withToken();
      return login && ((await login.authorization()) ?? withToken());
    },
    again: async (refused) => {
      const next = refused instanceof TokenLogin ? await tokens.replace(refused.token) : undefined;
      return next && new TokenLogin(next);
    },
    onFutile: () => tokens.noteFutile(),
    onServed: () => {
      served++;
    },
    tls: await readTls(call),
    proxy: readProxyVariables(env),
    timeoutMs: call.timeoutMs,
  };
  const { doors, restUrl, gsqlUrl } = await openDoors(options, ports);
  const stop = renewInBackground(tokens, call.ports.now);
  return {
    restUrl,
    gsqlUrl,
    key: options.key,
    username: login?.username,
    close: async () => {
      stop();
      await Promise.all(doors.map((door) => door.close()));
      reporter.detail(`requests served: ${served}`);
    },
  };
}

/** Returns the token of the call, which tells the user when it was renewed and when it could not be. */
function freshToken(call: Call, source: TokenSource, served: () => number): FreshToken<CachedToken> {
  const { reporter, now } = call.ports;
  let isMissing = false;
  return new FreshToken<CachedToken>({
    acquire: acquirer(call, source),
    now,
    lifeOf: ({ requestedAtMs, expiresAtUnix }) => ({ fromMs: requestedAtMs, endMs: expiresAtUnix * 1000 }),
    onToken: ({ expiresAtUnix }) => {
      isMissing = false;
      const [renewed, ends] = [Math.floor(now() / 1000), expiresAtUnix].map(isoSeconds);
      reporter.detail(`token renewed at ${renewed}, ends at ${ends}; requests served: ${served()}`);
    },
    onFailure: (error, isAlive) => {
      const why = error instanceof GraphException ? error.message.replace(/\.$/, '') : 'a bug in graphcred';
      if (isAlive) reporter.warn(`the token could not be renewed: ${why}; the old one serves until it ends`);
      else if (!isMissing) reporter.warn(`there is no valid token: ${why}`);
      isMissing = !isAlive;
    },
  });
}

/** Renews the token whenever it is time, whether requests come or not. Returns the function that ends this. */
function renewInBackground(tokens: FreshToken<CachedToken>, now: () => number): () => void {
  let timer: NodeJS.Timeout;
  const schedule = () => {
    const waitMs = Math.min((tokens.renewAtMs ?? 0) - now(), LONGEST_WAIT_MS);
    // A failure is told by the token.
    const renew = () => tokens.get().then(schedule, schedule);
    timer = setTimeout(renew, Math.max(waitMs, SHORTEST_WAIT_MS)).unref();
  };
  schedule();
  return () => clearTimeout(timer);
}

/** The login of a request with the token in it, by which the token is known again when it is refused. */
class TokenLogin implements Authorization {
  readonly scheme = 'Bearer';
  readonly token: CachedToken;
  readonly credential: BoundCredential;

  constructor(token: CachedToken) {
    this.token = token;
    // A token for other servers, as after an upgrade, is not sent to these.
    this.credential = new BoundCredential(token.token, token.servers);
  }
}

type DoorSettings = Omit<DoorOptions, 'port' | 'route'>;

/** Opens one door where one address leads to both servers, as on 4.x, else one for each. */
async function openDoors(settings: DoorSettings, ports: LocalPorts) {
  const { restUrl, gsqlUrl } = settings.servers;
  const doors: Door[] = [];
  const open = async (port: number, route: DoorOptions['route']) => {
    try {
      const door = await openDoor({ ...settings, port, route });
      doors.push(door);
      return `http://127.0.0.1:${door.port}`;
    } catch (error) {
      await Promise.all(doors.map((door) => door.close()));
      const { code } = error as NodeJS.ErrnoException;
      const why = code === 'EADDRINUSE' ? 'is taken' : `cannot be opened (${code})`;
      throw new GraphException('USAGE', `Port ${port} of 127.0.0.1 ${why}.`, {
        hint: 'choose another one with --port or --service-port, or leave it out for a free one',
      });
    }
  };
  if (!restUrl.startsWith(`${gsqlUrl}/`)) {
    const rest = await open(ports.rest, (path) => ({ server: 'rest', path }));
    const gsql = await open(ports.service, (path) => ({ server: 'service', path }));
    return { doors, restUrl: rest, gsqlUrl: gsql };
  }
  const prefix = restUrl.slice(gsqlUrl.length);
  if (ports.rest && ports.service && ports.rest !== ports.service)
    throw new GraphException('USAGE', 'Both servers are behind one port here.', {
      hint: 'give --port alone, or the same port twice',
    });
  const url = await open(ports.rest || ports.service, (path) =>
    path.startsWith(`${prefix}/`)
      ? { server: 'rest', path: path.slice(prefix.length) }
      : { server: 'service', path },
  );
  return { doors, restUrl: `${url}${prefix}`, gsqlUrl: url };
}

/** Returns a function that gets tokens as `token get` does: from the store, or under its lock from the server. */
function acquirer(
  call: Call,
  first: TokenSource,
): (previous: CachedToken | undefined, refused: boolean) => Promise<CachedToken> {
  const { now } = call.ports;
  const ports = quietPorts(call.ports);
  return async (previous, refused) => {
    if (previous === undefined) return first.obtain();
    // Each renewal has the whole time limit.
    delete call.learned.deadline;
    // A file or a program may give another credential by now; one that was typed is asked for once.
    const source = await tokenSource({ ...call, canPrompt: false, learned: {}, ports }).catch(() => first);
    if (!refused) return source.obtain({ minTtl: previous.expiresAtUnix - now() / 1000 + 1 });
    const isNew = ({ token }: CachedToken) => token.reveal() !== previous.token.reveal();
    // Another process may have replaced it. If not, its record stays until it ends: what refused it may be a gateway.
    const cached = await source.obtain();
    if (isNew(cached)) return cached;
    const next = await source.obtain({ freshSince: now() });
    if (isNew(next)) return next;
    // A 4.x server gives the same token twice within one second.
    await new Promise((resolve) => setTimeout(resolve, 1000 - (now() % 1000)));
    return source.obtain({ freshSince: now() });
  };
}

/** In the background nobody is asked, nothing is drawn, a warning is said once, and a signal is the command's. */
function quietPorts(ports: Ports): Ports {
  const told = new Set<string>();
  return {
    ...ports,
    listen: () => ({
      signal: new AbortController().signal,
      status: undefined,
      begin: () => {},
      stop: () => {},
    }),
    reporter: {
      ...ports.reporter,
      note: () => {},
      warn: (text) => {
        if (!told.has(text)) ports.reporter.warn(text);
        told.add(text);
      },
      spinner: async () => ({ start: () => {}, stop: () => {} }),
      requests: async () => ({ onStart: () => {}, onRequest: () => {} }),
    },
  };
}

interface GsqlLogin {
  readonly username: string;
  /** Returns the login; undefined when the token is the login. Reads the credential, which may start a program. */
  authorization(): Promise<Authorization | undefined>;
}

/** Returns the login for the GSQL server; undefined when the credential at hand is none. */
async function gsqlLogin(call: Call, source: TokenSource, held: CachedToken): Promise<GsqlLogin | undefined> {
  const quiet = { ...call, canPrompt: false };
  try {
    // What is set may not log in as it is, but what the token was minted with may.
    const found = (await setLogin(quiet)) ?? (await source.credential());
    const { kind, level } = found;
    const version = await findVersion(quiet);
    // With a cached token nobody was asked for the password.
    const password = level !== 'prompt' || held.source === 'server';
    if (!{ jwt: version.jwtLogsIn, secret: version.secretLogsIn, password }[kind]) return undefined;
    if (kind === 'jwt') return { username: found.username ?? '', authorization: async () => undefined };
    const username = kind === 'secret' ? SECRET_USER : (found.username ?? '');
    return {
      username,
      authorization: async () => {
        const credential = bindTo(held.servers, await bind(found)) as BoundCredential;
        return kind === 'secret'
          ? secretLogin(version, credential)
          : { scheme: 'Basic', username, credential };
      },
    };
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    call.ports.reporter.detail(`there is no login for the GSQL server: ${error.message}`);
    return undefined;
  }
}

/** Returns 32 random `[a-z0-9]`. */
function randomKey(): string {
  const { randomInt } = process.getBuiltinModule('node:crypto');
  return Array.from({ length: 32 }, () => randomInt(36).toString(36)).join('');
}

/** Returns the login that is set; undefined when there is none. */
async function setLogin(call: Call): Promise<Credential | undefined> {
  const found = await findCredential(call, 'login', () => chooseStore(call)).catch((error) => {
    if (!(error instanceof GraphException)) throw error;
    return undefined;
  });
  return found?.level === 'prompt' ? undefined : found;
}
