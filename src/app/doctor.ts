import { findCredential, isJwtSet } from '../auth/choose.js';
import { connect } from '../auth/connect.js';
import { type Oidc, oidcOf } from '../auth/oidc/settings.js';
import { isSecureUrl } from '../core/endpoints.js';
import { type ErrorCode, expected, type Fix, GraphException, whyFailed } from '../core/errors.js';
import { readClaims } from '../core/protocol/reply.js';
import { accessOf, keepOthersOut } from '../files/access.js';
import { shellWord } from '../files/shell-word.js';
import { once } from '../run/once.js';
import { isAway, readTls } from '../run/open-connection.js';
import { graphOf, type Run } from '../run/run.js';
import { findVersion } from '../run/server.js';
import type { ServerReport } from '../store/redis/inspect.js';
import { STORES } from '../store/store.js';
import { pluralize } from './format.js';
import { tryStore } from './secrets/saved-secrets.js';
import { getToken } from './tokens/get-token.js';

export interface Check {
  readonly verdict: 'ok' | 'warn' | 'fail' | 'skipped';
  /** What was found. Never a credential, never the content of a file. */
  readonly cause: string;
  /** What to do about it; empty when nothing is to be done. */
  readonly fix: readonly Fix[];
  /** The error code of a failure, which decides the exit status. */
  readonly code?: ErrorCode;
}

const ok = (cause: string): Check => ({ verdict: 'ok', cause, fix: [] });
const warn = (cause: string, ...fix: Fix[]): Check => ({ verdict: 'warn', cause, fix });
const skipped = (cause: string, ...fix: Fix[]): Check => ({ verdict: 'skipped', cause, fix });

export function failed(error: unknown): Check {
  const { code, message: cause, fix } = expected(error);
  // A hint to run doctor is left out, because this is doctor.
  const isOwn = (part: Fix) => typeof part === 'object' && 'command' in part && part.command === 'doctor';
  return { verdict: 'fail', cause, code, fix: fix.filter((part) => !isOwn(part)) };
}

/** A smaller clock difference is normal. */
const SKEW_SECONDS = 30;

interface Row {
  readonly id: string;
  /** The check is skipped when this one has failed, or was skipped for that reason. */
  readonly needs?: string;
  /** Whether there is something to check; always where that is not said. */
  readonly isFor?: (run: Run) => boolean;
  /** An error that it throws is a failure. */
  readonly check: (facts: Facts) => Promise<Check>;
}

const hasProvider = (run: Run) => run.settings.all['oidc.issuer'].length > 0;
const hasJwt = (run: Run) => hasProvider(run) || isJwtSet(run);

const CHECKS: readonly Row[] = [
  { id: 'config', check: checkConfig },
  { id: 'tls', check: checkTls },
  { id: 'service-port', needs: 'tls', check: checkServicePort },
  { id: 'version', needs: 'service-port', check: checkVersion },
  { id: 'rest-auth', needs: 'version', check: checkRestAuth },
  { id: 'credential', needs: 'version', check: checkCredential },
  { id: 'clock', needs: 'version', check: checkClocks },
  { id: 'store', check: checkStore },
  { id: 'provider', isFor: hasProvider, check: checkProvider },
  { id: 'login-port', isFor: hasProvider, needs: 'provider', check: checkLoginPort },
  { id: 'identity', isFor: hasJwt, needs: 'version', check: checkIdentity },
];

export async function examine(run: Run): Promise<readonly (Check & { readonly id: string })[]> {
  const facts = gatherFacts(run);
  const useless = new Set<string>();
  const found: (Check & { id: string })[] = [];
  for (const { id, needs = '', isFor, check } of CHECKS) {
    if (isFor && !isFor(run)) continue;
    const isUseless = useless.has(needs);
    const result = isUseless
      ? skipped('an earlier check has to pass first')
      : await check(facts).catch(failed);
    if (isUseless || result.verdict === 'fail') useless.add(id);
    found.push({ id, ...result });
  }
  return found;
}

type Facts = ReturnType<typeof gatherFacts>;

/** Returns what several checks look at; each thing is asked for once. */
function gatherFacts(run: Run) {
  const server = once(async () => {
    await findVersion(run, true);
    const connected = await connect(run, undefined);
    return { ...connected, timeUnix: await connected.connection.ping() };
  });
  const credential = once(() => findCredential(run, 'mint'));
  // A JWT is checked before it is sent, and that of a program or a provider is cached.
  const jwt = once(() => getToken(run));
  /** Sends the only request that carries the credential. */
  const login = once(async () => {
    const found = await credential();
    const read = found.kind === 'jwt' ? async () => (await jwt()).token : found.read;
    await (await connect(run, { ...found, read })).connection.listSecrets();
  });
  return { run, server, credential, jwt, login, engine: once(() => run.stores.inspectShared()) };
}

