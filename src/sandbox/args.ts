import fs from 'node:fs';
import { parseFault } from './faults.js';
import type { Role, SecretSeed, User } from './state.js';
import type { SandboxOptions } from './world.js';

const USER = /^([^:]+):(.*?)(?::(superuser|admin|reader))?$/s;

type Flags = Readonly<Record<string, unknown>>;

// Each of these throws an Error with one clear sentence, which repeats no secret.

/** Reads the options of a command line. @param ports of the REST and the GSQL server @param anyPort whether one not given is a free one */
export function optionsOf(flags: Flags, ports: readonly (number | undefined)[], anyPort: boolean) {
  const [rest, gsql] = ports;
  const text = (name: string) => flags[name] as string | undefined;
  const many = (name: string) => flags[name] as string[] | undefined;
  const version = text('server-version');
  const [tls, key, issuer, audience] = ['tls', 'jwt-key', 'jwt-issuer', 'jwt-audience'].map(text);
  if (key === undefined && (issuer ?? audience) !== undefined)
    throw new Error('--jwt-issuer and --jwt-audience need --jwt-key.');
  const options = {
    serverVersion: version,
    host: text('host'),
    // On 4.x a REST port is opened only on request.
    restPort: rest ?? (anyPort && !version?.startsWith('4') ? 0 : undefined),
    gsqlPort: gsql ?? (anyPort ? 0 : undefined),
    restAuth: text('rest-auth'),
    stateFile: text('state'),
    lifetimeUnit: text('lifetime-unit'),
    users: many('user')?.map(parseUser),
    secrets: many('secret')?.map(parseSecret),
    graphs: many('graph'),
    tls: tls === undefined ? undefined : readTls(tls),
    provider: key === undefined ? undefined : { key: readKey(key), issuer, audience },
    faults: many('fault')?.map(parseFault),
  };
  return options as SandboxOptions;
}

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
    throw new Error(`The file ${file} must hold a public key (PEM) or the text of a secret.`);
  return key;
}

function read(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`The file ${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}
