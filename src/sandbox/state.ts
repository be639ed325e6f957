import crypto from 'node:crypto';
import fs from 'node:fs';
import type { Generation } from './server-version.js';

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

export interface State {
  users: User[];
  graphs: string[];
  secrets: Secret[];
  tokens: Map<string, Token>;
  /** 4.x: the tokens each user has dropped. */
  blocked: Map<string, string[]>;
  jwtKey: string;
}

export const ALIAS = /^[A-Za-z_][A-Za-z0-9_]*$/;

export function randomString(length: number): string {
  return Array.from({ length }, () => crypto.randomInt(36).toString(36)).join('');
}

export function emptyState(): State {
  return { users: [], graphs: [], secrets: [], tokens: new Map(), blocked: new Map(), jwtKey: newJwtKey() };
}

/** Returns the secrets of a user and a graph; on 4.x (where `graph` is null) they belong to a user alone. */
export function secretsOf(state: State, user: string, graph: string | null): Secret[] {
  return state.secrets.filter((s) => s.user === user && (graph === null || s.graph === graph));
}

export function findHolder(state: State, value: string): { secret: Secret; user: User } | undefined {
  const secret = state.secrets.find((s) => s.value === value);
  const user = state.users.find((u) => u.name === secret?.user);
  return secret && user && { secret, user };
}

export function findSecret(own: readonly Secret[], nameOrValue: string): Secret | undefined {
  return own.find((s) => s.alias === nameOrValue) ?? own.find((s) => s.value === nameOrValue);
}

export function newSecret(
  state: State,
  user: string,
  graph: string | null,
  alias = `AUTO_GENERATED_ALIAS_${randomString(7)}`,
  value = randomString(32),
): Secret {
  const secret = { alias, value, user, graph };
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

const newJwtKey = () => crypto.randomBytes(32).toString('hex');

export function revokeAll(state: State): void {
  state.tokens.clear();
  state.jwtKey = newJwtKey();
}

export type SecretSeed = Secret & { readonly graph: string };

export interface Seeds {
  /** Default `tigergraph` / `tigergraph`, a superuser. */
  users?: readonly User[];
  /** Default `demo`. */
  graphs?: readonly string[];
  secrets?: readonly SecretSeed[];
}

const DEFAULT_USER: User = { name: 'tigergraph', password: 'tigergraph', role: 'superuser' };

/** Adds what the options name to the state. Returns the first user and the first graph, which the sandbox prints. */
export function seed(state: State, seeds: Seeds, generation: Generation): { user: User; graph: string } {
  const named = seeds.users ?? [];
  const stored = state.users.filter((user) => !named.some((u) => u.name === user.name));
  const [user = DEFAULT_USER, ...otherUsers] = [...named, ...stored];
  state.users = [user, ...otherUsers];
  const [graph = 'demo', ...otherGraphs] = new Set([...(seeds.graphs ?? []), ...state.graphs]);
  state.graphs = [graph, ...otherGraphs];

  for (const given of seeds.secrets ?? []) {
    const { alias, user: owner } = given;
    const belongs = `The secret ${alias} belongs to`;
    if (!state.users.some(({ name }) => name === owner))
      throw new Error(`${belongs} the user ${owner}, who does not exist; add --user ${owner}:password.`);
    if (!state.graphs.includes(given.graph))
      throw new Error(
        `${belongs} the graph "${given.graph}", which is not there; to make it, add --graph ${given.graph}.`,
      );
    const secret = { ...given, graph: generation === '4' ? null : given.graph };
    const same = secretsOf(state, owner, secret.graph).find((other) => other.alias === alias);
    state.secrets = [...state.secrets.filter((other) => other !== same), secret];
  }
  return { user, graph };
}

type StateFile = Omit<State, 'tokens' | 'blocked'> & {
  format: 1;
  tokens: Token[];
  blocked: Record<string, string[]>;
};

/** Returns the state in `file`, or undefined when there is no such file yet. Throws when it cannot be read. */
export function loadState(file: string): State | undefined {
  let why = 'was not written by this sandbox and is left as it is';
  try {
    const { format, tokens, blocked, ...rest } = JSON.parse(fs.readFileSync(file, 'utf8')) as StateFile;
    const byValue = new Map(tokens.map((token) => [token.value, token]));
    if (format === 1 && [rest.users, rest.graphs, rest.secrets].every(Array.isArray))
      return { ...rest, tokens: byValue, blocked: new Map(Object.entries(blocked)) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code !== undefined) why = `cannot be read (${code})`;
  }
  throw new Error(`The state file ${file} ${why}; name another file.`);
}

/** Returns `save()`, which replaces the file in one step if the state has changed since the last call. */
export function stateWriter(file: string, state: State): () => void {
  let written = '';
  return () => {
    const tokens = [...state.tokens.values()];
    const content: StateFile = { format: 1, ...state, tokens, blocked: Object.fromEntries(state.blocked) };
    const text = `${JSON.stringify(content)}\n`;
    if (text === written) return;
    written = text;
    const temporary = `${file}.${process.pid}.tmp`;
    try {
      fs.writeFileSync(temporary, text, { mode: 0o600 });
      fs.renameSync(temporary, file);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new Error(`The state file ${file} cannot be written (${code}); name another file.`);
    }
  };
}
