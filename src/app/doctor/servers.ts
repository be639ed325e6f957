import { connect } from '../../auth/connect.js';
import { sourcesInSettings } from '../../auth/credential.js';
import { isSecureUrl } from '../../core/endpoints.js';
import { expected, GraphException } from '../../core/errors.js';
import { readClaims } from '../../core/protocol/reply.js';
import { graphOf } from '../../run/run.js';
import { type Check, type Facts, hasProvider, ok, skipped, warn } from './check.js';

export async function checkServer({ run, server }: Facts): Promise<Check> {
  const { version } = (await server()).version;
  const isAsked = run.settings.serverVersion === 'auto';
  const origin = new URL(run.target.gsqlUrl).origin;
  return ok(`${origin} answers; its version ${isAsked ? 'is' : 'is set to'} ${version}`);
}

/** The server has answered, so its certificate is trusted, or not looked at. */
export async function checkTls({ run: { target, settings } }: Facts): Promise<Check> {
  const { gsqlUrl, restUrl = gsqlUrl } = target;
  if (![gsqlUrl, restUrl].every(isSecureUrl))
    return warn('http: others on the network can read credentials', 'use https if the server offers it');
  if (gsqlUrl.startsWith('http:')) return skipped('plain http, but the server is on this machine');
  if (!settings.insecure) return ok('the certificate is trusted');
  const giveCa = 'give the CA certificate with --ca FILE, and do not turn the check off (tls.insecure)';
  return warn('certificates are not checked', giveCa);
}

export async function checkRestAuth({ server }: Facts): Promise<Check> {
  const state = await (await server()).connection.restAuthentication();
  if (state === 'on') return ok('on');
  if (state === 'unknown')
    return warn(
      'the REST server does not say whether REST authentication is on',
      'check the address of the REST server, which ends with /restpp on 4.x: --rest-url',
    );
  throw new GraphException('REST_AUTH_DISABLED', 'off: the server gives out no tokens, and wants none', {
    hint: 'turn it on: gadmin config set RESTPP.Factory.EnableAuth true; gadmin config apply -y; gadmin restart restpp nginx gui gsql -y',
  });
}

/** Tries the credential that the next token would be minted with, in the only request that carries one. */
export async function checkCredential({ run, server, credential, jwt }: Facts): Promise<Check> {
  const { version } = await server();
  const graph = version.secretsNeedGraph ? graphOf(run) : undefined;
  const lacksGraph = version.secretsNeedGraph && graph === undefined;
  try {
    const found = await credential();
    const { kind, label, username, level } = found;
    if (kind === 'secret' && (lacksGraph || !version.secretLogsIn))
      return skipped(`not tried: to log in, the secret (${label}) needs 3.6.2 or later, and a graph`, {
        command: 'token get',
      });
    if (kind === 'jwt' && !version.jwtLogsIn)
      return skipped(`not tried: only the REST server takes the JWT (${label})`, { command: 'token check' });
    if (lacksGraph && level !== 'prompt')
      return warn(
        'no graph is named, and a login at 3.x needs one',
        'give --graph NAME, or graph in the profile',
      );
    const value = (await jwt())?.token ?? (await found.read());
    const { connection } = await connect(run, { ...found, read: async () => value });
    await connection.listSecrets();
    const name = { password: `the password of "${username}"`, jwt: 'the JWT', secret: 'the secret' }[kind];
    return ok(`${name} is accepted${graph === undefined ? '' : ` for graph "${graph}"`} (${label})`);
  } catch (error) {
    const { code, message, fix } = expected(error);
    const isMissing = code === 'INPUT_REQUIRED' && sourcesInSettings(run).length === 0;
    if (isMissing) return warn(`no login could be tried: ${message}`, ...fix);
    throw error;
  }
}

/** A smaller clock difference is normal. */
const SKEW_SECONDS = 30;

export async function checkClocks({ run, server, engine, jwt, secondsAhead }: Facts): Promise<Check> {
  const shared = run.stores.areShared ? await engine().catch(() => undefined) : undefined;
  const token = hasProvider(run) ? await jwt().catch(() => undefined) : undefined;
  const askedAtMs = token?.life.requestedAtMs;
  const clocks = {
    server: (await server()).ahead,
    'Redis server': secondsAhead(shared?.timeUnix),
    provider: askedAtMs && secondsAhead(readClaims(token.token)?.iat, askedAtMs),
  };
  const wrong = Object.entries(clocks).flatMap(([name, ahead = 0]) => {
    const difference = `${Math.abs(ahead)} s ${ahead > 0 ? 'ahead' : 'behind'}`;
    return Math.abs(ahead) > SKEW_SECONDS ? `the ${name}'s clock is ${difference}` : [];
  });
  if (wrong.length > 0) return warn(wrong.join('; '), 'synchronize all clocks with NTP');
  const isTold = Object.values(clocks).some((ahead) => ahead !== undefined);
  return isTold ? ok('the clocks agree') : skipped('the server does not report its time');
}
