import type { Call } from '../../auth/call.js';
import { findCredential } from '../../auth/choose.js';
import { connect } from '../../auth/connect.js';
import type { Credential } from '../../auth/credential.js';
import { readTls } from '../../auth/open-connection.js';
import type { GraphConnection } from '../../core/connection.js';
import { isLoopback } from '../../core/endpoints.js';
import { GraphException } from '../../core/errors.js';
import { proxyFor, readProxyVariables } from '../../core/http/proxy.js';
import { readEnvelope } from '../../core/protocol/reply.js';
import type { ServerVersion } from '../../core/protocol/types.js';
import type { Store } from '../../store/store.js';
import { findLogin } from '../gsql-login.js';
import {
  type Check,
  type CheckId,
  type Found,
  fail,
  failed,
  judgeClock,
  ok,
  skipped,
  warn,
} from './check.js';
import { probePort, resolveName } from './reach.js';

const PROBE_TIMEOUT_MS = 5000;
const TRUSTED = ok('the certificate is trusted');

/** Checks the host name, the ports and the proxy. Sends no data. */
export async function lookAtNetwork(call: Call, found: Found): Promise<void> {
  const { target } = call;
  const url = new URL(target.gsqlUrl);
  try {
    const via = proxyFor(url, readProxyVariables(call.ports.env));
    if (via) {
      // The request to the server shows whether the proxy works.
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
  const spinner = await call.ports.reporter.spinner();
  spinner.start(`waiting for ${target.host}`);
  try {
    found.dns = await resolveName(url.hostname.replace(/^\[|\]$/g, ''), call.timeoutMs);
    if (found.dns.verdict === 'fail') return;
    const timeoutMs = Math.min(call.timeoutMs, PROBE_TIMEOUT_MS);
    found['service-port'] = await probePort(target.gsqlUrl, timeoutMs);
    if (target.restUrl !== undefined) found['rest-port'] = await probePort(target.restUrl, timeoutMs);
  } finally {
    spinner.stop();
  }
}

interface Asked {
  readonly connection: GraphConnection;
  readonly version: ServerVersion;
}

/** Checks version, certificate, clock and REST authentication, without a credential. */
export async function lookAtServer(call: Call, found: Found): Promise<Asked | undefined> {
  for (const id of ['proxy', 'dns', 'service-port'] as const)
    if (found[id]?.verdict === 'fail') return undefined;
  const tls = judgeAddresses(call);
  if (tls !== undefined) found.tls = tls;
  try {
    await readTls(call);
  } catch (error) {
    found.tls = failed(error);
    return undefined;
  }
  // Without the server cache the server is asked for its version.
  delete call.learned.version;
  try {
    const { connection, version } = await connect({ ...call, stateDir: undefined }, undefined);
    const serverTime = await connection.serverTimeUnix();
    found.tls ??= TRUSTED;
    found.version =
      call.serverVersion === 'auto'
        ? ok(version.version)
        : skipped(`${version.version} is given, so it was not asked for`);
    found.clock =
      serverTime === undefined
        ? skipped('the server does not tell its time')
        : judgeClock(serverTime, call.ports.now(), 'server');
    await lookAtRestServer(call, connection, found);
    return { connection, version };
  } catch (error) {
    attribute(error, 'version', found);
    return undefined;
  }
}

/** Judges the schemes of the addresses. Undefined when the certificate has to show whether the connection is safe. */
function judgeAddresses({ target: { gsqlUrl, restUrl }, tls }: Call): Check | undefined {
  const secure = gsqlUrl.startsWith('https:');
  const isRestPlain = restUrl?.startsWith('http:') && !isLoopback(restUrl);
  if (isRestPlain || (!secure && !isLoopback(gsqlUrl)))
    return warn(
      `http${secure ? ' to the REST server' : ''}: credentials can be read on the way`,
      'use https if the server offers it',
    );
  if (!secure) return skipped('http, on this machine only');
  if (!tls.insecure) return undefined;
  return warn('certificates are not checked', 'name the authority with --ca FILE instead of --insecure');
}

async function lookAtRestServer(call: Call, connection: GraphConnection, found: Found): Promise<void> {
  const { restUrl } = await connection.baseUrls();
  found['rest-port'] ??= await probePort(restUrl, Math.min(call.timeoutMs, PROBE_TIMEOUT_MS));
  if (found['rest-port'].verdict === 'fail') {
    found['rest-auth'] = skipped('the REST server cannot be reached');
    return;
  }
  try {
    found['rest-auth'] = judgeRestAuth(await connection.restAuthentication());
  } catch (error) {
    attribute(error, 'rest-auth', found);
  }
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

/** Checks the login with one request, the only one that carries a credential. */
export async function lookAtLogin(
  call: Call,
  { version }: Asked,
  store: Store | undefined,
  found: Found,
): Promise<void> {
  const is3 = version.secretsNeedGraph;
  found.graph = is3
    ? skipped('a login would prove it: graphcred secret list')
    : skipped('minting a token would prove it: graphcred token get');
  if (is3 && call.graph === undefined) {
    found.graph = warn('none is named, and 3.x needs one', 'give --graph NAME, or graph in the profile');
    found.credential = skipped('3.x needs --graph to test a login');
    return;
  }
  let credential: Credential | undefined;
  const openStore = async () => store ?? nothingKept();
  try {
    credential = await findLogin(call, openStore);
    await credential.value();
  } catch (error) {
    const check = failed(error);
    const secret = is3 ? await secretForMints(call, openStore) : undefined;
    if (['INPUT_REQUIRED', 'UNSUPPORTED'].includes(String(check.code)) && secret !== undefined) {
      found.credential = skipped(
        secret.kind === 'jwt'
          ? `a JWT (${secret.label}) is proved at the REST server: graphcred token check`
          : `the server takes no secret (${secret.label}) as a login; a mint proves it: graphcred token get`,
      );
      return;
    }
    const notGiven = check.code === 'INPUT_REQUIRED' && (!credential || credential.level === 'prompt');
    found.credential = notGiven
      ? { ...check, verdict: 'warn', cause: `no login could be tried: ${check.cause}` }
      : check;
    return;
  }
  await tryLogin(call, credential, is3, found);
}

async function tryLogin(call: Call, credential: Credential, is3: boolean, found: Found): Promise<void> {
  const name = { jwt: 'the JWT', secret: 'the secret', password: `the password of ${credential.username}` }[
    credential.kind
  ];
  try {
    const { connection } = await connect(call, credential);
    if (is3) await connection.listSecrets();
    else if (!(await askForSecrets(connection))) {
      found.credential = skipped('the server has no list of secrets (HTTP 404), so nothing could be asked');
      return;
    }
    found.credential = ok(`${name} is accepted (${credential.label})`);
    if (is3) found.graph = ok(String(call.graph));
  } catch (error) {
    const check = failed(error);
    if (is3 && check.code === 'NOT_FOUND') {
      found.credential = ok(`${name} is accepted (${credential.label})`);
      found.graph = check;
    } else found.credential = check;
  }
}

/** Returns the JWT that this run would use, or the secret that it would mint with, if it has one. */
async function secretForMints(call: Call, openStore: () => Promise<Store>): Promise<Credential | undefined> {
  try {
    const credential = await findCredential(call, 'mint', openStore);
    return credential.kind === 'password' ? undefined : credential;
  } catch (error) {
    failed(error);
    return undefined;
  }
}

/**
 * Asks for secrets to test a login. The list is not used. False when the server does not have it at this path, as early
 * 4.x.
 */
async function askForSecrets(connection: GraphConnection): Promise<boolean> {
  const { status, headers, body } = await connection.service('GET', '/gsql/v1/secrets');
  if (status === 404) return false;
  if (readEnvelope({ status, headers, body, timeUnix: 0 })?.refused === false) return true;
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
