// Files and name servers that never answer. Time limits of requests are tested in test/cli/time-limit.test.ts.
import { execFileSync, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { mountSkipReason } from '../helpers/keyring.js';
import { OWN_HOST } from '../helpers/ports.js';
import { COMMAND, sandboxFor, standaloneSkipReason, start } from '../helpers/process.js';

/** Three times what `--timeout 2` allows. */
const BOUND_MS = 6_000;
const noMounts = mountSkipReason() !== undefined;
const canLeaveLookUp = standaloneSkipReason !== undefined;
/** The system's resolver gives up by itself after this many seconds. */
const RESOLVER_SECONDS = canLeaveLookUp ? 20 : 4;
if (!canLeaveLookUp) console.log("Node waits for the system's resolver, which gets little time here");

describe('what never ends', () => {
  /** Runs the command with a limit of 2 s. The answer must come within three times that limit. */
  async function bounded(
    argv: readonly string[],
    env: Record<string, string>,
    input: '' | 'open' = '',
    cwd?: string,
  ) {
    const began = performance.now();
    const result = await start([...argv, '--timeout', '2'], env, input, cwd).ended;
    expect(performance.now() - began).toBeLessThan(BOUND_MS * 3);
    expect(result.signal).toBeNull();
    expect(result.stderr).not.toContain('ran into a bug');
    return result;
  }

  test.each([
    ['--password-file', ['token', 'get', '--password-file', 'FIFO'], {}],
    ['--secret-file', ['token', 'get', '--secret-file', 'FIFO'], {}],
    ['--ca', ['token', 'get', '--ca', 'FIFO'], {}],
    ['--cert', ['token', 'get', '--cert', 'FIFO', '--key', 'FIFO'], {}],
    ['the store key', ['token', 'get', '--store', 'file'], { GRAPHCRED_STORE_KEY_FILE: 'FIFO' }],
    ['-d @', ['api', '/echo', '-d', '@FIFO'], {}],
  ] as const)('a pipe that nobody writes to, as %s', async (what, argv, more) => {
    const home = temporaryHome();
    const { env } = await sandboxFor(home);
    const fifo = path.join(home, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const put = (text: string) => text.replace('FIFO', fifo);
    const own = Object.fromEntries(Object.entries(more).map(([name, value]) => [name, put(value)]));
    const { status, stdout } = await bounded(argv.map(put), { ...env, ...own, GRAPHCRED_STORE: 'file' });
    // Without the key, the token cannot be stored, and it is printed all the same.
    if (what !== 'the store key')
      expect({ failed: status !== 0, stdout }).toEqual({ failed: true, stdout: '' });
    else expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/^[a-z0-9]{32}\n$/) });
  });

  test.skipIf(noMounts).each(['token get', 'secret create', 'status', 'doctor'])(
    'if the name server does not answer, %s ends in time',
    async (line) => {
      const nameServer = createSocket('udp4');
      onTestFinished(() => void nameServer.close());
      await new Promise<void>((resolve, reject) => {
        nameServer.once('error', reject).bind(53, OWN_HOST, resolve);
      });
      const home = temporaryHome();
      const file = path.join(home, 'resolv.conf');
      fs.writeFileSync(file, `nameserver ${OWN_HOST}\noptions timeout:${RESOLVER_SECONDS} attempts:1\n`);
      const inside = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';
      const argv = [...line.split(' '), '--host', 'https://db.example', '--store', 'none', '--timeout', '2'];
      const began = performance.now();
      const { status, stdout, stderr } = spawnSync(
        'unshare',
        ['-m', 'sh', '-c', inside, file, ...COMMAND, ...argv],
        {
          env: { PATH: process.env.PATH ?? '', HOME: home, GRAPHCRED_USERNAME: 'x', GRAPHCRED_PASSWORD: 'y' },
          encoding: 'utf8',
        },
      );
      const seconds = (performance.now() - began) / 1000;
      expect({ status, said: /within 2 s/.test(stdout + stderr) }).toEqual({ status: 7, said: true });
      // Node cannot abandon a DNS lookup, so the process ends when the system's resolver gives up.
      expect(seconds).toBeLessThan(canLeaveLookUp ? BOUND_MS / 1000 : RESOLVER_SECONDS + BOUND_MS / 1000);
    },
  );
});
