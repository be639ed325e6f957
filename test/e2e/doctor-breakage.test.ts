import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { generate } from 'selfsigned';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/server.js';
import { bench } from '../helpers/cli.js';
import { run } from '../helpers/driver.js';
import { freePort } from '../helpers/free-port.js';
import { keyringSkipReason, mountSkipReason, withKeyring } from '../helpers/keyring.js';
import { COMMAND } from '../helpers/process.js';

// Each case breaks one thing that `doctor` checks. Only the line of that check may change, and the lines of checks that depend on it. Each case lists
// these lines.

type Verdict = 'ok' | 'warn' | 'fail' | 'skipped';
type Changes = Record<string, Verdict>;

interface Finding {
  id: string;
  verdict: Verdict;
  cause: string;
  fix: string;
}

const PASSWORD = 'hunter2-of-ada';
/** These checks are skipped while the server's version is unknown. */
const UNASKED: Changes = {
  version: 'skipped',
  'rest-auth': 'skipped',
  credential: 'skipped',
  graph: 'skipped',
  clock: 'skipped',
};
/** Without readable settings, `doctor` knows neither the server nor the user, so these checks are skipped. */
const NOTHING_ELSE: Changes = {
  ...UNASKED,
  dns: 'skipped',
  'service-port': 'skipped',
  'rest-port': 'skipped',
  tls: 'skipped',
  proxy: 'skipped',
  store: 'skipped',
};

async function patient(options: SandboxOptions) {
  const made = await bench({
    users: [{ name: 'ada', password: PASSWORD, role: 'superuser' }],
    graphs: ['demo'],
    ...options,
  });
  const file = path.join(made.home, '.config/graphcred/config.json');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, '{"lifetime":"1h"}', { mode: 0o600 });
  const given: Record<string, string> = { ...made.env };
  if (options.tls) {
    given.GRAPHCRED_CA = path.join(made.home, 'ca.pem');
    fs.writeFileSync(given.GRAPHCRED_CA, options.tls.cert);
  }
  const { stdout: token } = await made.run('token get', { env: given });
  const examine = async (env: Record<string, string> = {}, prefix: string[] = []) => {
    const all = { PATH: process.env.PATH ?? '', HOME: made.home, ...given, ...env };
    const ended = await run([...prefix, ...COMMAND, 'doctor', '-o', 'json'], all);
    const people = await run([...prefix, ...COMMAND, 'doctor', '--no-color'], all);
    const { checks } = JSON.parse(ended.stdout) as { checks: Finding[] };
    // People paste this output into tickets, so it must not contain a credential.
    for (const shown of [ended.stdout, ended.stderr, people.stdout, people.stderr]) {
      expect(shown).not.toContain('hunter2');
      expect(shown).not.toContain(Buffer.from(`ada:${PASSWORD}`).toString('base64'));
      if (token !== '') expect(shown).not.toContain(token.trim());
      expect(shown).not.toContain('\u001b');
    }
    expect(people.status).toBe(ended.status);
    expect(
      people.stdout
        .trim()
        .split('\n')
        .map((line) => line.split(/\s+/).slice(0, 2)),
    ).toEqual(checks.map(({ id, verdict }) => [verdict, id]));
    for (const check of checks) {
      expect(Object.keys(check)).toEqual(['id', 'verdict', 'cause', 'fix']);
      expect(check.cause, check.id).not.toBe('');
      const needsFix = check.verdict === 'fail' || check.verdict === 'warn';
      expect(check.fix !== '', `${check.id} says what to do: ${check.fix}`).toBe(needsFix);
    }
    const verdicts = Object.fromEntries(checks.map(({ id, verdict }) => [id, verdict]));
    return { status: ended.status, verdicts, checks };
  };
  return { ...made, given, file, examine };
}

type Patient = Awaited<ReturnType<typeof patient>>;

/** One thing that is broken. For each line that changes, `cause` gives the words that it must contain, so that the right thing is named. */
interface Breakage {
  /** Options for the sandbox, for things that can only be broken when it starts. */
  readonly options?: SandboxOptions;
  readonly breaks: (made: Patient) => Promise<Record<string, string>> | Record<string, string>;
  readonly changes: Changes;
  /** The lines that change on 4.x, where they differ. */
  readonly changes4?: Changes;
  readonly status: number;
  readonly cause: RegExp;
}

