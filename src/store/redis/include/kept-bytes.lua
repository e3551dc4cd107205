-- What a tenant holds, in bytes: a hash (kept/bytes:TENANT) by part, with the sum under the empty name, and a sorted set
-- (kept/ends:TENANT) of the parts that expire, by when, ms. A part is a thread or a question (its member), an answer or a delivery.
-- kept/tenants has all tenants by their sums. The parts leave the account as they leave Redis.
local function account_of(key, member)
  local root, tenant = string.match(key, '^({.-}:)') .. 'kept/', string.match(member, '^[^/:]*')
  return { tenant = tenant, tenants = root .. 'tenants', bytes = root .. 'bytes:' .. tenant, ends = root .. 'ends:' .. tenant }
end
local function answer_part(member) return 'answer ' .. member end
local function delivery_part(id) return 'delivery ' .. id end
local function add_to_sum(account, size)
  local sum = redis.call('HINCRBY', account.bytes, '', size)
  if sum > 0 then redis.call('ZADD', account.tenants, sum, account.tenant)
  else
    redis.call('HDEL', account.bytes, '')
    redis.call('ZREM', account.tenants, account.tenant)
  end
end
local function outlive(account, ms)
  for _, key in ipairs({ account.bytes, account.ends }) do
    if ms then redis.call('PEXPIRE', key, ms) else redis.call('PERSIST', key) end
  end
end
local function forget_kept(account, part)
  local held = redis.call('HGET', account.bytes, part)
  if not held then return end
  redis.call('HDEL', account.bytes, part)
  redis.call('ZREM', account.ends, part)
  add_to_sum(account, -tonumber(held))
end
-- A part that does not expire by itself keeps its account.
local function set_kept(account, part, size)
  if size <= 0 then return forget_kept(account, part) end
  local held = tonumber(redis.call('HGET', account.bytes, part) or '0')
  if size == held then return end
  redis.call('HSET', account.bytes, part, size)
  add_to_sum(account, size - held)
  if held == 0 then outlive(account) end
end
local function endless_kept(account, part)
  if redis.call('ZREM', account.ends, part) == 1 then outlive(account) end
end
-- A part expires in so many ms. Of a tenant that sends no more, the account goes with the last of its parts.
local function end_kept(account, part, now, keep)
  if redis.call('HEXISTS', account.bytes, part) == 0 then return end
  redis.call('ZADD', account.ends, now + keep, part)
  if redis.call('HLEN', account.bytes) - 1 > redis.call('ZCARD', account.ends) then return end
  outlive(account, redis.call('ZRANGE', account.ends, -1, -1, 'WITHSCORES')[2] - now)
end
-- Sets the body of a delivery, in `content` under its id, or erases it. The delivery's part has the body and what else is kept of it.
local function set_content(account, content, id, body)
  local part, before = delivery_part(id), redis.call('HSTRLEN', content, id)
  if body then redis.call('HSET', content, id, body) else redis.call('HDEL', content, id) end
  local held = redis.call('HGET', account.bytes, part)
  if held then set_kept(account, part, held - before + #(body or '')) end
end
-- The sum, once what has expired by now has left it; of more than twenty thousand parts at a time the rest is counted once more.
local function kept_sum(account, now)
  local ended = redis.call('ZRANGEBYSCORE', account.ends, '-inf', now, 'LIMIT', 0, 20000)
  local gone = 0
  for from = 1, #ended, 1000 do
    local parts = { unpack(ended, from, math.min(from + 999, #ended)) }
    for _, held in ipairs(redis.call('HMGET', account.bytes, unpack(parts))) do gone = gone + tonumber(held or '0') end
    redis.call('HDEL', account.bytes, unpack(parts))
    redis.call('ZREM', account.ends, unpack(parts))
  end
  if gone > 0 then add_to_sum(account, -gone) end
  local sum = redis.call('HGET', account.bytes, '')
  -- The account may have expired by itself.
  if not sum then redis.call('ZREM', account.tenants, account.tenant) end
  return tonumber(sum or '0')
end
-- Whether a part may be so large, where its tenant may hold so much; empty: there is no limit. One that does not grow always may.
local function may_hold(account, part, size, most, now)
  if most == '' then return true end
  local sum = kept_sum(account, now)
  local held = tonumber(redis.call('HGET', account.bytes, part) or '0')
  return size <= held or sum - held + size <= tonumber(most)
end
