import fs from 'node:fs';
import path from 'node:path';
import { findCredential, isJwtSet } from '../auth/choose.js';
import { connect, findVersionAnew } from '../auth/connect.js';
import { once } from '../auth/credential.js';
import { oidcOf } from '../auth/oidc/settings.js';
import { isAway, readTls } from '../auth/open-connection.js';
import { graphOf, type Run } from '../auth/run.js';
import { isLoopback } from '../core/endpoints.js';
import { type ErrorCode, expected, type Fix, GraphException } from '../core/errors.js';
import { proxyFor, readProxyVariables } from '../core/http/proxy.js';
import { readClaims } from '../core/protocol/reply.js';
import { shellWord } from '../files/shell-word.js';
import type { ServerReport } from '../store/redis/inspect.js';
import { STORES } from '../store/store.js';
import { pluralize } from './format.js';
import { tokenSource } from './tokens/get-token.js';

export interface Check {
  readonly verdict: 'ok' | 'warn' | 'fail' | 'skipped';
  /** What was found. Never a credential, never the content of a file. */
  readonly cause: string;
  /** What to do about it; empty when nothing is to be done. */
  readonly fix: readonly Fix[];
  /** The error code of a failure, which decides the exit status. */
  readonly code?: ErrorCode;
}

export const ok = (cause: string): Check => ({ verdict: 'ok', cause, fix: [] });
export const warn = (cause: string, ...fix: Fix[]): Check => ({ verdict: 'warn', cause, fix });
const skipped = (cause: string, ...fix: Fix[]): Check => ({ verdict: 'skipped', cause, fix });

/** Turns a GraphException into a failed check; rethrows any other error. */
export function failed(error: unknown): Check {
  const { code, message: cause, fix } = expected(error);
  // A hint to run doctor is left out, because this is doctor.
  const own = fix.filter(
    (part) => typeof part === 'string' || !('command' in part) || part.command !== 'doctor',
  );
  return { verdict: 'fail', cause, code, fix: own };
}

/** A smaller clock difference is normal. */
const SKEW_SECONDS = 30;

interface Row {
  readonly id: string;
  /** The check is skipped when one of these has failed, or was skipped for that reason. */
  readonly needs: readonly string[];
  readonly check: (facts: Facts) => Check | Promise<Check>;
}

const CHECKS: readonly Row[] = [
  { id: 'tls', needs: [], check: checkTls },
  { id: 'service-port', needs: ['tls'], check: checkServicePort },
  { id: 'version', needs: ['service-port'], check: checkVersion },
  { id: 'rest-auth', needs: ['version'], check: checkRestAuth },
  { id: 'credential', needs: ['version'], check: checkCredential },
  { id: 'graph', needs: ['version'], check: checkGraph },
  { id: 'clock', needs: ['version'], check: checkClocks },
  { id: 'store', needs: [], check: checkStore },
];
const PROVIDER_CHECKS: readonly Row[] = [
  { id: 'provider', needs: [], check: checkProvider },
  { id: 'login-port', needs: ['provider'], check: checkLoginPort },
];
const IDENTITY: Row = { id: 'identity', needs: ['version'], check: checkIdentity };

/**
 * Runs the checks in their order.
 * @param run undefined when the settings cannot be read
 * @param config what was found of the config file
 */
export async function examine(
  run: Run | undefined,
  config: Check,
): Promise<readonly (Check & { readonly id: string })[]> {
  const first = { id: 'config', ...config };
  if (run === undefined)
    return [first, ...CHECKS.map(({ id }) => ({ id, ...skipped('the settings cannot be read') }))];
  const facts = gatherFacts(run);
  const hasJwt = hasProvider(run) || isJwtSet(run);
  const rows = [...CHECKS, ...(hasProvider(run) ? PROVIDER_CHECKS : []), ...(hasJwt ? [IDENTITY] : [])];
  const found = [first];
  const useless = new Set<string>();
  for (const { id, needs, check } of rows) {
    const isUseless = needs.some((need) => useless.has(need));
    const result = isUseless
      ? skipped('an earlier check has to pass first')
      : await Promise.resolve(facts).then(check).catch(failed);
    if (isUseless || result.verdict === 'fail') useless.add(id);
    found.push({ id, ...result });
  }
  return found;
}

const hasProvider = (run: Run) => run.settings.all['oidc.issuer'].length > 0;

type Facts = ReturnType<typeof gatherFacts>;

