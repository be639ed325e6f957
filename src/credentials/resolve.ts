import { GraphException } from '../core/errors.js';
import type { Sensitive } from '../core/sensitive.js';

export type CredentialKind = 'secret' | 'password';

/** One place that may hold a credential, nearest first in the list given to `resolveCredential`. */
export interface CredentialSource {
  readonly kind: CredentialKind;
  /** Sources of one level are equally near; within a level the wanted kind decides. */
  readonly level: string;
  /** For people: `--password-stdin`, `GRAPHCRED_SECRET`, `profile prod: secretCommand`. */
  readonly label: string;
  /** True for a value written in the config file itself. */
  readonly literal?: boolean;
  /** Stands for the value where reading it costs something: the command's words, the saved secret's name. */
  readonly reference?: string;
  /** Whose secret or password it is, when the source knows. */
  readonly username?: string;
  readonly read: () => Promise<Sensitive>;
}

/** The credential of this call. Its value is read once, and only when something is about to be sent. */
export interface Credential {
  readonly kind: CredentialKind;
  readonly label: string;
  readonly level: string;
  readonly literal: boolean;
  readonly username: string | undefined;
  /** Who a token minted with it belongs to. Never holds the value, and not enough of it to guess it. */
  readonly principal: string;
  value(): Promise<Sensitive>;
}

/** A token is minted from a secret before a password; a login is a password before a secret. */
export type Purpose = 'mint' | 'login';

/**
 * Picks the nearest source that has a credential; within one level the kind the purpose prefers.
 * @param username the user name in force, if any
 * @returns undefined when no source has one
 */
export async function resolveCredential(
  sources: readonly CredentialSource[],
  purpose: Purpose,
  username: string | undefined,
): Promise<Credential | undefined> {
  const nearest = sources[0]?.level;
  if (nearest === undefined) return undefined;
  const level = sources.filter((source) => source.level === nearest);
  const preferred: CredentialKind = purpose === 'mint' ? 'secret' : 'password';
  const source = level.find(({ kind }) => kind === preferred) ?? (level[0] as CredentialSource);
  const who = source.username ?? username;
  if (source.kind === 'password' && who === undefined) {
    throw new GraphException('INPUT_REQUIRED', `There is a password (${source.label}) but no user name.`, {
      hint: 'give --username or GRAPHCRED_USERNAME',
    });
  }
  const value = once(source.read);
  return {
    kind: source.kind,
    label: source.label,
    level: source.level,
    literal: source.literal ?? false,
    username: who,
    principal: await principalOf(source, who, value),
    value,
  };
}

async function principalOf(
  source: CredentialSource,
  username: string | undefined,
  value: () => Promise<Sensitive>,
): Promise<string> {
  if (source.kind === 'password') return `user:${username}`;
  if (source.reference !== undefined) return source.reference;
  const { createHash } = process.getBuiltinModule('node:crypto');
  // 48 bits: enough to tell a person's secrets apart, far too few to be the secret.
  const digest = createHash('sha256')
    .update((await value()).reveal())
    .digest('hex');
  return `secret:${digest.slice(0, 12)}`;
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => {
    answer ??= read();
    return answer;
  };
}
