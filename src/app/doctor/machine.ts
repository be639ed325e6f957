import { type Oidc, oidcOf } from '../../auth/oidc/settings.js';
import { GraphException } from '../../core/errors.js';
import { readClaims } from '../../core/protocol/reply.js';
import { accessOf, keepOthersOut } from '../../files/access.js';
import { shellWord } from '../../files/shell-word.js';
import type { ServerReport } from '../../store/redis/inspect.js';
import { STORES } from '../../store/store.js';
import { pluralize } from '../format.js';
import { tryStore } from '../secrets/save-credential.js';
import { type Check, type Facts, ok, skipped, warn } from './check.js';

export async function checkConfig({ run: { settings, untrusted } }: Facts): Promise<Check> {
  const { file, profile } = settings;
  if (untrusted) throw untrusted;
  if (!file) return ok('no config file; flags, variables and defaults are used');
  const cause = `${file.path}, profile "${profile.name}"`;
  const canWrite = accessOf(file.path, file.stat.mode) === 'write';
  const others = canWrite ? 'change it' : file.showsCredential && 'read the credential in it';
  return others ? warn(`${cause}; other users can ${others}`, keepOthersOut(file.path)) : ok(cause);
}

export async function checkStore({ run, engine }: Facts): Promise<Check> {
  if (run.stores.areShared) return judgeEngine(await engine());
  const store = await run.stores.chosen();
  if (!STORES[store.name].keeps.tokens)
    return warn(
      'none: nothing is kept, every call gets a new token',
      'to share a token between calls, set GRAPHCRED_STORE to file, or on a desktop to keychain; or for good',
      { command: 'login --store file' },
    );
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
  const held = `${pluralize(tokens, 'token')}, which this machine ${canWrite ? 'reads and writes' : 'only reads'}`;
  const key = `the store key, which must be the same on all machines, has the ID ${keyId}`;
  const cause = `redis${role === 'master' ? ' master' : ''}; ${held}; ${key}; ${encrypted ? 'with' : 'without'} TLS`;
  return encrypted || local
    ? ok(cause)
    : warn(cause, 'use rediss://, since others on the network can see and change what is sent');
}

export async function checkProvider({ run }: Facts): Promise<Check> {
  const oidc = oidcOf(run) as Oidc;
  const { withProvider } = await import('../../auth/oidc/provider.js');
  await withProvider(run, oidc, async () => {});
  return ok(`${oidc.issuer} answers`);
}

export async function checkLoginPort({ run }: Facts): Promise<Check> {
  const { isJob, port } = oidcOf(run) as Oidc;
  if (isJob) return skipped('a job needs no browser');
  const { awaitCallback } = await import('../../auth/oidc/callback.js');
  await (await awaitCallback(port, '', 1000)).close();
  return ok(`a browser can return to ${port === 0 ? 'any port' : `port ${port}`}`);
}

/** Names the claims that the database compares, with what its operator would type. */
export async function checkIdentity({ jwt }: Facts): Promise<Check> {
  const token = await jwt().catch(() => undefined);
  const claims = token && readClaims(token.token);
  if (!claims) return skipped('there is no JWT to check', { command: 'token get' });
  const { sub, iss, aud } = claims;
  const compared = Object.entries({ Issuer: iss, Audience: aud[0] });
  const lines = compared.flatMap(([name, value]) =>
    value ? `gadmin config set Security.JWT.${name} ${shellWord(value)}` : [],
  );
  const checks = lines.length > 0 ? `; if it checks issuer or audience: ${lines.join('; ')}` : '';
  return ok(`the user "${sub}" must exist in the database${checks}`);
}