/** Returns what several checks look at; each thing is asked for once. */
function gatherFacts(run: Run) {
  const server = once(async () => {
    await findVersionAnew(run);
    const connected = await connect(run, undefined);
    return { ...connected, timeUnix: await connected.connection.serverTimeUnix() };
  });
  const credential = once(() => findCredential(run, 'mint'));
  // A JWT is checked before it is sent, and that of a program or a provider is cached.
  const jwt = once(async () => (await tokenSource(run)).obtain());
  return {
    ...{ run, server, credential, jwt },
    /** Why the server did not answer as it should. */
    refusal: once(() => server().then(() => undefined, expected)),
    /** What became of the only request that carries the credential: the error, if there was one. */
    login: once(async () => {
      const found = await credential();
      const value = found.kind === 'jwt' ? async () => (await jwt()).token : found.value;
      const { connection } = await connect(run, { ...found, value });
      return connection.listSecrets().then(() => undefined, expected);
    }),
    engine: once(() => run.stores.inspectShared()),
  };
}

async function checkTls({ run, refusal }: Facts): Promise<Check> {
  const { gsqlUrl, restUrl = gsqlUrl } = run.target;
  await readTls(run);
  const isSecure = gsqlUrl.startsWith('https:');
  const isOpen = (url: string) => url.startsWith('http:') && !isLoopback(url);
  if (isOpen(gsqlUrl) || isOpen(restUrl))
    return warn(
      `http${isSecure ? ' to the REST server' : ''}: credentials can be read on the way`,
      'use https if the server offers it',
    );
  if (!isSecure) return skipped('http, on this machine only');
  const refused = await refusal();
  if (refused?.code === 'TLS') throw refused;
  if (run.settings.insecure)
    return warn('certificates are not checked', 'name the authority with --ca FILE instead of --insecure');
  return isUnreached(refused) ? skipped('no answer came') : ok('the certificate is trusted');
}

/** Whether an error shows that nothing answered; a server that says that it is starting has answered. */
function isUnreached(error: GraphException | undefined): boolean {
  return isAway(error) && error.code !== 'SERVER_UNAVAILABLE';
}

async function checkServicePort({ run, refusal }: Facts): Promise<Check> {
  const refused = await refusal();
  if (isUnreached(refused)) throw refused;
  const url = new URL(run.target.gsqlUrl);
  const via = proxyFor(url, readProxyVariables(run.ports.env));
  return ok(`${url.origin} answers${via ? `, through the proxy ${via.host}` : ''}`);
}

async function checkVersion({ run, server }: Facts): Promise<Check> {
  const { version } = (await server()).version;
  return run.settings.serverVersion === 'auto'
    ? ok(version)
    : skipped(`${version} is given, so it was not asked for`);
}

async function checkRestAuth({ server }: Facts): Promise<Check> {
  const state = await (await server()).connection.restAuthentication();
  if (state === 'on') return ok('on');
  if (state === 'unknown')
    return warn(
      'the REST server does not tell',
      'check the address of the REST server, which ends with /restpp on 4.x: --rest-url',
    );
  throw new GraphException('REST_AUTH_DISABLED', 'off: the server gives out no tokens, and wants none', {
    hint: 'turn it on: gadmin config set RESTPP.Factory.EnableAuth true; gadmin config apply -y; gadmin restart restpp nginx gui gsql -y',
  });
}

/** Tries the credential that the next token would be minted with. */
async function checkCredential({ run, server, credential, login }: Facts): Promise<Check> {
  const { version } = await server();
  const found = await credential().catch(expected);
  if (found instanceof GraphException) return judgeRefusal(found, false);
  const { kind, label, username, level } = found;
  if (kind === 'secret' && !version.secretLogsIn)
    return skipped(`only a mint proves the secret (${label})`, { command: 'token get' });
  if (kind === 'jwt' && !version.jwtLogsIn)
    return skipped(`the REST server proves the JWT (${label})`, { command: 'token check' });
  if (version.secretsNeedGraph && graphOf(run) === undefined && level !== 'prompt')
    return skipped('3.x needs --graph to test a login');
  const refused = await login().catch(expected);
  // The login was accepted where only the graph is missing.
  if (refused && !(version.secretsNeedGraph && refused.code === 'NOT_FOUND'))
    return judgeRefusal(refused, level !== 'prompt');
  const name = { password: `the password of ${username}`, jwt: 'the JWT', secret: 'the secret' }[kind];
  return ok(`${name} is accepted (${label})`);
}

/** @param isGiven whether there is a credential; where nobody can be asked for one, that is no failure */
function judgeRefusal(refused: GraphException, isGiven: boolean): Check {
  const { code, message, fix } = refused;
  if (code.startsWith('STORE_')) return skipped('the store that may hold one cannot be read');
  if (isGiven || code !== 'INPUT_REQUIRED') return failed(refused);
  return warn(`no login could be tried: ${message}`, ...fix);
}

