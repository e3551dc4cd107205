-- Ends the incarnation, so that no process's fencing token holds any more, until a new one is founded; returns 1 if it had
-- ended already.
--@key incarnation
local had_ended = redis.call('HEXISTS', incarnation, 'lost')
redis.call('HDEL', incarnation, 'id')
redis.call('HSET', incarnation, 'lost', 'recovering')
return had_ended
