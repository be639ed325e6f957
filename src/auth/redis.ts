import { refuseValue } from '../config/errors.js';
import { isInFile, labelOf, valueOfVariable } from '../config/keys.js';
import { settingText } from '../config/settings.js';
import { GraphException } from '../core/errors.js';
import { Sensitive } from '../core/sensitive.js';
import { parseRedisUrl, type RedisOptions } from '../store/redis/url.js';
import { fromFile, readPem } from './read.js';
import { type LocalRun, pathOf } from './run.js';

/** Where Sentinels listen, unless the URL says so. */
const SENTINEL_PORT = 26379;

const URL_FORMS =
  'write redis://HOST:6379, rediss://HOST:6379 (TLS), redis://A:26379,B:26379 or unix:///PATH';

type WithoutStores = Omit<LocalRun, 'stores'>;

/** Returns how to reach the Redis server; undefined when no setting names one. */
export async function redisOptions(run: WithoutStores): Promise<RedisOptions | undefined> {
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

async function readPassword(run: WithoutStores): Promise<Sensitive | undefined> {
  const { GRAPHCRED_REDIS_PASSWORD } = run.ports.env;
  const value = valueOfVariable('GRAPHCRED_REDIS_PASSWORD', GRAPHCRED_REDIS_PASSWORD, false);
  if (value) return new Sensitive(value);
  const [set] = run.settings.all['redis.passwordFile'];
  if (set === undefined) return undefined;
  if (isInFile(set.level)) requireUrlOfFile(run);
  return fromFile(
    pathOf(run, set),
    labelOf('redis.passwordFile', set),
    run.time.limitMs,
    run.ports.reporter.warn,
  );
}

/** Checks that a password of the config file is used only for the Redis server that the file names, if it names one. */
function requireUrlOfFile({ settings }: WithoutStores): void {
  const set = settings.all['redis.url'];
  const own = set.find(({ level }) => isInFile(level));
  if (own === undefined || own.value === set[0]?.value) return;
  throw new GraphException(
    'HOST_MISMATCH',
    `redis.passwordFile of ${settings.file?.path} belongs to the Redis server of that file; it is not sent to the one in ${set[0]?.source}.`,
    { hint: 'give the password for this server: GRAPHCRED_REDIS_PASSWORD_FILE' },
  );
}
