import { refuseValue } from '../config/errors.js';
import { isInFile, variableIn } from '../config/keys.js';
import { settingText } from '../config/settings.js';
import { GraphException } from '../core/errors.js';
import { Sensitive } from '../core/sensitive.js';
import { parseRedisUrl, type RedisOptions } from '../store/redis/url.js';
import type { BareRun } from './ports.js';
import { fromFile, readPem } from './read.js';

const SENTINEL_PORT = 26379;

const URL_FORMS = 'write redis://HOST:6379, rediss://HOST:6379 (TLS) or redis://A:26379,B:26379 (Sentinels)';

export async function redisOptions(run: BareRun): Promise<RedisOptions | undefined> {
  const { settings, ports } = run;
  const text = settingText(settings, 'redis.url');
  if (text === undefined) return undefined;
  const sentinelMaster = settingText(settings, 'redis.sentinelMaster');
  const url =
    parseRedisUrl(text, sentinelMaster === undefined ? undefined : SENTINEL_PORT) ??
    refuseValue(settings, 'redis.url', 'is not a Redis URL', URL_FORMS);
  return {
    ...url,
    username: settingText(settings, 'redis.username') ?? url.username,
    password: (await readPassword(run)) ?? url.password,
    ca: await readPem(run, 'redis.ca'),
    sentinelMaster,
    // The URL names the Sentinels then, so its password is theirs too.
    sentinelLogin: url,
    deadline: run.time.redisDeadline,
    now: ports.now,
  };
}

async function readPassword(run: BareRun): Promise<Sensitive | undefined> {
  const { settings, ports } = run;
  const value = variableIn(ports.env, 'GRAPHCRED_REDIS_PASSWORD', false);
  if (value) return new Sensitive(value);
  const [set] = settings.all['redis.passwordFile'];
  if (set === undefined) return undefined;
  // A password of the config file is for the Redis server that the file names, if it names one.
  const urls = settings.all['redis.url'];
  const ofFile = urls.filter(({ level }) => isInFile(level) && isInFile(set.level));
  const own = ofFile.find(({ level }) => level === set.level) ?? ofFile[0];
  if (own && own.value !== urls[0]?.value)
    throw new GraphException(
      'HOST_MISMATCH',
      `redis.passwordFile of ${settings.file?.path} belongs to the Redis server of that file; it is not sent to the one in ${urls[0]?.source}.`,
      { hint: 'give the password for this server: GRAPHCRED_REDIS_PASSWORD_FILE' },
    );
  return fromFile(run, set);
}
