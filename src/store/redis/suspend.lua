-- Ends the incarnation, so that no process's fencing token is valid until a new one is created; returns 1 if it had already
-- ended, and the server's run. The process that suspends last creates it.
--@include server-run
--@key incarnation
--@arg recovery          the caller's name
local had_ended = redis.call('HEXISTS', incarnation, 'lost')
redis.call('HDEL', incarnation, 'id')
redis.call('HSET', incarnation, 'lost', 'recovering', 'recovery', recovery)
return { had_ended, run_of(incarnation) }
