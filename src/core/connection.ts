import { type Servers, serversOf } from './endpoints.js';
import { type Fix, GraphException, usageError } from './errors.js';
import { send } from './http/send.js';
import type { Send } from './http/types.js';
import type {
  ConnectionOptions,
  DeleteTokenOptions,
  GetTokenOptions,
  MintedToken,
  MintOptions,
  RawOptions,
  RawReply,
  RefreshTokenOptions,
  RenewOptions,
  Secret,
  TokenCheck,
  TokenTuple,
} from './options.js';
import { checkGraph, isPlainAlias, requirePlainAlias } from './protocol/gsql.js';
import { isTokenRefused, readEnvelope } from './protocol/reply.js';
import {
  type ConnectionSettings,
  gsqlLogin,
  openServerSession,
  type Protocol,
  readOptions,
  type ServerSession,
} from './protocol/session.js';
import { V3 } from './protocol/v3.js';
import { V4 } from './protocol/v4.js';
import type { ServerVersion } from './protocol/version.js';
import { TokenProvider } from './provider.js';
import { sendRaw } from './raw.js';
import { checked, credential, optional, text, textOrTexts } from './schema.js';
import { type GivenCredential, readGiven } from './sensitive.js';
import { Deadline, isoSeconds } from './time.js';
import { DEFAULT_LIFETIME, mintInUnit } from './tokens.js';

const LIST_ALIASES: readonly Fix[] = ['list the aliases', { command: 'secret list' }];

/** One database, user and graph. It asks for the version once, without a login. Every error is a GraphException. */
export class GraphConnection {
  readonly #settings: ConnectionSettings;
  #provider: TokenProvider | undefined;

  constructor(options: ConnectionOptions = {}) {
    this.#settings = readOptions(options);
  }

  /** The bearer token of `rest()`; set by getToken and refreshToken, unset by deleteToken. */
  get apiToken(): string | undefined {
    return this.#settings.token?.reveal();
  }

  set apiToken(value: GivenCredential | undefined) {
    this.#settings.token = readGiven(optional(value, credential, 'apiToken'));
  }

  /**
   * Returns the server's version, asked for once, without credentials. NETWORK or TIMEOUT without an answer;
   * UNSUPPORTED or BAD_RESPONSE when the answer names no version: then set `serverVersion`.
   */
  findVersion(): Promise<ServerVersion> {
    return this.#settings.versions.find(this.#begin());
  }

