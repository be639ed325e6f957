import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Call } from '../auth/call.js';
import { findCredential } from '../auth/choose.js';
import { type Connected, connect } from '../auth/connect.js';
import type { Credential } from '../auth/credential.js';
import { type Oidc, oidcOf, providerPrincipal } from '../auth/oidc/settings.js';
import { readTls } from '../auth/open-connection.js';
import { chooseStore, inspectSharedStore, stateDirOf } from '../auth/stores.js';
import type { GraphConnection } from '../core/connection.js';
import { isLoopback, portOf } from '../core/endpoints.js';
import { type ErrorCode, expected, GraphException, type Remedy } from '../core/errors.js';
import { bareHost, proxyFor, readProxyVariables } from '../core/http/proxy.js';
import { type Claims, readClaims, readEnvelope } from '../core/protocol/reply.js';
import { shellWord } from '../files/shell-word.js';
import type { ServerReport } from '../store/open.js';
import { STORES, type Store } from '../store/store.js';
import { findLogin } from './gsql-login.js';
import { identityToken } from './mint-token.js';
import { cachedOf, currentOf, readCached } from './token-cache.js';
import { pluralize } from './words.js';

/** The checks, in the order in which they are shown. */
const IDS = [
  'config',
  'config-mode',
  'dns',
  'service-port',
  'rest-port',
  'tls',
  'proxy',
  'version',
  'rest-auth',
  'credential',
  'graph',
  'clock',
  'store',
] as const;

/** These checks run only with an identity provider. */
const PROVIDER_IDS = ['provider', 'provider-clock', 'login-port', 'identity'] as const;

/** These checks run only with the store `redis`. */
const SHARED_STORE_IDS = ['store-tls', 'store-rights', 'store-role', 'store-clock', 'store-key'] as const;

export type CheckId = (typeof IDS | typeof SHARED_STORE_IDS | typeof PROVIDER_IDS)[number];

export interface Check {
  readonly verdict: 'ok' | 'warn' | 'fail' | 'skipped';
  /** What was found. Never a credential, never the content of a file. */
  readonly cause: string;
  /** What to do about it; empty when nothing is to be done. */
  readonly fix: string;
  /** The library's option and the remedies that `fix` is about. */
  readonly option?: string | undefined;
  readonly remedies?: readonly Remedy[];
  /** The error code of a failure, which decides the exit status. */
  readonly code?: ErrorCode;
}

/** The results of the checks made so far. */
export type Found = Partial<Record<CheckId, Check>>;

export const ok = (cause: string): Check => ({ verdict: 'ok', cause, fix: '' });
export const skipped = (cause: string): Check => ({ verdict: 'skipped', cause, fix: '' });
export const warn = (cause: string, fix: string): Check => ({ verdict: 'warn', cause, fix });
export const fail = (code: ErrorCode, cause: string, fix: string): Check => ({
  verdict: 'fail',
  cause,
  fix,
  code,
});

/** Turns a GraphException into a failed check; rethrows any other error. */
export function failed(error: unknown): Check {
  const { code, message, hint = '', option, remedies } = expected(error);
  // A hint to run doctor is left out, because this is doctor.
  const others = remedies.filter((remedy) => remedy !== 'examine');
  return { ...fail(code, message, hint), option, remedies: others };
}

const PROBE_TIMEOUT_MS = 5000;
/** A smaller clock difference is normal. */
const SKEW_SECONDS = 30;
const TRUSTED = ok('the certificate is trusted');

/**
 * Runs every check but those of the config file. A check is skipped if an earlier finding makes it impossible.
 * @param call undefined when the settings cannot be read
 * @param found what is known of the config file
 * @returns the checks in the order of their ids
 */
