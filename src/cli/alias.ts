import { GraphException } from '../core/errors.js';

const ALIAS = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/** @throws GraphException USAGE; nothing has been sent by then. */
export function checkAlias(alias: string): void {
  if (ALIAS.test(alias)) return;
  throw new GraphException('USAGE', 'This alias cannot be used.', {
    hint: 'begin with a letter or _, then letters, digits and _, 128 characters at most',
  });
}

export function isPlainAlias(alias: string): boolean {
  return ALIAS.test(alias);
}
