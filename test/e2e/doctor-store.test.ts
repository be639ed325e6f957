// Breaks what only a machine can break: the home folder, and the keychain. All else that `doctor` finds is in test/cli/doctor.test.ts.
import { expect, test } from 'vitest';
import { bench } from '../helpers/cli.js';
import { run } from '../helpers/driver.js';
import { keyringSkipReason, mountSkipReason, withKeyring } from '../helpers/keyring.js';
import { COMMAND } from '../helpers/process.js';

interface Finding {
  id: string;
  verdict: string;
  cause: string;
  fix: string;
}

async function patient() {
  const { home, env } = await bench();
  return async (more: Readonly<Record<string, string>> = {}, prefix: string[] = []) => {
    const all = { PATH: process.env.PATH ?? '', HOME: home, ...env, ...more };
    const { status, stdout } = await run([...prefix, ...COMMAND, 'doctor', '-o', 'json'], all);
    const { checks } = JSON.parse(stdout) as { checks: Finding[] };
    const failed = checks.filter(({ verdict }) => verdict === 'fail');
    for (const { fix } of failed) expect(fix).not.toBe('');
    return { status, home, failed: failed.map(({ id, cause }) => ({ id, cause })) };
  };
}

const broken = (cause: string) => ({
  status: 6,
  failed: [{ id: 'store', cause: expect.stringContaining(cause) }],
});

const noMount = mountSkipReason();
test.skipIf(noMount !== undefined)(
  `only the check of the store fails in a read-only home ${noMount ?? ''}`,
  async () => {
    const examine = await patient();
    const { home, ...well } = await examine();
    expect(well).toEqual({ status: 0, failed: [] });
    const script = `mount --bind '${home}' '${home}' && mount -o remount,ro,bind '${home}' && exec "$@"`;
    expect(await examine({}, ['unshare', '-m', 'sh', '-c', script, 'sh'])).toMatchObject(broken('written'));
  },
);

const noKeyring = keyringSkipReason();
test.skipIf(noKeyring !== undefined)(
  `only the check of the store fails when the keychain is locked ${noKeyring ?? ''}`,
  async () => {
    await withKeyring({ state: 'unlocked' }, async (keyring) => {
      const examine = await patient();
      const { XDG_RUNTIME_DIR = '', DBUS_SESSION_BUS_ADDRESS = '' } = keyring.env;
      const env = { XDG_RUNTIME_DIR, DBUS_SESSION_BUS_ADDRESS, GRAPHCRED_STORE: 'keychain' };
      expect(await examine(env)).toMatchObject({ status: 0, failed: [] });
      await keyring.lock();
      expect(await examine(env)).toMatchObject(broken('locked'));
    });
  },
);
