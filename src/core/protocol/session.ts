import { knownServers, serversOf } from '../endpoints.js';
import { expected, type GraphException, usageError } from '../errors.js';
import type { Authorization, Exchange, HttpRequest, Send } from '../http/types.js';
import type { ConnectionOptions, MintedToken, Secret, TokenCheck } from '../options.js';
import { checked } from '../schema.js';
import {
  type BoundCredential,
  bindTo,
  type GivenCredential,
  readGiven,
  type Sensitive,
} from '../sensitive.js';
import { fitsVersion, VersionFinder } from './detect-version.js';
import { SECRET_USER } from './refusals.js';
import { readClaims } from './reply.js';
import type { ServerVersion } from './version.js';

/** What a connection was given, checked, and its current token. Nothing in it depends on the server's version. */
export type ConnectionSettings = ReturnType<typeof readOptions>;

const DEFAULT_TIMEOUT_MS = 30_000;

export function readOptions(given: ConnectionOptions) {
  const { password, secret, apiToken, jwtToken, ...options } = checked(given);
  if (options.username?.includes(':'))
    throw usageError('A user name cannot hold a colon.', ['give it without one', { setting: 'username' }]);
  const serviceUrl = knownServers(options).gsqlUrl;
  return {
    ...options,
    tls: options.tls ?? {},
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    serviceUrl,
    password: readGiven(password),
    secret: readGiven(secret),
    token: readGiven(apiToken) ?? readGiven(jwtToken),
    versions: new VersionFinder(serviceUrl, options),
    graphsSeen: new Set<string>(),
  };
}

/** The part of a request that an operation decides; the session adds the rest. */
export type ServerCall = Omit<HttpRequest, 'base' | 'servers' | 'hide'>;

/** A connection whose server's version is known. */
export type ServerSession = Awaited<ReturnType<typeof openServerSession>>;

export async function openServerSession(settings: ConnectionSettings, send: Send) {
  const { graph, username, secretsOf, graphsSeen, versions } = settings;
  const version = await versions.find(send);
  const servers = serversOf(settings, version);
  const password = bindTo(servers, settings.password);
  const secret = bindTo(servers, settings.secret);
  const token = (given?: GivenCredential) => bindTo(servers, given) ?? bindTo(servers, settings.token);
  return {
    version,
    servers,
    graph,
    /** Graphs that `USE GRAPH` has already accepted on this connection (3.x). */
    graphsSeen,
    secretsOf,
    token,
    confirmVersion: () => versions.confirm(version, send),
    basicLogin: (): Authorization | undefined => {
      if (password === undefined) return undefined;
      if (username !== undefined) return { scheme: 'Basic', username, credential: password };
      const hint = ['give it as well', { setting: 'username' }];
      throw usageError('A password was given, but no user name.', hint);
    },
    ask: async (call: ServerCall): Promise<Exchange> => {
      const request: HttpRequest = {
        ...call,
        servers,
        names: [...(call.names ?? []), graph ?? '', username ?? '', secretsOf ?? ''],
        base: call.server === 'rest' ? servers.restUrl : servers.gsqlUrl,
        // A password equal to the user name is not hidden, since the user name is not secret.
        hide: [secret, password?.reveal() === username ? undefined : password, token()],
      };
      const reply = await send(request).catch((error: unknown) => {
        const { code, ambiguous } = expected(error);
        // Where its address depends on the version, the REST server may be at another one after an upgrade.
        const depends = call.server === 'rest' && knownServers(settings).restUrl === undefined;
        if (depends && code === 'NETWORK' && !ambiguous) versions.doubt();
        throw error;
      });
      if (!fitsVersion(request, reply)) versions.doubt();
      return { request, reply };
    },
    secretOr: (given?: GivenCredential) =>
      bindTo(servers, given) ?? (password === undefined ? secret : undefined),
    tokenOr: (given: GivenCredential | undefined, verb: string): BoundCredential => {
      const used = token(given);
      if (used !== undefined) return used;
      throw usageError(`There is no token to ${verb}.`, 'give one, or get one first with getToken');
    },
  };
}

export function secretLogin(version: ServerVersion, credential: BoundCredential): Authorization {
  if (version.takesSecretScheme) return { scheme: 'GSQL-Secret', credential };
  return { scheme: 'Basic', username: SECRET_USER, credential };
}

/** Returns the login with the secret to use, where servers of this version take that, else with the password. */
export function ownLogin({ version, secretOr, basicLogin }: ServerSession, secret = secretOr()) {
  if (secret === undefined) return basicLogin();
  return version.secretLogsIn ? secretLogin(version, secret) : undefined;
}

/** Returns the login for the GSQL server: the connection's own, else this token where servers of this version take JWTs. */
export function gsqlLogin(session: ServerSession, token = session.token()): Authorization {
  const { jwtLogsIn, secretLogsIn } = session.version;
  const login = ownLogin(session);
  if (login) return login;
  if (jwtLogsIn && token && readClaims(token)) return { scheme: 'Bearer', credential: token };
  return needLogin(`a user name and password${secretLogsIn ? ', or a secret' : ''}`);
}

/** Returns the login for a request that mints, refreshes or deletes a token: none beside a secret. */
export function loginWithoutSecret(session: ServerSession, secret: Given): Authorization | undefined {
  return secret ? undefined : (session.basicLogin() ?? needLogin('a secret, or a user name and password'));
}

function needLogin(needed: string): never {
  throw usageError(`This needs ${needed}.`, ['give that', { setting: 'password' }]);
}

export interface NewSecret {
  /** Empty when the server generated an alias and did not say which. */
  readonly alias: string;
  readonly value: Sensitive;
}

type Given = BoundCredential | undefined;
/** What the server said when it does not know what to delete; undefined when that is deleted. */
type Unknown = GraphException | undefined;

/** The operations of one generation of servers. Without a secret, user name and password of the connection are used. */
export interface Protocol {
  listSecrets(session: ServerSession): Promise<Secret[]>;
  /** With an empty alias the server generates one; with `wantAlias` the generated alias is found out. */
  createSecret(session: ServerSession, alias: string, wantAlias: boolean): Promise<NewSecret>;
  dropSecret(session: ServerSession, alias: string): Promise<Unknown>;
  /** @param unit the unit in which this 4.x server counts lifetimes */
  mint(session: ServerSession, secret: Given, lifetime: number, unit: 's' | 'ms'): Promise<MintedToken>;
  refreshToken?(
    session: ServerSession,
    token: BoundCredential,
    secret: Given,
    lifetime: number,
  ): Promise<MintedToken>;
  deleteToken(session: ServerSession, token: BoundCredential, secret: Given): Promise<Unknown>;
  checkToken(session: ServerSession, token: BoundCredential): Promise<TokenCheck>;
}
