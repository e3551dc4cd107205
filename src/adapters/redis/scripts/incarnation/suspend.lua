-- Ends the incarnation, so that no process's fencing token is valid until a new one is created; returns 1 if it had already
-- ended, and the server's run.
--@include server-run
--@key incarnation
local had_ended = redis.call('HEXISTS', incarnation, 'lost')
redis.call('HDEL', incarnation, 'id')
redis.call('HSET', incarnation, 'lost', 'recovering')
return { had_ended, run_of(incarnation) }
