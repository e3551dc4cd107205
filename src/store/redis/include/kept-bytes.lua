-- What a tenant's questions hold, in bytes. `bytes`: a hash, by part (a question, or its answer), with the sum under the empty name.
-- `ends`: a sorted set of those parts that expire by themselves, by when, ms. The parts leave the account as they leave Redis.
local function forget_kept(bytes, ends, part)
  local held = redis.call('HGET', bytes, part)
  redis.call('HDEL', bytes, part)
  redis.call('ZREM', ends, part)
  if held and redis.call('HINCRBY', bytes, '', -tonumber(held)) <= 0 then redis.call('HDEL', bytes, '') end
end
-- The sum, once what has expired by now has left it; of more than a thousand parts at a time the rest is counted once more.
local function kept_sum(bytes, ends, now)
  for _, part in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, 1000)) do forget_kept(bytes, ends, part) end
  return tonumber(redis.call('HGET', bytes, '') or '0')
end
-- Adds to a part. `at`: when it expires, ms; empty if it does not by itself.
local function add_kept(bytes, ends, part, size, at)
  redis.call('HINCRBY', bytes, part, size)
  redis.call('HINCRBY', bytes, '', size)
  if at ~= '' then redis.call('ZADD', ends, at, part) end
end
local function expire_kept(bytes, ends, part, at)
  if redis.call('HEXISTS', bytes, part) == 1 then redis.call('ZADD', ends, at, part) end
end
