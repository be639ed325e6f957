import fs from 'node:fs';
import type { Role, SecretSeed, User } from './state.js';

const USER = /^([^:]+):(.*?)(?::(superuser|admin|reader))?$/s;

// Each of these throws an Error with one clear sentence, which repeats no secret.

/** Parses `--user name:password[:role]`. A password may hold colons: the last part is a role only if it names one. */
export function parseUser(given: string): User {
  const [, name, password, role = 'superuser'] = USER.exec(given) ?? [];
  if (!name || !password)
    throw new Error(
      '--user takes name:password or name:password:role; the roles are superuser, admin and reader.',
    );
  return { name, password, role: role as Role };
}

export function parseSecret(given: string): SecretSeed {
  const [alias, value, user, graph, ...more] = given.split(':');
  if (!alias || !value || !user || !graph || more.length > 0)
    throw new Error('--secret takes alias:value:user:graph.');
  return { alias, value, user, graph };
}

export function readTls(given: string): { cert: string; key: string } {
  // The colon after a drive letter (`C:\cert.pem`) does not separate.
  const [cert, key, ...more] = given.split(/(?<!(?:^|:)[A-Za-z]):|(?<=(?:^|:)[A-Za-z]):(?![\\/])/);
  if (!cert || !key || more.length > 0)
    throw new Error('--tls takes a certificate and its key as CERT:KEY, two PEM files.');
  return { cert: read(cert), key: read(key) };
}

/** Reads the key of an identity provider: PEM of a public key, or a secret, without the line break at its end. */
export function readKey(file: string): string {
  const key = read(file).replace(/\r?\n$/, '');
  if (key === '' || /PRIVATE KEY-----/.test(key))
    throw new Error(`The file ${file} holds no public key and no secret.`);
  return key;
}

function read(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`The file ${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}
