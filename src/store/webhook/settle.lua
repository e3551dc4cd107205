-- Ends a try. Returns 0, with nothing done, if another process has the delivery.
--@include time
--@include webhook/lanes
--@key root              what the keys of all deliveries begin with
--@arg id
--@arg token             of the taking
--@arg again             when it is tried again, wall time in ms; empty if it is not
--@arg why               why it is parked; empty if it was sent
local delivery = root .. 'delivery:' .. id
local now_token, hook, lane, member = unpack(redis.call('HMGET', delivery, 'token', 'hook', 'lane', 'member'))
if now_token ~= token then return 0 end
-- Tried again, what was erased would hold up its retraction until then.
if again ~= '' and redis.call('HEXISTS', root .. 'content:' .. member, id) == 1 then
  redis.call('HINCRBY', delivery, 'tries', 1)
  redis.call('HDEL', delivery, 'token')
  redis.call('ZADD', root .. 'due:' .. hook, again, lane)
  return 1
end
local now = redis_now()
if why == '' then forget_delivery(root, id, lane, member)
else
  redis.call('ZREM', root .. 'queue:' .. lane, id)
  redis.call('ZREM', root .. 'waiting', id)
  redis.call('HDEL', delivery, 'token')
  redis.call('HSET', delivery, 'why', why, 'parkedAt', now)
  redis.call('HSET', root .. 'lane:' .. lane, 'parked:' .. id, 1)
  redis.call('ZADD', root .. 'parked', now, id)
end
next_in_lane(root, hook, lane, now)
return 1
