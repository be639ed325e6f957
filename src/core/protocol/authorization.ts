import { GraphException } from '../errors.js';
import type { Authorization } from '../http/types.js';
import type { Session } from './types.js';

/** User name and password, or undefined when there is no password. */
export function basicLogin(session: Session): Authorization | undefined {
  const { username, password } = session;
  if (password === undefined) return undefined;
  if (username === undefined) {
    throw new GraphException('USAGE', 'A password was given, but no user name.', {
      hint: 'Give it as well.',
      option: 'username',
    });
  }
  if (username.includes(':')) {
    throw new GraphException('USAGE', 'A user name cannot hold a colon.', {
      hint: 'Check it.',
      option: 'username',
    });
  }
  return { scheme: 'Basic', username, credential: password };
}

export function noLogin(needed: string): GraphException {
  return new GraphException('USAGE', `This needs ${needed}.`, {
    hint: 'Give a user name and a password.',
    option: 'password',
  });
}
