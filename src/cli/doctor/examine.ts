import fs from 'node:fs';
import path from 'node:path';
import { findConfig } from '../../config/find.js';
import { isOn } from '../../config/settings.js';
import type { GraphConnection } from '../../core/connection.js';
import { readEnvelope } from '../../core/envelope.js';
import { GraphException } from '../../core/errors.js';
import type { ServerVersion } from '../../core/protocol.js';
import { proxyFor } from '../../core/proxy.js';
import type { Credential } from '../../credentials/resolve.js';
import type { Store } from '../../store/store.js';
import type { Call } from '../call.js';
import { connect } from '../connect.js';
import { findCredential } from '../credential.js';
import { openSession, placesOf, type Session } from '../session.js';
import { createSpinner } from '../spinner.js';
import { chooseStore } from '../stores.js';
import { type Check, type CheckId, fail, failed, IDS, ok, skipped, warn } from './check.js';
import { knock, resolveName } from './reach.js';

const KNOCK_MS = 5000;
/** Less is within what clocks and networks do by themselves. */
const SKEW_SECONDS = 30;

/** Every check, in the order of IDS. What cannot be looked at because of an earlier finding is skipped. */
export async function examine(call: Call): Promise<(Check & { id: CheckId })[]> {
  const found: Partial<Record<CheckId, Check>> = {};
  // Never a question: the answers go into a ticket.
  const session = await openQuietly({ ...call, flags: { ...call.flags, 'no-input': true } }, found);
  let rest = 'the settings cannot be read';
  if (session) {
    rest = 'the server cannot be asked';
    const store = await lookAtStore(session, found);
    await lookAtNetwork(session, found);
    const connected = await lookAtServer(session, found);
    if (connected) await lookAtLogin(session, connected, store, found);
  }
  return IDS.map((id) => ({ id, ...(found[id] ?? skipped(rest)) }));
}

type Found = Partial<Record<CheckId, Check>>;

async function openQuietly(call: Call, found: Found): Promise<Session | undefined> {
  let mode: number | undefined;
  try {
    const { cwd, home, env, uid } = call.ctx;
    const named =
      typeof call.flags.config === 'string' ? call.flags.config : env.GRAPHCRED_CONFIG || undefined;
    const location = findConfig({ named, cwd, home, configDir: placesOf(call).configDir });
    if (location && uid !== undefined) mode = fs.statSync(location.path).mode & 0o777;
  } catch {
    // openSession tells it better.
  }
  try {
    const session = await openSession(call);
    const { file, profile, refused, all } = session.settings;
    const doubted = refused.length > 0 || Object.values(all).some((said) => said[0]?.untrusted);
    if (!file) found.config = ok('no config file; flags, variables and defaults');
    else if (file.trusted || !doubted) found.config = ok(`${file.path}, profile ${profile.name}`);
    else
      found.config = warn(
        `${file.path} is not trusted, so part of it does not count`,
        `read it; if it is yours: graphcred config trust ${file.path}`,
      );
    found['config-mode'] = judgeMode(mode, file?.path);
    return session;
  } catch (error) {
    const check = failed(error);
    // A credential in a file that others can write is a matter of its mode alone.
    if (mode !== undefined && (mode & 0o022) !== 0 && check.fix.includes('chmod')) {
      found.config = ok('the config file can be read');
      found['config-mode'] = check;
    } else found.config = check;
    return undefined;
  }
}

function judgeMode(mode: number | undefined, file: string | undefined): Check {
  if (file === undefined) return skipped('there is no config file');
  if (mode === undefined) return skipped('there are no file modes here');
  const shown = `mode ${mode.toString(8).padStart(4, '0')}`;
  if ((mode & 0o022) !== 0) return warn(`${shown}: other users can change it`, `chmod 600 ${file}`);
  return ok(shown);
}

async function lookAtStore(session: Session, found: Found): Promise<Store | undefined> {
  const choices = 'choose another: graphcred login --store keychain, or --store file';
  try {
    const { store } = await chooseStore(session);
    if (store.name === 'none') {
      found.store = warn('none: nothing is kept, every call mints a token', choices);
      return store;
    }
    await store.check();
    requireWritable(session.stateDir);
    found.store = ok(`${store.name}, ${store.list().length} entries`);
    return store;
  } catch (error) {
    const check = failed(error);
    found.store = { ...check, fix: [check.fix, choices].filter((text) => text !== '').join('; ') };
    return undefined;
  }
}

