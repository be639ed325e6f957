import { GraphException } from '../core/errors.js';

/** Returns an error that a use case goes on with. Throws what is no GraphException: that is a bug. */
export function expected(error: unknown): GraphException {
  if (error instanceof GraphException) return error;
  throw error;
}
