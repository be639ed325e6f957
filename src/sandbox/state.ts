import crypto from 'node:crypto';

export type Role = 'superuser' | 'admin' | 'reader';

export interface User {
  readonly name: string;
  readonly password: string;
  readonly role: Role;
}

/** `graph` is null for a 4.x secret, which belongs to a user alone. */
export interface Secret {
  readonly alias: string;
  readonly value: string;
  readonly user: string;
  readonly graph: string | null;
}

/** A token of 3.x; `secret` is null when it was made by user name and password. `expiresAt` is epoch seconds. */
export interface Token {
  readonly value: string;
  readonly user: string;
  readonly graph: string;
  readonly secret: string | null;
  expiresAt: number;
}

/** The state of the servers that is stored across restarts. */
export interface State {
  users: User[];
  graphs: string[];
  secrets: Secret[];
  tokens: Map<string, Token>;
  /** 4.x: the tokens each user has dropped. */
  blocked: Map<string, string[]>;
  jwtKey: string;
}

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';

export function randomString(length: number): string {
  let out = '';
  for (let i = 0; i < length; i++) out += ALPHABET[crypto.randomInt(ALPHABET.length)];
  return out;
}

export function emptyState(): State {
  return {
    users: [],
    graphs: [],
    secrets: [],
    tokens: new Map(),
    blocked: new Map(),
    jwtKey: newJwtKey(),
  };
}

/**
 * Finds a secret by its alias, which is unique per user and graph on 3.x, and per user on 4.x (where `graph` is null).
 */
export function findSecret(
  state: State,
  user: string,
  graph: string | null,
  nameOrValue: string,
): Secret | undefined {
  const own = state.secrets.filter((s) => s.user === user && (graph === null || s.graph === graph));
  return own.find((s) => s.alias === nameOrValue) ?? own.find((s) => s.value === nameOrValue);
}

function generatedAlias(): string {
  return `AUTO_GENERATED_ALIAS_${randomString(7)}`;
}

export function newSecret(
  state: State,
  user: string,
  graph: string | null,
  alias?: string,
  value?: string,
): Secret {
  const secret = { alias: alias ?? generatedAlias(), value: value ?? randomString(32), user, graph };
  state.secrets.push(secret);
  return secret;
}

/** Deletes a secret. On 3.x the tokens made from it are deleted too. On 4.x its JWTs stay valid. */
export function dropSecret(state: State, secret: Secret): void {
  state.secrets = state.secrets.filter((s) => s !== secret);
  for (const [value, token] of state.tokens) {
    if (token.secret === secret.value) state.tokens.delete(value);
  }
}

/** Masks a secret as the servers do: the first and the last three characters are shown. */
export function maskSecret(value: string): string {
  return `${value.slice(0, 3)}****${value.slice(-3)}`;
}

/** Masks a token as RESTPP does in its refusals. */
export function maskToken(value: string): string {
  return value.length < 12 ? '****' : `${value.slice(0, 4)}****${value.slice(-4)}`;
}

/** Deletes the entry that was added first. */
export function deleteOldest<K>(entries: Map<K, unknown>): void {
  for (const key of entries.keys()) {
    entries.delete(key);
    return;
  }
}

const newJwtKey = () => crypto.randomBytes(32).toString('hex');

/** Ends every token at once. */
export function revokeAll(state: State): void {
  state.tokens.clear();
  state.jwtKey = newJwtKey();
}
