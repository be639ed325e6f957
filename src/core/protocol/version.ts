import { type Fix, GraphException, usageError } from '../errors.js';

/** The generations of servers, named after the first version of each: 3.0 to 3.4, 3.5 to 3.11, 4.x. */
export type Generation = '3.0' | '3.5' | '4';

/** The version of a server, with what such servers can do. Callers check these, never the numbers. */
export interface ServerVersion {
  /** Which protocol the server speaks. */
  readonly generation: Generation;
  /** As the server reported it, for example `3.10.1`; `3` or `4` when only that much is known. */
  readonly version: string;
  /** The REST server takes JWTs of an identity provider (3.10 and later). */
  readonly takesJwt: boolean;
  /** The GSQL server takes them too, in place of a login (4.1.2 and later). */
  readonly jwtLogsIn: boolean;
  /** A secret logs in at the GSQL server, so that secret commands need no password (3.6.2 and later). */
  readonly secretLogsIn: boolean;
  /** Servers take `Authorization: GSQL-Secret` (3.10.1 and later); before that a secret is the password of a user. */
  readonly takesSecretScheme: boolean;
  /** A token can be refreshed, so that it expires later. */
  readonly canRefresh: boolean;
  /** Secrets, and tokens minted by password, belong to a graph, which must be named. */
  readonly secretsNeedGraph: boolean;
  /** Dropping a secret leaves the tokens minted from it alive. */
  readonly tokensOutliveSecret: boolean;
  /** Two mints of one lifetime within one second give the same token. */
  readonly sameTokenWithinOneSecond: boolean;
  /** A mint by password makes the server create a secret with a generated alias. */
  readonly mintByPasswordCreatesSecret: boolean;
  /** A revoked token takes one of the few places on the user's block list. */
  readonly revocationFillsBlockList: boolean;
  /** Servers differ in the unit of the lifetime: seconds or milliseconds. */
  readonly lifetimeUnitVaries: boolean;
  /** The GSQL server passes requests below `/restpp` on to the REST server, which has no open port of its own. */
  readonly restBehindGsql: boolean;
  /** The REST server checks tokens, so that a check accepts any token while REST authentication is off. */
  readonly checksTokensAtRest: boolean;
}

/** For every error that the user can avoid by giving the version. */
export const GIVE_VERSION: readonly Fix[] = [
  'give the version of the server, for example 3.10.1, 3 or 4',
  { setting: 'serverVersion' },
];

/** Returns what servers of a version can do. Throws UNSUPPORTED on versions other than 3.x and 4.x. */
export function versionOf(version: string): ServerVersion {
  // What is not said counts as the newest: `4` and `4.1` as the last version of each.
  const [major = 0, minor = 99, patch = 99] = version.split('.').map(Number);
  if (major !== 3 && major !== 4) {
    const message = `Servers of version ${version} are not supported, only 3.x and 4.x.`;
    const hint = [`try it as version ${major > 4 ? 4 : 3}`, { setting: 'serverVersion' }];
    throw new GraphException('UNSUPPORTED', message, { hint });
  }
  const rank = (a: number, b: number, c: number) => a * 1e8 + b * 1e5 + c;
  const isFrom = (a: number, b: number, c: number) => rank(major, minor, patch) >= rank(a, b, c);
  const is4 = major === 4;
  return {
    generation: is4 ? '4' : minor < 5 ? '3.0' : '3.5',
    version,
    takesJwt: isFrom(3, 10, 0),
    jwtLogsIn: isFrom(4, 1, 2),
    secretLogsIn: isFrom(3, 6, 2),
    takesSecretScheme: isFrom(3, 10, 1),
    canRefresh: !is4,
    secretsNeedGraph: !is4,
    tokensOutliveSecret: is4,
    sameTokenWithinOneSecond: is4,
    mintByPasswordCreatesSecret: is4,
    revocationFillsBlockList: is4,
    lifetimeUnitVaries: is4,
    restBehindGsql: is4,
    checksTokensAtRest: !is4,
  };
}

/** Whether a text is a value of the option `serverVersion`: `auto`, `3` (3.5 or later), `4`, `X.Y` or `X.Y.Z`. */
export function isVersionOption(text: string): boolean {
  return /^(?:auto|[34]|\d{1,3}\.\d{1,3}(?:\.\d{1,5})?)$/.test(text);
}

/** Parses the option `serverVersion`; `auto` gives undefined. */
export function parseVersionOption(text = 'auto'): ServerVersion | undefined {
  if (!isVersionOption(text))
    throw usageError('The server version must be auto, 3, 4, or a number like 3.10.1.', GIVE_VERSION);
  return text === 'auto' ? undefined : versionOf(text);
}