export async function examine(
  call: Call | undefined,
  found: Found,
): Promise<readonly (Check & { readonly id: CheckId })[]> {
  const list = (ids: readonly CheckId[], otherwise: string) =>
    ids.map((id) => ({ id, ...(found[id] ?? skipped(otherwise)) }));
  if (call === undefined) return list(IDS, 'the settings cannot be read');
  const store = await lookAtStore(call, found);
  const isShared = STORES[call.store.name].scope === 'fleet';
  if (isShared) await lookAtSharedStore(call, found);
  const oidc = providerOf(call, found);
  await lookAtNetwork(call, found);
  const connected = await lookAtServer(call, found);
  if (oidc) await lookAtProvider(call, oidc, store, found);
  if (connected) {
    const openStore = async () => store ?? nothingKept();
    const forToken = await findCredential(call, 'mint', openStore).catch(failed);
    await lookAtLogin(call, connected, openStore, forToken, found);
    if (!oidc && isJwt(forToken)) found.identity = await lookAtJwt(call, forToken).catch(failed);
  }
  const more = oidc ? PROVIDER_IDS : found.identity ? (['identity'] as const) : [];
  return [
    ...list([...IDS, ...more], 'the server cannot be asked'),
    ...list(isShared ? SHARED_STORE_IDS : [], 'the Redis server cannot be asked'),
  ];
}

/** Opens the store of this run; undefined when it cannot be used. */
async function lookAtStore(call: Call, found: Found): Promise<Store | undefined> {
  const choices = 'choose another: graphcred login --store keychain, or --store file';
  try {
    const store = await chooseStore(call);
    if (!STORES[store.name].keeps.tokens) {
      found.store = warn('none: nothing is kept, every call mints a token', choices);
      return store;
    }
    await store.check();
    requireWritable(stateDirOf(call));
    const { length } = await store.list();
    found.store = ok(`${store.name}, ${length} ${length === 1 ? 'entry' : 'entries'}`);
    return store;
  } catch (error) {
    const check = failed(error);
    const namesAnotherStore = expected(error).setting === 'store';
    found.store = namesAnotherStore ? check : { ...check, fix: `${check.fix}; ${choices}` };
    return undefined;
  }
}

/** Checks that records could be written, without writing one. */
function requireWritable(stateDir: string): void {
  let dir = stateDir;
  while (!fs.existsSync(dir) && dir !== path.dirname(dir)) dir = path.dirname(dir);
  try {
    if (!fs.statSync(dir).isDirectory()) throw new Error('in the way');
    fs.accessSync(dir, fs.constants.W_OK | fs.constants.X_OK);
  } catch {
    throw new GraphException('STORE_UNAVAILABLE', `nothing can be written to ${stateDir}`, {
      hint: `check owner and mode of ${dir}`,
    });
  }
}

/** Which check an error of the Redis server belongs to, by its setting or the server's code. */
const CHECK_OF_PROBLEM: Readonly<Record<string, CheckId>> = {
  storeKey: 'store-key',
  'redis.ca': 'store-tls',
  NOPERM: 'store-rights',
  'NOPERM in a script': 'store-rights',
  'no password set': 'store-rights',
  NOAUTH: 'store-rights',
  WRONGPASS: 'store-rights',
};

/** Checks the Redis server through which machines share tokens. Writes a test entry there and removes it. */
async function lookAtSharedStore(call: Call, found: Found): Promise<void> {
  let report: ServerReport;
  try {
    report = await inspectSharedStore(call);
  } catch (error) {
    const check = failed(error);
    const { setting = '', serverCode = '' } = error as GraphException;
    const id = CHECK_OF_PROBLEM[setting] ?? CHECK_OF_PROBLEM[serverCode];
    if (id) found[id] = check;
    // What was read there does not show whether it can be written.
    else if (found.store?.verdict === 'ok') found.store = check;
    return;
  }
  const { role, canWrite, timeUnix } = report;
  found['store-tls'] = judgeEncryption(report);
  found['store-rights'] =
    role === 'replica'
      ? skipped('a replica takes no writes')
      : ok(canWrite ? 'it may write tokens, and mint' : 'it may read tokens, and not mint');
  found['store-role'] = judgeRole(role);
  const denied = 'this Redis user may not ask for it';
  found['store-clock'] = judgeClock(timeUnix, call.ports.now(), 'Redis server', denied);
  found['store-key'] = judgeKey(report);
}