  /** Returns both base URLs. Asks for the version if the REST server's URL depends on it. */
  async baseUrls(): Promise<Servers> {
    return serversOf(this.#settings, await this.findVersion());
  }

  /** Returns the secrets as an object that maps each alias to its masked value. */
  async getSecrets(): Promise<Record<string, string>> {
    const secrets = await this.listSecrets();
    return Object.fromEntries(secrets.map(({ alias, masked }) => [alias, masked]));
  }

  /** Like getSecrets, with the graph that each secret is bound to (3.x). In the server's order. */
  async listSecrets(): Promise<Secret[]> {
    return this.#run((session, protocol) => protocol.listSecrets(session));
  }

  /**
   * Creates a secret, whose value cannot be read again. With an empty alias the server generates one. With `withAlias`
   * the result is `{alias: value}`, with an empty key if the alias is unknown. Throws ALREADY_EXISTS. Never retried.
   */
  async createSecret<Named extends boolean | undefined = false>(
    alias?: string,
    options: { withAlias?: Named | undefined } = {},
  ): Promise<Named extends true ? Record<string, string> : string> {
    alias = optional(alias, text, 'alias') ?? '';
    if (alias !== '') requirePlainAlias(alias);
    const wantsAlias = checked(options).withAlias === true;
    const made = await this.#run((session, protocol) => protocol.createSecret(session, alias, wantsAlias));
    const value = made.value.reveal();
    return (wantsAlias ? Object.fromEntries([[made.alias, value]]) : value) as never;
  }

  /**
   * Drops the secrets with these aliases, one after the other, and says what was done. While `ignoreErrors` is true (the
   * default), an unknown alias is no error; else NOT_FOUND is thrown after the others were dropped. Any other error ends
   * the call and is passed on unchanged: give one alias at a time to know what became of each.
   */
  async dropSecret(
    alias: string | readonly string[],
    options: { ignoreErrors?: boolean | undefined } = {},
  ): Promise<string> {
    const aliases = new Set([textOrTexts(alias, 'alias')].flat());
    const { ignoreErrors = true } = checked(options);
    if (aliases.size === 0 || aliases.has(''))
      throw usageError('Name at least one secret to drop; an alias must not be empty.', LIST_ALIASES);
    return this.#run(async (session, protocol) => {
      const dropped: string[] = [];
      const missing: string[] = [];
      let refusal: GraphException | undefined;
      for (const one of aliases) {
        const unknown = await dropListed(session, protocol, one);
        (unknown ? missing : dropped).push(one);
        refusal ??= unknown;
      }
      const done = dropped.length > 0 ? `Dropped: ${dropped.join(', ')}.` : 'Nothing dropped.';
      if (missing.length === 0) return done;
      const notFound = `There is no such secret: ${missing.join(', ')}.`;
      if (ignoreErrors) return `${done} ${notFound}`;
      throw new GraphException('NOT_FOUND', `${notFound} ${done}`, {
        ...refusal,
        fix: [...LIST_ALIASES, { setting: 'ignoreErrors' }],
      });
    });
  }

  /** Mints a token. Returns `[token, unix, iso]` on 3.x, `[token, serverText]` on 4.x. */
  async getToken(options: GetTokenOptions = {}): Promise<TokenTuple> {
    const { setToken = true, ...wanted } = checked(options);
    const { token, expiresAtUnix, serverText } = await this.mintToken(wanted);
    if (setToken) this.#settings.token = readGiven(token);
    const { generation } = await this.findVersion();
    return generation === '4' ? [token, serverText] : [token, expiresAtUnix, isoSeconds(expiresAtUnix)];
  }

  /** Like getToken, but returns all that is known of the token and leaves `apiToken` unchanged. */
  async mintToken(options: MintOptions = {}): Promise<MintedToken> {
    const wanted = checked(options);
    return this.#run((session, protocol) => mintInUnit(session, protocol, wanted));
  }

  /** Extends a token to `lifetime` seconds from now (3.x). Throws UNSUPPORTED on 4.x without sending anything. */
  async refreshToken(options: RefreshTokenOptions = {}): Promise<[string, number, string]> {
    const { setToken = true, ...wanted } = checked(options);
    const { token, expiresAtUnix } = await this.renewToken(wanted);
    if (setToken) this.#settings.token = readGiven(token);
    return [token, expiresAtUnix, isoSeconds(expiresAtUnix)];
  }

  /** Like refreshToken, but returns all that is known of the token and leaves `apiToken` unchanged. */
  async renewToken(options: RenewOptions = {}): Promise<MintedToken> {
    const { token, secret, lifetime = DEFAULT_LIFETIME } = checked(options);
    return this.#run(async (session, { refreshToken }) => {
      if (refreshToken === undefined)
        throw new GraphException('UNSUPPORTED', 'This server cannot refresh tokens: 4.x has no such call.', {
          hint: ['ask for a new one', { command: 'token get --fresh' }],
        });
      const used = session.tokenOr(token, 'refresh');
      return refreshToken(session, used, session.secretOr(secret), lifetime);
    });
  }

  /**
   * Revokes a token and returns true. An unknown token throws NOT_FOUND, or returns true with `skipNA`, as where there
   * is none. If it was the connection's own token, `apiToken` is unset. `secret` logs in; an empty one means the connection's login.
   */
  async deleteToken(secret: GivenCredential | undefined, options: DeleteTokenOptions = {}): Promise<true> {
    const login = optional(secret, credential, 'secret');
    const { token, skipNA } = checked(options);
    if (skipNA === true && !readGiven(token) && !this.#settings.token) return true;
    const deleted = await this.#run(async (session, protocol) => {
      const used = session.tokenOr(token, 'delete');
      const refusal = await protocol.deleteToken(session, used, session.secretOr(login));
      if (refusal === undefined || skipNA === true) return used;
      const asked = session.version.generation === '4' ? session.servers.gsqlUrl : session.servers.restUrl;
      throw new GraphException('NOT_FOUND', `${asked} does not know this token.`, {
        ...refusal,
        fix: ['ignore this if the token may have expired or been deleted before', { setting: 'skipNA' }],
      });
    });
    if (this.apiToken === deleted.reveal()) this.#settings.token = undefined;
    return true;
  }

  /** Asks the server whether it accepts a token (the connection's own when absent). */
  async checkToken(token?: GivenCredential): Promise<TokenCheck> {
    const given = optional(token, credential, 'token');
    return this.#run((session, protocol) => protocol.checkToken(session, session.tokenOr(given, 'check')));
  }

  /** Checks login and graph, and changes nothing. Throws AUTH_FAILED; NOT_FOUND or USAGE for the graph. */
  async checkGraph(): Promise<void> {
    await this.#run(checkGraph);
  }

  /** Asks the REST server, without a token, whether it requires one. */
  async restAuthentication(): Promise<'on' | 'off' | 'unknown'> {
    const { reply } = await this.#run(({ ask }) => ask({ server: 'rest', method: 'GET', path: '/echo' }));
    if (reply.status === 401 || reply.status === 403 || reply.body.includes('REST-10016')) return 'on';
    // Any web server may answer 200, so the answer must be that of the echo endpoint.
    const envelope = reply.status === 200 ? readEnvelope(reply) : undefined;
    return envelope && !envelope.refused ? 'off' : 'unknown';
  }

  /**
   * Resolves when the GSQL server answers, with its time (`Date` header, Unix seconds) if it gives one. Sends no
   * credential. Throws SERVER_UNAVAILABLE while the server is suspended or starting.
   */
  async ping(): Promise<number | undefined> {
    const { serviceUrl: base } = this.#settings;
    const ping = { server: 'service', base, method: 'GET', path: '/api/ping' } as const;
    return (await this.#begin()(ping)).serverTimeUnix;
  }

  /** Returns a provider of tokens for a long-running program. From then on `rest()` uses it in place of `apiToken`. */
  tokenProvider(options: MintOptions = {}): TokenProvider {
    const wanted = checked(options);
    let fromMs = 0;
    this.#provider = new TokenProvider({
      now: Date.now,
      textOf: ({ token }) => token,
      acquire: () => {
        fromMs = Date.now();
        return this.mintToken(wanted);
      },
      // By this machine's clock, as the server's may differ: it counts whole seconds, so the last may be cut short.
      lifeOf: ({ grantedSeconds }) => ({ fromMs, endMs: fromMs + (grantedSeconds - 1) * 1000 }),
    });
    return this.#provider;
  }

  /**
   * Sends one request to the REST server with the connection's token, or that of its provider: then a request whose
   * token is refused is sent once more with a new one. Returns the answer whatever its status, but throws if it refuses
   * the token (AUTH_FAILED, PERMISSION_DENIED) or redirects, or if the server is not up.
   */
  async rest(method: string, path: string, options: RawOptions = {}): Promise<RawReply> {
    const wanted = checkedCall(method, path, options);
    const provider = this.#provider;
    const token = await provider?.get();
    return this.#run(async (session) => {
      const ask = (given?: MintedToken) => {
        const credential = session.token(given?.token);
        const authorization = credential && ({ scheme: 'Bearer', credential } as const);
        const call = { server: 'rest', method, path, authorization } as const;
        return sendRaw(session, call, given ? { ...wanted, keepRefusal: true } : wanted);
      };
      let reply = await ask(token);
      const next = token && isTokenRefused(reply.refusal) ? await provider?.replace(token) : undefined;
      if (next) {
        reply = await ask(next);
        if (isTokenRefused(reply.refusal)) provider?.noteFutile();
      }
      if (reply.refusal && !wanted.keepRefusal) throw reply.refusal;
      return reply;
    });
  }

  /** Sends one request to the GSQL server with the connection's login. Statuses are as in `rest()`. */
  async service(method: string, path: string, options: RawOptions = {}): Promise<RawReply> {
    const wanted = checkedCall(method, path, options);
    const call = { server: 'service', method, path } as const;
    return this.#run((session) => sendRaw(session, { ...call, authorization: gsqlLogin(session) }, wanted));
  }

  /** Begins a call, whose requests share one time limit. */
  #begin(): Send {
    const { timeoutMs, deadline = new Deadline(timeoutMs) } = this.#settings;
    return (request) => send(this.#settings, request, deadline);
  }

  async #run<T>(work: (session: ServerSession, protocol: Protocol) => Promise<T>) {
    const session = await openServerSession(this.#settings, this.#begin());
    return work(session, session.version.generation === '4' ? V4 : V3);
  }
}

/** Drops one secret. A name that breaks the rule for new ones is sent only if the server has such a secret. */
async function dropListed(session: ServerSession, protocol: Protocol, alias: string) {
  if (isPlainAlias(alias) || (await protocol.listSecrets(session)).some((one) => one.alias === alias))
    return protocol.dropSecret(session, alias);
  return new GraphException('NOT_FOUND', 'There is no such secret.');
}

function checkedCall(method: unknown, path: unknown, options: RawOptions): RawOptions {
  text(method, 'method');
  text(path, 'path');
  return checked(options);
}
