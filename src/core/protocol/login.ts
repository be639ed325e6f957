import { type GraphException, usageError } from '../errors.js';
import type { Authorization } from '../http/types.js';
import type { BoundCredential } from '../sensitive.js';
import type { Session } from './types.js';
import type { ServerVersion } from './version.js';

/** The user name with which a secret logs in as a password. */
export const SECRET_USER = '__GSQL__secret';

/** Returns the login with a secret, in the form that servers of this version take. */
export function secretLogin(
  { takesSecretScheme }: ServerVersion,
  credential: BoundCredential,
): Authorization {
  return takesSecretScheme
    ? { scheme: 'GSQL-Secret', credential }
    : { scheme: 'Basic', username: SECRET_USER, credential };
}

/** A token request with a secret needs no other login; without a secret, user name and password log in. */
export function loginWithoutSecret(
  session: Session,
  secret: BoundCredential | undefined,
): Authorization | undefined {
  if (secret !== undefined) return undefined;
  const authorization = session.basicLogin();
  if (authorization) return authorization;
  throw noLogin('a secret, or a user name and password');
}

/** @param needed which credentials the operation requires */
export function noLogin(needed: string): GraphException {
  return usageError(`This needs ${needed}.`, 'Give a user name and a password.', { option: 'password' });
}