const nothing = () => ({});

const BREAKAGES: Record<string, Breakage> = {
  'a name that does not exist': {
    breaks: ({ given }) => ({
      GRAPHCRED_GSQL_URL: 'http://nowhere.invalid:14240',
      GRAPHCRED_REST_URL: String(given.GRAPHCRED_REST_URL).replace(/\/\/[^/]*/, '//nowhere.invalid:14240'),
    }),
    changes: { dns: 'fail', 'service-port': 'skipped', 'rest-port': 'skipped', ...UNASKED },
    status: 7,
    cause: /nowhere\.invalid/,
  },
  'a service port that is closed': {
    breaks: async ({ given, sandbox }) => {
      const GRAPHCRED_GSQL_URL = `http://127.0.0.1:${await freePort()}`;
      const own = sandbox.serverVersion.startsWith('4')
        ? `${GRAPHCRED_GSQL_URL}/restpp`
        : given.GRAPHCRED_REST_URL;
      return { GRAPHCRED_GSQL_URL, GRAPHCRED_REST_URL: String(own) };
    },
    changes: { 'service-port': 'fail', ...UNASKED },
    // On 4.x both servers have one port.
    changes4: { 'service-port': 'fail', 'rest-port': 'fail', ...UNASKED },
    status: 7,
    cause: /refuses connections/,
  },
  'a REST port that is closed': {
    breaks: async () => ({ GRAPHCRED_REST_URL: `http://127.0.0.1:${await freePort()}` }),
    changes: { 'rest-port': 'fail', 'rest-auth': 'skipped' },
    status: 7,
    cause: /refuses connections/,
  },
  'REST authentication that is off': {
    options: { restAuth: 'off' },
    breaks: nothing,
    changes: { 'rest-auth': 'fail' },
    status: 8,
    cause: /off/,
  },
  'a REST address where something else answers': {
    breaks: async () => {
      const other = http.createServer((_request, response) => response.end('<html>hello</html>'));
      await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
      onTestFinished(() => {
        other.close();
      });
      return { GRAPHCRED_REST_URL: `http://127.0.0.1:${(other.address() as AddressInfo).port}` };
    },
    changes: { 'rest-auth': 'warn' },
    status: 0,
    cause: /does not tell/,
  },
  'a version nobody knows': {
    breaks: ({ sandbox }) => {
      for (const route of ['/gsql/v1/version', '/gsqlserver/gsql/version'])
        sandbox.addFault({ action: 'status', status: 200, route, body: 'GSQL version: 9.1.0' });
      return {};
    },
    changes: { ...UNASKED, version: 'fail' },
    status: 8,
    cause: /9\.1\.0/,
  },
  'a web page in place of the version': {
    breaks: ({ sandbox }) => {
      sandbox.addFault({ action: 'html', status: 200 });
      return {};
    },
    changes: { ...UNASKED, version: 'fail' },
    status: 8,
    cause: /does not tell its version/,
  },
  'a server that is starting': {
    breaks: ({ sandbox }) => {
      sandbox.addFault({ action: 'sleeping' });
      return {};
    },
    changes: { ...UNASKED, version: 'fail' },
    status: 7,
    cause: /starting|asleep|sleep/i,
  },
  'a version in the settings that is none': {
    breaks: () => ({ GRAPHCRED_SERVER_VERSION: 'banana' }),
    changes: { config: 'fail', ...NOTHING_ELSE },
    status: 2,
    cause: /version/,
  },
  'a wrong password': {
    breaks: () => ({ GRAPHCRED_PASSWORD: 'hunter2-no-more' }),
    // 3.x lists graphs only after a login.
    changes: { credential: 'fail', graph: 'skipped' },
    status: 4,
    cause: /refused|login|password|credential/i,
  },
  'no password': {
    breaks: () => ({ GRAPHCRED_PASSWORD: '' }),
    changes: { credential: 'warn', graph: 'skipped' },
    status: 0,
    cause: /no login could be tried: GRAPHCRED_PASSWORD is empty/,
  },
  'a password and no user name': {
    breaks: () => ({ GRAPHCRED_USERNAME: '' }),
    changes: { credential: 'warn', graph: 'skipped' },
    status: 0,
    cause: /no user name/,
  },
  'a password file that is not there': {
    breaks: () => ({ GRAPHCRED_PASSWORD: '', GRAPHCRED_PASSWORD_FILE: '/nowhere/password' }),
    changes: { credential: 'fail', graph: 'skipped' },
    status: 2,
    cause: /GRAPHCRED_PASSWORD_FILE/,
  },
  'a graph that does not exist': {
    breaks: () => ({ GRAPHCRED_GRAPH: 'nowhere' }),
    changes: { graph: 'fail' },
    // 4.x checks the graph only when a token is minted, and `doctor` mints none.
    changes4: {},
    status: 3,
    cause: /nowhere/,
  },
  'no graph': {
    breaks: () => ({ GRAPHCRED_GRAPH: '' }),
    changes: { graph: 'warn', credential: 'skipped' },
    changes4: {},
    status: 0,
    cause: /none is named/,
  },
  'a clock ten minutes ahead': {
    breaks: ({ sandbox }) => {
      sandbox.setClockOffset(600);
      return {};
    },
    changes: { clock: 'warn' },
    status: 0,
    cause: /\b(599|600|601) s ahead/,
  },
  'a clock ten minutes behind': {
    breaks: ({ sandbox }) => {
      sandbox.setClockOffset(-600);
      return {};
    },
    changes: { clock: 'warn' },
    status: 0,
    cause: /\b(599|600|601) s behind/,
  },
  'a proxy address that is none': {
    breaks: () => ({
      GRAPHCRED_GSQL_URL: 'http://graph.invalid',
      GRAPHCRED_REST_URL: 'http://graph.invalid',
      HTTP_PROXY: 'ftp://ada:hunter2@127.0.0.1',
    }),
    changes: {
      proxy: 'fail',
      dns: 'skipped',
      'service-port': 'skipped',
      'rest-port': 'skipped',
      ...UNASKED,
    },
    status: 7,
    cause: /not a URL/,
  },
  'a config file that is no JSON': {
    breaks: ({ file }) => {
      fs.writeFileSync(file, '{"password": hunter2');
      return {};
    },
    // The mode of the file is still shown.
    changes: { config: 'fail', ...NOTHING_ELSE },
    status: 5,
    cause: /config\.json, line 1/,
  },
  'a config file with an unknown key': {
    breaks: ({ file }) => {
      fs.writeFileSync(file, '{"passwrd": "hunter2"}');
      return {};
    },
    changes: { config: 'fail', ...NOTHING_ELSE },
    status: 5,
    cause: /passwrd/,
  },
  'a profile that does not exist': {
    breaks: () => ({ GRAPHCRED_PROFILE: 'nowhere' }),
    changes: { config: 'fail', ...NOTHING_ELSE },
    status: 3,
    cause: /nowhere/,
  },
  'a config file that others can change': {
    breaks: ({ file }) => {
      fs.chmodSync(file, 0o622);
      return {};
    },
    changes: { 'config-mode': 'warn' },
    status: 0,
    cause: /0622/,
  },
  'a config file with a credential that others can read': {
    breaks: ({ file }) => {
      fs.writeFileSync(file, JSON.stringify({ secret: 'hunter2-secret', lifetime: '1h' }));
      fs.chmodSync(file, 0o644);
      return {};
    },
    changes: { 'config-mode': 'warn' },
    status: 0,
    cause: /read/,
  },
  'a config file with a credential that others can change': {
    breaks: ({ file }) => {
      fs.writeFileSync(file, JSON.stringify({ password: 'hunter2' }));
      fs.chmodSync(file, 0o666);
      return {};
    },
    changes: { 'config-mode': 'fail', ...NOTHING_ELSE },
    status: 5,
    cause: /other users can write/,
  },
  'a file in the way of the records': {
    breaks: ({ home }) => {
      fs.rmSync(path.join(home, '.local'), { recursive: true, force: true });
      fs.writeFileSync(path.join(home, '.local'), 'in the way');
      return {};
    },
    changes: { store: 'fail' },
    status: 6,
    cause: /nothing can be written/,
  },
  'a key of the store that is none': {
    breaks: () => ({ GRAPHCRED_STORE_KEY: 'hunter2-too-short' }),
    changes: { store: 'fail' },
    status: 6,
    cause: /GRAPHCRED_STORE_KEY/,
  },
  'no store': {
    breaks: () => ({ GRAPHCRED_STORE: 'none' }),
    changes: { store: 'warn' },
    status: 0,
    cause: /nothing is kept/,
  },
  'no keychain': {
    breaks: () => ({ GRAPHCRED_STORE: 'keychain', XDG_RUNTIME_DIR: '/nowhere' }),
    changes: { store: 'fail' },
    status: 6,
    cause: /no OS keychain/,
  },
};

