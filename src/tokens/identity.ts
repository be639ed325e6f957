/** Everything that decides which token is the right one. */
export interface Identity {
  /** Service server, without a trailing slash. */
  readonly gsqlUrl: string;
  /** REST server, or undefined when its address follows from the server's version. */
  readonly restUrl: string | undefined;
  readonly graph: string | undefined;
  readonly principal: string;
  /** Lifetime asked for, in seconds. */
  readonly lifetime: number;
}

/**
 * The key of a token: readable, because it is also the name of its item in the desktop's keychain
 * application. Spaces inside a part are encoded, so that two identities never read alike.
 */
export function identityKey(identity: Identity): string {
  const { principal, graph, lifetime, gsqlUrl, restUrl } = identity;
  const where = restUrl === undefined ? gsqlUrl : `${gsqlUrl} rest ${restUrl}`;
  return `token of ${part(principal)} for ${graph === undefined ? 'any graph' : `graph ${part(graph)}`}, ${lifetime}s, at ${where}`;
}

function part(text: string): string {
  return text.replace(/[^\x21-\x7e]|%/gu, (character) =>
    // Through bytes, because half a surrogate pair cannot be encoded as it is.
    encodeURIComponent(Buffer.from(character).toString()),
  );
}
