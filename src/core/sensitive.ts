import type { Servers } from './endpoints.js';

const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/**
 * Wraps the value of a credential. It prints as `[redacted]` wherever a value can end up by accident: string templates,
 * JSON, `util.inspect`, error messages. Only `reveal()` gives the value, so every place that uses one can be found by
 * searching for that word.
 */
export class Sensitive {
  readonly #value: string;
  /** Where it came from, for the message of a refusal: `from GRAPHCRED_SECRET`. */
  readonly origin: string | undefined;

  constructor(value: string, origin?: string) {
    this.#value = value;
    this.origin = origin;
  }

  /** Returns the value itself. */
  reveal(): string {
    return this.#value;
  }

  /** Always `[redacted]`. */
  toString(): string {
    return '[redacted]';
  }

  /** Always `[redacted]`. */
  toJSON(): string {
    return '[redacted]';
  }

  [INSPECT](): string {
    return '[redacted]';
  }
}

/**
 * A credential together with the servers it belongs to. `send` refuses to put it on a request to any other. Prints as
 * `[redacted]`, as `Sensitive` does.
 */
export class BoundCredential {
  /** The credential. */
  readonly value: Sensitive;
  /** The servers it belongs to. */
  readonly servers: Servers;

  constructor(value: Sensitive, servers: Servers) {
    this.value = value;
    this.servers = servers;
  }

  /** Always `[redacted]`. */
  toString(): string {
    return '[redacted]';
  }

  /** Always `[redacted]`. */
  toJSON(): string {
    return '[redacted]';
  }

  [INSPECT](): string {
    return '[redacted]';
  }
}

/** A credential as a caller gives it. A plain one belongs to the servers of the connection it is given to. */
export type GivenCredential = string | Sensitive | BoundCredential;

/** Wraps a credential; an empty one counts as none. */
export function readGiven(given: GivenCredential | undefined): Sensitive | BoundCredential | undefined {
  const credential = typeof given === 'string' ? new Sensitive(given) : given;
  return credential && sensitiveOf(credential).reveal() !== '' ? credential : undefined;
}

export function sensitiveOf(credential: Sensitive | BoundCredential): Sensitive {
  return credential instanceof BoundCredential ? credential.value : credential;
}

/** Binds a credential to a pair of base URLs. One that is already bound stays bound to its own pair. */
export function bindTo(
  servers: Servers,
  credential: Sensitive | BoundCredential | undefined,
): BoundCredential | undefined {
  return credential instanceof Sensitive ? new BoundCredential(credential, servers) : credential;
}
