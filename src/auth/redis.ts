import { isInFile, labelOf } from '../config/keys.js';
import { settingText, valueOfVariable } from '../config/settings.js';
import { orRefuse } from '../config/target.js';
import { GraphException } from '../core/errors.js';
import { Sensitive } from '../core/sensitive.js';
import { Deadline } from '../core/time.js';
import { parseRedisUrl } from '../store/redis/url.js';
import type { RedisOptions } from '../store/store.js';
import { type Call, type LocalCall, pathOf } from './call.js';
import { fromFile, readPem } from './read.js';

/**
 * Returns how to reach the Redis server; undefined when no setting names one.
 * @param timeoutMs longest wait for the server, and for a pipe that holds the password or the certificate
 */
export async function redisOptions(
  call: LocalCall,
  timeoutMs: number,
  learned: Call['learned'] = {},
): Promise<RedisOptions | undefined> {
  const { settings, ports } = call;
  const text = settingText(settings, 'redis.url');
  if (text === undefined) return undefined;
  const sentinelMaster = settingText(settings, 'redis.sentinelMaster');
  learned.redisDeadline ??= new Deadline(timeoutMs);
  const url = orRefuse(settings, () => parseRedisUrl(text, { sentinel: sentinelMaster !== undefined }));
  return {
    ...url,
    username: settingText(settings, 'redis.username') ?? url.username,
    password: (await readPassword(call, timeoutMs)) ?? url.password,
    ca: await readPem(call, 'redis.ca', timeoutMs),
    sentinelMaster,
    // The URL names the Sentinels then, so its password is theirs too.
    sentinelLogin: url,
    deadline: learned.redisDeadline,
    now: ports.now,
  };
}

async function readPassword(call: LocalCall, timeoutMs: number): Promise<Sensitive | undefined> {
  const { GRAPHCRED_REDIS_PASSWORD } = call.ports.env;
  const value = valueOfVariable('GRAPHCRED_REDIS_PASSWORD', GRAPHCRED_REDIS_PASSWORD, false);
  if (value) return new Sensitive(value);
  const [set] = call.settings.all['redis.passwordFile'];
  if (set === undefined) return undefined;
  if (isInFile(set.level)) requireUrlOfFile(call);
  return fromFile(pathOf(call, set), labelOf('redis.passwordFile', set), timeoutMs, call.ports.reporter.warn);
}

/** Checks that a password of the config file is used only for the Redis server that the file names, if it names one. */
function requireUrlOfFile({ settings }: LocalCall): void {
  const set = settings.all['redis.url'];
  const own = set.find(({ level }) => isInFile(level));
  if (own === undefined || own.value === set[0]?.value) return;
  throw new GraphException(
    'HOST_MISMATCH',
    `redis.passwordFile of ${settings.file?.path} belongs to the Redis server of that file; it is not sent to the one in ${set[0]?.source}.`,
    { hint: 'give the password for this server: GRAPHCRED_REDIS_PASSWORD_FILE' },
  );
}
