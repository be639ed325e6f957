// These steps must be atomic, so they are Lua scripts for EVAL. Each uses only the keys of one token, and none loops.

/**
 * Takes the lock if it is free, or extends it if this process has it, also when it was lost since. Returns its number, or
 * 0. A counter that was lost goes on with the time, which is ahead of whatever it counted to.
 */
export const TAKE = `
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local counted = tonumber(redis.call('GET', KEYS[2]) or 0)
if holder then return counted end
local time = redis.call('TIME')
local generation = math.max(counted + 1, time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('SET', KEYS[2], string.format('%.0f', generation), 'PX', ARGV[3])
return generation`;

/** Deletes a lock if this process has it. */
export const FREE = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;

/** Stores and indexes a token, as the newest of its identity unless its lock was lost and there is one already. */
export const PUBLISH = `
redis.call('SET', KEYS[4], ARGV[5], 'PX', ARGV[2])
local now = tonumber(redis.call('TIME')[1])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
redis.call('ZADD', KEYS[3], now + math.ceil(ARGV[2] / 1000), ARGV[3])
if redis.call('PTTL', KEYS[3]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[3], ARGV[2]) end
if ARGV[1] ~= '' and redis.call('GET', KEYS[1]) ~= ARGV[1] and redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
redis.call('SET', KEYS[2], ARGV[4], 'PX', ARGV[2])
return 1`;
