-- Ends this run of an open case, and withholds it until it restarts or so much time has passed. Returns 0, with nothing done, if it
-- isn't open in this run.
--@include time
--@key case
--@arg run
--@arg ms
local status, latest = unpack(redis.call('HMGET', case, 'status', 'run'))
if status ~= 'open' or latest ~= run then return 0 end
redis.call('HINCRBY', case, 'epoch', 1)
redis.call('HINCRBY', case, 'run', 1)
redis.call('HSET', case, 'withheld_until', redis_now() + ms)
return 1
