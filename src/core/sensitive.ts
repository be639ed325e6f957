import type { Servers } from './endpoints.js';

/** The origin of a saved credential, and of one that graphcred has had made. */
export const SAVED_HERE = 'saved on this machine';
export const MADE_HERE = 'made by graphcred';

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

/** A credential with the servers it belongs to, for good. `send` refuses to put it on a request to any other. */
export class BoundCredential extends Sensitive {
  /** The servers it belongs to. */
  readonly servers: Servers;

  constructor(credential: Sensitive, servers: Servers) {
    super(credential.reveal(), credential.origin);
    this.servers = credential instanceof BoundCredential ? credential.servers : servers;
  }
}

/** A credential as a caller gives it. A plain one belongs to the servers of the connection it is given to. */
export type GivenCredential = string | Sensitive;

/** Wraps a credential; an empty one counts as none. */
export function readGiven(given: GivenCredential | undefined): Sensitive | undefined {
  const credential = typeof given === 'string' ? new Sensitive(given) : given;
  return credential?.reveal() ? credential : undefined;
}

/** Binds a credential to a pair of base URLs; an empty one counts as none. */
export function bindTo(servers: Servers, given: GivenCredential | undefined): BoundCredential | undefined {
  const credential = readGiven(given);
  return credential && new BoundCredential(credential, servers);
}