/**
 * Compares the server's clock with this machine's.
 * @param server name of the server, as shown to people
 * @param untold why the server's time may be unknown
 */
function judgeClock(serverTime: number | undefined, nowMs: number, server: string, untold: string): Check {
  if (serverTime === undefined) return skipped(untold);
  const ahead = Math.round(serverTime - nowMs / 1000);
  if (Math.abs(ahead) <= SKEW_SECONDS) return ok('the clocks agree');
  const way = ahead > 0 ? 'ahead' : 'behind';
  return warn(`the ${server}'s clock is ${Math.abs(ahead)} s ${way}`, 'set both clocks by NTP');
}

function judgeEncryption({ encrypted, local }: ServerReport): Check {
  if (encrypted) return ok('the connection is encrypted, and the certificate is trusted');
  if (local) return ok('the server is on this machine');
  return warn(
    'the connection is not encrypted: others on the network can see and change what is sent',
    'use rediss:// in GRAPHCRED_REDIS_URL if the server offers TLS',
  );
}

function judgeRole(role: ServerReport['role']): Check {
  if (role === undefined) return skipped('this Redis user may not ask for it');
  if (role === 'master') return ok('master');
  return fail(
    'STORE_UNAVAILABLE',
    'replica: it takes no writes, so this machine mints its own tokens',
    'set GRAPHCRED_REDIS_URL to the master, or to the Sentinels with GRAPHCRED_REDIS_SENTINEL_MASTER',
  );
}

function judgeKey({ keyId, tokens, unreadable }: ServerReport): Check {
  const key = `key ${keyId}, the same on all machines that share tokens`;
  if (unreadable > 0)
    return warn(
      `${key}; it does not open ${unreadable} of ${tokens} tokens`,
      'they were changed on the Redis server: look at who may write there',
    );
  return ok(`${key}; ${pluralize(tokens, 'token')}`);
}

function providerOf(call: Call, found: Found): Oidc | undefined {
  try {
    return oidcOf(call);
  } catch (error) {
    found.config = failed(error);
    return undefined;
  }
}

/** Checks the host name, the ports and the proxy. Sends no data. */
async function lookAtNetwork(call: Call, found: Found): Promise<void> {
  const { ports, target, timeoutMs } = call;
  const url = new URL(target.gsqlUrl);
  try {
    const via = proxyFor(url, readProxyVariables(ports.env));
    if (via) {
      // The request to the server shows whether the proxy works.
      found.proxy = ok(`requests go through ${via.host}`);
      for (const id of ['dns', 'service-port', 'rest-port'] as const)
        found[id] = skipped(`the proxy ${via.host} sees to it`);
      return;
    }
    found.proxy = ok('none is used for this host');
  } catch {
    const fix = 'correct HTTP_PROXY and HTTPS_PROXY';
    found.proxy = fail('NETWORK', 'the address of the proxy is not a URL', fix);
    return;
  }
  const spinner = await ports.reporter.spinner();
  spinner.start(`waiting for ${target.host}`);
  try {
    found.dns = await resolveName(bareHost(url), timeoutMs);
    if (found.dns.verdict === 'fail') return;
    found['service-port'] = await probePort(target.gsqlUrl, timeoutMs);
    if (target.restUrl !== undefined) found['rest-port'] = await probePort(target.restUrl, timeoutMs);
  } finally {
    spinner.stop();
  }
}

const FIX_RESOLVER = 'check the network and the name servers of this machine';