async function checkConfig({ run: { settings, untrusted } }: Facts): Promise<Check> {
  const { file, profile } = settings;
  if (untrusted) {
    const cause = `${untrusted} is not trusted, so other commands refuse to run here`;
    const trust = { command: `config trust ${shellWord(untrusted)}` };
    throw new GraphException('CONFIG_UNTRUSTED', cause, {
      hint: ['read the file; to trust it', trust, 'to ignore it: --config none'],
    });
  }
  if (!file) return ok('no config file; flags, variables and defaults are used');
  const cause = `${file.path}, profile "${profile.name}"`;
  if (accessOf(file.path, file.stat.mode) === 'write')
    return warn(`${cause}; other users can change it`, keepOthersOut(file.path));
  if (!file.showsCredential) return ok(cause);
  return warn(`${cause}; other users can read the credential in it`, keepOthersOut(file.path));
}

async function checkTls({ run, server }: Facts): Promise<Check> {
  const { gsqlUrl, restUrl = gsqlUrl } = run.target;
  await readTls(run);
  if (![gsqlUrl, restUrl].every(isSecureUrl))
    return warn('http: others on the network can read credentials', 'use https if the server offers it');
  if (gsqlUrl.startsWith('http:')) return skipped('http, on this machine only');
  const refused = await whyFailed(server());
  if (refused?.code === 'TLS') throw refused;
  if (run.settings.insecure)
    return warn(
      'certificates are not checked',
      'give the CA certificate with --ca FILE instead of --insecure',
    );
  return isAway(refused) ? skipped('no answer came') : ok('the certificate is trusted');
}

async function checkServicePort({ run, server }: Facts): Promise<Check> {
  const refused = await whyFailed(server());
  if (isAway(refused)) throw refused;
  return ok(`${new URL(run.target.gsqlUrl).origin} answers`);
}

async function checkVersion({ run, server }: Facts): Promise<Check> {
  const { version } = (await server()).version;
  const isAsked = run.settings.serverVersion === 'auto';
  return isAsked ? ok(version) : skipped(`${version} is set, so the server was not asked`);
}

async function checkRestAuth({ server }: Facts): Promise<Check> {
  const state = await (await server()).connection.restAuthentication();
  if (state === 'on') return ok('on');
  if (state === 'unknown')
    return warn(
      'the REST server does not say whether it is on',
      'check the address of the REST server, which ends with /restpp on 4.x: --rest-url',
    );
  throw new GraphException('REST_AUTH_DISABLED', 'off: the server gives out no tokens, and wants none', {
    hint: 'turn it on: gadmin config set RESTPP.Factory.EnableAuth true; gadmin config apply -y; gadmin restart restpp nginx gui gsql -y',
  });
}

/** Tries the credential that the next token would be minted with. */
async function checkCredential({ run, server, credential, login }: Facts): Promise<Check> {
  const { version } = await server();
  let isGiven = false;
  try {
    const { kind, label, username, level } = await credential();
    isGiven = level !== 'prompt';
    const graph = version.secretsNeedGraph ? graphOf(run) : undefined;
    const lacksGraph = version.secretsNeedGraph && graph === undefined && isGiven;
    if (kind === 'secret' && (lacksGraph || !version.secretLogsIn))
      return skipped(`not tried: the secret (${label}) gets tokens here, but no login`, {
        command: 'token get',
      });
    if (kind === 'jwt' && !version.jwtLogsIn)
      return skipped(`not tried: only the REST server takes the JWT (${label})`, { command: 'token check' });
    if (lacksGraph)
      return warn(
        'no graph is named, and a login at 3.x needs one',
        'give --graph NAME, or graph in the profile',
      );
    await login();
    const name = { password: `the password of "${username}"`, jwt: 'the JWT', secret: 'the secret' }[kind];
    return ok(`${name} is accepted${graph === undefined ? '' : ` for graph "${graph}"`} (${label})`);
  } catch (error) {
    const { code, message, fix } = expected(error);
    if (code.startsWith('STORE_')) return skipped('the store that may hold a credential cannot be read');
    if (code === 'INPUT_REQUIRED' && !isGiven) return warn(`no login could be tried: ${message}`, ...fix);
    throw error;
  }
}

