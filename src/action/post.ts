// Runs the post step of action.yml: revokes the token of the main step, if there is one.
import { GraphException } from '../core/errors.js';
import { address, graphcred } from './graphcred.js';
import { env, log, mask, runStep } from './runner.js';

void runStep(async () => {
  const { STATE_token: token, STATE_address: then, 'STATE_expires-at': expiresAt } = env;
  if (!token) return;
  mask(token);
  try {
    // The runner evaluates the inputs again for this step, and the credential must not go where an earlier step leads it.
    if (address() !== then)
      throw new GraphException(
        'HOST_MISMATCH',
        `The token was made by ${then}, but the inputs now name ${address()}. Write the addresses into the workflow, or take them from vars, because later steps can change env.`,
      );
    const words = ['token', 'delete', '--token-stdin', '--skip-missing', '--timeout', '10'];
    const { deleted } = await graphcred(words, token);
    log('notice', deleted ? 'the token is revoked' : 'the server no longer knew the token');
  } catch (error) {
    log('error', `the token was not revoked; it is valid until ${expiresAt}`);
    throw error;
  }
});
