import { isLoginRefused } from './errors.js';
import type { MintedToken } from './options.js';
import { fields } from './schema.js';

interface ProviderDeps<T> {
  /** Gets a token: a shared one that lives longer than `previous`, or a new one; when `isFresh`, always a new one. */
  acquire(previous: T | undefined, isFresh: boolean): Promise<T>;
  textOf(token: T): string;
  /** Returns the times between which a token lives, in ms since 1970 by this machine's clock. */
  lifeOf(token: T): { readonly fromMs: number; readonly endMs: number };
  /** Milliseconds since 1970. */
  now(): number;
  /** Called when a renewal failed. @param isAlive whether the old token still lives */
  onFailure?(error: unknown, isAlive: boolean): void;
  onToken?(token: T): void;
}

/** The part of its life after which a token is renewed; what is added at random spreads the renewals of a fleet. */
const [RENEW_AT, SPREAD] = [2 / 3, 0.1];
/**
 * A renewal that failed is tried again after a tenth of the time that the old token still lives, within these limits. Each
 * refused login doubles the shorter one: servers make a user wait after some.
 */
const [SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS] = [1000, 60_000];
/** When a new token is refused as well, the token is not the reason, and for this time no other is got for a refusal. */
const FUTILE_MS = 10_000;

/**
 * Gives tokens to a program that runs longer than one of them lives: `conn.tokenProvider()` makes it. One mint serves
 * all callers at the same time, a token is renewed in the background from two thirds of its life on, and the old one
 * serves as long as it lives when a renewal fails. Starts no timer. `T` is `MintedToken` in the library.
 */
export class TokenProvider<T = MintedToken> {
  readonly #deps: ProviderDeps<T>;
  #current: { readonly token: T; readonly renewAtMs: number; readonly endMs: number } | undefined;
  #getting: Promise<T> | undefined;
  #retryAtMs = 0;
  #refusals = 0;
  #failure: unknown;
  #futileUntilMs = 0;

  /** @internal */
  constructor(deps: ProviderDeps<T>) {
    this.#deps = deps;
  }

  /** Returns a token that lives. Throws the error of the mint when there is none. */
  async get(): Promise<T> {
    const now = this.#deps.now();
    const current = this.#current;
    if (current === undefined || now >= current.endMs) {
      if (now < this.#retryAtMs && this.#getting === undefined) {
        this.#deps.onFailure?.(this.#failure, false);
        throw this.#failure;
      }
      return this.#acquire();
    }
    if (now >= current.renewAtMs && now >= this.#retryAtMs) this.#acquire().catch(() => {});
    return current.token;
  }

  /** Returns the headers of a request to the REST server: `authorization`. */
  async headers(): Promise<{ authorization: string }> {
    return { authorization: `Bearer ${this.#deps.textOf(await this.get())}` };
  }

  /** Returns a token in place of a refused one, one for all callers; undefined when a new one was refused just now too. */
  async replace(refused: T): Promise<T | undefined> {
    fields(refused, 'refused');
    if (this.#current !== undefined && this.#current.token !== refused && this.#getting === undefined)
      return this.#current.token;
    if (this.#deps.now() < Math.max(this.#futileUntilMs, this.#retryAtMs)) return undefined;
    return this.#acquire(refused);
  }

  /** Says that the server refused the token that `replace` gave as well. */
  noteFutile(): void {
    this.#futileUntilMs = this.#deps.now() + FUTILE_MS;
  }

  #acquire(refused?: T): Promise<T> {
    this.#getting ??= this.#acquireAlone(refused).finally(() => {
      this.#getting = undefined;
    });
    return this.#getting;
  }

  async #acquireAlone(refused: T | undefined): Promise<T> {
    const { acquire, lifeOf, now, onToken, onFailure } = this.#deps;
    try {
      const token = await (refused === undefined
        ? acquire(this.#current?.token, false)
        : this.#another(refused));
      const { fromMs, endMs } = lifeOf(token);
      const renewAtMs = fromMs + (endMs - fromMs) * (RENEW_AT + Math.random() * SPREAD);
      this.#current = { token, endMs, renewAtMs };
      this.#retryAtMs = this.#refusals = 0;
      onToken?.(token);
      return token;
    } catch (error) {
      // A token that was refused serves nobody, however long it lives.
      const leftMs = refused === undefined ? (this.#current?.endMs ?? 0) - now() : 0;
      this.#refusals = isLoginRefused(error) ? this.#refusals + 1 : 0;
      const pauseMs = Math.max(leftMs / 10, SHORTEST_PAUSE_MS * 2 ** this.#refusals);
      this.#retryAtMs = now() + Math.min(pauseMs, LONGEST_PAUSE_MS);
      this.#failure = error;
      if (this.#current) onFailure?.(error, leftMs > 0);
      throw error;
    }
  }

  async #another(refused: T): Promise<T> {
    const { acquire, textOf } = this.#deps;
    const isNew = (token: T) => textOf(token) !== textOf(refused);
    // Whoever shares the token may have replaced it.
    const shared = await acquire(undefined, false);
    if (isNew(shared)) return shared;
    const fresh = await acquire(undefined, true);
    if (isNew(fresh)) return fresh;
    // A 4.x server gives the same token twice within one second.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    return acquire(undefined, true);
  }
}
