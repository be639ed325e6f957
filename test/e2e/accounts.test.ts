import { onTestFinished, test } from 'vitest';
import { keyringSkipReason, startKeyring } from '../helpers/keyring.js';
import { start } from '../helpers/process.js';
import { neverMixed } from '../helpers/two-people.js';

const skip = keyringSkipReason();
if (skip !== undefined) console.log(`two users of one keychain are not tried here: ${skip}`);

test.skipIf(skip !== undefined).each(['3.10.1', '4.1.2'])(
  'on %s two people with two profiles never get each other’s token from the keychain',
  async (serverVersion) => {
    await neverMixed(serverVersion, 2, async ({ env }) => {
      const keyring = await startKeyring({ state: 'unlocked' });
      onTestFinished(() => keyring.stop());
      return {
        run: (line, { env: more, stdin }) =>
          start(
            line.split(' '),
            { ...env, ...keyring.env, GRAPHCRED_STORE: 'keychain', ...(more as Record<string, string>) },
            String(stdin ?? ''),
          ).ended,
      };
    });
  },
);