async function checkClocks({ run, server, engine, jwt }: Facts): Promise<Check> {
  const now = run.ports.now();
  const shared = run.stores.areShared ? await engine().catch(() => undefined) : undefined;
  const token = hasProvider(run) ? await jwt().catch(() => undefined) : undefined;
  const clocks = [
    ['server', (await server()).timeUnix, now],
    ['Redis server', shared?.timeUnix, now],
    ['provider', token?.life.requestedAtMs && readClaims(token.token)?.iat, token?.life.requestedAtMs ?? now],
  ] as const;
  const told = clocks.flatMap(([name, theirs, oursMs]) =>
    theirs === undefined ? [] : { name, ahead: Math.round(theirs - oursMs / 1000) },
  );
  const wrong = told.filter(({ ahead }) => Math.abs(ahead) > SKEW_SECONDS);
  if (wrong.length === 0)
    return told.length > 0 ? ok('the clocks agree') : skipped('the server does not report its time');
  const each = wrong.map(
    ({ name, ahead }) => `the ${name}'s clock is ${Math.abs(ahead)} s ${ahead > 0 ? 'ahead' : 'behind'}`,
  );
  return warn(each.join('; '), 'synchronize all clocks with NTP');
}

async function checkStore({ run, engine }: Facts): Promise<Check> {
  const choices: readonly Fix[] = run.ports.inCi
    ? ['to let calls share a token, set GRAPHCRED_STORE=file']
    : ['choose another', { command: 'login --store keychain' }, ', or --store file'];
  if (run.stores.areShared) return judgeEngine(await engine());
  const store = await run.stores.chosen();
  if (!STORES[store.name].keeps.tokens)
    return warn('none: nothing is kept, every call gets a new token', ...choices);
  await tryStore(run, store);
  const { length } = await store.list();
  return ok(`${store.name}, ${length} ${length === 1 ? 'entry' : 'entries'}`);
}

function judgeEngine({ encrypted, local, role, canWrite, keyId, tokens }: ServerReport): Check {
  if (role === 'slave') {
    const why = 'redis: this is a replica and takes no writes, so this machine gets its own tokens';
    const hint =
      'set GRAPHCRED_REDIS_URL to the master; or to the Sentinels, and GRAPHCRED_REDIS_SENTINEL_MASTER too';
    throw new GraphException('STORE_UNAVAILABLE', why, { hint });
  }
  const rights = canWrite
    ? 'this machine can get tokens and share them'
    : 'this machine can only read tokens';
  const way = encrypted ? 'encrypted' : 'not encrypted';
  const cause = `redis${role === 'master' ? ' master' : ''}, ${way}; ${pluralize(tokens, 'token')}; ${rights}; key ${keyId}, which must be the same on all machines`;
  return encrypted || local
    ? ok(cause)
    : warn(cause, 'use rediss://, since others on the network can see and change what is sent');
}

async function checkProvider({ run }: Facts): Promise<Check> {
  const oidc = oidcOf(run) as Oidc;
  const { withProvider } = await import('../auth/oidc/provider.js');
  await withProvider(run, oidc, async () => {});
  return ok(`${oidc.issuer} answers`);
}

async function checkLoginPort({ run }: Facts): Promise<Check> {
  const { isJob, port } = oidcOf(run) as Oidc;
  if (isJob) return skipped('a job needs no browser');
  const { awaitCallback } = await import('./login/callback.js');
  await (await awaitCallback(port, '', 1000)).close();
  return ok(`a browser can return to ${port === 0 ? 'any port' : `port ${port}`}`);
}

/** Names the claims that the database compares, with what its operator would type. */
async function checkIdentity({ jwt }: Facts): Promise<Check> {
  const token = await jwt().catch(() => undefined);
  const claims = token && readClaims(token.token);
  if (!claims) return skipped('there is no JWT to check', { command: 'token get' });
  const { sub, iss, aud } = claims;
  const compared = Object.entries({ Issuer: iss, Audience: aud[0] });
  const lines = compared.flatMap(([name, value]) =>
    value ? `gadmin config set Security.JWT.${name} ${shellWord(value)}` : [],
  );
  const checks = lines.length > 0 ? `; if it also checks issuer or audience: ${lines.join('; ')}` : '';
  return ok(`the database needs the user "${sub}"${checks}`);
}
