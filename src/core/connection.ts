import { uptimeMs } from './clock.js';
import { type Endpoints, restBaseUrl, serviceBaseUrl } from './endpoints.js';
import { GraphException } from './errors.js';
import type { HttpRequest, Wire } from './http.js';
import type {
  ConnectionOptions,
  DeleteTokenOptions,
  DropResult,
  GetTokenOptions,
  MintedToken,
  MintOptions,
  RawOptions,
  RawReply,
  RefreshTokenOptions,
  RenewOptions,
} from './options.js';
import type {
  MintRequest,
  Protocol,
  Secret,
  ServerVersion,
  Session,
  TokenCheck,
  TokenTuple,
} from './protocol.js';
import { Sensitive } from './sensitive.js';
import { isoSeconds } from './token-reply.js';

const DEFAULT_LIFETIME = 2_592_000;
/** A hundred years: beyond it a number is a mistake, not a wish. */
const MAX_LIFETIME = 3_153_600_000;
const DEFAULT_TIMEOUT_MS = 30_000;
const RAW_MAX_BYTES = 64 * 1024 * 1024;
const ALIAS = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

type Send = Session['send'];

/**
 * One database: its two servers, one user, one graph. Finds out by itself which version answers (once, and
 * without sending a credential). Every refusal is a GraphException.
 */
export class GraphConnection {
  readonly #endpoints: Endpoints;
  readonly #serviceUrl: string;
  readonly #graph: string | undefined;
  readonly #username: string | undefined;
  readonly #password: Sensitive | undefined;
  readonly #secret: Sensitive | undefined;
  readonly #wire: Wire;
  readonly #askedVersion: string;
  readonly #knownVersion: string | undefined;
  #token: Sensitive | undefined;
  #version: Promise<ServerVersion> | undefined;

  constructor(options: ConnectionOptions = {}) {
    const { host, restPort, gsqlPort, restUrl, gsqlUrl } = options;
    this.#endpoints = { host, restPort, gsqlPort, restUrl, gsqlUrl };
    this.#serviceUrl = serviceBaseUrl(this.#endpoints);
    restBaseUrl(this.#endpoints, 'B'); // A wrong address is told now, not at the first call.
    this.#graph = options.graph === '' ? undefined : options.graph;
    this.#username = options.username === '' ? undefined : options.username;
    this.#password = sensitive(options.password);
    this.#secret = sensitive(options.secret);
    this.#token = sensitive(options.apiToken);
    this.#askedVersion = options.serverVersion ?? 'auto';
    this.#knownVersion = options.knownVersion;
    const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    if (!(timeoutMs > 0 && timeoutMs <= 0x7fff_ffff)) {
      throw new GraphException('USAGE', 'timeoutMs must be a number of milliseconds above 0.');
    }
    this.#wire = {
      timeoutMs,
      timeLeft: options.timeLeft,
      tls: options.tls ?? {},
      proxy: options.proxy,
      userAgent: options.userAgent ?? 'graphcred',
      signal: options.signal,
      onStart: options.onStart,
      onRequest: options.onRequest,
    };
  }

  /** The bearer token of `rest()`; set by getToken and refreshToken, unset by deleteToken. */
  get apiToken(): string | undefined {
    return this.#token?.reveal();
  }

  set apiToken(value: string | Sensitive | undefined) {
    this.#token = sensitive(value);
  }

  /**
   * Which version answers here. Asked once, without credentials. NETWORK and TIMEOUT when nobody answers,
   * UNSUPPORTED or BAD_RESPONSE when the answer does not tell; `serverVersion` then says it instead.
   */
  findVersion(): Promise<ServerVersion> {
    return this.#findVersion(this.#begin());
  }

  #findVersion(send: Send): Promise<ServerVersion> {
    if (this.#version === undefined) {
      const found = this.#askVersion(send);
      this.#version = found;
      found.catch(() => {
        if (this.#version === found) this.#version = undefined;
      });
    }
    return this.#version;
  }

