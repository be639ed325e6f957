import type { CachedToken } from '../app/token-cache.js';
import { isoSeconds } from '../app/words.js';
import { GraphException } from '../core/errors.js';

/** Matches a DNS subdomain (RFC 1123), which Kubernetes requires of names. */
const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const MOST_LETTERS = 253;

/**
 * Checks that a name is given and valid in Kubernetes.
 * @throws GraphException INPUT_REQUIRED, USAGE
 */
export function requireName(name: unknown): void {
  if (typeof name !== 'string') {
    throw new GraphException('INPUT_REQUIRED', '-o k8s-secret needs a name for the Secret.', {
      hint: 'give --name NAME',
    });
  }
  if (NAME.test(name) && name.length <= MOST_LETTERS) return;
  throw new GraphException('USAGE', 'Invalid Kubernetes Secret name.', {
    hint: 'use lower-case letters, digits, - and ., for example --name graph-token',
  });
}

/**
 * Returns a Secret for `kubectl apply -f -`. It is written as JSON, which is valid YAML, so that no value can change
 * its structure.
 */
export function kubernetesSecret(name: string, held: CachedToken): string {
  return JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name,
        annotations: {
          'graphcred/minted-at': isoSeconds(held.expiresAtUnix - held.lifetimeSeconds),
          'graphcred/expires-at': isoSeconds(held.expiresAtUnix),
        },
      },
      type: 'Opaque',
      stringData: { token: held.token.reveal() },
    },
    undefined,
    2,
  );
}