/** Whether records could be written, without writing one. */
function requireWritable(stateDir: string): void {
  let dir = stateDir;
  while (!fs.existsSync(dir) && dir !== path.dirname(dir)) dir = path.dirname(dir);
  try {
    if (!fs.statSync(dir).isDirectory()) throw new Error('in the way');
    fs.accessSync(dir, fs.constants.W_OK | fs.constants.X_OK);
  } catch {
    throw new GraphException('STORE_UNAVAILABLE', `nothing can be written to ${stateDir}`, {
      hint: `look at owner and mode of ${dir}`,
    });
  }
}

async function lookAtNetwork(session: Session, found: Found): Promise<void> {
  const { target } = session;
  const { HTTP_PROXY, HTTPS_PROXY, NO_PROXY, http_proxy, https_proxy, no_proxy } = session.call.ctx.env;
  const url = new URL(target.gsqlUrl);
  try {
    const via = proxyFor(url, {
      http: HTTP_PROXY || http_proxy,
      https: HTTPS_PROXY || https_proxy,
      noProxy: NO_PROXY || no_proxy,
    });
    if (via) {
      // Whether the way through it is open shows when the server is asked.
      found.proxy = ok(`requests go through ${via.host}`);
      for (const id of ['dns', 'service-port', 'rest-port'] as const)
        found[id] = skipped(`the proxy ${via.host} sees to it`);
      return;
    }
    found.proxy = ok('none is used for this host');
  } catch {
    found.proxy = fail(
      'NETWORK',
      'the address of the proxy is not a URL',
      'correct HTTP_PROXY and HTTPS_PROXY',
    );
    return;
  }
  const spinner = createSpinner(session.call);
  spinner.start(`waiting for ${target.host}`);
  try {
    found.dns = await resolveName(url.hostname.replace(/^\[|\]$/g, ''));
    if (found.dns.verdict === 'fail') return;
    const timeoutMs = Math.min(session.timeoutMs, KNOCK_MS);
    found['service-port'] = await knock(target.gsqlUrl, timeoutMs);
    if (target.restUrl !== undefined) found['rest-port'] = await knock(target.restUrl, timeoutMs);
  } finally {
    spinner.stop();
  }
}

interface Asked {
  readonly connection: GraphConnection;
  readonly version: ServerVersion;
}

async function lookAtServer(session: Session, found: Found): Promise<Asked | undefined> {
  const { target, settings, call, timeoutMs } = session;
  for (const id of ['proxy', 'dns', 'service-port'] as const)
    if (found[id]?.verdict === 'fail') return undefined;
  const secure = target.gsqlUrl.startsWith('https:');
  const loopback = /^http:\/\/(localhost|127\.|\[::1\])/.test(target.gsqlUrl);
  if (!secure && loopback) found.tls = skipped('http, on this machine only');
  else if (!secure)
    found.tls = warn('http: credentials can be read on the way', 'use https if the server offers it');
  else if (isOn(settings, 'tls.insecure'))
    found.tls = warn(
      'certificates are not checked',
      'name the authority with --ca FILE instead of --insecure',
    );
  const blame = (error: unknown, otherwise: CheckId) => {
    const check = failed(error);
    const passing = check.code === 'NETWORK' || check.code === 'TIMEOUT';
    // Without a look at the name itself, all requests go through the proxy.
    if (passing && found.dns?.verdict === 'skipped') {
      const fix = 'check HTTP_PROXY and HTTPS_PROXY, or exempt this host with NO_PROXY';
      found.proxy = { ...check, cause: `${found.proxy?.cause}, and no answer comes back`, fix };
      return;
    }
    const id = check.code === 'TLS' ? 'tls' : otherwise;
    found[id] = check;
  };
  try {
    // A folder without anything remembered: the version is asked anew.
    const forgetful = { ...session, stateDir: path.join(session.stateDir, 'doctor') };
    const { connection, version } = await connect(forgetful, undefined, false);
    const serverTime = await connection.serverTimeUnix();
    if (secure) found.tls ??= ok('the certificate is trusted');
    found.version = ok(version.version);
    found.clock = judgeClock(serverTime, call.ctx.now());
    const { restUrl } = await connection.baseUrls();
    found['rest-port'] ??= await knock(restUrl, Math.min(timeoutMs, KNOCK_MS));
    if (found['rest-port'].verdict === 'fail')
      found['rest-auth'] = skipped('the REST server cannot be reached');
    else {
      try {
        found['rest-auth'] = judgeRestAuth(await connection.restAuthentication());
      } catch (error) {
        blame(error, 'rest-auth');
      }
    }
    return { connection, version };
  } catch (error) {
    blame(error, isTlsFile(error) ? 'tls' : 'version');
    return undefined;
  }
}

