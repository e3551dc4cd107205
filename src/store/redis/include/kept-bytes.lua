-- What a tenant's questions hold, in bytes. `bytes`: a hash, by part (a question, or its answer), with the sum under the empty name.
-- `ends`: a sorted set of the parts, by when they expire, ms. The parts leave the account as they leave Redis.
local function forget_kept(bytes, ends, part)
  local held = redis.call('HGET', bytes, part)
  redis.call('HDEL', bytes, part)
  redis.call('ZREM', ends, part)
  if held and redis.call('HINCRBY', bytes, '', -tonumber(held)) <= 0 then redis.call('HDEL', bytes, '') end
end
-- The sum, once what has expired by now has left it; of more than twenty thousand parts at a time the rest is counted once more.
local function kept_sum(bytes, ends, now)
  for _, part in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, 20000)) do forget_kept(bytes, ends, part) end
  return tonumber(redis.call('HGET', bytes, '') or '0')
end
-- Each part ends within this, in ms: of a tenant that asks no more the whole account goes.
local KEPT_MS = 172800000
-- Adds to a part. `at`: when it expires, ms.
local function add_kept(bytes, ends, part, size, at)
  redis.call('HINCRBY', bytes, part, size)
  redis.call('HINCRBY', bytes, '', size)
  redis.call('ZADD', ends, at, part)
  for _, key in ipairs({ bytes, ends }) do redis.call('PEXPIRE', key, KEPT_MS) end
end
local function expire_kept(bytes, ends, part, at)
  if redis.call('HEXISTS', bytes, part) == 1 then redis.call('ZADD', ends, at, part) end
end
