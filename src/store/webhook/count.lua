-- Counts deliveries that wait and that are parked, without those that have expired: nobody took them. Returns both numbers and for
-- how long the oldest has waited, in ms; nil if none waits.
--@include time
--@key root              what the keys of all deliveries begin with
--@arg most              of those that have expired, how many are forgotten at a time
local function oldest(set)
  for _ = 1, tonumber(most) do
    local id, at = unpack(redis.call('ZRANGE', set, 0, 0, 'WITHSCORES'))
    if not id then return nil end
    if redis.call('EXISTS', root .. 'delivery:' .. id) == 1 then return tonumber(at) end
    redis.call('ZREM', set, id)
  end
end
local waiting, parked = root .. 'waiting', root .. 'parked'
local since = oldest(waiting)
oldest(parked)
return { redis.call('ZCARD', waiting), redis.call('ZCARD', parked), since and math.max(0, redis_now() - since) or false }
