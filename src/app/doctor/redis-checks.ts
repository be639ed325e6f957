import type { Call } from '../../auth/call.js';
import { inspectSharedStore } from '../../auth/stores.js';
import { GraphException } from '../../core/errors.js';
import type { ServerReport } from '../../store/open.js';
import { type Check, type Found, fail, failed, judgeClock, ok, skipped, warn } from './check.js';

/** Checks the Redis server through which machines share tokens. Writes a test entry there and removes it. */
export async function lookAtSharedStore(call: Call, found: Found): Promise<void> {
  let report: ServerReport;
  try {
    report = await inspectSharedStore(call);
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    const id =
      error.setting === 'storeKey' ? 'store-key' : error.setting === 'redis.ca' ? 'store-tls' : undefined;
    if (id) found[id] = failed(error);
    else if (
      error.serverCode === 'NOPERM' ||
      error.serverCode === 'NOAUTH' ||
      error.serverCode === 'WRONGPASS'
    )
      found['store-rights'] = failed(error);
    return;
  }
  found['store-tls'] = judgeEncryption(report);
  found['store-rights'] =
    report.role === 'replica'
      ? skipped('a replica takes no writes')
      : ok(report.rights === 'write' ? 'it may write tokens, and mint' : 'it may read tokens, and not mint');
  found['store-role'] = judgeRole(report.role);
  found['store-clock'] =
    report.timeUnix === undefined
      ? skipped('this Redis user may not ask for it')
      : judgeClock(report.timeUnix, call.ports.now(), 'Redis server');
  found['store-key'] = judgeKey(report);
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
  return ok(`${key}; ${tokens} ${tokens === 1 ? 'token' : 'tokens'}`);
}