/** A certificate file that cannot be read: the settings name it, TLS needs it. */
function isTlsFile(error: unknown): boolean {
  return error instanceof GraphException && (error.code === 'USAGE' || error.code === 'CONFIG_INVALID');
}

function judgeRestAuth(state: 'on' | 'off' | 'unknown'): Check {
  if (state === 'on') return ok('on');
  if (state === 'unknown')
    return warn('the REST server does not tell', 'check the address of the REST server: --rest-url');
  return fail(
    'REST_AUTH_DISABLED',
    'off: the server gives out no tokens, and wants none',
    'turn it on: gadmin config set RESTPP.Factory.EnableAuth true; gadmin config apply -y; gadmin restart restpp nginx gui gsql -y',
  );
}

function judgeClock(serverTime: number | undefined, nowMs: number): Check {
  if (serverTime === undefined) return skipped('the server does not tell its time');
  const ahead = Math.round(serverTime - nowMs / 1000);
  if (Math.abs(ahead) <= SKEW_SECONDS) return ok('the clocks agree');
  const way = ahead > 0 ? 'ahead' : 'behind';
  return warn(`the server's clock is ${Math.abs(ahead)} s ${way}`, 'set both clocks by NTP');
}

/** One request, the only one that carries a credential. */
async function lookAtLogin(
  session: Session,
  { version }: Asked,
  store: Store | undefined,
  found: Found,
): Promise<void> {
  const is3 = version.generation !== 'C';
  found.graph = is3
    ? skipped('not asked for')
    : skipped('4.x looks at the graph only when a token is minted');
  if (is3 && session.graph === undefined) {
    found.graph = warn('none is named, and 3.x needs one', 'give --graph NAME, or graph in the profile');
    found.credential = skipped('without a graph nothing harmless can be asked');
    return;
  }
  let credential: Credential;
  try {
    credential = await findCredential(session, 'login', async () => store ?? nothingKept());
    await credential.value();
  } catch (error) {
    const check = failed(error);
    found.credential =
      check.code === 'INPUT_REQUIRED' ? warn('no login is given that could be tried', check.fix) : check;
    return;
  }
  const name = credential.kind === 'secret' ? 'the secret' : `the password of ${credential.username}`;
  try {
    const { connection } = await connect(
      { ...session, stateDir: path.join(session.stateDir, 'doctor') },
      credential,
      false,
    );
    if (is3) await connection.listSecrets();
    else await askForSecrets(connection);
    found.credential = ok(`${name} is accepted (${credential.label})`);
    if (is3) found.graph = ok(String(session.graph));
  } catch (error) {
    const check = failed(error);
    if (is3 && check.code === 'NOT_FOUND') {
      found.credential = ok(`${name} is accepted (${credential.label})`);
      found.graph = check;
    } else found.credential = check;
  }
}

/** Not as a list: early 4.x has none at this path, and statements would be a second request. */
async function askForSecrets(connection: GraphConnection): Promise<void> {
  const { status, headers, body } = await connection.service('GET', '/gsql/v1/secrets');
  if (status === 404 || readEnvelope({ status, headers, body, timeUnix: 0 })?.refused === false) return;
  throw new GraphException(
    'BAD_RESPONSE',
    `the server answers neither yes nor no to the login (HTTP ${status})`,
    { hint: 'check the addresses: --gsql-url, and look into the log of the server' },
  );
}

function nothingKept(): never {
  throw new GraphException('INPUT_REQUIRED', 'The store cannot be opened.', {
    hint: 'give a user name and a password: --username, --password-stdin',
  });
}