describe.each(['3.10.1', '4.1.2'])('doctor on %s', (serverVersion) => {
  const is4 = serverVersion.startsWith('4');
  const well: Changes = {
    config: 'ok',
    'config-mode': 'ok',
    dns: 'ok',
    'service-port': 'ok',
    'rest-port': 'ok',
    // Plain http is used only on this machine, so there is no certificate to check.
    tls: 'skipped',
    proxy: 'ok',
    version: 'ok',
    'rest-auth': 'ok',
    credential: 'ok',
    graph: is4 ? 'skipped' : 'ok',
    clock: 'ok',
    store: 'ok',
  };

  /** Runs `doctor` twice: as everything is, and with one thing broken. */
  async function compare(
    made: Patient,
    breakage: Omit<Breakage, 'options'>,
    before: Changes,
    prefix?: string[],
  ) {
    const env = await breakage.breaks(made);
    const { verdicts, status, checks } = await made.examine(env, prefix);
    const changes = (is4 && breakage.changes4) || breakage.changes;
    expect(verdicts, JSON.stringify(checks, null, 1)).toEqual({ ...before, ...changes });
    const blamed = Object.entries(changes).filter(([, verdict]) => verdict === 'fail' || verdict === 'warn');
    for (const [id] of blamed) expect(checks.find((check) => check.id === id)?.cause).toMatch(breakage.cause);
    expect(status).toBe(blamed.length > 0 ? breakage.status : 0);
  }

  test('every check passes if nothing is broken', async () => {
    const { examine } = await patient({ serverVersion });
    const { verdicts, status } = await examine();
    expect({ verdicts, status }).toEqual({ verdicts: well, status: 0 });
  });

  test.each(Object.entries(BREAKAGES))('%s', async (_name, { options, ...breakage }) => {
    await compare(await patient({ serverVersion, ...options }), breakage, well);
  });

  describe('over TLS', () => {
    const encrypted: Changes = { ...well, tls: 'ok' };
    const untrusted = { changes: { tls: 'fail', ...UNASKED } as Changes, status: 7 };
    const certificate = async (name: string, days: [number, number] = [-1, 30]) => {
      const at = (offset: number) => new Date(Date.now() + offset * 86_400_000);
      const { cert, private: key } = await generate([{ name: 'commonName', value: name }], {
        notBeforeDate: at(days[0]),
        notAfterDate: at(days[1]),
        extensions: [
          {
            name: 'subjectAltName',
            altNames: [/^\d/.test(name) ? { type: 7, ip: name } : { type: 2, value: name }],
          },
        ],
      });
      return { tls: { cert, key }, serverVersion };
    };

    test('every check passes over TLS', async () => {
      const { examine } = await patient(await certificate('127.0.0.1'));
      expect((await examine()).verdicts).toEqual(encrypted);
    });

    test('a certificate of an unknown CA fails the check tls', async () => {
      const breaks = () => ({ GRAPHCRED_CA: '' });
      const made = await patient(await certificate('127.0.0.1'));
      await compare(made, { ...untrusted, breaks, cause: /certificate|trust/i }, encrypted);
    });

    test('an expired certificate fails the check tls', async () => {
      const made = await patient(await certificate('127.0.0.1', [-30, -1]));
      await compare(made, { ...untrusted, breaks: nothing, cause: /expired|ended/i }, encrypted);
    });

    test('a certificate for another host name fails the check tls', async () => {
      const made = await patient(await certificate('graph.example.com'));
      await compare(made, { ...untrusted, breaks: nothing, cause: /name|host/i }, encrypted);
    });

    test('a CA file that does not exist fails the check tls', async () => {
      const breaks = () => ({ GRAPHCRED_CA: '/nowhere/ca.pem' });
      const made = await patient(await certificate('127.0.0.1'));
      await compare(made, { ...untrusted, status: 2, breaks, cause: /GRAPHCRED_CA/ }, encrypted);
    });

    test('certificates that are not verified are a warning', async () => {
      const breaks = () => ({ GRAPHCRED_INSECURE: '1' });
      const made = await patient(await certificate('127.0.0.1'));
      await compare(made, { changes: { tls: 'warn' }, status: 0, breaks, cause: /not checked/ }, encrypted);
    });

    test('an unknown server version does not fail the check tls', async () => {
      const made = await patient(await certificate('127.0.0.1'));
      await compare(made, BREAKAGES['a version nobody knows'] as Breakage, encrypted);
    });
  });

  describe('through a proxy', () => {
    // The proxy resolves the host name and opens the connection, so these checks are skipped. Plain http to another host causes a warning.
    const proxied: Changes = {
      ...well,
      dns: 'skipped',
      'service-port': 'skipped',
      'rest-port': 'skipped',
      tls: 'warn',
    };

    async function behindProxy() {
      const made = await patient({ serverVersion });
      const proxy = http.createServer((request, response) => {
        const url = new URL(request.url ?? '');
        url.hostname = '127.0.0.1';
        request.pipe(
          http.request(url, { method: request.method, headers: request.headers }, (answer) => {
            response.writeHead(answer.statusCode ?? 502, answer.headers);
            answer.pipe(response);
          }),
        );
      });
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
      onTestFinished(() => {
        proxy.closeAllConnections();
        proxy.close();
      });
      const through = (port: number) => ({
        GRAPHCRED_GSQL_URL: made.sandbox.gsqlUrl.replace('127.0.0.1', 'graph.invalid'),
        GRAPHCRED_REST_URL: made.sandbox.restUrl.replace('127.0.0.1', 'graph.invalid'),
        HTTP_PROXY: `http://proxy-user:hunter2-proxy@127.0.0.1:${port}`,
      });
      return { made, through, port: (proxy.address() as AddressInfo).port };
    }

    test('every check passes through a proxy', async () => {
      const { made, through, port } = await behindProxy();
      expect((await made.examine(through(port))).verdicts).toEqual(proxied);
    });

    test('a proxy that does not answer fails the check proxy', async () => {
      const { made, through } = await behindProxy();
      const breaks = async () => through(await freePort());
      const changes: Changes = { proxy: 'fail', ...UNASKED };
      await compare(made, { breaks, changes, status: 7, cause: /no answer/ }, proxied);
    });
  });

  const noMount = mountSkipReason();
  test.skipIf(noMount !== undefined)(
    `a read-only home${noMount ? ` (skipped: ${noMount})` : ''}`,
    async () => {
      const made = await patient({ serverVersion });
      const { home } = made;
      const script = `mount --bind '${home}' '${home}' && mount -o remount,ro,bind '${home}' && exec "$@"`;
      const breakage = {
        breaks: nothing,
        changes: { store: 'fail' } as Changes,
        status: 6,
        cause: /written/,
      };
      await compare(made, breakage, well, ['unshare', '-m', 'sh', '-c', script, 'sh']);
    },
  );

  const noKeyring = keyringSkipReason();
  test.skipIf(noKeyring !== undefined)(
    `a keychain that is locked${noKeyring ? ` (skipped: ${noKeyring})` : ''}`,
    async () => {
      await withKeyring({ state: 'unlocked' }, async (keyring) => {
        const made = await patient({ serverVersion });
        const { XDG_RUNTIME_DIR, DBUS_SESSION_BUS_ADDRESS } = keyring.env as Record<string, string>;
        const env = { XDG_RUNTIME_DIR, DBUS_SESSION_BUS_ADDRESS, GRAPHCRED_STORE: 'keychain' } as Record<
          string,
          string
        >;
        expect((await made.examine(env)).verdicts).toEqual(well);
        const breaks = async () => {
          await keyring.lock();
          return env;
        };
        await compare(made, { breaks, changes: { store: 'fail' }, status: 6, cause: /locked/ }, well);
      });
    },
  );
});