/** Checks whether a host name can be resolved to an address. */
export async function resolveName(host: string, timeoutMs: number): Promise<Check> {
  const cause = `the name ${host} was not found within ${timeoutMs / 1000} s`;
  // The look-up itself keeps the process alive.
  const late = setTimeout(timeoutMs, fail('TIMEOUT', cause, FIX_RESOLVER), { ref: false });
  return Promise.race([lookUp(host), late]);
}

async function lookUp(host: string): Promise<Check> {
  try {
    const { address } = await process.getBuiltinModule('node:dns').promises.lookup(host);
    return ok(address === host ? `${host} is an address` : `${host} is ${address}`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Any other error is a problem of this machine, not of the name.
    if (code !== 'ENOTFOUND')
      return fail('NETWORK', `the name ${host} cannot be looked up (${code})`, FIX_RESOLVER);
    const fix = 'check the name: --host, GRAPHCRED_HOST, or the profile';
    return fail('NETWORK', `there is no host ${host}`, fix);
  }
}

/** Checks whether anything listens at a port. Sends no data. */
export async function probePort(base: string, timeoutMs: number): Promise<Check> {
  const url = new URL(base);
  const [host, port] = [bareHost(url), Number(portOf(url))];
  const fix = 'check the port and the firewall, and that the server is running';
  const signal = AbortSignal.timeout(Math.min(timeoutMs, PROBE_TIMEOUT_MS));
  const socket = process.getBuiltinModule('node:net').connect({ host, port });
  try {
    await once(socket, 'connect', { signal });
    return ok(`port ${port} is open`);
  } catch (error) {
    if (signal.aborted) return fail('TIMEOUT', `port ${port} of ${host} does not answer`, fix);
    const { code } = error as NodeJS.ErrnoException;
    const how = code === 'ECONNREFUSED' ? 'refuses connections' : `cannot be reached (${code})`;
    return fail('NETWORK', `port ${port} of ${host} ${how}`, fix);
  } finally {
    socket.destroy();
  }
}

/** Checks version, certificate, clock and REST authentication, without a credential. */
async function lookAtServer(call: Call, found: Found): Promise<Connected | undefined> {
  for (const id of ['proxy', 'dns', 'service-port'] as const)
    if (found[id]?.verdict === 'fail') return undefined;
  const tls = judgeAddresses(call);
  if (tls !== undefined) found.tls = tls;
  let connected: Connected | undefined;
  let asked: CheckId = 'tls';
  try {
    await readTls(call);
    asked = 'version';
    // Without the server cache the server is asked for its version.
    delete call.learned.version;
    const { connection, version } = await connect({ ...call, stateDir: undefined }, undefined);
    const serverTime = await connection.serverTimeUnix();
    found.tls ??= TRUSTED;
    found.version =
      call.serverVersion === 'auto'
        ? ok(version.version)
        : skipped(`${version.version} is given, so it was not asked for`);
    found.clock = judgeClock(serverTime, call.ports.now(), 'server', 'the server does not tell its time');
    connected = { connection, version };
    asked = 'rest-auth';
    found['rest-auth'] = await lookAtRestServer(call, connection, found);
  } catch (error) {
    attribute(error, asked, found);
  }
  return connected;
}

/** Judges the schemes of the addresses. Undefined when the certificate has to show whether the connection is safe. */
function judgeAddresses({ target: { gsqlUrl, restUrl }, insecure }: Call): Check | undefined {
  const secure = gsqlUrl.startsWith('https:');
  const isRestPlain = restUrl?.startsWith('http:') && !isLoopback(restUrl);
  if (isRestPlain || (!secure && !isLoopback(gsqlUrl)))
    return warn(
      `http${secure ? ' to the REST server' : ''}: credentials can be read on the way`,
      'use https if the server offers it',
    );
  if (!secure) return skipped('http, on this machine only');
  if (!insecure) return undefined;
  return warn('certificates are not checked', 'name the authority with --ca FILE instead of --insecure');
}

async function lookAtRestServer(call: Call, connection: GraphConnection, found: Found): Promise<Check> {
  const { restUrl } = await connection.baseUrls();
  found['rest-port'] ??= await probePort(restUrl, call.timeoutMs);
  if (found['rest-port'].verdict === 'fail') return skipped('the REST server cannot be reached');
  return judgeRestAuth(await connection.restAuthentication());
}

/** Adds an error to the check that it belongs to. */
function attribute(error: unknown, otherwise: CheckId, found: Found): void {
  const check = failed(error);
  const passing = check.code === 'NETWORK' || check.code === 'TIMEOUT';
  // The DNS check is skipped only when all requests go through the proxy.
  if (passing && found.dns?.verdict === 'skipped') {
    const fix = 'check HTTP_PROXY and HTTPS_PROXY, or exempt this host with NO_PROXY';
    found.proxy = { ...check, cause: `${found.proxy?.cause}, and no answer comes back`, fix };
    return;
  }
  found[check.code === 'TLS' ? 'tls' : otherwise] = check;
  // Any other error came over TLS, so TLS works.
  if (!passing) found.tls ??= TRUSTED;
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

/** Checks the identity provider, the port of a login, and what the database would see of the token at hand. */
async function lookAtProvider(call: Call, oidc: Oidc, store: Store | undefined, found: Found): Promise<void> {
  found.provider = await lookAtDiscovery(call, oidc).catch(failed);
  found['login-port'] = oidc.isJob ? skipped('a job needs no browser') : await lookAtPort(oidc.port);
  await lookAtCached(call, oidc, store, found);
}

async function lookAtDiscovery(call: Call, oidc: Oidc): Promise<Check> {
  const { withProvider } = await import('../auth/oidc/provider.js');
  const metadata = await withProvider(call, oidc, async (provider) => provider.serverMetadata());
  const missing = [
    ...(metadata.revocation_endpoint === undefined ? ['no revocation'] : []),
    ...(metadata.device_authorization_endpoint === undefined ? ['no --device'] : []),
  ].join(', ');
  return ok(`${oidc.issuer} answers${missing && ` (${missing})`}`);
}

async function lookAtPort(port: number): Promise<Check> {
  try {
    const { awaitCallback } = await import('./login/callback.js');
    await (await awaitCallback(port, '', 1000)).close();
    return ok(port === 0 ? 'a browser can come back to any port' : `a browser can come back to port ${port}`);
  } catch (error) {
    const { cause, fix } = failed(error);
    return warn(cause, fix);
  }
}

/** Looks at the cached token of the provider, and compares the clocks. */
async function lookAtCached(call: Call, oidc: Oidc, store: Store | undefined, found: Found): Promise<void> {
  const principal = call.principal ?? providerPrincipal(oidc, oidc.isJob ? undefined : call.username);
  const current = store && currentOf(await cachedOf(call, store, principal));
  const token = current && (await readCached(current.store, current.record));
  const claims = token && readClaims(token.value);
  if (current === undefined || claims === undefined) {
    found['provider-clock'] = found.identity = skipped('no token is cached: graphcred token get');
    return;
  }
  const untold = 'the token does not say when it was made';
  const askedAtMs = Number(current.record.info.requestedAtMs);
  found['provider-clock'] = judgeClock(claims.iat, askedAtMs, 'provider', untold);
  found.identity = judgeClaims(claims);
}

function isJwt(found: Credential | Check): found is Credential {
  return 'kind' in found && found.kind === 'jwt';
}

async function lookAtJwt(call: Call, jwt: Credential): Promise<Check> {
  const { token } = await identityToken(call, jwt);
  return judgeClaims(readClaims(token) as Claims);
}

/** Names the claims that the database compares, with what its operator would type. */
function judgeClaims({ sub, iss = '', aud: [audience] }: Claims): Check {
  const settings = { Issuer: iss, ...(audience !== undefined && { Audience: audience }) };
  const lines = Object.entries(settings).map(
    ([name, value]) => `gadmin config set Security.JWT.${name} ${shellWord(value)}`,
  );
  return ok(`the database needs the user ${sub}, and where it compares more: ${lines.join('; ')}`);
}

const MINT_PROVES = 'minting a token would prove it';

/** Checks the login with one request, the only one that carries a credential. */
async function lookAtLogin(
  call: Call,
  { version }: Connected,
  openStore: () => Promise<Store>,
  forToken: Credential | Check,
  found: Found,
): Promise<void> {
  const is3 = version.secretsNeedGraph;
  const login = await findLogin(call, openStore).catch(failed);
  const isJwtAlone = 'verdict' in login && isJwt(forToken);
  found.graph = skipped(is3 ? 'a login would prove it' : MINT_PROVES);
  if (is3 && call.graph === undefined) {
    found.graph = isJwtAlone
      ? skipped('none is named, and a JWT needs none')
      : warn('none is named, and 3.x needs one', 'give --graph NAME, or graph in the profile');
    found.credential = skipped('3.x needs --graph to test a login');
    if (!isJwtAlone) return;
  }
  const unread = 'verdict' in login ? login : await login.value().then(() => undefined, failed);
  if (unread === undefined) return tryLogin(call, login as Credential, is3, found);
  const isMissing = unread.code === 'INPUT_REQUIRED' || unread.code === 'UNSUPPORTED';
  if (is3 && isMissing && 'kind' in forToken && forToken.kind !== 'password') {
    const { kind, label } = forToken;
    found.credential = skipped(
      kind === 'jwt'
        ? `a JWT (${label}) is proved at the REST server: graphcred token check`
        : `the server takes no secret (${label}) as a login; a mint proves it: graphcred token get`,
    );
    return;
  }
  const notGiven = unread.code === 'INPUT_REQUIRED' && ('verdict' in login || login.level === 'prompt');
  found.credential = notGiven
    ? { ...unread, verdict: 'warn', cause: `no login could be tried: ${unread.cause}` }
    : unread;
}

function nothingKept(): never {
  throw new GraphException('INPUT_REQUIRED', 'The store cannot be opened.', {
    hint: 'give a user name and a password: --username, --password-stdin',
  });
}

async function tryLogin(call: Call, credential: Credential, is3: boolean, found: Found): Promise<void> {
  const { kind, label, username } = credential;
  const name =
    kind === 'password' ? `the password of ${username}` : kind === 'jwt' ? 'the JWT' : 'the secret';
  const accepted = ok(`${name} is accepted (${label})`);
  const [proof, next] =
    kind === 'jwt'
      ? ['nothing is minted with a JWT; the REST server says whether it takes it', 'token check']
      : [MINT_PROVES, 'token get'];
  try {
    const { connection } = await connect(call, credential);
    if (is3) await connection.listSecrets();
    const isAsked = is3 || (await askForSecrets(connection));
    found.credential = isAsked
      ? accepted
      : skipped('the server has no list of secrets (HTTP 404), so nothing could be asked');
    if (isAsked) found.graph = is3 ? ok(String(call.graph)) : skipped(`${proof}: graphcred ${next}`);
  } catch (error) {
    const check = failed(error);
    const isGraphs = is3 && check.code === 'NOT_FOUND';
    found.credential = isGraphs ? accepted : check;
    if (isGraphs) found.graph = check;
  }
}

/**
 * Asks for secrets to test a login. The list is not used. False when the server does not have it at this path, as early
 * 4.x.
 */
async function askForSecrets(connection: GraphConnection): Promise<boolean> {
  const reply = await connection.service('GET', '/gsql/v1/secrets');
  const { status } = reply;
  if (status === 404) return false;
  const envelope = readEnvelope(reply);
  if (envelope && !envelope.refused) return true;
  throw new GraphException(
    'BAD_RESPONSE',
    `the server answers neither yes nor no to the login (HTTP ${status})`,
    { hint: 'check the addresses: --gsql-url, and look into the log of the server' },
  );
}
