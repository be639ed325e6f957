import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { run as runProgram } from '../helpers/driver.js';
import { gate } from '../helpers/gate.js';
import { keyringSkipReason, mountSkipReason, processesOf, withKeyring } from '../helpers/keyring.js';
import { COMMAND } from '../helpers/process.js';
import { scene } from '../helpers/scene.js';
import { foldersOf } from '../helpers/storm.js';

// The store breaks after the server has created a token or a secret, and before it is stored. It would be lost, so it is printed.

describe('when the store breaks after the server created the value,', () => {
  const REQUESTS = {
    mint: / \/requesttoken /,
    create: /CREATE SECRET/,
  };

  /** Prepares a run of the command line. `during` breaks the store while the server answers the request to mint or create. */
  async function breaking(
    home: string,
    line: string,
    during: () => Promise<unknown> | unknown,
    options: { env?: Readonly<Record<string, string>>; prefix?: string[]; times?: number } = {},
  ) {
    const made = await scene(home);
    let left = options.times ?? 1;
    const once = async () => {
      if (left-- === 1) await during();
    };
    const env = {
      ...made.env,
      ...options.env,
      GRAPHCRED_REST_URL: await gate(
        made.sandbox.restUrl,
        REQUESTS.mint,
        line.startsWith('secret') ? async () => {} : once,
      ),
      GRAPHCRED_GSQL_URL: await gate(made.sandbox.gsqlUrl, REQUESTS.create, once),
    };
    const run = (words: string) =>
      runProgram([...(options.prefix ?? []), ...COMMAND, ...words.split(' ')], env);
    return { ...made, env, run, ended: () => run(line) };
  }

  const blockFolder = (home: string) => () => {
    const { stateDir } = foldersOf(home);
    fs.rmSync(stateDir, { recursive: true });
    fs.writeFileSync(stateDir, 'in the way');
  };

  test('token get prints the token, with a warning', async () => {
    const home = temporaryHome();
    const { ended, accepted } = await breaking(home, 'token get', blockFolder(home));
    const { status, stdout, stderr } = await ended();
    expect({ status, accepted: await accepted(stdout) }).toEqual({ status: 0, accepted: true });
    expect(stderr).toMatch(/^graphcred: warning: .*the token is not kept.*\n$/);
  });

  test('exec gives the token to its command', async () => {
    const home = temporaryHome();
    const { ended, accepted } = await breaking(home, 'exec -- printenv TG_API_TOKEN', blockFolder(home));
    const { status, stdout } = await ended();
    expect({ status, accepted: await accepted(stdout) }).toEqual({ status: 0, accepted: true });
  });

  // holds: C2.7
  test('secret create --save prints the secret and ends with 6', async () => {
    const home = temporaryHome();
    const { ended, mintsFrom } = await breaking(home, 'secret create ci --save', blockFolder(home));
    const { status, stdout, stderr } = await ended();
    expect({ status, works: await mintsFrom(stdout) }).toEqual({ status: 6, works: true });
    expect(stderr).toContain('it could not be saved');
  });

  test.each([1, 2])(
    'secret rotate stops at its secret number %i with one that works, and a later run finishes it',
    async (times) => {
      const home = temporaryHome();
      const { stateDir } = foldersOf(home);
      // The gate counts each secret that is created. The first one is created here.
      const block = () => {
        fs.renameSync(stateDir, `${stateDir}.aside`);
        fs.writeFileSync(stateDir, 'in the way');
      };
      const made = await breaking(home, 'secret rotate ci', block, { times: times + 1 });
      expect(await made.run('secret create ci --save')).toMatchObject({ status: 0 });
      const stopped = await made.ended();
      expect({ status: stopped.status, stdout: stopped.stdout }).toEqual({ status: 6, stdout: '' });
      fs.rmSync(stateDir);
      fs.renameSync(`${stateDir}.aside`, stateDir);
      const savedOnly = () =>
        runProgram([...COMMAND, 'token', 'get', '--fresh'], {
          ...made.env,
          GRAPHCRED_PASSWORD: '',
        });
      expect(await savedOnly()).toMatchObject({ status: 0 });
      expect(await made.run('secret rotate ci')).toMatchObject({ status: 0 });
      expect(await savedOnly()).toMatchObject({ status: 0 });
      const { secrets } = JSON.parse((await made.run('secret list -o json')).stdout);
      expect(secrets.map(({ alias }: { alias: string }) => alias)).toEqual(['ci']);
    },
  );

  const noMount = mountSkipReason();
  test.skipIf(noMount !== undefined).each(['token get', 'secret create ci --save'])(
    '%s on a disk that is full by then',
    async (line) => {
      const home = temporaryHome();
      const signals = temporaryHome();
      const [go, full] = [path.join(signals, 'go'), path.join(signals, 'full')];
      const fill = async () => {
        fs.writeFileSync(go, '');
        await expect.poll(() => fs.existsSync(full), { timeout: 20_000 }).toBe(true);
      };
      const script = `
        mount -t tmpfs -o size=64k,mode=700 none '${home}' || exit 99
        ( while [ ! -e '${go}' ]; do sleep 0.02; done
          cat /dev/zero > '${home}/filler' 2>/dev/null; touch '${full}' ) &
        exec "$@"`;
      const prefix = ['unshare', '-m', 'sh', '-c', script, 'sh'];
      const { ended, accepted, mintsFrom } = await breaking(home, line, fill, { prefix });
      const { status, stdout, stderr } = await ended();
      const works = line === 'token get' ? await accepted(stdout) : await mintsFrom(stdout);
      expect({ status, works }).toEqual({ status: line === 'token get' ? 0 : 6, works: true });
      expect(stderr).toContain('the disk is full');
    },
  );

  const noKeychain = keyringSkipReason();
  if (noKeychain !== undefined) console.log(`faults of the keychain are skipped: ${noKeychain}`);

  describe.skipIf(noKeychain !== undefined)('the keychain', () => {
    const named = (home: string, name: string) =>
      processesOf(home).filter((pid) => {
        try {
          return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(name);
        } catch {
          return false;
        }
      });
    const signal = (name: string, what: NodeJS.Signals) => (keyring: { home: string }) => {
      const pids = named(keyring.home, name);
      expect(pids.length).toBeGreaterThan(0);
      for (const pid of pids) process.kill(pid, what);
    };

    test.each([
      ['ends', signal('gnome-keyring-daemon', 'SIGKILL')],
      ['stops', signal('gnome-keyring-daemon', 'SIGSTOP')],
      ['loses its bus', signal('dbus-daemon', 'SIGKILL')],
      ['is locked', (keyring: { lock(): Promise<void> }) => keyring.lock()],
    ])('%s', async (_what, vanish) => {
      await withKeyring({ state: 'unlocked' }, async (keyring) => {
        const env = { ...keyring.env, GRAPHCRED_STORE: '' };
        const { ended, accepted } = await breaking(keyring.home, 'token get', () => vanish(keyring), { env });
        const { status, stdout, stderr } = await ended();
        expect({ status, accepted: await accepted(stdout) }).toEqual({ status: 0, accepted: true });
        expect(stderr).toMatch(/^graphcred: warning: .*the token is not kept.*\n$/);
      });
      await withKeyring({ state: 'unlocked' }, async (keyring) => {
        const env = { ...keyring.env, GRAPHCRED_STORE: 'keychain' };
        const line = 'secret create ci --save';
        const { ended, mintsFrom } = await breaking(keyring.home, line, () => vanish(keyring), { env });
        const { status, stdout } = await ended();
        expect({ status, works: await mintsFrom(stdout) }).toEqual({ status: 6, works: true });
      });
    });

    test.each(['token get', 'secret create ci --save'])(
      'falls silent after it said it was there: %s',
      async (line) => {
        await withKeyring({ state: 'unlocked' }, async (keyring) => {
          // From that time on, the bus still answers whether the keychain exists, but it does not answer libsecret.
          let silent = false;
          let asked = 0;
          const proxy = net.createServer((client) => {
            client.on('error', () => {});
            const late = silent;
            if (late && asked++ > 0) return;
            const bus = net.connect(path.join(keyring.home, 'run/bus'));
            bus.on('error', () => client.destroy());
            client.on('close', () => bus.destroy());
            client.on('data', (data) => {
              if (late || !silent) bus.write(data);
            });
            bus.pipe(client);
          });
          await new Promise<void>((resolve) => proxy.listen(path.join(keyring.home, 'proxy'), resolve));
          const env = {
            ...keyring.env,
            DBUS_SESSION_BUS_ADDRESS: `unix:path=${keyring.home}/proxy`,
            GRAPHCRED_STORE: line === 'token get' ? '' : 'keychain',
          };
          const fall = () => {
            silent = true;
          };
          const { ended, accepted, mintsFrom } = await breaking(keyring.home, line, fall, { env });
          const { status, stdout, stderr } = await ended();
          proxy.close();
          const works = line === 'token get' ? await accepted(stdout) : await mintsFrom(stdout);
          expect({ status, works }).toEqual({ status: line === 'token get' ? 0 : 6, works: true });
          expect(stderr).toContain('the OS keychain did not answer within 5 s');
        });
      },
    );
  });
});