async function checkGraph({ run, server, credential, login }: Facts): Promise<Check> {
  const { kind } = await credential().catch(() => ({ kind: undefined }));
  const isJwt = kind === 'jwt';
  if (!(await server()).version.secretsNeedGraph)
    return isJwt
      ? skipped('the REST server proves it', { command: 'token check' })
      : skipped('a mint proves it', { command: 'token get' });
  const graph = graphOf(run);
  if (graph === undefined)
    return isJwt
      ? skipped('none is named, and a JWT needs none')
      : warn('none is named, and 3.x needs one', 'give --graph NAME, or graph in the profile');
  const refused = await login().catch(expected);
  if (refused?.code === 'NOT_FOUND') throw refused;
  return refused ? skipped('a login would prove it') : ok(graph);
}

/** Compares this machine's clock with those of the servers. */
async function checkClocks({ run, server, engine, jwt }: Facts): Promise<Check> {
  const now = run.ports.now();
  const clocks: [name: string, theirs: number | undefined, oursMs: number][] = [
    ['server', (await server()).timeUnix, now],
  ];
  if (run.stores.areShared)
    clocks.push(['Redis server', (await engine().catch(() => undefined))?.timeUnix, now]);
  if (hasProvider(run)) {
    const token = await jwt().catch(() => undefined);
    if (token) clocks.push(['provider', readClaims(token.token)?.iat, token.requestedAtMs]);
  }
  const wrong = clocks.flatMap(([name, theirs, oursMs]) => {
    const ahead = Math.round((theirs ?? oursMs / 1000) - oursMs / 1000);
    if (Math.abs(ahead) <= SKEW_SECONDS) return [];
    return [`the ${name}'s clock is ${Math.abs(ahead)} s ${ahead > 0 ? 'ahead' : 'behind'}`];
  });
  if (wrong.length > 0) return warn(wrong.join('; '), 'set all clocks by NTP');
  return clocks.some(([, theirs]) => theirs !== undefined)
    ? ok('the clocks agree')
    : skipped('the server does not tell its time');
}

async function checkStore({ run, engine }: Facts): Promise<Check> {
  const choices: readonly Fix[] = run.ports.inCi
    ? ['for calls that share a token: GRAPHCRED_STORE=file']
    : ['choose another', { command: 'login --store keychain' }, ', or --store file'];
  if (run.stores.areShared) return judgeEngine(await engine());
  const store = await run.stores.own();
  if (!STORES[store.name].keeps.tokens)
    return warn('none: nothing is kept, every call mints a token', ...choices);
  await store.check();
  requireWritable(run.stores.requireFolder('stateDir'));
  const { length } = await store.list();
  return ok(`${store.name}, ${length} ${length === 1 ? 'entry' : 'entries'}`);
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

/** Judges the Redis server through which machines share tokens. */
function judgeEngine({ encrypted, local, isReplica, canWrite, keyId, tokens }: ServerReport): Check {
  if (isReplica)
    throw new GraphException(
      'STORE_UNAVAILABLE',
      'redis: this is a replica and takes no writes, so this machine mints its own tokens',
      {
        hint: 'set GRAPHCRED_REDIS_URL to the master, or to the Sentinels with GRAPHCRED_REDIS_SENTINEL_MASTER',
      },
    );
  const rights = canWrite ? 'may write tokens, and mint' : 'may read tokens, and not mint';
  const cause = `redis, ${pluralize(tokens, 'token')}; ${rights}; key ${keyId}, the same on all machines that share tokens`;
  return encrypted || local
    ? ok(cause)
    : warn(cause, 'use rediss://, since others on the network can see and change what is sent');
}

async function checkProvider({ run }: Facts): Promise<Check> {
  const oidc = oidcOf(run);
  if (!oidc) return skipped('none is set');
  const { withProvider } = await import('../auth/oidc/provider.js');
  await withProvider(run, oidc, async () => {});
  return ok(`${oidc.issuer} answers`);
}

async function checkLoginPort({ run }: Facts): Promise<Check> {
  const oidc = oidcOf(run);
  if (!oidc || oidc.isJob) return skipped('a job needs no browser');
  const { awaitCallback } = await import('./login/callback.js');
  await (await awaitCallback(oidc.port, '', 1000)).close();
  return ok(`a browser can come back to ${oidc.port === 0 ? 'any port' : `port ${oidc.port}`}`);
}

/** Names the claims that the database compares, with what its operator would type. */
async function checkIdentity({ jwt }: Facts): Promise<Check> {
  const token = await jwt().catch(() => undefined);
  const claims = token && readClaims(token.token);
  if (!claims) return skipped('no JWT is at hand', { command: 'token get' });
  const {
    iss = '',
    aud: [audience],
  } = claims;
  const settings = { Issuer: iss, ...(audience !== undefined && { Audience: audience }) };
  const lines = Object.entries(settings).map(
    ([name, value]) => `gadmin config set Security.JWT.${name} ${shellWord(value)}`,
  );
  return ok(`the database needs the user ${claims.sub}, and where it compares more: ${lines.join('; ')}`);
}