  async #askVersion(send: Send): Promise<ServerVersion> {
    const { detectVersion, parseVersionOption } = await import('./version.js');
    const said = parseVersionOption(this.#askedVersion);
    if (said !== undefined) return said;
    const known = this.#knownVersion === undefined ? undefined : parseVersionOption(this.#knownVersion);
    return known ?? detectVersion(this.#serviceUrl, send);
  }

  /** Both base URLs, as used. Asks for the version, on which the REST server's depends. */
  async baseUrls(): Promise<{ restUrl: string; gsqlUrl: string }> {
    const protocol = await this.#open();
    return { restUrl: protocol.restUrl, gsqlUrl: this.#serviceUrl };
  }

  /** Alias to masked value. */
  async getSecrets(): Promise<Record<string, string>> {
    const secrets = await this.listSecrets();
    return Object.fromEntries(secrets.map(({ alias, masked }) => [alias, masked]));
  }

  /** As getSecrets, with the graph each secret is bound to (3.x), in the server's order. */
  async listSecrets(): Promise<Secret[]> {
    return (await this.#open()).listSecrets();
  }

  /**
   * Makes a secret; this is the only moment its value is seen. An empty alias asks the server for a generated
   * one. With `withAlias` the result is `{alias: value}`; should a server keep a generated alias to itself,
   * the key is empty. ALREADY_EXISTS when the alias is taken. Never sent a second time by itself.
   */
  createSecret(alias: string | undefined, options: { withAlias: true }): Promise<Record<string, string>>;
  createSecret(alias?: string, options?: { withAlias?: false | undefined }): Promise<string>;
  createSecret(
    alias?: string,
    options?: { withAlias?: boolean | undefined },
  ): Promise<string | Record<string, string>>;
  async createSecret(
    alias = '',
    options: { withAlias?: boolean | undefined } = {},
  ): Promise<string | Record<string, string>> {
    if (alias !== '' && !ALIAS.test(alias)) {
      throw new GraphException('USAGE', 'This alias cannot be used for a secret.', {
        hint: 'Begin with a letter or _, then letters, digits and _, 128 characters at most.',
      });
    }
    const withAlias = options.withAlias ?? false;
    const made = await (await this.#open()).createSecret(alias, withAlias);
    const value = made.value.reveal();
    return withAlias ? Object.fromEntries([[made.alias, value]]) : value;
  }

  /**
   * Drops all the aliases it can and says what was done. An unknown alias is no error while `ignoreErrors`
   * is true (the default), else NOT_FOUND after the others were dropped. Other errors are passed on unchanged.
   */
  async dropSecret(
    alias: string | readonly string[],
    options: { ignoreErrors?: boolean | undefined } = {},
  ): Promise<string> {
    const result = await this.dropSecrets(typeof alias === 'string' ? [alias] : alias);
    if (result.failed !== undefined) throw result.failed.error;
    const done = result.dropped.length > 0 ? `Dropped: ${result.dropped.join(', ')}.` : 'Nothing dropped.';
    if (result.missing.length === 0) return done;
    const missing = `Not found: ${result.missing.join(', ')}.`;
    if (options.ignoreErrors ?? true) return `${done} ${missing}`;
    throw new GraphException('NOT_FOUND', `${missing} ${done}`, {
      hint: 'See the aliases there are with: graphcred secret list',
    });
  }

  /** Drops one alias after the other and reports on each. Throws only if nothing was sent. */
  async dropSecrets(aliases: readonly string[]): Promise<DropResult> {
    if (aliases.length === 0 || aliases.some((alias) => typeof alias !== 'string' || alias === '')) {
      throw new GraphException('USAGE', 'Name at least one secret to drop, and no empty alias.');
    }
    const protocol = await this.#open();
    const dropped: string[] = [];
    const missing: string[] = [];
    for (const alias of new Set(aliases)) {
      try {
        const outcome = await protocol.dropSecret(alias);
        (outcome === 'dropped' ? dropped : missing).push(alias);
      } catch (error) {
        return { dropped, missing, failed: { alias, error } };
      }
    }
    return { dropped, missing };
  }

  /** A new token. 3.x: `[token, unix, iso]`; 4.x: `[token, serverText]`. */
  async getToken(options: GetTokenOptions = {}): Promise<TokenTuple> {
    const protocol = await this.#open();
    const issued = await protocol.mintToken(this.#mintRequest(options));
    if (options.setToken ?? true) this.#token = issued.token;
    return protocol.tokenTuple(issued);
  }

  /** As getToken, with all that is known of the token. Does not touch the connection's own. */
  async mintToken(options: MintOptions = {}): Promise<MintedToken> {
    const protocol = await this.#open();
    const issued = await protocol.mintToken(this.#mintRequest(options));
    return { ...issued, token: issued.token.reveal() };
  }

  /** Lets a token live for `lifetime` seconds from now (3.x). On 4.x UNSUPPORTED, and nothing is sent. */
  async refreshToken(options: RefreshTokenOptions = {}): Promise<[string, number, string]> {
    const renewed = await this.renewToken(options);
    if (options.setToken ?? true) this.#token = new Sensitive(renewed.token);
    return [renewed.token, renewed.expiresAtUnix, isoSeconds(renewed.expiresAtUnix)];
  }

  /** As refreshToken, with all that is known of the token. Does not touch the connection's own. */
  async renewToken(options: RenewOptions = {}): Promise<MintedToken> {
    const protocol = await this.#open();
    if (protocol.refreshToken === undefined) {
      throw new GraphException('UNSUPPORTED', 'This server cannot refresh tokens: 4.x has no such call.', {
        hint: 'Ask for a new one with: graphcred token get --fresh',
      });
    }
    const issued = await protocol.refreshToken({
      token: this.#tokenOr(options.token, 'refresh'),
      secret: sensitive(options.secret) ?? this.#defaultSecret(),
      lifetime: lifetimeOr(options.lifetime),
    });
    return { ...issued, token: issued.token.reveal() };
  }

  /**
   * Makes a token useless; true when done. An unknown token is NOT_FOUND, or true with `skipNA`. If it was the
   * connection's own, that is then unset. An empty secret means user name and password.
   */
  async deleteToken(secret: string | Sensitive | undefined, options: DeleteTokenOptions = {}): Promise<true> {
    const protocol = await this.#open();
    const token = this.#tokenOr(options.token, 'delete');
    const outcome = await protocol.deleteToken(token, sensitive(secret) ?? this.#defaultSecret());
    if (outcome === 'missing' && options.skipNA !== true) {
      throw new GraphException('NOT_FOUND', 'The server does not know this token.', {
        hint: 'It may have ended or been deleted before; with skipNA (--skip-missing) that is no error.',
      });
    }
    if (this.#token?.reveal() === token.reveal()) this.#token = undefined;
    return true;
  }

  /** Asks the server whether it accepts a token (the connection's own when absent). */
  async checkToken(token?: string | Sensitive): Promise<TokenCheck> {
    const protocol = await this.#open();
    return protocol.checkToken(this.#tokenOr(token, 'check'));
  }

  /** Whether the REST server wants a token; asked without one. */
  async restAuthentication(): Promise<'on' | 'off' | 'unknown'> {
    const send = this.#begin();
    const protocol = await this.#open(send);
    const reply = await send({ server: 'rest', base: protocol.restUrl, method: 'GET', path: '/echo' });
    if (reply.status === 401 || reply.status === 403 || reply.body.includes('REST-10016')) return 'on';
    // Any web server answers 200 to something; only the echo itself says that no token is wanted.
    const { readEnvelope } = await import('./envelope.js');
    return reply.status === 200 && readEnvelope(reply)?.refused === false ? 'off' : 'unknown';
  }

  /** Resolves once the service server answers at all; SERVER_UNAVAILABLE while it sleeps or starts. */
  async ping(): Promise<void> {
    await this.#begin()({ server: 'service', base: this.#serviceUrl, method: 'GET', path: '/api/ping' });
  }

  /** The service server's clock (`Date` header), Unix seconds; undefined if it does not tell. Asked without a credential. */
  async serverTimeUnix(): Promise<number | undefined> {
    const request = { server: 'service', base: this.#serviceUrl, method: 'GET', path: '/api/ping' } as const;
    const { headers, timeUnix } = await this.#begin()(request);
    return Number.isFinite(Date.parse(headers.date ?? '')) ? timeUnix : undefined;
  }

  /**
   * One call to the REST server with the connection's token. Any status comes back as it is, except those that
   * refuse the token (AUTH_FAILED, PERMISSION_DENIED), redirects, and servers that are not up.
   */
  async rest(method: string, path: string, options: RawOptions = {}): Promise<RawReply> {
    const { headerLogin } = await import('./login.js');
    const send = this.#begin();
    const protocol = await this.#open(send);
    const login = this.#token && headerLogin('Bearer', this.#token);
    return this.#raw(send, 'rest', protocol.restUrl, login, method, path, options);
  }

  /** One call to the service server with the connection's login; statuses as in `rest()`. */
  async service(method: string, path: string, options: RawOptions = {}): Promise<RawReply> {
    const send = this.#begin();
    const protocol = await this.#open(send);
    return this.#raw(send, 'service', this.#serviceUrl, protocol.serviceLogin(), method, path, options);
  }

  async #raw(
    send: Send,
    server: 'rest' | 'service',
    base: string,
    authorization: Sensitive | undefined,
    method: string,
    path: string,
    options: RawOptions,
  ): Promise<RawReply> {
    const { checkRawCall, checkRawReply } = await import('./raw.js');
    const request: HttpRequest = {
      ...checkRawCall(server, base, method, path, options),
      authorization,
      hide: [this.#token, this.#password, this.#secret],
      maxBytes: RAW_MAX_BYTES,
    };
    return checkRawReply(request, await send(request), options);
  }

  /** Where a call begins: all it sends, the question for the version included, shares one time limit. */
  #begin(): Send {
    const until = uptimeMs() + this.#wire.timeoutMs;
    return async (request) => {
      const { send } = await import('./http.js');
      return send(this.#wire, request, until);
    };
  }

  async #open(send = this.#begin()): Promise<Protocol> {
    const version = await this.#findVersion(send);
    const session: Session = {
      version,
      serviceUrl: this.#serviceUrl,
      restUrl: restBaseUrl(this.#endpoints, version.generation),
      graph: this.#graph,
      username: this.#username,
      password: this.#password,
      secret: this.#secret,
      token: () => this.#token,
      send,
    };
    switch (version.generation) {
      case 'A':
      case 'B':
        return (await import('./protocol-v3.js')).protocolV3(session);
      case 'C':
        return (await import('./protocol-v4.js')).protocolV4(session);
    }
  }

  #mintRequest(options: MintOptions): MintRequest {
    return {
      secret: sensitive(options.secret) ?? this.#defaultSecret(),
      lifetime: lifetimeOr(options.lifetime),
      lifetimeUnit: options.lifetimeUnit ?? 's',
    };
  }

  #defaultSecret(): Sensitive | undefined {
    return this.#password === undefined ? this.#secret : undefined;
  }

  #tokenOr(given: string | Sensitive | undefined, verb: string): Sensitive {
    const token = sensitive(given) ?? this.#token;
    if (token === undefined) {
      throw new GraphException('USAGE', `There is no token to ${verb}.`, {
        hint: 'Give one, or get one first with getToken.',
      });
    }
    return token;
  }
}

function sensitive(value: string | Sensitive | undefined): Sensitive | undefined {
  if (value === undefined || value === '') return undefined;
  if (typeof value === 'string') return new Sensitive(value);
  return value.reveal() === '' ? undefined : value;
}

function lifetimeOr(lifetime: number | undefined): number {
  const seconds = lifetime ?? DEFAULT_LIFETIME;
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > MAX_LIFETIME) {
    throw new GraphException('USAGE', 'The lifetime must be a whole number of seconds, 1 or more.', {
      hint: 'For example 3600 for an hour, 2592000 for 30 days.',
    });
  }
  return seconds;
}
