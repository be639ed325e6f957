// Tests `token list` with a keychain. Everything else about it is tested in test/cli/token-list.test.ts.
import { describe, expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { keyringSkipReason, withKeyring } from '../helpers/keyring.js';
import { sandboxFor, start } from '../helpers/process.js';

interface List {
  tokens: { store: string }[];
}

const skip = keyringSkipReason();
if (skip !== undefined) console.log(`token list with a keychain is not tested: ${skip}`);

describe.skipIf(skip !== undefined)('tokens in the keychain', () => {
  test('are listed beside those in files, even if no keychain answers', async () => {
    await withKeyring({ state: 'unlocked' }, async (keyring) => {
      const { env } = await sandboxFor(keyring.home);
      const withBus = { ...keyring.env, ...env } as Record<string, string>;
      expect((await start(['token', 'get', '--store', 'keychain'], withBus).ended).status).toBe(0);
      expect(
        (await start(['token', 'get', '--store', 'file', '--lifetime', '1h'], withBus).ended).status,
      ).toBe(0);
      const bare = { HOME: keyring.home, XDG_RUNTIME_DIR: temporaryHome() };
      const stores = async (...more: string[]) => {
        const { status, stdout, stderr } = await start(['token', 'list', '-o', 'json', ...more], bare).ended;
        expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
        return (JSON.parse(stdout) as List).tokens.map(({ store }) => store).sort();
      };
      expect(await stores()).toEqual(['file', 'keychain']);
      expect(await stores('--store', 'keychain')).toEqual(['keychain']);
      expect(await stores('--store', 'file')).toEqual(['file']);
    });
  });
});
