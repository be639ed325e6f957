import { portOf } from '../core/endpoints.js';
import type { MintedToken } from '../core/options.js';
import type { ServerVersion } from '../core/protocol/types.js';
import { jitterLifetime } from '../core/tokens.js';
import { readSettings, type Settings } from './inputs.js';
import { appendTo, log, mask, maskCredentials, type Runner, requireFiles } from './runner.js';

/** Runs the main step: mints a token, masks it, and passes it on to the post step and to the steps of the job. */
export async function mint(
  runner: Runner,
  limits: { timeoutMs: number; signal: AbortSignal },
): Promise<void> {
  maskCredentials(runner);
  const settings = readSettings(runner, limits);
  requireFiles(
    runner,
    settings.exportVariables
      ? ['GITHUB_STATE', 'GITHUB_OUTPUT', 'GITHUB_ENV']
      : ['GITHUB_STATE', 'GITHUB_OUTPUT'],
  );
  const { connection, graph, gsqlUrl } = settings;
  const version = await connection.findVersion();
  const { restUrl } = await connection.baseUrls();
  const minted = await mintToken(settings, version);
  mask(runner, minted.token);
  const expiresAt = new Date(minted.expiresAtUnix * 1000).toISOString().replace(/\.\d+Z$/, 'Z');
  // The post step's values are saved first: from here on it can revoke the token, whatever happens to this process.
  if (settings.revoke)
    appendTo(runner, 'GITHUB_STATE', {
      token: minted.token,
      'expires-at': expiresAt,
      'rest-url': restUrl,
      'gsql-url': gsqlUrl,
    });
  appendTo(runner, 'GITHUB_OUTPUT', { token: minted.token, 'expires-at': expiresAt });
  if (settings.exportVariables) {
    const [rest, gsql] = [new URL(restUrl), new URL(gsqlUrl)];
    appendTo(runner, 'GITHUB_ENV', {
      TG_API_TOKEN: minted.token,
      TG_HOST: `${rest.protocol}//${rest.hostname}`,
      TG_GRAPHNAME: graph === '' ? undefined : graph,
      TG_RESTPP_PORT: portOf(restUrl),
      // With the servers on two hosts no single TG_HOST is right for both: this one is the REST server's, which takes the token.
      TG_GS_PORT:
        rest.protocol === gsql.protocol && rest.hostname === gsql.hostname ? portOf(gsqlUrl) : undefined,
    });
  }
  const end = settings.revoke ? 'it is revoked at the end of the job' : 'it is not revoked';
  if (version.mintByPasswordCreatesSecret && settings.secret === undefined)
    log(
      runner,
      'warning',
      'graphcred: with a password, a 4.x server makes a secret of its own for each token (AUTO_GENERATED_ALIAS_…). To avoid that, set the input secret.',
    );
  log(runner, 'notice', `graphcred: a token for ${gsqlUrl} until ${expiresAt}; ${end}`);
}

/** A token that is revoked must not be that of another job of a matrix too. */
function mintToken(
  { connection, secret, lifetime, revoke }: Settings,
  { sameTokenWithinOneSecond }: ServerVersion,
): Promise<MintedToken> {
  const isUnique = revoke && sameTokenWithinOneSecond;
  return connection.mintToken({ secret, lifetime: isUnique ? jitterLifetime(lifetime) : lifetime });
}
