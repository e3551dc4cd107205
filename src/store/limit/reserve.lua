-- Reserves a call in all its scopes, or in none. Returns { 1, when it was granted (ms) }, also when it is sent twice, or
-- { 0, ms to wait, the scope that it waits for longest (from 1) }; it then has a place in each such scope's queue.
--@include limit-window
--@key ticket
--@key scopes[].window
--@key scopes[].in_flight
--@key scopes[].queue
--@key scopes[].queue_expiry
--@arg id                the ticket's
--@arg asker
--@arg tokens
--@arg width             of a bucket, ms
--@arg span              buckets in the window
--@arg lease             ms
--@arg recheck           longest wait of the first in the queue, ms
--@arg late              ms after its wait at which an asker loses its place
--@arg scopes[].max_calls       empty is no limit; so the next two
--@arg scopes[].max_tokens
--@arg scopes[].max_in_flight
local known = redis.call('GET', ticket)
if known then return { 1, string.match(known, '^%S+') } end

local need, bucket_ms, buckets, lease_ms = tonumber(tokens), tonumber(width), tonumber(span), tonumber(lease)
local now = precise_now()
local bucket = math.floor(now / bucket_ms)
local first, whole = bucket - buckets, buckets * bucket_ms
local me = need .. '|' .. asker

-- In how many ms enough buckets will have left the window for this many calls and tokens, looking at most one bucket ahead.
local function when_left(window, oldest, over_calls, over_tokens, until_bucket)
  if not oldest then return whole end
  local at = oldest
  while at <= until_bucket do
    local fields = {}
    for one = at, math.min(at + 49, until_bucket) do
      fields[#fields + 1] = 'c' .. one
      fields[#fields + 1] = 't' .. one
    end
    local counts = redis.call('HMGET', window, unpack(fields))
    for i = 1, #counts, 2 do
      over_calls = over_calls - (counts[i] or 0)
      over_tokens = over_tokens - (counts[i + 1] or 0)
      if over_calls <= 0 and over_tokens <= 0 then return (at + 1 + buckets) * bucket_ms - now end
      at = at + 1
    end
  end
  return whole
end

-- The tokens of those ahead of a place in the queue: a sum of the first 32, extrapolated to the rest.
local function tokens_ahead(queue, rank)
  if rank == 0 then return 0 end
  local some = redis.call('ZRANGE', queue, 0, math.min(rank, 32) - 1)
  local sum = 0
  for _, one in ipairs(some) do sum = sum + string.match(one, '^%d+') end
  return sum * rank / #some
end

-- Removes askers that lost their place; returns the caller's place if it has one, the queue's length, and the calls and tokens
-- that are kept free for the first in it.
local function look_at_queue(scope)
  local length = redis.call('ZCARD', scope.queue)
  if length == 0 then return nil, 0, 0, 0 end
  local lapsed = redis.call('ZRANGEBYSCORE', scope.queue_expiry, '-inf', now, 'LIMIT', 0, 100)
  if #lapsed > 0 then
    redis.call('ZREM', scope.queue_expiry, unpack(lapsed))
    length = length - redis.call('ZREM', scope.queue, unpack(lapsed))
  end
  local rank = redis.call('ZRANK', scope.queue, me) or nil
  local head = redis.call('ZRANGE', scope.queue, 0, 0)[1]
  if head and head ~= me then return rank, length, 1, tonumber(string.match(head, '^%d+')) end
  return rank, length, 0, 0
end

local taken, wait, longest = {}, nil, nil
for i, scope in ipairs(scopes) do
  local max_calls, max_tokens = tonumber(scope.max_calls), tonumber(scope.max_tokens)
  local max_in_flight = tonumber(scope.max_in_flight)
  local slid = slide(scope.window, first, buckets, bucket)
  local calls, sum = slid.calls, slid.tokens
  redis.call('ZREMRANGEBYSCORE', scope.in_flight, '-inf', now)
  local in_flight = redis.call('ZCARD', scope.in_flight)
  local rank, length, head_calls, head_tokens = look_at_queue(scope)
  taken[i] = { slid = slid, in_flight = in_flight }
  local full = max_in_flight and in_flight >= max_in_flight
  local lacks = max_calls and calls + head_calls + 1 > max_calls
    or max_tokens and sum + head_tokens + need > max_tokens
  if full or lacks then
    local ahead = rank or length
    local most = math.min(whole, recheck * (1 + ahead / 4))
    local this = most
    if lacks then
      local until_bucket = in_flight > 0 and math.floor((now + most) / bucket_ms) - buckets or bucket
      this = when_left(scope.window, slid.oldest, max_calls and calls + ahead + 1 - max_calls or 0,
        max_tokens and sum + tokens_ahead(scope.queue, ahead) + need - max_tokens or 0, until_bucket)
      if in_flight > 0 then this = math.min(this, most) end
    end
    this = math.ceil(math.max(1, this))
    if not rank then redis.call('ZADD', scope.queue, now, me) end
    redis.call('ZADD', scope.queue_expiry, now + this + late, me)
    redis.call('PEXPIRE', scope.queue, whole + late)
    redis.call('PEXPIRE', scope.queue_expiry, whole + late)
    if not wait or this > wait then wait, longest = this, i end
  elseif rank then
    redis.call('ZREM', scope.queue, me)
    redis.call('ZREM', scope.queue_expiry, me)
  end
end
if wait then return { 0, wait, longest } end

local at = math.floor(now)
redis.call('SET', ticket, at .. ' ' .. bucket .. ' ' .. need, 'PX', whole + lease_ms)
for i, scope in ipairs(scopes) do
  local slid = taken[i].slid
  record(slid, 1, need, whole + 2 * bucket_ms)
  redis.call('ZADD', scope.in_flight, now + lease_ms, id)
  -- A set whose last member went is a new key.
  if taken[i].in_flight == 0 or is_first_in_bucket(slid) then
    redis.call('PEXPIRE', scope.in_flight, lease_ms + 2 * bucket_ms)
  end
end
return { 1, tostring(at) }
