const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/**
 * A credential in transit. It prints as `[redacted]` wherever a value can end up by accident: string
 * templates, JSON, `util.inspect`, error messages. Only `reveal()` gives the value, so every place that
 * uses one can be found by searching for that word.
 */
export class Sensitive {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '[redacted]';
  }

  toJSON(): string {
    return '[redacted]';
  }

  [INSPECT](): string {
    return '[redacted]';
  }
}
