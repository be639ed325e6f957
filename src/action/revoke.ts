import { GraphException } from '../core/errors.js';
import { readSettings } from './inputs.js';
import { log, mask, maskCredentials, type Runner, savedState } from './runner.js';

/** Runs the post step: revokes the token of the main step, if there is one. */
export async function revoke(runner: Runner, limits: { timeoutMs: number }): Promise<void> {
  maskCredentials(runner);
  const token = savedState(runner, 'token');
  if (token === '') return;
  mask(runner, token);
  try {
    const { connection, secret, gsqlUrl } = readSettings(runner, limits);
    requireSame(gsqlUrl, savedState(runner, 'gsql-url'));
    const { restUrl } = await connection.baseUrls();
    requireSame(restUrl, savedState(runner, 'rest-url'));
    const { revocationFillsBlockList } = await connection.findVersion();
    await connection.deleteToken(secret, { token, skipNA: true });
    const place = revocationFillsBlockList
      ? '; on 4.x it uses 1 of 20 entries of the user’s token block list until it expires'
      : '';
    log(runner, 'notice', `graphcred: the token is revoked${place}`);
  } catch (error) {
    log(
      runner,
      'error',
      `graphcred: the token was not revoked; it lives until ${savedState(runner, 'expires-at')}`,
    );
    throw error;
  }
}

/**
 * Checks that an input has not changed. The runner evaluates the inputs again for this step, and if an earlier step
 * changed an address, the credential must not be sent there.
 */
function requireSame(now: string, then: string): void {
  if (now === then) return;
  throw new GraphException(
    'HOST_MISMATCH',
    `The token was made at ${then}, but the inputs now lead to ${now}.`,
    {
      hint: 'Write the addresses into the workflow, or take them from vars; later steps can change env.',
    },
  );
}
