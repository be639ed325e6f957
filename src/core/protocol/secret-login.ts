import type { Authorization } from '../http/types.js';
import type { BoundCredential } from '../sensitive.js';
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
