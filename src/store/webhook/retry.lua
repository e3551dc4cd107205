-- Queues a parked delivery again, unless its lane has something newer or its content is gone; returns which.
--@include time
--@key root              what the keys of all deliveries begin with
--@arg id
local delivery = root .. 'delivery:' .. id
local parked_at, hook, lane, member, revision =
  unpack(redis.call('HMGET', delivery, 'parkedAt', 'hook', 'lane', 'member', 'revision'))
if not parked_at then return 'unknown' end
if redis.call('HGET', root .. 'lane:' .. lane, 'newest') ~= revision then return 'superseded' end
if redis.call('HEXISTS', root .. 'content:' .. member, id) == 0 then return 'erased' end
local now = redis_now()
redis.call('HDEL', delivery, 'why', 'parkedAt')
redis.call('HSET', delivery, 'tries', 0)
redis.call('HDEL', root .. 'lane:' .. lane, 'parked:' .. id)
redis.call('ZREM', root .. 'parked', id)
redis.call('ZADD', root .. 'queue:' .. lane, revision, id)
redis.call('ZADD', root .. 'waiting', now, id)
redis.call('ZADD', root .. 'due:' .. hook, now, lane)
return 'queued'
